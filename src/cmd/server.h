/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/server.h - whether flags of `trainyard server` fit together. */
#ifndef CMD_SERVER_H
#define CMD_SERVER_H

#include "base/err.h"

/* `conf` is that of cmd_server. See api_check(). */
enum rc server_check(const void *conf, struct err *err) MUST_CHECK;

#endif
