/* SPDX-License-Identifier: Apache-2.0 */
/* text/json_out.h - JSON written from left to right; commas and quotes are its business.
 *
 *     struct buf buf;
 *     buf_init(&buf, 4096);
 *     struct json_out j = {.out = &buf};
 *     json_open(&j, NULL, '{');
 *     json_put_str(&j, "version", "0.1.0");
 *     json_close(&j, '}');
 *
 * `key` is NULL inside lists and for the outermost value.
 */
#ifndef TEXT_JSON_OUT_H
#define TEXT_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct json_out {
    struct buf *out; /* borrowed */
    bool comma;      /* the next value needs one before it */
};

void json_open(struct json_out *j, const char *key, char brace);
void json_close(struct json_out *j, char brace);
void json_put_str(struct json_out *j, const char *key, const char *s); /* NULL: null */
void json_put_int(struct json_out *j, const char *key, int64_t v);
void json_put_real(struct json_out *j, const char *key, double v); /* finite */
void json_put_bool(struct json_out *j, const char *key, bool v);
void json_put_num(struct json_out *j, const char *key, double v); /* not finite: null */
/* RFC 3339 of a wall clock in ns; nothing at all for 0. */
void json_put_time(struct json_out *j, const char *key, int64_t wall_ns);
/* Text that is JSON already; "" is null. */
void json_put_raw(struct json_out *j, const char *key, const char *json);
void json_put_null(struct json_out *j, const char *key);

#endif
