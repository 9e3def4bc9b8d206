/* SPDX-License-Identifier: Apache-2.0 */
/* http/route.h - the table of what is served: method, path, who may, who answers, and
 * the shapes of question and answer. The OpenAPI document is made from it.
 */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "http/role.h"
#include "http/schema.h"
#include "http/target.h"

struct http_call;
typedef enum rc http_route_fn(struct http_call *c, struct err *err);

#define ROUTE_PARAMS_MAX 3

struct http_route {
    const char *method;
    const char *path; /* "/api/v1/jobs/{id}" */
    enum http_role role;
    http_route_fn *fn;
    const char *id;                                        /* operationId */
    const struct http_schema_table *query, *body, *answer; /* http_schema_Nothing: none */
    unsigned status;                                       /* when it goes well */
    const char *tag, *summary;
};

const struct http_route *http_route_all(size_t *n);

enum http_route_found { ROUTE_FOUND, ROUTE_NO_PATH, ROUTE_NO_METHOD };
/* Values of the {parts} go to `params`, borrowed from the target. With ROUTE_NO_METHOD
 * `allow` tells which methods there are.
 */
enum http_route_found http_route_find(const char *method, const struct http_target *t,
                                      const struct http_route **out,
                                      const char *params[ROUTE_PARAMS_MAX],
                                      struct buf *allow);

/* What a {part} of a path looks like, as a pattern; and whether a text does. */
const char *http_route_param_pattern(const char *name);
bool http_route_param_ok(const char *name, const char *value);

#endif
