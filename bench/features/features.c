/* SPDX-License-Identifier: Apache-2.0 */
/* features [ROWS [STEPS]]: rows per second and core of the feature generator, over
 * columns that lie in memory. The config has the shape of a DIN: 16 id and raw features,
 * and a grouped sequence of three. Each line is one form of the columns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "feature/feature.h"
#include "text/prototext.h"

#define N_ID 10
#define N_RAW 6
#define N_SEQ 3
#define BATCHES 8

enum shape { SHAPE_NUMBERS, SHAPE_TEXTS, SHAPE_DICT };

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "features: %s\n", what);
    exit(1);
}

static void print_config(struct buf *out)
{
    buf_puts(out, "data_config { fg_mode: FG_DAG label_fields: 'clk' }\n");
    for (int i = 0; i < N_ID; i++)
        buf_printf(
            out,
            "feature_configs { id_feature { feature_name: 'id%d' expression: 'user:id%d' "
            "embedding_dim: 16 hash_bucket_size: 100000 } }\n",
            i, i);
    for (int i = 0; i < N_RAW; i++)
        buf_printf(out,
                   "feature_configs { raw_feature { feature_name: 'raw%d' expression: "
                   "'user:raw%d' %s } }\n",
                   i, i,
                   i % 2 ? "boundaries: [0.1, 0.2, 0.4, 0.8] embedding_dim: 8" : "");
    buf_puts(
        out,
        "feature_configs { sequence_feature { sequence_name: 'click' sequence_length: "
        "100 sequence_delim: ';'\n");
    for (int i = 0; i < N_SEQ; i++)
        buf_printf(out,
                   "features { id_feature { feature_name: 's%d' expression: 'item:s%d' "
                   "embedding_dim: 16 hash_bucket_size: 100000 } }\n",
                   i, i);
    buf_puts(out, "} }\n");
}

static void make_schema(struct schema *s, enum shape shape)
{
    char name[32];
    struct type number = type_of(TYPE_I64, true), real = type_of(TYPE_F32, true);
    struct type text = type_of(TYPE_STR, true);
    struct type seq = type_list(&s->mem, number, true),
                texts = type_list(&s->mem, text, true);
    for (int i = 0; i < N_ID; i++) {
        snprintf(name, sizeof(name), "id%d", i);
        schema_add(s, str_c(name), shape == SHAPE_NUMBERS ? &number : &text);
    }
    for (int i = 0; i < N_RAW; i++) {
        snprintf(name, sizeof(name), "raw%d", i);
        schema_add(s, str_c(name), &real);
    }
    for (int i = 0; i < N_SEQ; i++) {
        snprintf(name, sizeof(name), "click__s%d", i);
        schema_add(s, str_c(name),
                   shape == SHAPE_NUMBERS ? &seq
                   : shape == SHAPE_TEXTS ? &text
                                          : &texts);
    }
    schema_add(s, str_c("clk"), &number);
}

/* Codes into 20000 texts. */
static void add_codes(struct column *c, struct dict *d, int64_t n)
{
    must(column_mem_reserve(&c->own_values, (size_t)(c->n + n) * 4, (size_t)c->n * 4,
                            NULL) == RC_OK,
         "no memory");
    for (int64_t i = 0; i < n; i++)
        ((uint32_t *)c->own_values.p)[c->n + i] =
            (uint32_t)(next() % (uint64_t)d->values.n);
    c->n += n;
    c->values = c->own_values.p;
    if (!c->dict)
        c->dict = dict_ref(d);
}

static void add_sequence(struct column *c, enum shape shape, struct dict *d,
                         int64_t steps)
{
    char text[8192];
    size_t n = 0;
    int64_t len = 1 + (int64_t)(next() % (uint64_t)(2 * steps));
    enum rc rc = RC_OK;
    if (shape == SHAPE_DICT)
        add_codes(&c->kids[0], d, len);
    for (int64_t k = 0; shape == SHAPE_NUMBERS && k < len; k++)
        rc |= column_add_i64(&c->kids[0], (int64_t)(next() % 10000000), NULL);
    for (int64_t k = 0; shape == SHAPE_TEXTS && k < len; k++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%ju", k ? ";" : "",
                              (uintmax_t)(next() % 10000000));
    rc |= shape == SHAPE_TEXTS ? column_add_str(c, str_of(text, n), NULL)
                               : column_add_nested(c, NULL);
    must(rc == RC_OK, "no memory");
}

static void fill(struct batch *b, enum shape shape, struct dict *d, int64_t rows,
                 int64_t steps)
{
    char text[32];
    for (int64_t r = 0; r < rows; r++) {
        struct column *c = b->cols;
        enum rc rc = RC_OK;
        for (int i = 0; i < N_ID; i++, c++) {
            int64_t v = (int64_t)(next() % 10000000);
            snprintf(text, sizeof(text), "u%jd", (intmax_t)v);
            if (shape == SHAPE_NUMBERS)
                rc |= column_add_i64(c, v, NULL);
            else if (shape == SHAPE_TEXTS)
                rc |= column_add_str(c, str_c(text), NULL);
            else
                add_codes(c, d, 1);
        }
        for (int i = 0; i < N_RAW; i++, c++)
            rc |= column_add_f32(c, (float)(next() % 1000) / 1000.0f, NULL);
        must(rc == RC_OK, "no memory");
        for (int i = 0; i < N_SEQ; i++, c++)
            add_sequence(c, shape, d, steps);
        must(column_add_i64(c, (int64_t)(next() & 1), NULL) == RC_OK, "no memory");
    }
    b->n = rows;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct dict *make_dict(void)
{
    struct type text = type_of(TYPE_STR, false);
    struct dict *d = dict_create(&text);
    char word[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(word, sizeof(word), "item_%d", i * 7919);
        must(column_add_str(&d->values, str_c(word), NULL) == RC_OK, "no memory");
    }
    return d;
}

static void measure(const struct feature_plan *p, enum shape shape, int64_t rows,
                    int64_t steps)
{
    static const char *const names[] = {"integers and lists of them", "texts",
                                        "texts in dictionaries"};
    struct schema schema = {0};
    struct batch b[BATCHES];
    struct err err = {0};
    struct dict *d = make_dict();
    struct feature_scratch *s = feature_scratch_create(p);
    struct feature_batch *out = feature_batch_create(p);
    double best = 1e9;
    make_schema(&schema, shape);
    for (int i = 0; i < BATCHES; i++) {
        batch_init(&b[i], &schema);
        fill(&b[i], shape, d, rows / BATCHES, steps);
    }
    for (int round = 0; round < 7; round++) {
        double start = now();
        for (int i = 0; i < BATCHES; i++)
            must(feature_run(p, s, &b[i], NULL, out, &err) == RC_OK, err.msg);
        double t = now() - start;
        best = t < best ? t : best;
    }
    printf("%-28s %8jd rows  %5.1f steps  %6.3f Mrow/s\n", names[shape],
           (intmax_t)(rows / BATCHES * BATCHES), (double)steps + 0.5,
           (double)(rows / BATCHES * BATCHES) / best * 1e-6);
    for (int i = 0; i < BATCHES; i++)
        batch_release(&b[i]);
    feature_batch_destroy(out);
    feature_scratch_destroy(s);
    dict_unref(d);
    schema_release(&schema);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 65536;
    int64_t steps = argc > 2 ? strtoll(argv[2], NULL, 10) : 10;
    struct buf text;
    struct doc doc = {0};
    struct arena arena = {0};
    struct diags diags = {0};
    struct err err = {0};
    struct feature_plan *p = NULL;
    must(rows >= BATCHES && steps > 0 && steps <= 500, "usage: features [ROWS [STEPS]]");
    buf_init(&text, 1 << 20);
    print_config(&text);
    must(source_from("config", buf_str(&text), text.n, &doc.src, &err) == RC_OK, err.msg);
    must(prototext_parse(&doc, &diags) == RC_OK, "config");
    must(schema_normalise(&pc_EasyRecConfig_def, doc.root, SCHEMA_PROTO, &arena,
                          &diags) == RC_OK,
         "config");
    must(feature_plan_create(schema_bind(&pc_EasyRecConfig_def, doc.root, &arena), NULL,
                             &p, &diags, &err) == RC_OK,
         err.msg);
    for (enum shape shape = SHAPE_NUMBERS; shape <= SHAPE_DICT; shape++)
        measure(p, shape, rows, steps);
    feature_plan_destroy(p);
    diags_release(&diags);
    doc_release(&doc);
    arena_release(&arena);
    buf_release(&text);
    return 0;
}
