/* SPDX-License-Identifier: Apache-2.0 */
/* A batch is filled block by block, and a block slice by slice (see field.c). Faults are
 * noted, not raised, while the columns are filled; only then is it decided whether the
 * first of them is the error to report or whether the slice is done again without the
 * refused rows. So the loops over fields have no error path.
 */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "data/csv/reader_private.h"

#define SLICE_BYTES 24576 /* text and table of a slice: most of a first-level cache */
#define BATCH_BYTES \
    ((int64_t)1 << 30) /* so that no text column overflows its offsets \
                        */

void csv_close(struct csv_reader *r)
{
    if (!r)
        return;
    csv_block_release(&r->block);
    stream_close(r->in);
    data_schema_release(&r->schema);
    for (size_t i = 0; r->names && i < r->n_cols; i++)
        mem_free(r->names[i]);
    mem_free(r->names);
    mem_free(r->plan);
    mem_free(r->exact);
    mem_free(r->before);
    mem_free(r->faults.at);
    mem_free(r);
}

const struct data_schema *csv_schema(const struct csv_reader *r)
{
    return &r->schema;
}

const char *csv_first_bad(const struct csv_reader *r)
{
    return r->first_bad.msg;
}

static enum rc too_many_bad(const struct csv_reader *r, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1117,
                     "more than %jd malformed records; the first: %s",
                     (intmax_t)r->max_bad, r->first_bad.msg);
}

/* Whether no bad record was met before text[at]. Within a block those of another width
 * are met first.
 */
static bool is_first_bad(struct csv_reader *r, size_t at)
{
    int64_t offset = r->block.offset + (int64_t)at;
    if (r->first_bad.msg[0] && offset >= r->first_bad_at)
        return false;
    r->first_bad_at = offset;
    return true;
}

/* Next block with at least one row, or none at the end (rows.n == 0). */
static enum rc csv_reader_load(struct csv_reader *r, struct err *err)
{
    struct csv_block *b = &r->block;
    struct csv_odd odd;
    do {
        if (r->loaded) {
            r->record += (int64_t)b->n_records;
            b->used = b->whole;
        }
        r->loaded = false;
        r->rows.n = r->next_row = 0;
        enum rc rc = csv_block_fill(b, err);
        if (rc || b->n_ends == 0)
            return rc;
        rc = csv_block_rows(b, r->n_cols, r->skip_bad, &r->rows, &odd, err);
        if (rc)
            return rc;
        r->loaded = true;
        r->odd = odd;
        if (odd.at != SIZE_MAX && r->skip_bad) {
            if (is_first_bad(r, odd.at))
                (void)csv_odd_error(r, &odd, &r->first_bad);
            r->n_bad += (int64_t)(b->n_records - r->rows.n);
            if (r->max_bad && r->n_bad > r->max_bad)
                return too_many_bad(r, err);
            r->odd.at = SIZE_MAX;
        }
    } while (r->rows.n == 0 && r->odd.at == SIZE_MAX);
    return RC_OK;
}

static enum rc csv_reader_reserve(struct csv_reader *r, size_t n, struct batch *b,
                                  struct err *err)
{
    const uint32_t *t = r->rows.table + r->next_row * r->rows.stride;
    size_t span = t[(n - 1) * r->rows.stride + r->n_cols] - t[0];
    for (size_t k = 0; k < b->n_cols; k++) {
        struct column *c = &b->cols[k];
        enum rc rc = column_reserve(c, (int64_t)n, err);
        if (rc == RC_OK && c->type->id == TYPE_STR)
            rc = column_reserve_text(c, span, err);
        if (rc)
            return err_wrap(err, rc, "'%s': column '%s'", stream_name(r->in),
                            r->schema.at[k].name);
    }
    return RC_OK;
}

static enum rc read_slice(struct csv_reader *r, const struct csv_rows *rows,
                          struct batch *b, struct err *err)
{
    if (r->faults.n) {
        memset(r->faults.at, 0, CSV_SLICE * sizeof(*r->faults.at));
        r->faults.n = 0;
    }
    for (size_t k = 0; k < b->n_cols; k++) {
        size_t col = r->plan[k];
        enum rc rc = csv_field_read(rows, col, col + 1 == r->n_cols, r->empty_is_null,
                                    &b->cols[k], &r->faults, err);
        if (rc)
            return rc;
        if (r->exact[k])
            csv_field_exact(rows, col, col + 1 == r->n_cols, b->cols[k].type->id,
                            &r->faults);
    }
    return RC_OK;
}

/* Takes back what a slice added. Bits of the bitmap behind the rows are zero again. */
static void truncate_columns(struct csv_reader *r, struct batch *b)
{
    for (size_t k = 0; k < b->n_cols; k++) {
        struct column *c = &b->cols[k];
        int64_t n = r->before[k].n;
        uint8_t *bits = c->own_valid.p;
        if (c->valid) {
            if (n % 8)
                bits[n / 8] = (uint8_t)(bits[n / 8] & ((1u << n % 8) - 1));
            size_t clean = (size_t)(n + 7) / 8;
            memset(bits + clean, 0, (size_t)(c->n + 7) / 8 - clean);
        }
        c->n = n;
        c->n_null = r->before[k].n_null;
    }
}

/* The slice once more, without the rows that have a fault. */
static enum rc reread_good(struct csv_reader *r, const struct csv_rows *rows,
                           struct batch *b, struct err *err)
{
    struct csv_rows good = *rows;
    size_t width = r->n_cols + 1;
    uint32_t *table = mem_try_alloc(rows->n * width, sizeof(*table));
    if (!table)
        return err_set(err, RC_NOMEM, "'%s': no memory for %zu records",
                       stream_name(r->in), rows->n);
    good.n = 0;
    good.table = table;
    good.stride = width;
    for (size_t i = 0; i < rows->n; i++)
        if (!r->faults.at[i].fault)
            memcpy(table + good.n++ * width, rows->table + i * rows->stride,
                   width * sizeof(*table));
    enum rc rc = good.n ? read_slice(r, &good, b, err) : RC_OK;
    mem_free(table);
    return rc;
}

static enum rc handle_faults(struct csv_reader *r, const struct csv_rows *rows,
                             struct batch *b, struct err *err)
{
    size_t i = 0;
    while (!r->faults.at[i].fault)
        i++;
    const uint32_t *row = rows->table + i * rows->stride;
    if (!r->skip_bad)
        return csv_fault_error(r, r->faults.at[i].fault, row, r->faults.at[i].col, err);
    if (is_first_bad(r, row[0]))
        (void)csv_fault_error(r, r->faults.at[i].fault, row, r->faults.at[i].col,
                              &r->first_bad);
    r->n_bad += (int64_t)r->faults.n;
    if (r->max_bad && r->n_bad > r->max_bad)
        return too_many_bad(r, err);
    truncate_columns(r, b);
    return reread_good(r, rows, b, err);
}

/* Rows per slice: whole words of the bitmap, as many as fit the cache. */
static size_t slice_rows(const struct csv_reader *r)
{
    size_t row = r->block.whole / r->rows.n + (r->n_cols + 1) * sizeof(uint32_t);
    size_t n = SLICE_BYTES / row / 64 * 64;
    return n < 64 ? 64 : n > CSV_SLICE ? CSV_SLICE : n;
}

static enum rc take_rows(struct csv_reader *r, size_t n, struct batch *b, struct err *err)
{
    size_t step = slice_rows(r), end = r->next_row + n;
    enum rc rc = csv_reader_reserve(r, n, b, err);
    while (rc == RC_OK && r->next_row < end) {
        struct csv_rows slice = r->rows;
        slice.table += r->next_row * slice.stride;
        slice.n = end - r->next_row < step ? end - r->next_row : step;
        for (size_t k = 0; k < b->n_cols; k++) {
            r->before[k].n = b->cols[k].n;
            r->before[k].n_null = b->cols[k].n_null;
        }
        rc = read_slice(r, &slice, b, err);
        size_t bad = r->faults.n;
        if (rc == RC_OK && bad)
            rc = handle_faults(r, &slice, b, err);
        r->next_row += slice.n;
        b->n += (int64_t)(slice.n - bad);
    }
    return rc;
}

enum rc csv_next(struct csv_reader *r, int64_t max, struct batch *b, struct err *err)
{
    enum rc rc = RC_OK;
    int64_t bytes = 0;
    batch_clear(b);
    while (rc == RC_OK && b->n < max) {
        if (r->next_row == r->rows.n) {
            if (r->odd.at != SIZE_MAX) {
                rc = csv_odd_error(r, &r->odd, err);
                break;
            }
            rc = csv_reader_load(r, err);
            if (rc || (r->rows.n == 0 && r->odd.at == SIZE_MAX))
                break;
            continue;
        }
        bytes += (int64_t)r->block.whole;
        if (b->n && bytes > BATCH_BYTES)
            break;
        int64_t left = (int64_t)(r->rows.n - r->next_row), want = max - b->n;
        rc = take_rows(r, (size_t)(left < want ? left : want), b, err);
    }
    if (rc)
        batch_clear(b);
    r->good += b->n;
    return rc;
}

/* Where the next row starts in the text of the block. */
static size_t next_start(const struct csv_reader *r)
{
    if (!r->loaded)
        return r->block.used;
    if (r->next_row < r->rows.n)
        return r->rows.table[r->next_row * r->rows.stride];
    return r->odd.at != SIZE_MAX ? r->odd.at : r->block.whole;
}

void csv_tell(const struct csv_reader *r, struct csv_cursor *at)
{
    const struct csv_block *b = &r->block;
    size_t start = next_start(r);
    bool plain = r->loaded && r->rows.table == b->ends && !b->saw_quote;
    int64_t column;
    *at = (struct csv_cursor){.offset = b->offset + (int64_t)start, .record = r->record};
    if (b->eof && at->offset > b->size_seen)
        at->offset = b->size_seen;
    if (plain && start) {
        at->record += (int64_t)r->next_row;
        at->line = b->line ? b->line + (int64_t)r->next_row : 0;
    } else {
        csv_block_place(b, start, &at->line, &column);
        struct csv_walk w = {0};
        while (r->loaded && csv_walk_next(b, &w) && w.start < start)
            at->record += !w.blank;
    }
    at->bad = at->record - r->good;
}

static enum rc bad_cursor(const struct csv_reader *r, const struct csv_cursor *at,
                          const char *why, struct err *err)
{
    return err_coded(err, RC_INVAL, E1112, "'%s': cannot continue at byte %jd: %s",
                     stream_name(r->in), (intmax_t)at->offset, why);
}

/* A record starts behind a line end, or where the file ends. */
static enum rc check_start(struct csv_reader *r, const struct csv_cursor *at,
                           struct err *err)
{
    char c[2];
    size_t got = 0;
    enum rc rc = stream_seek(r->in, at->offset - 1, err);
    if (rc == RC_OK)
        rc = stream_read(r->in, c, 2, &got, err);
    if (rc == RC_INVAL || (rc == RC_OK && got == 0))
        return bad_cursor(r, at, "the file is shorter", err);
    if (rc == RC_OK && c[0] != '\n' && got == 2)
        return bad_cursor(r, at, "no record starts there", err);
    return rc;
}

enum rc csv_seek(struct csv_reader *r, const struct csv_cursor *at, struct err *err)
{
    int64_t least = r->least < r->start.offset ? r->least : r->start.offset;
    enum rc rc = RC_OK;
    if (at->offset < least || at->record < 0 || at->bad < 0 || at->bad > at->record)
        return bad_cursor(r, at, "not a position of this reader", err);
    if (at->offset > least)
        rc = check_start(r, at, err);
    if (rc == RC_OK)
        rc = csv_block_seek(&r->block, at->offset, at->line, err);
    if (rc)
        return rc;
    r->record = at->record;
    r->good = at->record - at->bad;
    r->n_bad = at->bad;
    r->rows.n = r->next_row = 0;
    r->loaded = false;
    r->odd.at = SIZE_MAX;
    return RC_OK;
}
