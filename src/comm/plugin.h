/* SPDX-License-Identifier: Apache-2.0 */
/* comm/plugin.h - what a library that brings a comm exports.
 *
 * It defines COMM_PLUGIN_SYMBOL, a struct comm_plugin, and nothing else that is visible.
 * It is built with the program and refused when it is of another version: no layout is
 * promised between versions.
 */
#ifndef COMM_PLUGIN_H
#define COMM_PLUGIN_H

#include "comm/comm.h"

#define COMM_PLUGIN_SYMBOL "trainyard_comm_plugin"

struct comm_plugin {
    const char *version; /* TY_VERSION */
    const struct comm_ops *ops;
};

#endif
