/* SPDX-License-Identifier: Apache-2.0 */
/* http/route.h - the table of what is served: method, path, who may, who answers, and
 * the shapes of question and answer. The OpenAPI document is made from it.
 */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "http/role.h"
#include "http/schema.h"
#include "http/target.h"

struct call;
typedef enum rc route_fn(struct call *c, struct err *err);

#define ROUTE_PARAMS_MAX 3

struct route {
    const char *method;
    const char *path; /* "/api/v1/jobs/{id}" */
    enum role role;
    route_fn *fn;
    const char *id;                                   /* operationId */
    const struct schema_table *query, *body, *answer; /* schema_Nothing: none */
    unsigned status;                                  /* when it goes well */
    const char *tag, *summary;
};

const struct route *route_all(size_t *n);

enum route_found { ROUTE_FOUND, ROUTE_NO_PATH, ROUTE_NO_METHOD };
/* Values of the {parts} go to `params`, borrowed from the target. With ROUTE_NO_METHOD
 * `allow` tells which methods there are.
 */
enum route_found route_find(const char *method, const struct target *t,
                            const struct route **out,
                            const char *params[ROUTE_PARAMS_MAX], struct buf *allow);

/* What a {part} of a path looks like, as a pattern; and whether a text does. */
const char *route_param_pattern(const char *name);
bool route_param_ok(const char *name, const char *value);

#endif
