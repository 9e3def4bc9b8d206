/* SPDX-License-Identifier: Apache-2.0 */
#include "http/range.h"

#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum http_range http_range_parse(const char *text, int64_t size, int64_t *first,
                                 int64_t *n)
{
    struct str rest, from;
    int64_t a = 0, b = 0;
    if (!text || strncmp(text, "bytes=", 6) != 0 || strchr(text, ','))
        return RANGE_NONE;
    rest = str_c(text + 6);
    if (!str_split(&rest, '-', &from) || (!from.n && !rest.n) ||
        (from.n && (!str_to_i64(from, &a) || a < 0)) ||
        (rest.n && (!str_to_i64(rest, &b) || b < 0)) || !strchr(text, '-'))
        return RANGE_NONE;
    if (!from.n) { /* the last b bytes */
        *first = b < size ? size - b : 0;
        *n = size - *first;
        return b > 0 && size > 0 ? RANGE_GOOD : RANGE_BAD;
    }
    if (rest.n && b < a)
        return RANGE_NONE;
    if (a >= size)
        return RANGE_BAD;
    *first = a;
    *n = (rest.n && b < size ? b + 1 : size) - a;
    return RANGE_GOOD;
}

static const char *header_of(struct http_call *c, const char *name)
{
    return MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, name);
}

bool http_range_decide(struct http_call *c, int64_t size, const char *tag, int64_t *first,
                       int64_t *n)
{
    const char *quoted = arena_printf(&c->arena, "\"%s\"", tag);
    const char *known = header_of(c, "If-None-Match"), *same = header_of(c, "If-Range");
    *first = 0;
    *n = size;
    enum http_range r = same && strcmp(same, quoted) != 0
                            ? RANGE_NONE
                            : http_range_parse(header_of(c, "Range"), size, first, n);
    http_call_header(c, "ETag", quoted);
    http_call_header(c, "Accept-Ranges", "bytes");
    c->type = "application/octet-stream";
    if ((known && strcmp(known, quoted) == 0) || r == RANGE_BAD) {
        c->status = r == RANGE_BAD ? 416 : 304;
        if (r == RANGE_BAD)
            http_call_header(c, "Content-Range",
                             arena_printf(&c->arena, "bytes */%jd", (intmax_t)size));
        return false;
    }
    if (r == RANGE_GOOD) {
        c->status = 206;
        http_call_header(c, "Content-Range",
                         arena_printf(&c->arena, "bytes %jd-%jd/%jd", (intmax_t)*first,
                                      (intmax_t)(*first + *n - 1), (intmax_t)size));
    }
    return true;
}

enum rc http_range_answer(struct http_call *c, int fd, int64_t size, const char *tag,
                          struct err *err)
{
    int64_t first = 0, n = 0;
    if (!http_range_decide(c, size, tag, &first, &n)) {
        close(fd);
        return RC_OK;
    }
    c->streaming =
        MHD_create_response_from_fd_at_offset64((uint64_t)n, fd, (uint64_t)first);
    if (!c->streaming) {
        close(fd);
        return err_set(err, RC_NOMEM, "no memory for the answer");
    }
    return RC_OK;
}
