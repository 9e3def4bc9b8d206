/* SPDX-License-Identifier: Apache-2.0 */
/* pq_tool - what interop tests and benchmarks need of the Parquet code.
 *
 *     pq_tool head FILE [key=value]...     rows as JSON lines
 *     pq_tool scan FILE [key=value]...     decodes all, prints rows and seconds
 *     pq_tool schema FILE
 *     pq_tool copy FILE out=FILE [key=value]...
 * Keys: batch, from, rows, dict (0 to 2), columns (a,b,c), repeat; for copy also codec (a
 * name), no_dict, no_index, crc, page_bytes, page_rows, group_rows, dict_bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/parquet/parquet.h"
#include "data/parquet/writer.h"

struct args {
    int64_t batch, from, rows, dict, repeat;
    int64_t no_dict, no_index, crc, page_bytes, page_rows, group_rows, dict_bytes;
    char *out, *codec;
    const char *columns[1024];
    size_t n_columns;
};

static int fail(const struct err *err, enum rc rc)
{
    fprintf(stderr, "%s: %s\n", code_info(err_code_of(err, rc))->id, err->msg);
    return 1;
}

static char *cut(char *s, size_t n)
{
    s[n] = '\0';
    return s;
}

static bool parse(int argc, char **argv, struct args *a)
{
    static const char *const names[] = {
        "batch",    "from", "rows",       "dict",      "repeat",     "no_dict",
        "no_index", "crc",  "page_bytes", "page_rows", "group_rows", "dict_bytes"};
    int64_t *const to[] = {&a->batch,      &a->from,      &a->rows,       &a->dict,
                           &a->repeat,     &a->no_dict,   &a->no_index,   &a->crc,
                           &a->page_bytes, &a->page_rows, &a->group_rows, &a->dict_bytes};
    for (int i = 3; i < argc; i++) {
        struct str rest = str_c(argv[i]), key, part;
        str_split(&rest, '=', &key);
        bool known = str_is(key, "columns");
        if (str_is(key, "out") || str_is(key, "codec")) {
            *(str_is(key, "out") ? &a->out : &a->codec) = argv[i] + key.n + 1;
            continue;
        }
        while (known && str_split(&rest, ',', &part) && a->n_columns < 1024)
            a->columns[a->n_columns++] = cut(argv[i] + (part.p - argv[i]), part.n);
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            known |= str_is(key, names[k]) && str_to_i64(rest, to[k]);
        if (!known) {
            fprintf(stderr, "pq_tool: what is '%s'?\n", argv[i]);
            return false;
        }
    }
    return true;
}

static enum rc head(struct parquet *r, const struct args *a, struct err *err)
{
    struct batch b;
    struct buf line;
    int64_t left = a->rows < 0 ? INT64_MAX : a->rows;
    batch_init(&b, parquet_schema(r));
    buf_init(&line, (size_t)1 << 30);
    enum rc rc = parquet_seek(r, a->from, err);
    while (!rc && left > 0) {
        rc = parquet_next(r, a->batch < left ? a->batch : left, &b, err);
        if (rc || !b.n)
            break;
        for (int64_t i = 0; i < b.n; i++) {
            buf_clear(&line);
            batch_print_json(&b, i, &line);
            puts(buf_str(&line));
        }
        left -= b.n;
    }
    buf_release(&line);
    batch_release(&b);
    return rc;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum rc scan(struct parquet *r, const struct args *a, struct err *err)
{
    struct batch b;
    enum rc rc = RC_OK;
    double best = 1e99;
    int64_t rows = 0;
    batch_init(&b, parquet_schema(r));
    for (int64_t i = 0; !rc && i < a->repeat; i++) {
        double start = now();
        rows = 0;
        rc = parquet_seek(r, 0, err);
        do {
            if (!rc)
                rc = parquet_next(r, a->batch, &b, err);
            rows += b.n;
        } while (!rc && b.n);
        double t = now() - start;
        best = t < best ? t : best;
    }
    batch_release(&b);
    if (!rc)
        printf("{\"rows\": %jd, \"seconds\": %.6f}\n", (intmax_t)rows, best);
    return rc;
}

static enum rc copy(struct parquet *r, const struct args *a, struct err *err)
{
    struct parquet_writer_options o = {.no_dict = a->no_dict,
                                       .no_index = a->no_index,
                                       .crc = a->crc,
                                       .page_bytes = (size_t)a->page_bytes,
                                       .page_rows = a->page_rows,
                                       .group_rows = a->group_rows,
                                       .dict_bytes = (size_t)a->dict_bytes};
    struct parquet_writer *w;
    struct batch b;
    if (!a->out || (a->codec && !codec_find(a->codec, &o.codec)))
        return err_set(err, RC_INVAL, "copy needs out=FILE and a known codec");
    enum rc rc = parquet_writer_create(a->out, parquet_schema(r), &o, &w, err);
    if (rc)
        return rc;
    batch_init(&b, parquet_schema(r));
    do {
        rc = parquet_next(r, a->batch, &b, err);
        if (!rc)
            rc = parquet_write(w, &b, err);
    } while (!rc && b.n);
    batch_release(&b);
    if (!rc)
        return parquet_writer_finish(w, err);
    parquet_writer_abandon(w);
    return rc;
}

int main(int argc, char **argv)
{
    struct args a = {.batch = 8192, .rows = -1, .repeat = 1};
    struct err err = {0};
    struct parquet *r;
    if (argc < 3 || !parse(argc, argv, &a))
        return 2;
    struct parquet_options o = {.dict = (enum parquet_dict)a.dict,
                                .columns = a.n_columns ? a.columns : NULL,
                                .n_columns = a.n_columns};
    enum rc rc = parquet_open(argv[2], &o, &r, &err);
    if (rc)
        return fail(&err, rc);
    if (strcmp(argv[1], "head") == 0) {
        rc = head(r, &a, &err);
    } else if (strcmp(argv[1], "scan") == 0) {
        rc = scan(r, &a, &err);
    } else if (strcmp(argv[1], "copy") == 0) {
        rc = copy(r, &a, &err);
    } else {
        struct buf text;
        buf_init(&text, (size_t)1 << 20);
        data_schema_print(parquet_schema(r), &text);
        fputs(buf_str(&text), stdout);
        buf_release(&text);
    }
    parquet_close(r);
    return rc ? fail(&err, rc) : 0;
}
