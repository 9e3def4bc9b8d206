/* SPDX-License-Identifier: Apache-2.0 */
/* sampler [ITEMS [ROWS [SAMPLES [BATCHES]]]] - how fast a negative sampler draws.
 *
 * Items have an id, a category, a brand and a price; half of all rows are of one percent
 * of the items. Prints processor time per batch and drawn rows per second of one thread,
 * the item columns of the batch included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/sampler/sampler.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int64_t arg(int argc, char **argv, int i, int64_t preset)
{
    int64_t v;
    return argc > i && str_to_i64(str_c(argv[i]), &v) && v > 0 ? v : preset;
}

static void stop_on(enum rc rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "sampler: %s\n", err->msg);
    exit(1);
}

/* The item table, and edges that leave each user three items. */
static void write_tables(const char *dir, int64_t items)
{
    struct err err = {0};
    struct buf b;
    char *path = fs_join(dir, "items.txt");
    buf_init(&b, (size_t)1 << 31);
    buf_puts(&b, "id:int64\tweight:float\tattrs:string\n");
    for (int64_t i = 0; i < items; i++)
        buf_printf(&b, "%jd\t%jd\t%jd:%jd:brand_%jd:%jd.5\n", (intmax_t)i,
                   (intmax_t)(i % 100 ? 1 : 100), (intmax_t)i, (intmax_t)(i % 997),
                   (intmax_t)(i % 9973), (intmax_t)(i % 500));
    stop_on(fs_write(path, b.p, b.n, 0644, &err), &err);
    mem_free(path);
    path = fs_join(dir, "edges.txt");
    buf_clear(&b);
    buf_puts(&b, "userid:int64\titemid:int64\tweight:float\n");
    for (int64_t i = 0; i < items; i++)
        buf_printf(&b, "%jd\t%jd\t1\n", (intmax_t)(i / 3), (intmax_t)i);
    stop_on(fs_write(path, b.p, b.n, 0644, &err), &err);
    mem_free(path);
    buf_release(&b);
}

static void fill(struct batch *b, int64_t items, int64_t rows)
{
    struct err err = {0};
    for (int64_t i = 0; i < rows; i++) {
        int64_t item = i * 7919 % items;
        stop_on(column_add_i64(&b->cols[0], item / 3, &err), &err);
        stop_on(column_add_i64(&b->cols[1], item, &err), &err);
        stop_on(column_add_i64(&b->cols[2], item % 997, &err), &err);
        stop_on(column_add_str(&b->cols[3], str_c("brand_77"), &err), &err);
        stop_on(column_add_f32(&b->cols[4], 1.5f, &err), &err);
    }
    stop_on(batch_finish(b, &err), &err);
}

int main(int argc, char **argv)
{
    static const char *const attrs[] = {"item", "cate", "brand", "price"};
    static const struct {
        const char *name;
        enum sampler_kind kind;
    } kinds[] = {{"negative_sampler", SAMPLER_NEGATIVE},
                 {"negative_sampler_v2", SAMPLER_NEGATIVE_V2},
                 {"hard_negative_sampler", SAMPLER_HARD_NEGATIVE},
                 {"hard_negative_sampler_v2", SAMPLER_HARD_NEGATIVE_V2}};
    int64_t items = arg(argc, argv, 1, 1000000), rows = arg(argc, argv, 2, 2048);
    int64_t samples = arg(argc, argv, 3, 4096), batches = arg(argc, argv, 4, 200);
    struct data_schema schema = {0};
    struct type i64 = type_of(TYPE_I64, true), str = type_of(TYPE_STR, true);
    struct type f32 = type_of(TYPE_F32, true);
    struct err err = {0};
    struct batch b;
    char *dir = NULL;
    data_schema_add(&schema, str_c("user"), &i64);
    data_schema_add(&schema, str_c("item"), &i64);
    data_schema_add(&schema, str_c("cate"), &i64);
    data_schema_add(&schema, str_c("brand"), &str);
    data_schema_add(&schema, str_c("price"), &f32);
    stop_on(fs_temp_dir("trainyard-bench", &dir, &err), &err);
    write_tables(dir, items);
    batch_init(&b, &schema);
    fill(&b, items, rows);
    char *item_path = fs_join(dir, "items.txt"), *edge_path = fs_join(dir, "edges.txt");
    printf("%jd items, batches of %jd rows, num_sample %jd\n", (intmax_t)items,
           (intmax_t)rows, (intmax_t)samples);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct sampler_conf conf = {.kind = kinds[k].kind,
                                    .items = item_path,
                                    .positive_edges = edge_path,
                                    .hard_edges = edge_path,
                                    .attr_delim = ":",
                                    .attr_fields = attrs,
                                    .n_attr_fields = ARRAY_LEN(attrs),
                                    .item_id_field = "item",
                                    .user_id_field = "user",
                                    .num_sample = samples,
                                    .num_hard_sample = 2,
                                    .seed = 1};
        struct sampler *s = NULL;
        struct sampled out = {0};
        double start = seconds();
        stop_on(sampler_open(&conf, &schema, &s, &err), &err);
        double opened = seconds() - start;
        struct sampler_scratch *x = sampler_scratch_create(s);
        stop_on(sampler_run(s, x, &b, 0, &out, &err), &err);
        start = seconds();
        for (int64_t i = 1; i <= batches; i++)
            stop_on(sampler_run(s, x, &b, (uint64_t)i, &out, &err), &err);
        double took = (seconds() - start) / (double)batches;
        printf("%-26s tables read in %.2f s; %.3f ms per batch, %.1f M drawn rows/s\n",
               kinds[k].name, opened, took * 1e3,
               (double)(out.items->n - rows) / took * 1e-6);
        sampler_scratch_destroy(x);
        sampler_close(s);
    }
    batch_release(&b);
    data_schema_release(&schema);
    stop_on(fs_remove_all(dir, &err), &err);
    mem_free(item_path);
    mem_free(edge_path);
    mem_free(dir);
    return 0;
}
