/* SPDX-License-Identifier: Apache-2.0 */
/* backend/address.h - addresses that are known only when workers have their places. A
 * backend of a cluster answers address() with a token, which then stands in MASTER_ADDR,
 * TF_CONFIG and their kin, and replaces tokens in the variables' values where the workers
 * are, before their programs start.
 *
 *     char token[BACKEND_ADDRESS_SIZE];
 *     struct buf out = {0};
 *     backend_address_token(0, token); // "@worker-0@"
 *     extern backend_address_fn name_of;
 *     const void *nodes = NULL;
 *     backend_address_fill("tcp://@worker-0@:1", name_of, nodes, &out);
 *
 * where name_of(nodes, 0) is the name of the first worker's machine.
 */
#ifndef BACKEND_ADDRESS_H
#define BACKEND_ADDRESS_H

#include "backend/backend.h"

/* The name of a worker, NULL: there is none of this number. */
typedef const char *backend_address_fn(const void *arg, int64_t worker);

void backend_address_token(int64_t worker, char out[BACKEND_ADDRESS_SIZE]);
/* `text` with names in the place of tokens; those of nobody stay. */
void backend_address_fill(const char *text, backend_address_fn *name_of, const void *arg,
                          struct buf *out);

#endif
