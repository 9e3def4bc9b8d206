/* SPDX-License-Identifier: Apache-2.0 */
/* comm/comm_private.h - what implementations share. */
#ifndef COMM_COMM_PRIVATE_H
#define COMM_COMM_PRIVATE_H

#include "comm/comm.h"

/* For implementations that know no device: of other memory RC_UNSUPPORTED (E2504), with
 * which the comm breaks.
 */
enum rc comm_on_host(struct comm *c, struct comm_mem m, struct err *err) MUST_CHECK;

/* The implementation of a plug-in named in comms.def, which is loaded the first time.
 * RC_NOTFOUND (E2504) when there is no such comm, or its library cannot be loaded.
 */
enum rc comm_plugin_find(const char *name, const struct comm_ops **out,
                         struct err *err) MUST_CHECK;

/* comm_open() of this table, whatever comms.def says. */
enum rc comm_open_by(const struct comm_ops *ops, const struct comm_conf *conf,
                     struct comm **out, struct err *err) MUST_CHECK;

#endif
