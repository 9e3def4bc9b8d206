/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd before 0.9.77 takes a bare CR or LF for the end of a line, and tells
 * nobody. It writes NULs over ends of lines in its buffer, to which the texts that it hands
 * out belong: two behind a line that ended with CR LF, one behind any other. Newer ones
 * refuse such requests by themselves when asked to (MHD_OPTION_CLIENT_DISCIPLINE_LVL).
 */
#include "http/framing.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define STRICT_LIBRARY 0x00097701

struct framing {
    const char *length; /* NULL: none yet */
    bool chunked, bad_length, lengths_differ, bad_encoding, bare_end;
};

/* `end` is the NUL behind a text that ended its line. */
static bool ends_bare(const char *end)
{
#if MHD_VERSION < STRICT_LIBRARY
    return end[1] != '\0' && end[1] != '\n';
#else
    return false;
#endif
}

static enum MHD_Result look(void *arg, enum MHD_ValueKind kind, const char *key,
                            const char *value)
{
    struct framing *f = arg;
    const char *text = value ? value : "";
    if (strpbrk(text, "\r\n") || (value && ends_bare(value + strlen(value))))
        f->bare_end = true;
    if (strcasecmp(key, "Content-Length") == 0) {
        f->bad_length |= !*text || strspn(text, "0123456789") != strlen(text);
        f->lengths_differ |= f->length && strcmp(f->length, text) != 0;
        f->length = text;
    }
    if (strcasecmp(key, "Transfer-Encoding") == 0) {
        f->bad_encoding |= f->chunked || strcasecmp(text, "chunked") != 0;
        f->chunked = true;
    }
    return MHD_YES;
}

const char *http_framing_check(struct MHD_Connection *conn, const char *version)
{
    struct framing f = {.length = NULL};
    MHD_get_connection_values(conn, MHD_HEADER_KIND, look, &f);
    if (f.bare_end || ends_bare(version + strlen(version)))
        return "a line of the head does not end with CR LF";
    if (f.lengths_differ)
        return "two values of Content-Length";
    if (f.bad_length)
        return "Content-Length is no number";
    if (f.bad_encoding)
        return "a Transfer-Encoding other than chunked";
    if (f.length && f.chunked)
        return "both Content-Length and Transfer-Encoding";
    return NULL;
}
