/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a store: reading ranges, writing whole or in parts, listing. Each operation is
 * one request, or one per page of a listing, that object_call.c sends and signs; here its
 * answer is checked and turned into our errors. Answers are XML, of which only a few
 * elements matter (xml.c). What differs between stores is in object_NAME.c.
 */
#include "io/object.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/object_private.h"
#include "io/xml.h"

#define XML_MAX ((size_t)64 << 20)

static const struct object_store *const stores[] = {
#define OBJECT_STORE(name) &object_store_##name,
#include "io/object_stores.def"
#undef OBJECT_STORE
};

const struct object_store *object_store_of(const char *url)
{
    for (size_t i = 0; i < ARRAY_LEN(stores); i++)
        if (str_starts(url, stores[i]->scheme) &&
            str_starts(url + strlen(stores[i]->scheme), "://"))
            return stores[i];
    return NULL;
}

bool object_is_url(const char *path)
{
    return object_store_of(path) != NULL;
}

const char *object_url(const struct object *o)
{
    return o->url;
}

const char *object_key(const struct object *o)
{
    return o->key;
}

void object_close(struct object *o)
{
    if (!o)
        return;
    io_account_release(&o->account);
    pthread_mutex_destroy(&o->lock);
    mem_free(o->url);
    mem_free(o->bucket);
    mem_free(o->key);
    mem_free(o->host);
    mem_free(o);
}

/* oss://bucket.oss-cn-hangzhou.aliyuncs.com/key names its endpoint itself. */
static void split_host(struct object *o)
{
    char *dot = strchr(o->bucket, '.');
    const char *end = o->store->own_hosts;
    if (!end || !dot || !str_ends(o->bucket, end))
        return;
    o->host = mem_strdup(dot + 1);
    *dot = '\0';
}

static bool is_bucket_name(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '-' && s[i] != '.' && s[i] != '_')
            return false;
    return n >= 1 && n <= 255;
}

enum rc object_open(const char *url, bool is_prefix, struct object **out, struct err *err)
{
    struct object *o = mem_calloc(1, sizeof(*o));
    const char *at = strstr(url, "://") + 3, *slash = strchr(at, '/');
    o->store = object_store_of(url);
    assert(o->store);
    o->url = mem_strdup(url);
    o->bucket = slash ? mem_strndup(at, (size_t)(slash - at)) : mem_strdup(at);
    o->key = mem_strdup(slash ? slash + 1 : "");
    pthread_mutex_init(&o->lock, NULL);
    split_host(o);
    enum rc rc = RC_OK;
    if (!is_bucket_name(o->bucket))
        rc = err_coded(err, RC_INVAL, E1601,
                       "'%.300s' has no bucket: write %s://bucket/key", url,
                       o->store->scheme);
    else if (!is_prefix && (!o->key[0] || str_ends(o->key, "/")))
        rc =
            err_coded(err, RC_INVAL, E1601, "'%.300s' names no object: write %s://%s/key",
                      url, o->store->scheme, o->bucket);
    if (!rc)
        rc = io_account_load(o->store, o->host, &o->account, err);
    if (rc) {
        object_close(o);
        return rc;
    }
    *out = o;
    return RC_OK;
}

/* What the server says itself, one line, without what only it understands. */
static void object_describe(const struct io_http_reply *r, struct buf *out)
{
    struct str body = str_of(buf_str(&r->body), r->body.n);
    char *code = xml_text(body, "Code"), *message = xml_text(body, "Message");
    buf_printf(out, "%d", r->status);
    if (code)
        buf_printf(out, " %.60s", code);
    if (message)
        buf_printf(out, ": %.200s", message);
    for (size_t i = 0; i < out->n; i++)
        if ((unsigned char)out->p[i] < ' ')
            out->p[i] = ' ';
    mem_free(code);
    mem_free(message);
}

static enum rc wrong_region(const struct object *o, const struct io_http_reply *r,
                            struct err *err)
{
    struct str region = io_http_header(r, "x-amz-bucket-region");
    char *told = region.n ? mem_strndup(region.p, region.n)
                          : xml_text(str_of(buf_str(&r->body), r->body.n), "Region");
    enum rc rc =
        told ? err_coded(err, RC_INVAL, E1603,
                         "'%.300s': the bucket is in region '%.40s', not '%.40s': "
                         "set %s",
                         o->url, told, o->account.region, o->store->region_variable)
             : err_coded(err, RC_INVAL, E1603,
                         "'%.300s': the server says that the bucket is elsewhere "
                         "(%d): check the endpoint and the region",
                         o->url, r->status);
    mem_free(told);
    return rc;
}

enum rc object_refused(const struct object *o, const struct io_http_reply *r,
                       struct err *err)
{
    struct buf why;
    buf_init(&why, 400);
    object_describe(r, &why);
    char *code = xml_text(str_of(buf_str(&r->body), r->body.n), "Code");
    enum rc rc;
    if (r->status == 301 || r->status == 307 ||
        (code && strcmp(code, "AuthorizationHeaderMalformed") == 0))
        rc = wrong_region(o, r, err);
    else if (r->status == 404)
        rc = err_coded(err, RC_NOTFOUND, E1604,
                       code && strcmp(code, "NoSuchBucket") == 0
                           ? "'%.300s': there is no such bucket"
                           : "'%.300s': there is no such object",
                       o->url);
    else if (r->status == 401 || r->status == 403)
        rc = err_coded(err, RC_IO, E1606, "'%.300s': the server refuses: %s", o->url,
                       buf_str(&why));
    else if (r->status == 412)
        rc = err_coded(err, RC_IO, E1608,
                       "'%.300s': the object changed while it was read", o->url);
    else if (r->status >= 500 || r->status == 429)
        rc = err_coded(err, RC_IO, E1607, "'%.300s': the server fails: %s (%d attempt%s)",
                       o->url, buf_str(&why), r->tries, r->tries == 1 ? "" : "s");
    else
        rc = err_coded(err, RC_FORMAT, E1611, "'%.300s': the server answers: %s", o->url,
                       buf_str(&why));
    mem_free(code);
    buf_release(&why);
    return rc;
}

static enum rc odd(const struct object *o, const char *what, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1611, "'%.300s': the answer makes no sense: %s",
                     o->url, what);
}

/* "bytes 0-9/100"; from > to when it is the form of a refusal, "bytes *" and the size. */
static bool parse_range(struct str s, uint64_t *from, uint64_t *to, uint64_t *size)
{
    struct str first, span, a;
    if (!str_split(&s, ' ', &first) || !str_is(first, "bytes") ||
        !str_split(&s, '/', &span) || !str_to_u64(s, size))
        return false;
    *from = 1;
    *to = 0;
    if (str_is(span, "*"))
        return true;
    return str_split(&span, '-', &a) && str_to_u64(a, from) && str_to_u64(span, to);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT"; 0 for anything else. */
static int64_t date_of(struct str text)
{
    char copy[64] = "";
    struct tm tm = {0};
    if (text.n && text.n < sizeof(copy))
        memcpy(copy, text.p, text.n);
    const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return end && !*end ? (int64_t)timegm(&tm) : 0;
}

static enum rc fill_info(const struct object *o, const struct io_http_reply *r,
                         uint64_t size, const char *etag, struct object_info *info,
                         struct err *err)
{
    struct str now = io_http_header(r, "etag");
    char text[sizeof(info->etag)] = "";
    if (now.n < sizeof(text))
        (void)snprintf(text, sizeof(text), "%.*s", (int)now.n, now.p);
    if (etag && etag[0] && text[0] && strcmp(etag, text) != 0)
        return err_coded(err, RC_IO, E1608,
                         "'%.300s': the object changed while it was read", o->url);
    if (info) {
        info->size = size;
        info->modified = date_of(io_http_header(r, "last-modified"));
        (void)snprintf(info->etag, sizeof(info->etag), "%s", text);
    }
    return RC_OK;
}

/* A whole object where a part was asked for: fine when the part begins at the front. */
static enum rc whole_reply(const struct object *o, const struct io_http_reply *r,
                           bool front, uint64_t *size, struct err *err)
{
    struct str length = io_http_header(r, "content-length");
    if (!str_to_u64(length, size))
        return odd(o, "it does not tell the size of the object", err);
    if (!front && (r->overflowed || *size > r->got))
        return odd(o, "the whole object where a part was asked for", err);
    return RC_OK;
}

static enum rc object_get_range(struct object *o, const char *range, bool front,
                                uint64_t at, size_t n, const char *etag, void *to,
                                size_t *got, struct object_info *info, struct err *err)
{
    struct object_call c = {.o = o,
                            .method = "GET",
                            .range = range,
                            .if_match = etag && etag[0] ? etag : NULL,
                            .to = to,
                            .to_size = n};
    struct io_http_reply r;
    uint64_t from = 0, last = 0, size = 0;
    enum rc rc = object_send(&c, &r, err);
    bool told = parse_range(io_http_header(&r, "content-range"), &from, &last, &size);
    if (rc) {
        ;
    } else if (r.status == 206) {
        if (!told || from > last || last >= size || last - from + 1 != r.got)
            rc = odd(o, "the bytes are not those of its Content-Range", err);
        else if (front ? from != at : last != size - 1)
            rc = odd(o, "another part than the one asked for", err);
    } else if (r.status == 200) {
        rc = whole_reply(o, &r, front && at == 0, &size, err);
    } else if (r.status == 416 && told) {
        r.got = 0;
    } else {
        rc = object_refused(o, &r, err);
    }
    if (!rc)
        rc = fill_info(o, &r, size, etag, info, err);
    if (!rc)
        *got = r.got;
    io_http_reply_release(&r);
    return rc;
}

enum rc object_get(struct object *o, uint64_t at, size_t n, const char *etag, void *to,
                   size_t *got, struct object_info *info, struct err *err)
{
    char range[64];
    *got = 0;
    if (n == 0)
        return RC_OK;
    (void)snprintf(range, sizeof(range), "bytes=%ju-%ju", (uintmax_t)at,
                   (uintmax_t)(at + n - 1));
    return object_get_range(o, range, true, at, n, etag, to, got, info, err);
}

enum rc object_get_tail(struct object *o, size_t n, void *to, size_t *got,
                        struct object_info *info, struct err *err)
{
    char range[64];
    (void)snprintf(range, sizeof(range), "bytes=-%zu", n);
    return object_get_range(o, range, false, 0, n, NULL, to, got, info, err);
}

enum rc object_put(struct object *o, const void *p, size_t n, struct err *err)
{
    struct object_call c = {.o = o, .method = "PUT", .body = n ? p : "", .n_body = n};
    struct io_http_reply r;
    enum rc rc = object_send(&c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = object_refused(o, &r, err);
    io_http_reply_release(&r);
    return rc;
}

enum rc object_parts_begin(struct object *o, char **id, struct err *err)
{
    struct object_query q[] = {{"uploads", ""}};
    struct object_call c = {
        .o = o, .method = "POST", .query = q, .n_query = 1, .body = ""};
    struct io_http_reply r;
    enum rc rc = object_send(&c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = object_refused(o, &r, err);
    if (!rc) {
        *id = xml_text(str_of(buf_str(&r.body), r.body.n), "UploadId");
        if (!*id || !(*id)[0]) {
            mem_free(*id);
            *id = NULL;
            rc = odd(o, "an upload without an id", err);
        }
    }
    io_http_reply_release(&r);
    return rc;
}

enum rc object_part_put(struct object *o, const char *id, int number, const void *p,
                        size_t n, char **etag, struct err *err)
{
    char digits[16];
    (void)snprintf(digits, sizeof(digits), "%d", number);
    struct object_query q[] = {{"partNumber", digits}, {"uploadId", id}};
    struct object_call c = {
        .o = o, .method = "PUT", .query = q, .n_query = 2, .body = p, .n_body = n};
    struct io_http_reply r;
    enum rc rc = object_send(&c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = object_refused(o, &r, err);
    struct str tag = io_http_header(&r, "etag");
    if (!rc && !tag.n)
        rc = odd(o, "a part without an ETag", err);
    if (!rc)
        *etag = mem_strndup(tag.p, tag.n);
    io_http_reply_release(&r);
    return rc;
}

/* A success may still carry an error: the status is sent before the work is done. */
static bool is_completed(const struct io_http_reply *r)
{
    struct str inside;
    return r->status / 100 == 2 &&
           !xml_find(str_of(buf_str(&r->body), r->body.n), "Error", &inside, NULL);
}

enum rc object_parts_complete(struct object *o, const char *id, char *const *etags,
                              int n_parts, struct err *err)
{
    struct object_query q[] = {{"uploadId", id}};
    struct buf body;
    buf_init(&body, XML_MAX);
    buf_puts(&body, "<CompleteMultipartUpload>");
    for (int i = 0; i < n_parts; i++)
        buf_printf(&body, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>",
                   i + 1, etags[i]);
    buf_puts(&body, "</CompleteMultipartUpload>");
    struct io_http_reply r = {0};
    enum rc rc = buf_check(&body, err);
    struct object_call c = {.o = o,
                            .method = "POST",
                            .query = q,
                            .n_query = 1,
                            .body = buf_str(&body),
                            .n_body = body.n};
    if (!rc)
        rc = object_send(&c, &r, err);
    if (!rc && !is_completed(&r))
        rc = object_refused(o, &r, err);
    io_http_reply_release(&r);
    buf_release(&body);
    return rc;
}

enum rc object_parts_abort(struct object *o, const char *id, struct err *err)
{
    struct object_query q[] = {{"uploadId", id}};
    struct object_call c = {.o = o, .method = "DELETE", .query = q, .n_query = 1};
    struct io_http_reply r;
    enum rc rc = object_send(&c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = object_refused(o, &r, err);
    io_http_reply_release(&r);
    return rc;
}

static int64_t modified_of(struct str one)
{
    char *text = xml_text(one, "LastModified");
    int64_t ns = 0;
    bool told = text && clock_from_rfc3339(str_c(text), &ns);
    mem_free(text);
    return told ? ns / CLOCK_SECOND : 0;
}

static enum rc list_keys(struct object *o, struct str body, object_entry_fn *each,
                         void *arg, struct err *err)
{
    struct str one;
    enum rc rc = RC_OK;
    while (!rc && xml_find(body, "Contents", &one, &body)) {
        char *key = xml_text(one, "Key"), *size = xml_text(one, "Size");
        struct object_entry e = {.key = key, .modified = modified_of(one)};
        if (!key || !size || !str_to_u64(str_c(size), &e.size))
            rc = odd(o, "a listing without key or size", err);
        else
            rc = each(arg, &e, err);
        mem_free(key);
        mem_free(size);
    }
    return rc;
}

static enum rc list_folded(struct object *o, struct str body, object_entry_fn *each,
                           void *arg, struct err *err)
{
    struct str one;
    enum rc rc = RC_OK;
    while (!rc && xml_find(body, "CommonPrefixes", &one, &body)) {
        char *key = xml_text(one, "Prefix");
        struct object_entry e = {.key = key, .folded = true};
        rc = key ? each(arg, &e, err) : odd(o, "a listing without a prefix", err);
        mem_free(key);
    }
    return rc;
}

static enum rc list_page(struct object *o, const char *prefix, bool folded, char **token,
                         object_entry_fn *each, void *arg, struct err *err)
{
    struct object_query q[5];
    size_t n = 0;
    if (*token)
        q[n++] = (struct object_query){"continuation-token", *token};
    if (folded)
        q[n++] = (struct object_query){"delimiter", "/"};
    q[n++] = (struct object_query){"list-type", "2"};
    q[n++] = (struct object_query){"max-keys", "1000"};
    q[n++] = (struct object_query){"prefix", prefix};
    struct object_call c = {
        .o = o, .method = "GET", .on_bucket = true, .query = q, .n_query = n};
    struct io_http_reply r;
    enum rc rc = object_send(&c, &r, err);
    if (!rc && r.status != 200)
        rc = object_refused(o, &r, err);
    struct str body = str_of(buf_str(&r.body), r.body.n), inside;
    if (!rc && !xml_find(body, "ListBucketResult", &inside, NULL))
        rc = odd(o, "no listing", err);
    if (!rc)
        rc = list_keys(o, body, each, arg, err);
    if (!rc && folded)
        rc = list_folded(o, body, each, arg, err);
    mem_free(*token);
    *token = rc ? NULL : xml_text(body, "NextContinuationToken");
    io_http_reply_release(&r);
    return rc;
}

enum rc object_entries(struct object *o, const char *prefix, bool folded,
                       object_entry_fn *each, void *arg, struct err *err)
{
    char *token = NULL;
    enum rc rc = RC_OK;
    do
        rc = list_page(o, prefix, folded, &token, each, arg, err);
    while (!rc && token && token[0]);
    mem_free(token);
    return rc;
}

struct plain_listing {
    object_list_fn *each;
    void *arg;
};

static enum rc plain_entry(void *arg, const struct object_entry *e, struct err *err)
{
    const struct plain_listing *l = arg;
    return l->each(l->arg, e->key, e->size, err);
}

enum rc object_list(struct object *o, const char *prefix, object_list_fn *each, void *arg,
                    struct err *err)
{
    struct plain_listing l = {.each = each, .arg = arg};
    return object_entries(o, prefix, false, plain_entry, &l, err);
}

enum rc object_delete(struct object *o, struct err *err)
{
    struct object_call c = {.o = o, .method = "DELETE"};
    struct io_http_reply r;
    enum rc rc = object_send(&c, &r, err);
    if (!rc && r.status / 100 != 2 && r.status != 404)
        rc = object_refused(o, &r, err);
    io_http_reply_release(&r);
    return rc;
}
