/* SPDX-License-Identifier: Apache-2.0 */
/* A block is read behind what is left of the last one, so that it begins with a record,
 * and scanned from its start. When every record has the same number of fields, as nearly
 * always, the scan's output is the table of rows as it stands; blank lines, records of
 * another width and skipped ones make a copy necessary. A record that does not fit makes
 * the block double, up to max_record.
 */
#include <string.h>

#include "base/mem.h"
#include "data/csv/csv_private.h"

#define BLOCK_DEFAULT ((size_t)256 << 10)
#define RECORD_DEFAULT ((size_t)16 << 20)
#define RECORD_MAX ((size_t)1 << 30)

static enum rc csv_block_grow(struct csv_block *b, size_t cap, struct err *err)
{
    unsigned char *text = mem_try_realloc(b->text, cap + CSV_SCAN_PAD + 1, 1);
    if (text)
        b->text = text;
    uint32_t *ends =
        text ? mem_try_realloc(b->ends, cap + CSV_SCAN_PAD + 2, sizeof(*ends)) : NULL;
    if (!ends)
        return err_set(err, RC_NOMEM, "'%s': no memory for a block of %zu bytes",
                       stream_name(b->in), cap);
    memset(text + b->n, 0, cap + CSV_SCAN_PAD + 1 - b->n);
    b->ends = ends;
    b->cap = cap;
    return RC_OK;
}

enum rc csv_block_init(struct csv_block *b, const struct csv_conf *conf,
                       struct stream *in, struct err *err)
{
    *b = (struct csv_block){
        .in = in,
        .scan = csv_scan_best(),
        .delim = conf->delim ? conf->delim : ',',
        .quoting = !conf->no_quotes,
        .size = conf->block ? conf->block : BLOCK_DEFAULT,
        .max_record = conf->max_record ? conf->max_record : RECORD_DEFAULT,
        .end = conf->end > 0 ? conf->end : -1,
        .line = 1,
    };
    if (b->size > RECORD_MAX)
        b->size = RECORD_MAX;
    if (b->max_record > RECORD_MAX)
        b->max_record = RECORD_MAX;
    return csv_block_grow(b, b->size, err);
}

void csv_block_release(struct csv_block *b)
{
    mem_free(b->text);
    mem_free(b->ends);
    mem_free(b->table);
    *b = (struct csv_block){0};
}

static int64_t count_lines(const unsigned char *p, size_t n)
{
    int64_t lines = 0;
    for (const unsigned char *end = p + n; p < end; p++)
        lines += *p == '\n';
    return lines;
}

void csv_block_place(const struct csv_block *b, size_t at, int64_t *line, int64_t *column)
{
    size_t start = at;
    while (start > 0 && b->text[start - 1] != '\n')
        start--;
    *line = b->line ? b->line + count_lines(b->text, start) : 0;
    *column = (int64_t)(at - start) + 1;
}

static void drop_used(struct csv_block *b)
{
    if (!b->used)
        return;
    if (b->line && b->n_ends && b->used == b->ends[b->n_ends])
        b->line +=
            (int64_t)b->n_breaks - count_lines(b->text + b->used, b->scanned - b->used);
    else if (b->line)
        b->line += count_lines(b->text, b->used);
    memmove(b->text, b->text + b->used, b->n - b->used);
    b->offset += (int64_t)b->used;
    b->n -= b->used;
    b->used = 0;
}

static enum rc read_more(struct csv_block *b, struct err *err)
{
    size_t want = b->cap - b->n, got = 0;
    if (b->end >= 0) {
        int64_t left = b->end - b->offset - (int64_t)b->n;
        if (left < (int64_t)want)
            want = left > 0 ? (size_t)left : 0;
    }
    enum rc rc = stream_read(b->in, b->text + b->n, want, &got, err);
    if (rc)
        return rc;
    b->n += got;
    if (got == want && b->n == b->cap)
        return RC_OK;
    b->eof = true;
    b->size_seen = b->offset + (int64_t)b->n;
    if (b->n && b->text[b->n - 1] != '\n')
        b->text[b->n++] = '\n'; /* a last line without its end */
    return RC_OK;
}

/* Sets n_ends to the ends up to the last line end outside quotes. */
static bool scan_records(struct csv_block *b)
{
    struct csv_scan s = csv_scan_start(b->delim, '"', b->quoting);
    b->ends[0] = 0;
    b->scan(&s, b->text, b->n, b->ends + 1);
    b->saw_quote = s.saw_quote;
    b->saw_high = s.saw_high;
    b->n_lines = s.n_lines;
    b->n_breaks = s.n_breaks;
    b->scanned = b->n;
    size_t n = s.n_fields;
    while (n > 0 && b->text[b->ends[n] - 1] != '\n')
        n--;
    b->n_ends = n;
    b->whole = b->ends[n];
    return n > 0;
}

/* Where the quote opens that swallowed the rest of the text. */
static size_t open_quote(const struct csv_block *b)
{
    struct csv_scan s = csv_scan_start(b->delim, '"', b->quoting);
    uint32_t end[1 + CSV_SCAN_PAD];
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        bool before = s.in_quotes;
        csv_scan_ref(&s, b->text + i, 1, end);
        if (s.in_quotes && !before && b->text[i ? i - 1 : 0] != '"')
            at = i;
    }
    return at;
}

static enum rc no_record(const struct csv_block *b, struct err *err)
{
    int64_t line, column;
    if (b->eof) {
        csv_block_place(b, open_quote(b), &line, &column);
        return err_coded(err, RC_FORMAT, E1104,
                         "'%s': line %jd, column %jd: the quote that opens here is not "
                         "closed before the end",
                         stream_name(b->in), (intmax_t)line, (intmax_t)column);
    }
    csv_block_place(b, 0, &line, &column);
    return err_coded(err, RC_FORMAT, E1105,
                     "'%s': line %jd: the record that starts here is longer than %zu "
                     "bytes%s",
                     stream_name(b->in), (intmax_t)line, b->cap,
                     b->saw_quote ? "; a quote in it may not be closed" : "");
}

enum rc csv_block_fill(struct csv_block *b, struct err *err)
{
    drop_used(b);
    b->n_ends = b->n_lines = b->whole = 0;
    for (;;) {
        enum rc rc = b->eof ? RC_OK : read_more(b, err);
        if (rc)
            return rc;
        if (b->n == 0 || scan_records(b))
            return RC_OK;
        if (b->eof || b->cap >= b->max_record)
            return no_record(b, err);
        rc = csv_block_grow(b, b->cap * 2 < b->max_record ? b->cap * 2 : b->max_record,
                            err);
        if (rc)
            return rc;
    }
}

enum rc csv_block_seek(struct csv_block *b, int64_t offset, int64_t line, struct err *err)
{
    enum rc rc = stream_seek(b->in, offset, err);
    if (rc)
        return rc;
    b->n = b->used = b->n_ends = b->n_lines = b->whole = 0;
    b->offset = offset;
    b->line = line;
    b->eof = false;
    return RC_OK;
}

bool csv_walk_next(const struct csv_block *b, struct csv_walk *w)
{
    if (w->end >= b->n_ends)
        return false;
    w->from = w->end;
    w->start = b->ends[w->from];
    do
        w->end++;
    while (b->text[b->ends[w->end] - 1] != '\n');
    uint32_t n = b->ends[w->end] - w->start - 1;
    w->blank = w->end == w->from + 1 && (n == 0 || (n == 1 && b->text[w->start] == '\r'));
    return true;
}

static bool side_by_side(const struct csv_block *b, size_t n_cols, bool *crlf)
{
    size_t rows = b->n_lines;
    unsigned cr = 0;
    if (n_cols < 2 || b->n_ends % n_cols != 0 || b->n_ends / n_cols != rows)
        return false;
    for (size_t i = n_cols; i <= b->n_ends; i += n_cols) {
        uint32_t end = b->ends[i];
        if (b->text[end - 1] != '\n')
            return false;
        cr |= b->text[end - 2] == '\r';
    }
    *crlf = cr != 0;
    return true;
}

/* One row of the table: where its fields start, and one past the end of the last. */
static void put_row(const struct csv_block *b, const struct csv_walk *w, uint32_t *to)
{
    size_t n = w->end - w->from;
    memcpy(to, b->ends + w->from, (n + 1) * sizeof(*to));
    if (to[n] - to[n - 1] >= 2 && b->text[to[n] - 2] == '\r')
        to[n]--;
}

enum rc csv_block_rows(struct csv_block *b, size_t n_cols, bool skip,
                       struct csv_rows *out, struct csv_odd *odd, struct err *err)
{
    bool crlf = false;
    *odd = (struct csv_odd){.at = SIZE_MAX};
    *out = (struct csv_rows){
        .text = b->text, .quotes = b->saw_quote, .high = b->saw_high, .quote = '"'};
    if (side_by_side(b, n_cols, &crlf)) {
        out->table = b->ends;
        out->stride = n_cols;
        out->n = b->n_lines;
        out->crlf = crlf;
        b->n_records = out->n;
        return RC_OK;
    }
    size_t good = 0;
    b->n_records = 0;
    for (struct csv_walk w = {0}; csv_walk_next(b, &w);) {
        good += w.end - w.from == n_cols && !w.blank;
        b->n_records += !w.blank;
    }
    if (good * (n_cols + 1) > b->table_cap) {
        uint32_t *table = mem_try_realloc(b->table, good * (n_cols + 1), sizeof(*table));
        if (!table)
            return err_set(err, RC_NOMEM, "'%s': no memory for %zu records",
                           stream_name(b->in), good);
        b->table = table;
        b->table_cap = good * (n_cols + 1);
    }
    out->table = b->table;
    out->stride = n_cols + 1;
    for (struct csv_walk w = {0}; csv_walk_next(b, &w);) {
        size_t n = w.end - w.from;
        if (w.blank)
            continue;
        if (n == n_cols) {
            put_row(b, &w, b->table + out->n++ * out->stride);
            continue;
        }
        if (odd->at == SIZE_MAX)
            *odd = (struct csv_odd){.at = w.start, .n_fields = n};
        if (!skip)
            break;
    }
    return RC_OK;
}
