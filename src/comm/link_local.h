/* SPDX-License-Identifier: Apache-2.0 */
/* comm/link_local.h - servers and clients that are threads of one process, for tests and
 * for parameter servers without processes.
 */
#ifndef COMM_LINK_LOCAL_H
#define COMM_LINK_LOCAL_H

#include "comm/link.h"

extern const struct comm_link_ops comm_link_local_ops;

/* Where they meet by address; outlives all of them. Any thread. */
struct comm_link_hub *comm_link_hub_create(void);
void comm_link_hub_destroy(struct comm_link_hub *hub); /* NULL is fine */

#endif
