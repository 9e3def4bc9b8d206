/* SPDX-License-Identifier: Apache-2.0 */
/* data head: the first rows, as a table or as JSON lines. The batch size divides the
 * number of rows asked for, so no more is read than shown. Cells of the table are kept as
 * texts in one list, names and types first, because the widest cell sets the width of its
 * column; widths count characters, not bytes of UTF-8.
 */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"

#define CELL_MAX 40 /* characters */

struct head_conf {
    struct data_input in;
    int64_t rows;
    bool json;
};

static const struct opt opts[] = {
    {OPT_INT(struct head_conf, rows, "10", 0, 1000000, "how many"), .letter = 'n'},
    {OPT_BOOL(struct head_conf, json, "false", "one JSON object per row")},
    DATA_INPUT_OPTS(struct head_conf),
    {0},
};

typedef VEC(char *) text_vec;

/* As JSON, but texts without their quotes, and cut when long. */
static char *cell_text(const struct column *c, int64_t row)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    column_print_json(c, row, &b);
    char *text = buf_take(&b);
    size_t n = strlen(text), k = 0, at = 0;
    if (n >= 2 && text[0] == '"') {
        memmove(text, text + 1, n - 2);
        n -= 2;
    }
    text[n] = '\0';
    while (at < n) {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && k++ == CELL_MAX)
            break;
        at++;
    }
    if (at == n)
        return text;
    char *cut = mem_printf("%.*s...", (int)at, text);
    mem_free(text);
    return cut;
}

static size_t width_of(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void add_rows(const struct batch *b, text_vec *cells)
{
    for (int64_t r = 0; r < b->n; r++)
        for (size_t c = 0; c < b->n_cols; c++)
            VEC_PUSH(cells, cell_text(&b->cols[c], r));
}

static void print_table(const struct data_schema *s, const text_vec *cells,
                        struct buf *out)
{
    size_t *widths = mem_calloc(s->n ? s->n : 1, sizeof(*widths));
    for (size_t i = 0; i < cells->n; i++) {
        size_t w = width_of(cells->at[i]);
        if (w > widths[i % s->n])
            widths[i % s->n] = w;
    }
    for (size_t i = 0; i < cells->n; i++) {
        size_t c = i % s->n, pad = widths[c] - width_of(cells->at[i]);
        bool right = i >= 2 * s->n && s->at[c].type.id <= TYPE_F64;
        for (size_t k = 0; right && k < pad; k++)
            buf_putc(out, ' ');
        buf_puts(out, cells->at[i]);
        for (size_t k = 0; !right && c + 1 < s->n && k < pad; k++)
            buf_putc(out, ' ');
        buf_puts(out, c + 1 < s->n ? "  " : "\n");
    }
    mem_free(widths);
}

static void add_heads(const struct data_schema *s, text_vec *cells)
{
    for (size_t i = 0; i < s->n; i++)
        VEC_PUSH(cells, mem_strdup(s->at[i].name));
    for (size_t i = 0; i < s->n; i++) {
        struct buf b;
        buf_init(&b, 4096);
        type_print(&s->at[i].type, &b);
        VEC_PUSH(cells, buf_take(&b));
    }
}

static enum rc data_head_show(const struct head_conf *c, struct dataset *d,
                              struct buf *out, struct err *err)
{
    const struct data_schema *s = dataset_schema(d);
    const struct batch *b = NULL;
    text_vec cells = {0};
    int64_t left = c->rows;
    enum rc rc = RC_OK;
    if (!c->json)
        add_heads(s, &cells);
    while (!rc && left > 0) {
        rc = dataset_next(d, &b, err);
        if (rc || !b)
            break;
        left -= b->n;
        if (!c->json)
            add_rows(b, &cells);
        for (int64_t i = 0; c->json && i < b->n; i++) {
            batch_print_json(b, i, out);
            buf_putc(out, '\n');
        }
    }
    if (!rc && !c->json)
        print_table(s, &cells, out);
    for (size_t i = 0; i < cells.n; i++)
        mem_free(cells.at[i]);
    VEC_RELEASE(&cells);
    return rc;
}

static enum rc data_head_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct head_conf *c = conf;
    struct dataset *d = NULL;
    struct buf out;
    /* Small batches that add up: no more is read than shown. */
    int64_t size = c->rows < 1 ? 1 : c->rows < 256 ? c->rows : 256;
    while (c->rows > 0 && c->rows % size)
        size--;
    enum rc rc = data_input_open(&c->in, args->at, args->n, size, NULL, 0, &d, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = data_head_show(c, d, &out, err);
    if (!rc)
        rc = cmd_print(&out, err);
    if (!rc)
        data_input_report(d);
    buf_release(&out);
    dataset_close(d);
    return rc;
}

static const struct cmd_example examples[] = {
    {"the first ten rows of a file", "trainyard data head part-0.parquet"},
    {"three rows with their lists, for a program",
     "trainyard data head --rows 3 --json train.csv"},
    {"some columns only", "trainyard data head --columns clk,user_id 'train/*.parquet'"},
    {0},
};

const struct cmd cmd_data_head = {
    .name = "data head",
    .args = "FILE...",
    .summary = "show the first rows of data files",
    .description =
        "Reads Parquet, CSV, TSV and JSON lines, compressed or not, and detects the "
        "format from the content. Prints a table of names, types and values, with long "
        "values truncated; --json prints each row as one complete JSON object per line.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct head_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = data_head_command,
};
