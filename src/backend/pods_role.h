/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_role.h - the least that the backend has to be allowed in a namespace. */
#ifndef BACKEND_PODS_ROLE_H
#define BACKEND_PODS_ROLE_H

#include "base/str.h"

/* A Role, a ServiceAccount and what binds them, as YAML for `kubectl apply`. */
void pods_role_print(const char *ns, struct buf *out);

#endif
