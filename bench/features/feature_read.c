/* SPDX-License-Identifier: Apache-2.0 */
/* feature_read CONFIG FILE features|all REPEATS [TYPES] - rows per second of one core
 * from a data file to finished features.
 *
 * "features": up to 64 batches of 8192 rows are read first, as training would get them
 * (texts of Parquet stay encoded); only the generator is timed. "all": reading and the
 * generator. TYPES, for a CSV file without a header: a letter per column, l int64 or s
 * text; the columns are called c0, c1, ... Prints rows, the least processor time of one
 * pass, ids per row, and allocations during the last pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "data/reader.h"
#include "feature/feature.h"
#include "text/prototext.h"

#define BATCH 8192
#define HELD 64
#define COLUMNS_MAX 256

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "feature_read: %s\n", what);
    exit(1);
}

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct work {
    const struct feature_plan *plan;
    struct feature_scratch *scratch;
    struct feature_batch *out;
    struct reader *reader;
    struct batch held[HELD];
    int n_held;
    bool all;
    int64_t rows, ids;
    struct err err;
};

static void count(struct work *w)
{
    w->rows += w->out->rows;
    for (size_t i = 0; i < w->out->n; i++)
        w->ids += w->out->at[i].n_ids;
}

static void run_batch(struct work *w, const struct batch *b)
{
    must(feature_run(w->plan, w->scratch, b, NULL, w->out, &w->err) == RC_OK, w->err.msg);
    count(w);
}

static void pass(struct work *w)
{
    struct reader_cursor start = {.row = 0, .offset = 0, .line = 1};
    w->rows = w->ids = 0;
    for (int i = 0; !w->all && i < w->n_held; i++)
        run_batch(w, &w->held[i]);
    if (!w->all)
        return;
    must(reader_seek(w->reader, &start, &w->err) == RC_OK, w->err.msg);
    for (;;) {
        must(reader_next(w->reader, BATCH, &w->held[0], &w->err) == RC_OK, w->err.msg);
        if (!w->held[0].n)
            return;
        run_batch(w, &w->held[0]);
    }
}

static void hold(struct work *w)
{
    const struct data_schema *s = reader_schema(w->reader);
    for (w->n_held = 0; w->n_held < (w->all ? 1 : HELD); w->n_held++) {
        struct batch *b = &w->held[w->n_held];
        batch_init(b, s);
        if (w->all)
            continue;
        must(reader_next(w->reader, BATCH, b, &w->err) == RC_OK, w->err.msg);
        if (!b->n) {
            batch_release(b);
            return;
        }
    }
}

static void open_reader(struct work *w, const char *path, const char *types)
{
    static struct reader_field fields[COLUMNS_MAX];
    static char names[COLUMNS_MAX][16];
    static const char *want[COLUMNS_MAX];
    struct reader_conf conf = {.want = want};
    const struct feature_column *columns = feature_plan_columns(w->plan, &conf.n_want);
    must(conf.n_want <= COLUMNS_MAX, "too many columns");
    for (size_t i = 0; i < conf.n_want; i++)
        want[i] = columns[i].name;
    for (size_t i = 0; types && types[i] && i < COLUMNS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "c%zu", i);
        fields[i].name = names[i];
        fields[i].type = type_of(types[i] == 'l' ? TYPE_I64 : TYPE_STR, true);
        conf.n_fields = i + 1;
        conf.fields = fields;
        conf.no_header = true;
        conf.delim = '\t';
    }
    must(reader_open(path, NULL, &conf, &w->reader, &w->err) == RC_OK, w->err.msg);
}

static void measure(struct work *w, int64_t repeats)
{
    double best = 1e9;
    int64_t allocations = 0;
    for (int64_t i = 0; i < repeats; i++) {
        int64_t before = mem_total();
        double start = cpu();
        pass(w);
        double t = cpu() - start;
        best = t < best ? t : best;
        allocations = mem_total() - before;
    }
    printf("{\"rows\": %jd, \"seconds\": %.6f, \"ids_per_row\": %.2f, \"allocations\": "
           "%jd}\n",
           (intmax_t)w->rows, best, (double)w->ids / (double)w->rows,
           (intmax_t)allocations);
}

int main(int argc, char **argv)
{
    struct work w = {0};
    struct doc doc = {0};
    struct arena arena = {0};
    struct diags diags = {0};
    struct feature_plan *plan = NULL;
    int64_t repeats;
    must(argc >= 5 && str_to_i64(str_c(argv[4]), &repeats),
         "usage: feature_read CONFIG FILE features|all REPEATS [TYPES]");
    must(source_open(argv[1], &doc.src, &w.err) == RC_OK, w.err.msg);
    must(prototext_parse(&doc, &diags) == RC_OK &&
             schema_normalise(&pc_EasyRecConfig_def, doc.root, SCHEMA_PROTO, &arena,
                              &diags) == RC_OK,
         "the config is not understood");
    must(feature_plan_create(schema_bind(&pc_EasyRecConfig_def, doc.root, &arena), NULL,
                             &plan, &diags, &w.err) == RC_OK,
         w.err.msg);
    w.plan = plan;
    w.all = strcmp(argv[3], "all") == 0;
    w.scratch = feature_scratch_create(plan);
    w.out = feature_batch_create(plan);
    open_reader(&w, argv[2], argc > 5 ? argv[5] : NULL);
    hold(&w);
    measure(&w, repeats);
    for (int i = 0; i < w.n_held; i++)
        batch_release(&w.held[i]);
    reader_close(w.reader);
    feature_batch_destroy(w.out);
    feature_scratch_destroy(w.scratch);
    feature_plan_destroy(plan);
    diags_release(&diags);
    doc_release(&doc);
    arena_release(&arena);
    return 0;
}
