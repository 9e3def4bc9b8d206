/* SPDX-License-Identifier: Apache-2.0 */
/* io/http_private.h - what requests and streams have in common. */
#ifndef IO_HTTP_PRIVATE_H
#define IO_HTTP_PRIVATE_H

#include <curl/curl.h>

#include "io/http.h"

void io_http_start(void); /* libcurl, once for the process */
/* The headers of one attempt, for curl_slist_free_all(). */
enum rc io_http_make_headers(const struct io_http_request *q, struct curl_slist **out,
                             struct err *err) MUST_CHECK;
/* All but where the answer goes. `error` holds CURL_ERROR_SIZE bytes; it and `headers` stay
 * with the handle.
 */
void io_http_set_options(CURL *c, const struct io_http_request *q, char *error,
                         struct curl_slist *headers);

#endif
