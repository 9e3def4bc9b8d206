/* SPDX-License-Identifier: Apache-2.0 */
/* A batch is made of whole calls of the reader, so that its ends are places the reader
 * can return to. The first call fills the batch itself; only when it was short (end of a
 * file, a large record) are further rows copied behind it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset_private.h"
#include "data/rows.h"

#define STREAM_SHUFFLE 0x64733032 /* use of the generator */

static enum rc open_span(struct ds_slot *s, struct err *err)
{
    const struct ds_span *sp = &s->spans.at[s->span];
    int64_t end = ds_end_offset(s->d, sp->file, sp->to);
    if (s->reader && (s->reader_file != sp->file || s->reader_end != end)) {
        reader_close(s->reader);
        s->reader = NULL;
    }
    enum rc rc = RC_OK;
    if (!s->reader) {
        rc = ds_open_file(s->d, sp->file, end, &s->reader, err);
        s->reader_file = sp->file;
        s->reader_end = end;
    }
    if (!rc)
        rc = ds_seek(s->d, sp->file, s->reader, &s->at, err);
    if (!rc)
        reader_tell(s->reader, &s->at);
    s->opened = !rc;
    return rc;
}

static void next_span(struct ds_slot *s)
{
    s->span++;
    s->opened = false;
    if (s->span < s->spans.n)
        s->at = s->spans.at[s->span].from;
}

/* Columns in the file's order, when that is not ours. */
static enum rc read_rows(struct ds_slot *s, int64_t max, struct batch *to,
                         struct err *err)
{
    const size_t *order = s->d->files[s->reader_file].order;
    if (!order)
        return reader_next(s->reader, max, to, err);
    struct batch view = {.schema = reader_schema(s->reader), .n_cols = to->n_cols};
    view.cols = s->view;
    for (size_t i = 0; i < to->n_cols; i++)
        view.cols[i] = to->cols[order[i]];
    enum rc rc = reader_next(s->reader, max, &view, err);
    for (size_t i = 0; i < to->n_cols; i++)
        to->cols[order[i]] = view.cols[i];
    to->n = view.n;
    return rc;
}

/* Row i behind `from` has no value in a label column. */
static enum rc no_label(const struct ds_slot *s, size_t column, int64_t i,
                        const struct reader_cursor *from, struct err *err)
{
    const struct ds_file *f = &s->d->files[s->reader_file];
    char line[40] = "";
    if (f->ops->delimited && from->line > 0)
        snprintf(line, sizeof(line), " (line %jd)",
                 (intmax_t)(from->line + from->back + i));
    return err_coded(err, RC_INVAL, E1208, "'%s': row %jd%s has no value in '%s'",
                     f->path, (intmax_t)(from->row + i + 1), line,
                     s->d->schema.at[column].name);
}

static enum rc check_labels(const struct ds_slot *s, const struct batch *b,
                            const struct reader_cursor *from, struct err *err)
{
    for (size_t k = 0; k < s->d->n_labels; k++) {
        const struct column *c = &b->cols[s->d->labels[k]];
        for (int64_t i = 0; c->valid && i < b->n; i++)
            if (column_is_null(c, i))
                return no_label(s, s->d->labels[k], i, from, err);
    }
    return RC_OK;
}

static enum rc too_short(const struct ds_slot *s, const struct ds_span *sp, int64_t row,
                         struct err *err)
{
    return err_coded(err, RC_INVAL, E1212,
                     "'%s' has %jd rows now, %jd when it was opened",
                     s->d->files[sp->file].path, (intmax_t)row, (intmax_t)sp->to);
}

static void keep_first_bad(struct ds_slot *s)
{
    const char *(*first_bad)(const void *) = s->reader->ops->first_bad;
    if (first_bad && !s->first_bad.msg[0])
        (void)err_set(&s->first_bad, RC_FORMAT, "%s", first_bad(s->reader->state));
}

/* Up to `max` rows of the current span or, when it is used up, the next ones. No rows:
 * the end of the slot.
 */
static enum rc read_piece(struct ds_slot *s, int64_t max, struct batch *to,
                          struct ds_piece *piece, struct err *err)
{
    struct reader_cursor after;
    batch_clear(to);
    while (s->span < s->spans.n) {
        const struct ds_span *sp = &s->spans.at[s->span];
        enum rc rc = s->opened ? RC_OK : open_span(s, err);
        if (rc)
            return rc;
        int64_t left = sp->to == TO_END ? max : sp->to - s->at.row;
        if (left > 0)
            rc = read_rows(s, left < max ? left : max, to, err);
        if (rc)
            return rc;
        reader_tell(s->reader, &after);
        if (after.row - s->at.row > to->n)
            keep_first_bad(s);
        if (to->n == 0) {
            if (sp->to != TO_END && after.row < sp->to)
                return too_short(s, sp, after.row, err);
            s->lost_malformed += after.row - s->at.row;
            next_span(s);
            continue;
        }
        *piece = (struct ds_piece){.span = s->span,
                                   .from = s->at,
                                   .to = after.row,
                                   .rows = to->n,
                                   .time_ms = reader_time(s->reader)};
        rc = check_labels(s, to, &s->at, err);
        s->at = after;
        if (sp->to != TO_END && after.row >= sp->to)
            next_span(s);
        return rc;
    }
    return RC_OK;
}

/* `rows` of a piece go into the batch. */
static void note_piece(const struct ds_slot *s, struct ds_batch *out, struct ds_piece *p,
                       int64_t rows)
{
    struct ds_span span = {
        .file = s->spans.at[p->span].file, .from = p->from, .to = p->to};
    if (rows < p->rows)
        span.to = p->from.row + rows;
    else
        out->malformed += p->to - p->from.row - rows;
    struct ds_span *last = out->spans.n ? &out->spans.at[out->spans.n - 1] : NULL;
    if (last && last->file == span.file && last->to == span.from.row)
        last->to = span.to;
    else
        VEC_PUSH(&out->spans, span);
    if (out->time_ms < p->time_ms)
        out->time_ms = p->time_ms;
    p->from.back += span.to - p->from.row;
    p->from.row = span.to;
    p->rows -= rows;
}

static bool column_is_own(const struct column *c)
{
    if (c->dict || (c->values && c->values != c->own_values.p) ||
        (c->offsets && c->offsets != c->own_offsets.p) ||
        (c->text && c->text != c->own_text.p) || (c->valid && c->valid != c->own_valid.p))
        return false;
    for (size_t i = 0; i < c->type->n_kids; i++)
        if (!column_is_own(&c->kids[i]))
            return false;
    return true;
}

/* Rows can be added behind those of `b`: what is encoded or borrowed is copied first. */
static enum rc make_own(struct ds_slot *s, struct batch *b, struct err *err)
{
    bool own = true;
    for (size_t i = 0; own && i < b->n_cols; i++)
        own = column_is_own(&b->cols[i]);
    if (own)
        return RC_OK;
    batch_clear(&s->acc);
    enum rc rc = batch_append(&s->acc, b, 0, b->n, err);
    if (rc)
        return rc;
    struct batch swap = s->acc;
    s->acc = *b;
    *b = swap;
    return RC_OK;
}

static enum rc dataset_slot_fill(struct ds_slot *s, int64_t want, struct ds_batch *out,
                                 struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && out->b.n < want) {
        struct ds_piece piece;
        if (out->b.n && s->d->short_batches)
            break;
        struct batch *to = out->b.n ? &s->tmp : &out->b;
        rc = read_piece(s, want - out->b.n, to, &piece, err);
        if (rc || to->n == 0)
            break;
        note_piece(s, out, &piece, piece.rows);
        if (to == &out->b)
            continue;
        rc = make_own(s, &out->b, err);
        if (!rc)
            rc = batch_append(&out->b, &s->tmp, 0, s->tmp.n, err);
    }
    return rc;
}

/* Reads until batch_size rows are at hand. A piece with malformed rows is read again row
 * by row, so that each row's place is known.
 */
static enum rc gather(struct ds_slot *s, struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && s->acc.n < s->d->batch_size) {
        struct ds_piece piece;
        bool one = s->span == s->single_span && s->at.row < s->single_to;
        rc = read_piece(s, one ? 1 : s->d->batch_size - s->acc.n, &s->tmp, &piece, err);
        if (rc || s->tmp.n == 0)
            break;
        if (piece.rows > 1 && piece.to - piece.from.row != piece.rows) {
            s->span = s->single_span = piece.span;
            s->single_to = piece.to;
            s->at = piece.from;
            rc = open_span(s, err);
            if (!rc)
                rc = reader_seek(s->reader, &piece.from, err);
            continue;
        }
        rc = batch_append(&s->acc, &s->tmp, 0, s->tmp.n, err);
        VEC_PUSH(&s->pieces, piece);
    }
    return rc;
}

static int64_t affordable(const struct ds_slot *s)
{
    const struct column *c = &s->acc.cols[s->d->cost_at];
    double sum = 0;
    int64_t n = 0;
    while (n < s->acc.n) {
        double cost = column_number(c, n);
        sum += cost > 0 ? cost : 0;
        if (n && sum > (double)s->d->batch_cost)
            break;
        n++;
    }
    return n;
}

static enum rc fill_by_cost(struct ds_slot *s, struct ds_batch *out, struct err *err)
{
    enum rc rc = gather(s, err);
    if (rc || s->acc.n == 0)
        return rc;
    int64_t n = affordable(s), left = n;
    size_t used = 0;
    rc = batch_append(&out->b, &s->acc, 0, n, err);
    while (left > 0) {
        struct ds_piece *p = &s->pieces.at[used];
        int64_t rows = left < p->rows ? left : p->rows;
        note_piece(s, out, p, rows);
        left -= rows;
        used += p->rows == 0;
    }
    s->pieces.n -= used;
    memmove(s->pieces.at, s->pieces.at + used, s->pieces.n * sizeof(*s->pieces.at));
    batch_clear(&s->tmp);
    if (!rc)
        rc = batch_append(&s->tmp, &s->acc, n, s->acc.n - n, err);
    struct batch swap = s->acc;
    s->acc = s->tmp;
    s->tmp = swap;
    return rc;
}

static void mark_copy(struct ds_held *to, const span_vec *spans)
{
    for (size_t i = 0; i < spans->n; i++)
        VEC_PUSH(&to->spans, spans->at[i]);
    VEC_PUSH(&to->ends, to->spans.n);
}

void ds_mark_now(const struct ds_slot *s, struct ds_mark *mark)
{
    mark->span = s->pieces.n ? s->pieces.at[0].span : s->span;
    mark->from = s->pieces.n ? s->pieces.at[0].from : s->at;
    mark->drawn = s->drawn;
    mark->held.spans.n = mark->held.ends.n = 0;
    for (size_t i = 0; i < s->n_held; i++)
        mark_copy(&mark->held, &s->held[i]->spans);
    for (size_t i = 0; i < s->replay.spans.n; i++)
        VEC_PUSH(&mark->held.spans, s->replay.spans.at[i]);
    for (size_t i = 0; i < s->replay.ends.n; i++)
        VEC_PUSH(&mark->held.ends, s->replay.ends.at[i]);
}

static void empty(struct ds_batch *b)
{
    batch_clear(&b->b);
    b->spans.n = 0;
    b->malformed = b->skipped = b->time_ms = 0;
}

static enum rc dataset_slot_make(struct ds_slot *s, struct ds_batch *out, struct err *err)
{
    empty(out);
    enum rc rc = s->d->batch_cost ? fill_by_cost(s, out, err)
                                  : dataset_slot_fill(s, s->d->batch_size, out, err);
    if (rc)
        return rc;
    if (s->d->drop_remainder && !s->d->batch_cost && out->b.n < s->d->batch_size) {
        s->lost_skipped += out->b.n;
        s->lost_malformed += out->malformed;
        empty(out);
    }
    s->drained = out->b.n == 0;
    return RC_OK;
}

/* The batches that were held back when the position was stored. */
static enum rc replay(struct ds_slot *s, struct ds_batch *(*take)(struct ds_slot *),
                      struct err *err)
{
    struct ds_slot t = {.d = s->d, .view = s->view, .tmp = s->tmp, .acc = s->acc};
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < s->replay.ends.n; i++) {
        size_t from = i ? s->replay.ends.at[i - 1] : 0;
        t.spans.n = 0;
        for (size_t k = from; k < s->replay.ends.at[i]; k++)
            VEC_PUSH(&t.spans, s->replay.spans.at[k]);
        t.span = 0;
        t.opened = false;
        t.at = t.spans.n ? t.spans.at[0].from : (struct reader_cursor){0};
        struct ds_batch *b = take(s);
        empty(b);
        s->held[s->n_held++] = b;
        rc = dataset_slot_fill(&t, INT32_MAX, b, err);
    }
    s->tmp = t.tmp;
    s->acc = t.acc;
    batch_clear(&s->acc);
    reader_close(t.reader);
    VEC_RELEASE(&t.spans);
    s->replay.spans.n = s->replay.ends.n = 0;
    return rc;
}

static size_t draw(struct ds_slot *s, size_t n)
{
    struct rng rng;
    rng_init(&rng, s->d->seed, STREAM_SHUFFLE,
             (uint64_t)s->d->epoch << 32 | (uint64_t)s->number, (uint64_t)s->drawn++);
    return (size_t)rng_below(&rng, n);
}

enum rc ds_slot_next(struct ds_slot *s, struct ds_batch *(*take)(struct ds_slot *),
                     struct ds_batch **out, struct err *err)
{
    size_t room = (size_t)s->d->shuffle;
    struct ds_batch *go = NULL;
    enum rc rc = s->replay.ends.n ? replay(s, take, err) : RC_OK;
    while (!rc && !s->drained && !go) {
        struct ds_batch *b = take(s);
        rc = dataset_slot_make(s, b, err);
        size_t at = s->n_held;
        if (rc || s->drained) {
            s->spare = b;
        } else if (at < room) {
            s->held[s->n_held++] = b;
        } else {
            at = room ? draw(s, room) : 0;
            go = room ? s->held[at] : b;
            if (room)
                s->held[at] = b;
        }
    }
    if (!rc && !go && s->n_held) {
        size_t at = draw(s, s->n_held);
        go = s->held[at];
        s->held[at] = s->held[--s->n_held];
    }
    if (go) {
        go->malformed += s->lost_malformed;
        go->skipped += s->lost_skipped;
        s->lost_malformed = s->lost_skipped = 0;
        ds_mark_now(s, &go->mark);
    }
    *out = go;
    return rc;
}
