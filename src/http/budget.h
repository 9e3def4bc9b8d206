/* SPDX-License-Identifier: Apache-2.0 */
/* http/budget.h - memory that one user's requests may hold at a time. */
#ifndef HTTP_BUDGET_H
#define HTTP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct http_budget;

/* `most` bytes for each name. */
struct http_budget *http_budget_create(int64_t most);
void http_budget_destroy(struct http_budget *b); /* NULL is fine */
/* False: `name` has too much already; nothing is taken then. Any thread. */
bool http_budget_take(struct http_budget *b, const char *name, int64_t bytes);
void http_budget_give(struct http_budget *b, const char *name, int64_t bytes);

#endif
