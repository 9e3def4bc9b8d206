/* SPDX-License-Identifier: Apache-2.0 */
/* http/framing.h - requests whose end two readers could see in different places.
 *
 * A proxy before us and we ourselves must agree where a request ends and whom it is for, or
 * the rest of one becomes a request of somebody else's. What the standard leaves to the
 * reader is refused.
 */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct http_framing {
    const char *wrong; /* NULL: nothing yet */
    unsigned status;   /* that goes with it */
};
/* `method` and `version` as the library gave them to the handler. */
struct http_framing http_framing_check(struct MHD_Connection *conn, const char *method,
                                       const char *version);

/* The rules by themselves, one field after the other. */
struct http_framing_fields {
    const char *length; /* NULL: none yet */
    int hosts, keys;
    bool chunked, bad_name, bad_value, bad_length, lengths_differ;
};
void http_framing_field(struct http_framing_fields *f, const char *name,
                        const char *value);
struct http_framing http_framing_judge(const struct http_framing_fields *f);
/* Whether `head`, from its version on, is what the library makes of lines that all ended
 * with CR LF: a NUL over each CR, LF and ':'. *fields counts the lines behind the first.
 */
bool http_framing_lines(const char *head, size_t n, size_t *fields);

#endif
