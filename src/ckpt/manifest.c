/* SPDX-License-Identifier: Apache-2.0 */
/* The text ends in a line with a checksum of everything before that line, so that a
 * manifest vouches for itself as it does for the other files.
 */
#include "ckpt/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "ckpt/ckpt_private.h"

#define FORMAT "trainyard-checkpoint"
#define SEAL "  \"checksum\": \"" /* begins the last line but one */

static const struct {
    const char *prefix;
    enum ckpt_sum_kind kind;
} kinds[] = {{"crc32:", SUM_CRC32}, {"crc32c:", SUM_CRC32C}};

uint32_t ckpt_checksum_of(const struct ckpt_checksum *like, const void *p, size_t n)
{
    return like->kind == SUM_CRC32 ? hash_crc32(0, p, n) : hash_crc32c(0, p, n);
}

static bool parse_hex(const char *s, uint32_t *out)
{
    uint32_t v = 0;
    if (strlen(s) != 8)
        return false;
    for (; *s; s++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, *s);
        if (!at)
            return false;
        v = v << 4 | (uint32_t)(at - digits);
    }
    *out = v;
    return true;
}

static bool parse_sum(const struct node *v, struct ckpt_checksum *out)
{
    if (!v || v->kind != NODE_STR)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_starts(v->text.p, kinds[i].prefix)) {
            out->kind = kinds[i].kind;
            return parse_hex(v->text.p + strlen(kinds[i].prefix), &out->value);
        }
    return false;
}

static void print_sum(const struct ckpt_checksum *sum, struct buf *out)
{
    const char *prefix = sum->kind == SUM_CRC32 ? "crc32" : "crc32c";
    buf_printf(out, "\"%s:%08x\"", prefix, sum->value);
}

static enum rc bad(struct err *err, const char *what)
{
    return err_coded(err, RC_FORMAT, E1505, "%s", what);
}

static const char *text_of(const struct node *v)
{
    return v && v->kind == NODE_STR && !memchr(v->text.p, '\0', v->text.n) ? v->text.p
                                                                           : NULL;
}

static bool size_of(const struct node *v, int64_t *out)
{
    return v && node_i64(v, out) && *out >= 0;
}

/* A name that stays in its directory. */
static bool plain_name(const char *s)
{
    return s && *s && *s != '.' && !strchr(s, '/');
}

static enum rc parse_files(const struct node *list, struct ckpt_manifest *m,
                           struct err *err)
{
    if (!list || list->kind != NODE_LIST)
        return bad(err, "'files' is not a list");
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *v = list->list.at[i];
        struct ckpt_manifest_file f = {.name = text_of(node_find(v, "name"))};
        if (!plain_name(f.name) || !size_of(node_find(v, "bytes"), &f.bytes) ||
            !parse_sum(node_find(v, "checksum"), &f.sum))
            return err_coded(err, RC_FORMAT, E1505,
                             "files[%zu] needs a name, bytes and a checksum", i);
        VEC_PUSH(&m->files, f);
    }
    return RC_OK;
}

static enum rc parse_tensor(const struct node *v, struct ckpt_manifest *m,
                            struct arena *a, const struct str name, struct err *err)
{
    struct ckpt_manifest_tensor t = {0};
    const struct node *type = node_find(v, "dtype"), *sum = node_find(v, "checksum");
    int64_t file;
    if (memchr(name.p, '\0', name.n))
        return bad(err, "its name holds a NUL");
    if (!text_of(type) || !ckpt_st_type_find(type->text, &t.type))
        return bad(err, "its dtype is not known");
    if (!ckpt_parse_shape(node_find(v, "shape"), t.dims, &t.n_dims) ||
        !ckpt_shape_bytes(t.dims, t.n_dims, ckpt_st_type_size(t.type), &t.bytes))
        return bad(err, "its shape is not a list of sizes");
    if (!size_of(node_find(v, "file"), &file) || (uint64_t)file >= m->files.n)
        return bad(err, "its file is not the number of one");
    if (!size_of(node_find(v, "offset"), &t.offset) ||
        t.offset > m->files.at[file].bytes ||
        t.bytes > m->files.at[file].bytes - t.offset)
        return bad(err, "it does not lie within its file");
    if (sum && !parse_sum(sum, &t.sum))
        return bad(err, "its checksum is malformed");
    t.file = (size_t)file;
    t.name = arena_strndup(a, name.p, name.n);
    VEC_PUSH(&m->tensors, t);
    return RC_OK;
}

static enum rc parse_tensors(const struct node *map, struct ckpt_manifest *m,
                             struct err *err)
{
    if (!map || map->kind != NODE_MAP)
        return bad(err, "'tensors' is not an object");
    for (size_t i = 0; i < map->map.n; i++) {
        const struct node_entry *e = &map->map.at[i];
        enum rc rc = parse_tensor(e->value, m, &m->doc.arena, e->key, err);
        if (rc)
            return err_wrap(err, rc, "tensor '%.*s'",
                            (int)(e->key.n < 64 ? e->key.n : 64), e->key.p);
    }
    return RC_OK;
}

static enum rc parse_root(const struct node *root, struct ckpt_manifest *m,
                          struct err *err)
{
    int64_t version;
    if (!size_of(node_find(root, "version"), &version) || version < 1)
        return bad(err, "'version' is not a number");
    if (version > MANIFEST_VERSION)
        return err_coded(err, RC_UNSUPPORTED, E1508,
                         "version %jd of the format, this program knows up to %d",
                         (intmax_t)version, MANIFEST_VERSION);
    if (!size_of(node_find(root, "schema"), &m->schema) ||
        !size_of(node_find(root, "step"), &m->step) ||
        !size_of(node_find(root, "epoch"), &m->epoch))
        return bad(err, "'schema', 'step' and 'epoch' must be numbers of 0 or more");
    m->config = text_of(node_find(root, "config"));
    if (!m->config)
        return bad(err, "'config' is not a text");
    m->state = node_find(root, "state");
    if (!m->state || m->state->kind != NODE_MAP)
        return bad(err, "'state' is not an object");
    enum rc rc = parse_files(node_find(root, "files"), m, err);
    return rc ? rc : parse_tensors(node_find(root, "tensors"), m, err);
}

/* What the checksum covers: the text before its line, with nothing behind but the end of
 * the object. 0 when it is not so.
 */
static size_t sealed_bytes(const struct node *sum, const char *text, size_t n)
{
    size_t lead = strlen(SEAL) - 1, at = sum->at.off, end = at + sum->at.len;
    if (at < lead || memcmp(text + at - lead, SEAL, lead + 1) != 0)
        return 0;
    return str_is(str_of(text + end, n - end), "\n}\n") ? at - lead : 0;
}

static enum rc check_seal(const struct node *root, const char *text, size_t n,
                          struct err *err)
{
    const char *format = text_of(node_find(root, "format"));
    const struct node *v = node_find(root, "checksum");
    struct ckpt_checksum sum;
    if (!format || strcmp(format, FORMAT) != 0)
        return bad(err, "'format' is not \"" FORMAT "\"");
    size_t at = parse_sum(v, &sum) ? sealed_bytes(v, text, n) : 0;
    if (at == 0)
        return bad(err, "no checksum on its last line");
    uint32_t got = ckpt_checksum_of(&sum, text, at);
    if (got != sum.value)
        return err_coded(err, RC_FORMAT, E1505,
                         "its checksum is %08x, its last line says %08x: it was changed "
                         "after it was written",
                         got, sum.value);
    return RC_OK;
}

enum rc ckpt_manifest_parse(const char *what, const char *text, size_t n,
                            struct ckpt_manifest *out, struct err *err)
{
    enum rc rc = ckpt_parse_json(what, text, n, E1505, &out->doc, err);
    if (rc)
        return rc;
    if (out->doc.root->kind != NODE_MAP)
        rc = bad(err, "it is not an object");
    else
        rc = check_seal(out->doc.root, text, n, err);
    if (!rc)
        rc = parse_root(out->doc.root, out, err);
    return rc ? err_wrap(err, rc, "%s", what) : RC_OK;
}

static void print_files(const struct ckpt_manifest *m, struct buf *out)
{
    buf_puts(out, "  \"files\": [");
    for (size_t i = 0; i < m->files.n; i++) {
        const struct ckpt_manifest_file *f = &m->files.at[i];
        buf_printf(out, "%s\n    {\"name\": ", i ? "," : "");
        buf_json_str(out, f->name, strlen(f->name));
        buf_printf(out, ", \"bytes\": %jd, \"checksum\": ", (intmax_t)f->bytes);
        print_sum(&f->sum, out);
        buf_putc(out, '}');
    }
    buf_puts(out, m->files.n ? "\n  ],\n" : "],\n");
}

static void print_tensors(const struct ckpt_manifest *m, struct buf *out)
{
    buf_puts(out, "  \"tensors\": {");
    for (size_t i = 0; i < m->tensors.n; i++) {
        const struct ckpt_manifest_tensor *t = &m->tensors.at[i];
        buf_printf(out, "%s\n    ", i ? "," : "");
        buf_json_str(out, t->name, strlen(t->name));
        buf_printf(out, ": {\"dtype\": \"%s\", \"shape\": ", ckpt_st_type_name(t->type));
        ckpt_st_print_shape(NULL, t->dims, t->n_dims, out);
        buf_printf(out, ", \"file\": %zu, \"offset\": %jd, \"checksum\": ", t->file,
                   (intmax_t)t->offset);
        print_sum(&t->sum, out);
        buf_putc(out, '}');
    }
    buf_puts(out, m->tensors.n ? "\n  },\n" : "},\n");
}

void ckpt_manifest_print(const struct ckpt_manifest *m, struct buf *out)
{
    buf_printf(out, "{\n  \"format\": \"" FORMAT "\",\n  \"version\": %d,\n",
               MANIFEST_VERSION);
    buf_printf(out, "  \"schema\": %jd,\n  \"step\": %jd,\n  \"epoch\": %jd,\n",
               (intmax_t)m->schema, (intmax_t)m->step, (intmax_t)m->epoch);
    buf_puts(out, "  \"config\": ");
    buf_json_str(out, m->config, strlen(m->config));
    buf_puts(out, ",\n");
    print_files(m, out);
    print_tensors(m, out);
    buf_puts(out, "  \"state\": {");
    for (size_t i = 0; i < m->blobs.n; i++) {
        buf_printf(out, "%s\n    ", i ? "," : "");
        buf_json_str(out, m->blobs.at[i].name, strlen(m->blobs.at[i].name));
        buf_puts(out, ": ");
        buf_puts(out, m->blobs.at[i].json);
    }
    buf_puts(out, m->blobs.n ? "\n  },\n" : "},\n");
    uint32_t sum = hash_crc32c(0, out->p, out->n);
    buf_puts(out, SEAL);
    buf_printf(out, "crc32c:%08x\"\n}\n", sum);
}

void ckpt_manifest_release(struct ckpt_manifest *m)
{
    VEC_RELEASE(&m->files);
    VEC_RELEASE(&m->tensors);
    VEC_RELEASE(&m->blobs);
    doc_release(&m->doc);
    *m = (struct ckpt_manifest){0};
}
