/* SPDX-License-Identifier: Apache-2.0 */
/* With R rows and S slots, slots below R mod S get one row more than the others; they lie
 * one behind the other. What is cut is a list of spans: the whole table, or what a stored
 * position left of it.
 *
 * When malformed rows are left out, a row number alone is no place to start at (they
 * count, but reading does not stop there); cuts are then moved to places of the index.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset_private.h"

#define STREAM_FILES 0x64733031 /* use of the generator: order of a slot's files */

void ds_all_spans(const struct dataset *d, span_vec *out)
{
    for (size_t i = 0; i < d->n_files; i++) {
        int64_t rows = d->files[i].rows;
        struct ds_span s = {.file = i, .to = rows < 0 ? TO_END : rows, .from.offset = -1};
        if (rows != 0)
            VEC_PUSH(out, s);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct ds_span *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->from.row > y->from.row) - (x->from.row < y->from.row);
}

void ds_join_spans(span_vec *spans)
{
    size_t n = 0;
    if (spans->n)
        qsort(spans->at, spans->n, sizeof(*spans->at), by_place);
    for (size_t i = 0; i < spans->n; i++) {
        struct ds_span *s = &spans->at[i];
        if (n && spans->at[n - 1].file == s->file && spans->at[n - 1].to == s->from.row)
            spans->at[n - 1].to = s->to;
        else
            spans->at[n++] = *s;
    }
    spans->n = n;
}

static bool can_cut(const struct dataset *d, const span_vec *spans)
{
    if (d->by_file)
        return false;
    for (size_t i = 0; i < spans->n; i++)
        if (spans->at[i].to == TO_END)
            return false;
    return true;
}

enum rc ds_count_slots(struct dataset *d, struct err *err)
{
    int64_t files = (int64_t)d->n_files;
    d->n_slots = d->readers;
    if (d->streams) {
        d->n_slots = (files + d->world - 1) / d->world;
        d->threads = (int)d->n_slots;
        return RC_OK;
    }
    if (d->world == 1 && d->readers == 1)
        return RC_OK;
    if (!d->by_file && d->rows >= 0)
        return RC_OK;
    if (files < d->world)
        return err_coded(err, RC_INVAL, E1209, "%jd files cannot be dealt to %jd ranks%s",
                         (intmax_t)files, (intmax_t)d->world,
                         d->by_file ? "" : ": compressed text is not split");
    if (files / d->world < d->n_slots)
        d->n_slots = files / d->world;
    return RC_OK;
}

static bool needs_places(const struct dataset *d, size_t file)
{
    return d->reader.skip_bad && d->files[file].index.n;
}

int64_t ds_end_offset(const struct dataset *d, size_t file, int64_t row)
{
    const struct reader_index *index = &d->files[file].index;
    if (!needs_places(d, file))
        return 0;
    for (size_t i = 0; i + 1 < index->n; i++)
        if (index->at[i].row == row)
            return index->at[i].offset;
    return 0;
}

/* Where a cut at `row` of the span is really made. */
static struct reader_cursor cut_at(const struct dataset *d, const struct ds_span *s,
                                   int64_t row)
{
    const struct reader_index *index = &d->files[s->file].index;
    struct reader_cursor at = {.row = row, .offset = -1};
    if (row == s->from.row)
        return s->from;
    if (row >= s->to || !needs_places(d, s->file))
        return at;
    at = s->from;
    for (size_t i = 0; i < index->n && index->at[i].row <= row; i++)
        if (index->at[i].row > s->from.row)
            at = index->at[i];
    at.bad = 0;
    return at;
}

/* Rows [from, to) of the list go to the slot. */
static void give_rows(const struct dataset *d, const span_vec *spans, int64_t from,
                      int64_t to, struct ds_slot *slot)
{
    int64_t before = 0;
    for (size_t i = 0; i < spans->n && before < to; i++) {
        struct ds_span s = spans->at[i];
        int64_t n = s.to - s.from.row;
        int64_t a = from > before ? from - before : 0,
                b = to - before < n ? to - before : n;
        before += n;
        if (a >= b)
            continue;
        struct ds_span piece = {.file = s.file, .from = cut_at(d, &s, s.from.row + a)};
        piece.to = cut_at(d, &s, s.from.row + b).row;
        if (piece.from.row < piece.to)
            VEC_PUSH(&slot->spans, piece);
    }
}

/* A last row that alone would make one batch more than the other ranks have. */
static bool has_odd_row(const struct dataset *d, int64_t n, int64_t size, int64_t extra)
{
    return !d->every_row && !d->batch_cost && extra && n % d->batch_size == 1 &&
           size % d->batch_size == 0;
}

static void plan_rows(struct dataset *d, const span_vec *spans)
{
    int64_t rows = 0, all = d->world * d->n_slots;
    for (size_t i = 0; i < spans->n; i++)
        rows += spans->at[i].to - spans->at[i].from.row;
    int64_t size = rows / all, extra = rows % all;
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *slot = &d->slots[i];
        int64_t k = slot->number;
        int64_t from = k * size + (k < extra ? k : extra), n = size + (k < extra);
        if (has_odd_row(d, n, size, extra)) {
            n--;
            slot->lost_skipped++;
        }
        give_rows(d, spans, from, from + n, slot);
    }
}

static void plan_files(struct dataset *d, const span_vec *spans)
{
    size_t all = (size_t)(d->world * d->n_slots);
    for (int64_t i = 0; i < d->n_slots; i++)
        for (size_t k = (size_t)d->slots[i].number; k < spans->n; k += all)
            VEC_PUSH(&d->slots[i].spans, spans->at[k]);
}

/* Text files of a slot come in another order each pass. */
static void shuffle_spans(const struct dataset *d, struct ds_slot *slot)
{
    struct rng rng;
    rng_init(&rng, d->seed, STREAM_FILES, (uint64_t)d->epoch, (uint64_t)slot->number);
    for (size_t i = slot->spans.n; i > 1; i--) {
        size_t k = (size_t)rng_below(&rng, i);
        struct ds_span s = slot->spans.at[i - 1];
        slot->spans.at[i - 1] = slot->spans.at[k];
        slot->spans.at[k] = s;
    }
}

enum rc ds_plan(struct dataset *d, const span_vec *spans, bool fresh, struct err *err)
{
    if (can_cut(d, spans))
        plan_rows(d, spans);
    else
        plan_files(d, spans);
    for (int64_t i = 0; d->shuffle && fresh && i < d->n_slots; i++)
        if (d->slots[i].spans.n && d->files[d->slots[i].spans.at[0].file].ops->index)
            shuffle_spans(d, &d->slots[i]);
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[i];
        if (s->spans.n)
            s->at = s->spans.at[0].from;
        ds_mark_now(s, &s->mark);
    }
    return RC_OK;
}

/* With room for its marks, which is used only later: a warm dataset allocates nothing. */
struct ds_batch *ds_batch_create(const struct dataset *d)
{
    struct ds_batch *b = mem_calloc(1, sizeof(*b));
    size_t room = (size_t)d->shuffle + 8;
    batch_init(&b->b, &d->schema);
    b->spans.cap = 8;
    b->spans.at = mem_calloc(b->spans.cap, sizeof(*b->spans.at));
    b->mark.held.spans.cap = b->mark.held.ends.cap = room;
    b->mark.held.spans.at = mem_calloc(room, sizeof(*b->mark.held.spans.at));
    b->mark.held.ends.at = mem_calloc(room, sizeof(*b->mark.held.ends.at));
    return b;
}

static void batch_free(struct ds_batch *b)
{
    if (!b)
        return;
    batch_release(&b->b);
    VEC_RELEASE(&b->spans);
    VEC_RELEASE(&b->mark.held.spans);
    VEC_RELEASE(&b->mark.held.ends);
    mem_free(b);
}

void ds_make_slots(struct dataset *d)
{
    d->slots = mem_calloc((size_t)d->n_slots, sizeof(*d->slots));
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[i];
        s->d = d;
        s->number = d->rank * d->n_slots + i;
        s->held = mem_calloc((size_t)d->shuffle + 1, sizeof(*s->held));
        s->queue = mem_calloc((size_t)d->queue, sizeof(*s->queue));
        s->view = mem_calloc(d->schema.n ? d->schema.n : 1, sizeof(*s->view));
        batch_init(&s->tmp, &d->schema);
        batch_init(&s->acc, &d->schema);
    }
}

void ds_release_slots(struct dataset *d)
{
    for (int64_t i = 0; d->slots && i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[i];
        for (size_t k = 0; k < s->n_held; k++)
            batch_free(s->held[k]);
        for (size_t k = 0; k < s->q_n; k++)
            batch_free(s->queue[(s->q_at + k) % (size_t)d->queue]);
        for (size_t k = 0; k < s->idle.n; k++)
            batch_free(s->idle.at[k]);
        batch_free(s->spare);
        mem_free(s->view);
        mem_free(s->held);
        mem_free(s->queue);
        VEC_RELEASE(&s->idle);
        VEC_RELEASE(&s->spans);
        VEC_RELEASE(&s->replay.spans);
        VEC_RELEASE(&s->replay.ends);
        VEC_RELEASE(&s->mark.held.spans);
        VEC_RELEASE(&s->mark.held.ends);
        VEC_RELEASE(&s->pieces);
        batch_release(&s->tmp);
        batch_release(&s->acc);
        reader_close(s->reader);
    }
    batch_free(d->out);
    d->out = NULL;
    mem_free(d->slots);
    d->slots = NULL;
}
