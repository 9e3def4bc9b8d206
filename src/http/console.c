/* SPDX-License-Identifier: Apache-2.0 */
/* The console: a page and the files that it needs, compressed as they lie in the program.
 * The page may run nothing but those files and ask nobody but this server, and what its
 * scripts show never becomes markup (`require-trusted-types-for`).
 */
#include <string.h>

#include "base/mem.h"
#include "http/api_private.h"
#include "http/assets.h"
#include "http/handlers.h"
#include "io/codec.h"

#define POLICY                                                                          \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "   \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
    "require-trusted-types-for 'script'"

static bool takes_gzip(struct http_call *c)
{
    const char *takes =
        MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, "Accept-Encoding");
    return takes && strstr(takes, "gzip");
}

static enum rc put_plain(struct http_call *c, const struct http_asset *a, struct err *err)
{
    struct codec *codec = codec_create();
    char *text = mem_alloc(a->size + 1);
    enum rc rc = codec_decode(codec, CODEC_GZIP, a->zip, a->n_zip, text, a->size, err);
    if (!rc)
        buf_add(&c->out, text, a->size);
    mem_free(text);
    codec_destroy(codec);
    return rc;
}

static enum rc put_asset(struct http_call *c, const struct http_asset *a, struct err *err)
{
    const char *tag = arena_printf(&c->arena, "\"%s\"", a->tag), *have;
    c->type = a->type;
    c->policy = POLICY;
    http_call_header(c, "ETag", tag);
    http_call_header(c, "Vary", "Accept-Encoding");
    have = MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, "If-None-Match");
    if (have && strcmp(have, tag) == 0) {
        c->status = 304;
        return RC_OK;
    }
    if (!takes_gzip(c))
        return put_plain(c, a, err);
    http_call_header(c, "Content-Encoding", "gzip");
    buf_add(&c->out, (const char *)a->zip, a->n_zip);
    return RC_OK;
}

enum rc http_get_console(struct http_call *c, struct err *err)
{
    c->cache = "no-cache";
    http_call_header(c, "Cross-Origin-Opener-Policy", "same-origin");
    http_call_header(c, "X-Frame-Options", "DENY");
    return put_asset(c, http_asset_page(), err);
}

enum rc http_get_asset(struct http_call *c, struct err *err)
{
    c->cache = "public, max-age=31536000, immutable";
    return put_asset(c, http_asset_find(c->params[0]), err);
}
