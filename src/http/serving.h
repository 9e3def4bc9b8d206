/* SPDX-License-Identifier: Apache-2.0 */
/* http/serving.h - model servers that a server knows by name. */
#ifndef HTTP_SERVING_H
#define HTTP_SERVING_H

#include "base/err.h"

/* "NAME=URL" each, NULL behind the last; `all` may be NULL. RC_INVAL (E5040). */
enum rc http_serving_check(const char *const *all, struct err *err) MUST_CHECK;

#endif
