/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd before 0.9.77 takes a bare CR or LF for the end of a line, joins lines that
 * begin with a blank, and tells nobody. But it works in place: in its buffer it writes NULs
 * over the ends of lines and the ':' of fields, and it knows how long the head was. So the
 * head is walked once more, from the version to its last byte: where each line has two NULs
 * behind it, the last one four, and there are as many lines as the library found fields,
 * every line ended with CR LF and none was joined. Newer ones refuse such requests by
 * themselves when asked to (MHD_OPTION_CLIENT_DISCIPLINE_LVL in server.c).
 *
 * Bodies in chunks are refused: how their lines end is not shown to us.
 */
#include "http/framing.h"

#include <string.h>
#include <strings.h>

#define STRICT_LIBRARY 0x00097701

static bool is_token(const char *s)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (const char *c = s; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
              (*c >= '0' && *c <= '9') || strchr(others, *c)))
            return false;
    return *s != '\0';
}

static bool is_text(const char *s)
{
    for (; *s; s++)
        if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

/* The text at `at` ends before `n`: its length, else n. */
static size_t length_in(const char *head, size_t at, size_t n)
{
    const char *end = memchr(head + at, '\0', n - at);
    return end ? (size_t)(end - head) : n;
}

static bool two_ends(const char *head, size_t at, size_t n)
{
    return at + 2 <= n && head[at] == '\0' && head[at + 1] == '\0';
}

bool http_framing_lines(const char *head, size_t n, size_t *fields)
{
    size_t at = length_in(head, 0, n), count = 0;
    if (at == 0 || !two_ends(head, at, n))
        return false;
    at += 2;
    while (at < n && head[at] != '\0') {
        size_t name = length_in(head, at, n);
        if (name >= n || !is_token(head + at))
            return false;
        at = length_in(head, name + 1, n);
        if (!two_ends(head, at, n))
            return false;
        at += 2;
        count++;
    }
    *fields = count;
    return two_ends(head, at, n) && at + 2 == n;
}

void http_framing_field(struct http_framing_fields *f, const char *name,
                        const char *value)
{
    const char *text = value ? value : "";
    f->bad_name |= !is_token(name);
    f->bad_value |= !is_text(text);
    f->hosts += strcasecmp(name, "Host") == 0;
    f->keys += strcasecmp(name, "Authorization") == 0;
    f->chunked |= strcasecmp(name, "Transfer-Encoding") == 0;
    if (strcasecmp(name, "Content-Length") == 0) {
        f->bad_length |= !*text || strspn(text, "0123456789") != strlen(text);
        f->lengths_differ |= f->length && strcmp(f->length, text) != 0;
        f->length = text;
    }
}

struct http_framing http_framing_judge(const struct http_framing_fields *f)
{
    if (f->bad_name)
        return (struct http_framing){"the name of a header holds a blank or worse", 400};
    if (f->bad_value)
        return (struct http_framing){"a header holds a control character", 400};
    if (f->hosts > 1)
        return (struct http_framing){"two Host headers", 400};
    if (f->keys > 1)
        return (struct http_framing){"two Authorization headers", 400};
    if (f->lengths_differ)
        return (struct http_framing){"two values of Content-Length", 400};
    if (f->bad_length)
        return (struct http_framing){"Content-Length is not a number", 400};
    if (f->length && f->chunked)
        return (struct http_framing){"both Content-Length and Transfer-Encoding", 400};
    if (f->chunked)
        return (struct http_framing){
            "a body in chunks (Transfer-Encoding); send it with Content-Length", 411};
    return (struct http_framing){.wrong = NULL};
}

static enum MHD_Result take_field(void *arg, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    http_framing_field(arg, name, value);
    return MHD_YES;
}

static bool lines_end_well(struct MHD_Connection *conn, const char *method,
                           const char *version)
{
#if MHD_VERSION < STRICT_LIBRARY
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    int known = MHD_get_connection_values(conn, MHD_HEADER_KIND, NULL, NULL);
    size_t before = (size_t)(version - method), fields = 0;
    return info && version > method && info->header_size > before &&
           http_framing_lines(version, info->header_size - before, &fields) &&
           fields == (size_t)known;
#else
    return true;
#endif
}

struct http_framing http_framing_check(struct MHD_Connection *conn, const char *method,
                                       const char *version)
{
    struct http_framing_fields f = {.length = NULL};
    if (!lines_end_well(conn, method, version))
        return (struct http_framing){
            "a line of the head does not end with CR LF, or goes on in the next", 400};
    MHD_get_connection_values(conn, MHD_HEADER_KIND, take_field, &f);
    return http_framing_judge(&f);
}
