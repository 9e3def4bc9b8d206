/* SPDX-License-Identifier: Apache-2.0 */
/* http/handlers.h - one function per route. */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "http/route.h"

#define ROUTE(method, path, role, fn, query, body, answer, status, tag, summary) \
    http_route_fn http_##fn;
#include "http/routes.def"
#undef ROUTE

#endif
