/* SPDX-License-Identifier: Apache-2.0 */
/* The address of a request, through to the route and the typed query. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    struct http_target t = {.n_parts = 0};
    struct buf allow;
    const struct http_route *r = NULL;
    const char *params[ROUTE_PARAMS_MAX] = {NULL};
    char *uri = mem_strndup((const char *)data, n);
    buf_init(&allow, 1000);
    if (http_target_parse(uri, &a, &t, NULL) == RC_OK) {
        for (size_t i = 0; i < t.n_parts; i++)
            if (!*t.parts[i] || strcmp(t.parts[i], "..") == 0)
                abort();
        if (http_route_find("GET", &t, &r, params, &allow) == ROUTE_FOUND) {
            struct node *q = NULL;
            enum rc rc = http_schema_query(r->query, &t, &a, &q, NULL);
            if (rc == RC_OK && (!q || q->kind != NODE_MAP))
                abort();
        }
    }
    buf_release(&allow);
    arena_release(&a);
    mem_free(uri);
    return 0;
}
