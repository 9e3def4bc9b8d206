/* SPDX-License-Identifier: Apache-2.0 */
/* http/handlers.h - one function per route. */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "http/route.h"

#define ROUTE(file, method, path, role, fn, ...) http_route_fn http_##fn;
#include "http/routes.def"
#undef ROUTE

#endif
