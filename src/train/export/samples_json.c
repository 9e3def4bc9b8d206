/* SPDX-License-Identifier: Apache-2.0 */
/* The sample rows once more, as lines of JSON: what `serve` takes for items, and beside each what
 * the model makes of it. For people, and for programs that read no Parquet.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/writer.h"
#include "train/export/export_private.h"
#include "train/export/scorer.h"

#define OUTPUTS_MOST ((size_t)64 << 20)

static void put_number(float v, struct buf *b)
{
    char text[32] = "null"; /* JSON has no word for those that are not finite */
    if (isfinite(v))
        str_from_f32(v, text);
    buf_puts(b, text);
}

/* One number, or a list of them. */
static void put_numbers(const float *v, int64_t n, struct buf *b)
{
    buf_puts(b, n > 1 ? "[" : "");
    for (int64_t i = 0; i < n; i++) {
        buf_puts(b, i ? "," : "");
        put_number(v[i], b);
    }
    buf_puts(b, n > 1 ? "]" : "");
}

static void put_output(const struct train_scorer *s, const struct train_score_output *o,
                       int64_t row, struct buf *b)
{
    struct view v = train_scorer_view(s, o->name);
    int64_t from, to;
    train_scorer_span(s, o, row, &from, &to);
    buf_json_str(b, o->name, strlen(o->name));
    buf_puts(b, o->axis == AXIS_BATCH ? ":" : ":[");
    for (int64_t k = from; k < to; k++) {
        buf_puts(b, k > from ? "," : "");
        put_numbers(view_row(&v, k), o->width, b);
    }
    buf_puts(b, o->axis == AXIS_BATCH ? "" : "]");
}

static enum rc write_outputs(const struct train_scorer *s, int64_t rows, const char *dir,
                             struct err *err)
{
    size_t n;
    struct train_score_output *outputs = train_scorer_outputs(s->session, &n);
    char *path = fs_join(dir, EXPORT_OUTPUTS_JSON);
    struct buf b;
    buf_init(&b, OUTPUTS_MOST);
    for (int64_t r = 0; r < rows; r++) {
        buf_putc(&b, '{');
        for (size_t i = 0; i < n; i++) {
            buf_puts(&b, i ? "," : "");
            put_output(s, &outputs[i], r, &b);
        }
        buf_puts(&b, "}\n");
    }
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = fs_write(path, buf_str(&b), b.n, 0644, err);
    buf_release(&b);
    mem_free(path);
    mem_free(outputs);
    return rc;
}

enum rc train_export_put_samples_json(const struct train_scorer *s, const struct batch *b,
                                      const char *dir, struct err *err)
{
    struct writer *w = NULL;
    char *path = fs_join(dir, EXPORT_ROWS_JSON);
    enum rc rc =
        writer_open(path, &writer_jsonl, b->schema, &(struct writer_conf){0}, &w, err);
    mem_free(path);
    if (rc == RC_UNSUPPORTED)
        return RC_OK; /* a type that JSON lines do not have: samples.parquet has it */
    if (!rc) {
        rc = writer_add(w, b, err);
        if (rc)
            writer_abandon(w);
        else
            rc = writer_commit(w, err);
    }
    return rc ? rc : write_outputs(s, b->n, dir, err);
}
