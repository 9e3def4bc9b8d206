/* SPDX-License-Identifier: Apache-2.0 */
/* One pass of the scanner over the file, without building rows: the state of quotes
 * crosses blocks, and only line ends are looked at.
 */
#include <string.h>

#include "base/mem.h"
#include "data/csv/reader_private.h"

#define SPLIT_BLOCK ((size_t)1 << 20)

struct splitter {
    struct csv_scan scan;
    csv_scan_fn *fn;
    int64_t at;             /* offset of the block */
    struct csv_cursor here; /* start of the record that the last line end began */
    struct csv_cursor *out;
    size_t n, next; /* out[next] is looked for */
    int64_t from, size;
    unsigned char last; /* byte before `at` */
};

static int64_t target(const struct splitter *s, size_t i)
{
    int64_t bytes = s->size - s->from, n = (int64_t)s->n, k = (int64_t)i;
    return s->from + bytes / n * k + bytes % n * k / n;
}

/* A record starts at `here`: it is the boundary of every range that ends up to it. */
static void reach(struct splitter *s)
{
    while (s->next < s->n && s->here.offset >= target(s, s->next))
        s->out[s->next++] = s->here;
}

static bool is_blank(const struct splitter *s, const unsigned char *text, uint32_t end)
{
    int64_t n = s->at + end - 1 - s->here.offset;
    return n == 0 || (n == 1 && end >= 2 && text[end - 2] == '\r');
}

static void split_block(struct splitter *s, const unsigned char *text, size_t n,
                        uint32_t *ends)
{
    size_t from = 0;
    s->scan.n_fields = 0;
    s->fn(&s->scan, text, n, ends);
    for (size_t i = 0; i < s->scan.n_fields; i++) {
        if (text[ends[i] - 1] != '\n')
            continue;
        s->here.record += !is_blank(s, text, ends[i]);
        s->here.line++;
        if (s->scan.saw_quote)
            for (; from + 1 < ends[i]; from++)
                s->here.line += text[from] == '\n';
        from = ends[i];
        s->here.offset = s->at + ends[i];
        reach(s);
    }
    for (; s->scan.saw_quote && from < n; from++)
        s->here.line += text[from] == '\n';
    if (n)
        s->last = text[n - 1];
    s->at += (int64_t)n;
}

static enum rc split_stream(struct splitter *s, struct stream *in, struct err *err)
{
    unsigned char *text = mem_try_alloc(SPLIT_BLOCK + CSV_SCAN_PAD, 1);
    uint32_t *ends = mem_try_alloc(SPLIT_BLOCK + CSV_SCAN_PAD, sizeof(*ends));
    size_t got = SPLIT_BLOCK;
    enum rc rc = text && ends ? RC_OK
                              : err_set(err, RC_NOMEM, "'%s': no memory to split it",
                                        stream_name(in));
    reach(s);
    while (rc == RC_OK && got == SPLIT_BLOCK) {
        rc = stream_read(in, text, SPLIT_BLOCK, &got, err);
        if (rc == RC_OK)
            split_block(s, text, got, ends);
    }
    mem_free(text);
    mem_free(ends);
    return rc;
}

enum rc csv_split(const char *path, const struct csv_conf *conf, size_t n,
                  struct csv_cursor *out, struct err *err)
{
    struct csv_reader *r = NULL;
    struct csv_conf whole = *conf;
    static const char *const nothing[1];
    whole.end = 0;
    whole.want = nothing; /* no types are needed */
    whole.n_want = 0;
    enum rc rc = csv_open(path, &whole, &r, err);
    if (rc)
        return rc;
    struct splitter s = {
        .scan = csv_scan_start(r->block.delim, '"', r->block.quoting),
        .fn = r->block.scan,
        .at = r->start.offset,
        .here = r->start,
        .out = out,
        .n = n,
        .from = r->start.offset,
        .size = stream_raw_size(r->in),
    };
    if (stream_kind(r->in) != STREAM_PLAIN || s.size < 0) {
        rc = err_coded(err, RC_UNSUPPORTED, E1118,
                       "'%s': a compressed file cannot be split", path);
        goto out;
    }
    if (s.size < s.from)
        s.size = s.from;
    rc = stream_seek(r->in, s.from, err);
    if (rc == RC_OK)
        rc = split_stream(&s, r->in, err);
    if (rc)
        goto out;
    if (s.here.offset < s.at) { /* a last line without its end */
        s.here.record += s.at - s.here.offset > 1 || s.last != '\r';
        s.here.offset = s.at;
    }
    while (s.next <= n)
        out[s.next++] = s.here;
out:
    csv_close(r);
    return rc;
}
