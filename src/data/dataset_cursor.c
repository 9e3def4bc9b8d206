/* SPDX-License-Identifier: Apache-2.0 */
/* The text:
 *   {"version": 1, "epoch": 0, "world": 2, "readers": 2, .., "files": [{"path", "rows", "print"}],
 *    "ranks": [{"rank": 0, "turn": 1, "slots": [{"drawn": 3, "held": [[SPAN..]..],
 *               "left": [SPAN..]}..]}]}
 * SPAN is [file, first row, byte offset or -1, line, rows that offset and line lie before
 * it, end row or -1 for the file's end].
 * "left" is what the slot has not read, "held" what it read and held back: together, over
 * all ranks, the rows of this pass that were not handed out.
 */
#include <string.h>

#include "base/mem.h"
#include "data/dataset_private.h"
#include "text/json.h"

#define VERSION 1

static void put_span(struct buf *out, const struct ds_span *s)
{
    buf_printf(out, "[%zu, %jd, %jd, %jd, %jd, %jd]", s->file, (intmax_t)s->from.row,
               (intmax_t)s->from.offset, (intmax_t)s->from.line, (intmax_t)s->from.back,
               s->to == TO_END ? (intmax_t)-1 : (intmax_t)s->to);
}

static void put_held(struct buf *out, const struct ds_held *h)
{
    size_t k = 0;
    buf_puts(out, "\"held\": [");
    for (size_t i = 0; i < h->ends.n; i++) {
        buf_puts(out, i ? ", [" : "[");
        for (bool first = true; k < h->ends.at[i]; k++, first = false) {
            buf_puts(out, first ? "" : ", ");
            put_span(out, &h->spans.at[k]);
        }
        buf_putc(out, ']');
    }
    buf_putc(out, ']');
}

static void put_slot(struct buf *out, const struct ds_slot *s)
{
    const struct ds_mark *m = &s->mark;
    buf_printf(out, "{\"drawn\": %jd, ", (intmax_t)m->drawn);
    put_held(out, &m->held);
    buf_puts(out, ", \"left\": [");
    for (size_t i = m->span; i < s->spans.n; i++) {
        struct ds_span span = s->spans.at[i];
        if (i == m->span)
            span.from = m->from;
        buf_puts(out, i > m->span ? ", " : "");
        put_span(out, &span);
    }
    buf_puts(out, "]}");
}

void dataset_tell(struct dataset *d, struct buf *out)
{
    buf_printf(out,
               "{\"version\": %d, \"epoch\": %jd, \"world\": %jd, \"readers\": %jd, ",
               VERSION, (intmax_t)d->epoch, (intmax_t)d->world, (intmax_t)d->n_slots);
    buf_printf(out, "\"batch_size\": %jd, \"batch_cost\": %jd, \"shuffle\": %jd, ",
               (intmax_t)d->batch_size, (intmax_t)d->batch_cost, (intmax_t)d->shuffle);
    buf_printf(out, "\"seed\": %ju, \"files\": [", (uintmax_t)d->seed);
    for (size_t i = 0; i < d->n_files; i++) {
        buf_puts(out, i ? ", {\"path\": " : "{\"path\": ");
        buf_json_str(out, d->files[i].path, strlen(d->files[i].path));
        buf_printf(out, ", \"rows\": %jd", (intmax_t)d->files[i].rows);
        if (d->files[i].print[0])
            buf_printf(out, ", \"print\": \"%s\"", d->files[i].print);
        buf_putc(out, '}');
    }
    buf_printf(out, "],\n \"ranks\": [{\"rank\": %jd, \"turn\": %jd, \"slots\": [",
               (intmax_t)d->rank, (intmax_t)d->turn);
    for (int64_t i = 0; i < d->n_slots; i++) {
        buf_puts(out, i ? ",\n  " : "\n  ");
        put_slot(out, &d->slots[i]);
    }
    buf_puts(out, "]}]}\n");
}

static enum rc dataset_cursor_malformed(struct err *err, const char *what)
{
    return err_coded(err, RC_FORMAT, E1211, "data position: %s", what);
}

static bool number(const struct node *map, const char *key, int64_t *out)
{
    const struct node *n = node_find(map, key);
    return n && node_i64(n, out);
}

static enum rc dataset_cursor_parse(const char *text, struct doc *doc, struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_from("data position", text, strlen(text), &doc->src, err);
    if (rc)
        return err_wrap(err, rc, "data position");
    rc = json_parse(doc, &diags);
    if (rc)
        rc = err_coded(err, RC_FORMAT, E1211, "data position: %s",
                       diags.list.n ? diags.list.at[0].msg : "not JSON");
    diags_release(&diags);
    int64_t version = 0;
    if (!rc && (!number(doc->root, "version", &version) || version < 1))
        rc = dataset_cursor_malformed(err, "it has no version");
    if (!rc && version > VERSION)
        rc = err_coded(err, RC_UNSUPPORTED, E1211,
                       "data position: version %jd is newer than this program",
                       (intmax_t)version);
    return rc;
}

static bool is_list(const struct node *n)
{
    return n && n->kind == NODE_LIST;
}

/* Checked against the files as they are now. */
static bool read_span(const struct dataset *d, const struct node *n, struct ds_span *out)
{
    enum { FILE_, ROW, OFFSET, LINE, BACK, TO, COUNT };
    int64_t v[COUNT];
    if (!is_list(n) || n->list.n != COUNT)
        return false;
    for (size_t i = 0; i < COUNT; i++)
        if (!n->list.at[i] || !node_i64(n->list.at[i], &v[i]))
            return false;
    if (v[FILE_] < 0 || (uint64_t)v[FILE_] >= d->n_files || v[ROW] < 0 ||
        v[OFFSET] < -1 || v[LINE] < 0 || v[BACK] < 0 || v[BACK] > v[ROW] || v[TO] < -1)
        return false;
    int64_t rows = d->files[v[FILE_]].rows, end = rows >= 0 ? rows : TO_END;
    *out = (struct ds_span){
        .file = (size_t)v[FILE_],
        .from = {.row = v[ROW], .offset = v[OFFSET], .line = v[LINE], .back = v[BACK]},
        .to = v[TO] >= 0 ? v[TO] : end,
    };
    return out->from.row <= out->to && out->to <= end;
}

static enum rc read_spans(const struct dataset *d, const struct node *list, span_vec *out,
                          struct err *err)
{
    if (!is_list(list))
        return dataset_cursor_malformed(err, "a list of rows is missing");
    for (size_t i = 0; i < list->list.n; i++) {
        struct ds_span s;
        if (!read_span(d, list->list.at[i], &s))
            return dataset_cursor_malformed(err, "a range of rows is impossible");
        if (s.from.row < s.to)
            VEC_PUSH(out, s);
    }
    return RC_OK;
}

static enum rc read_held(const struct dataset *d, const struct node *list,
                         struct ds_held *out, struct err *err)
{
    if (!is_list(list))
        return dataset_cursor_malformed(err, "the list of held batches is missing");
    for (size_t i = 0; i < list->list.n; i++) {
        enum rc rc = read_spans(d, list->list.at[i], &out->spans, err);
        if (rc)
            return rc;
        VEC_PUSH(&out->ends, out->spans.n);
    }
    return RC_OK;
}

static enum rc check_files(const struct dataset *d, const struct node *root,
                           struct err *err)
{
    const struct node *files = node_find(root, "files");
    if (!is_list(files))
        return dataset_cursor_malformed(err, "it names no files");
    for (size_t i = 0; i < files->list.n && i < d->n_files; i++) {
        const struct node *path = node_find(files->list.at[i], "path");
        int64_t rows = -1;
        if (!path || path->kind != NODE_STR || !number(files->list.at[i], "rows", &rows))
            return dataset_cursor_malformed(err, "a file has no name or number of rows");
        if (!str_is(path->text, d->files[i].path) &&
            !ds_same_file(files->list.at[i], d->files[i].path, d->files[i].print))
            return err_coded(err, RC_INVAL, E1212,
                             "data position: file %zu was '%s' and is now '%s'", i + 1,
                             path->text.p, d->files[i].path);
        if (rows >= 0 && d->files[i].rows >= 0 && rows != d->files[i].rows)
            return err_coded(
                err, RC_INVAL, E1212, "data position: '%s' had %jd rows and has now %jd",
                d->files[i].path, (intmax_t)rows, (intmax_t)d->files[i].rows);
    }
    if (files->list.n != d->n_files)
        return err_coded(err, RC_INVAL, E1212,
                         "data position: there were %zu files and are now %zu",
                         files->list.n, d->n_files);
    return RC_OK;
}

/* The settings that decide which batches come, and in which order. */
static bool same_settings(const struct dataset *d, const struct node *root)
{
    const struct {
        const char *name;
        int64_t now;
    } all[] = {
        {"world", d->world},           {"readers", d->n_slots},
        {"batch_size", d->batch_size}, {"batch_cost", d->batch_cost},
        {"shuffle", d->shuffle},
    };
    uint64_t seed = 0;
    const struct node *n = node_find(root, "seed");
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int64_t then = -1;
        if (!number(root, all[i].name, &then) || then != all[i].now)
            return false;
    }
    return n && node_u64(n, &seed) && seed == d->seed;
}

static const struct node *find_rank(const struct node *root, int64_t rank)
{
    const struct node *ranks = node_find(root, "ranks");
    for (size_t i = 0; i < ranks->list.n; i++) {
        int64_t r = -1;
        if (number(ranks->list.at[i], "rank", &r) && r == rank)
            return ranks->list.at[i];
    }
    return NULL;
}

/* The same slots as before go on where they were. */
static enum rc restore_slots(struct dataset *d, const struct node *rank, struct err *err)
{
    const struct node *slots = node_find(rank, "slots");
    if (!is_list(slots) || slots->list.n != (size_t)d->n_slots ||
        !number(rank, "turn", &d->turn) || d->turn < 0 || d->turn >= d->n_slots)
        return dataset_cursor_malformed(err, "the slots of a rank are missing");
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[i];
        const struct node *n = slots->list.at[i];
        if (!number(n, "drawn", &s->drawn) || s->drawn < 0)
            return dataset_cursor_malformed(err, "a slot has no count");
        enum rc rc = read_held(d, node_find(n, "held"), &s->replay, err);
        if (!rc)
            rc = read_spans(d, node_find(n, "left"), &s->spans, err);
        if (rc)
            return rc;
        if (s->replay.ends.n > (size_t)d->shuffle)
            return dataset_cursor_malformed(
                err, "more batches are held back than the shuffle has room for");
        s->at = s->spans.n ? s->spans.at[0].from : (struct reader_cursor){0};
        ds_mark_now(s, &s->mark);
    }
    return RC_OK;
}

static enum rc check_overlap(const struct dataset *d, const span_vec *spans,
                             struct err *err)
{
    for (size_t i = 1; i < spans->n; i++)
        if (spans->at[i].file == spans->at[i - 1].file &&
            spans->at[i].from.row < spans->at[i - 1].to)
            return dataset_cursor_malformed(err, "some rows occur twice");
    return RC_OK;
}

/* What is left of all slots of all ranks, cut anew. */
static enum rc restore_rows(struct dataset *d, const struct node *root, struct err *err)
{
    const struct node *ranks = node_find(root, "ranks");
    struct ds_held held = {0};
    span_vec left = {0};
    enum rc rc = RC_OK;
    for (size_t r = 0; !rc && r < ranks->list.n; r++) {
        const struct node *slots = node_find(ranks->list.at[r], "slots");
        if (!is_list(slots))
            rc = dataset_cursor_malformed(err, "the slots of a rank are missing");
        for (size_t i = 0; !rc && i < slots->list.n; i++) {
            rc = read_held(d, node_find(slots->list.at[i], "held"), &held, err);
            if (!rc)
                rc = read_spans(d, node_find(slots->list.at[i], "left"), &left, err);
        }
    }
    for (size_t i = 0; i < held.spans.n; i++)
        VEC_PUSH(&left, held.spans.at[i]);
    ds_join_spans(&left);
    if (!rc)
        rc = check_overlap(d, &left, err);
    if (!rc)
        rc = ds_plan(d, &left, false, err);
    VEC_RELEASE(&left);
    VEC_RELEASE(&held.spans);
    VEC_RELEASE(&held.ends);
    return rc;
}

static enum rc restore(struct dataset *d, const struct node *root, struct err *err)
{
    const struct node *ranks = node_find(root, "ranks");
    int64_t world = 0;
    if (!number(root, "epoch", &d->epoch) || d->epoch < 0 ||
        !number(root, "world", &world) || world < 1 || !is_list(ranks))
        return dataset_cursor_malformed(err, "a part is missing");
    if (ranks->list.n != (size_t)world)
        return err_coded(err, RC_INVAL, E1211,
                         "data position: it holds %zu of %jd ranks; merge them first",
                         ranks->list.n, (intmax_t)world);
    enum rc rc = check_files(d, root, err);
    if (!rc)
        rc = ds_count_slots(d, err);
    if (rc)
        return rc;
    ds_make_slots(d);
    if (!same_settings(d, root))
        return restore_rows(d, root, err);
    const struct node *rank = find_rank(root, d->rank);
    return rank ? restore_slots(d, rank, err)
                : dataset_cursor_malformed(err, "this rank is missing");
}

enum rc ds_restore(struct dataset *d, const char *text, struct err *err)
{
    struct doc doc = {0};
    enum rc rc = dataset_cursor_parse(text, &doc, err);
    if (!rc)
        rc = restore(d, doc.root, err);
    doc_release(&doc);
    return rc;
}

/* All but "ranks" must be the same in all texts. */
static bool same_head(const struct node *a, const struct node *b)
{
    static const char *const keys[] = {"version", "epoch",      "world",
                                       "readers", "batch_size", "batch_cost",
                                       "shuffle", "seed",       "files"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct node *x = node_find(a, keys[i]), *y = node_find(b, keys[i]);
        if (!x || !y || !node_equal(x, y))
            return false;
    }
    return true;
}

enum rc dataset_merge(const char *const *texts, size_t n, struct buf *out,
                      struct err *err)
{
    struct doc first = {0};
    enum rc rc = n ? dataset_cursor_parse(texts[0], &first, err)
                   : dataset_cursor_malformed(err, "there is none");
    struct node *ranks = rc ? NULL : node_find(first.root, "ranks");
    if (!rc && !is_list(ranks))
        rc = dataset_cursor_malformed(err, "a part is missing");
    for (size_t i = 1; !rc && i < n; i++) {
        struct doc other = {0};
        rc = dataset_cursor_parse(texts[i], &other, err);
        const struct node *more = rc ? NULL : node_find(other.root, "ranks");
        if (!rc && (!is_list(more) || !same_head(first.root, other.root)))
            rc = err_coded(err, RC_INVAL, E1211,
                           "data position: those of ranks do not belong together");
        for (size_t k = 0; !rc && k < more->list.n; k++)
            node_push(&first.arena, ranks, node_clone(&first.arena, more->list.at[k]));
        doc_release(&other);
    }
    if (!rc) {
        json_print(first.root, 0, out);
        buf_putc(out, '\n');
        rc = buf_check(out, err);
    }
    doc_release(&first);
    return rc;
}
