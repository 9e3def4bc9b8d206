/* SPDX-License-Identifier: Apache-2.0 */
/* tdm init-tree, tdm cluster-tree: a tree over a table of items, as the tables that a
 * tdm_sampler and `tdm retrieval` read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "io/guard.h"
#include "recall/itree_files.h"

#define ROWS 8192 /* at a time */

struct tree_conf {
    struct data_input in;
    const char *input, *item, *cate, *embedding, *attrs, *raw_attrs, *attr_delimiter,
        *out, *serving_dir;
    int64_t branch, threads, iterations, seed;
    bool overwrite;
};

#define TREE_OPTS                                                                        \
    {OPT_TEXT(struct tree_conf, input, NULL, "item table, instead of IN"),               \
     .meta = "PATH", .alias = "item-input-path"},                                        \
        {OPT_TEXT(struct tree_conf, item, NULL, "column with the item id"),              \
         .meta = "COLUMN", .alias = "item-id-field"},                                    \
        {OPT_TEXT(struct tree_conf, attrs, NULL,                                         \
                  "attribute columns; inner nodes get the most frequent value"),         \
         .meta = "A,B", .alias = "attr-fields"},                                         \
        {OPT_TEXT(struct tree_conf, raw_attrs, NULL,                                     \
                  "numeric attribute columns; inner nodes get the mean"),                \
         .meta = "A,B", .alias = "raw-attr-fields"},                                     \
        {OPT_TEXT(struct tree_conf, attr_delimiter, ",",                                 \
                  "separator of attributes in node_table.txt"),                          \
         .meta = "TEXT"},                                                                \
        {OPT_TEXT(struct tree_conf, out, NULL, "output directory of the tables"),        \
         .meta = "DIR", .alias = "node-edge-output-file"},                               \
        {OPT_TEXT(struct tree_conf, serving_dir, NULL, "also write serving_tree there"), \
         .meta = "DIR", .alias = "tree-output-dir"},                                     \
        {OPT_INT(struct tree_conf, branch, "2", 2, ITREE_BRANCH_MAX,                     \
                 "children per node"),                                                   \
         .alias = "n-cluster"},                                                          \
    {                                                                                    \
        OPT_INT(struct tree_conf, threads, "0", 0, POOL_THREADS_MAX,                     \
                "number of threads; 0: one per CPU"),                                    \
            .alias = "parallel"                                                          \
    }

static const struct opt init_opts[] = {
    {OPT_TEXT(struct tree_conf, cate, NULL, "column with the item category"),
     .meta = "COLUMN", .alias = "cate-id-field"},
    TREE_OPTS,
    DATA_OVERWRITE_OPT(struct tree_conf),
    DATA_INPUT_OPTS(struct tree_conf),
    {0},
};

static const struct opt cluster_opts[] = {
    {OPT_TEXT(struct tree_conf, embedding, "item_emb", "column with the item vector"),
     .meta = "COLUMN", .alias = "embedding-field"},
    {OPT_INT(struct tree_conf, iterations, "25", 1, 10000,
             "maximum k-means iterations per node")},
    {OPT_INT(struct tree_conf, seed, "1", 0, INT64_MAX,
             "random seed of the initial centers")},
    TREE_OPTS,
    DATA_OVERWRITE_OPT(struct tree_conf),
    DATA_INPUT_OPTS(struct tree_conf),
    {0},
};

static enum rc check_usage(const struct tree_conf *c, const struct opt_args *args,
                           bool cluster, struct err *err)
{
    const char *missing = !args->n && !c->input  ? "IN (or --input PATH)"
                          : !c->item             ? "--item COLUMN"
                          : !cluster && !c->cate ? "--cate COLUMN"
                          : !c->out              ? "--out DIR"
                                                 : NULL;
    if (missing)
        return err_coded(err, RC_INVAL, E0605, "%s is missing", missing);
    if (!c->attr_delimiter || !c->attr_delimiter[0])
        return err_coded(err, RC_INVAL, E0603, "--attr-delimiter is empty");
    return RC_OK;
}

/* Both lists of attributes as one. */
struct names {
    const char **at, **more;
    char *text, *more_text;
    size_t n, n_raw;
};

static void names_release(struct names *n)
{
    mem_free(n->at);
    mem_free(n->more);
    mem_free(n->text);
    mem_free(n->more_text);
}

static enum rc names_take(const struct tree_conf *c, struct names *n, struct err *err)
{
    size_t plain = data_input_names(c->attrs, &n->at, &n->text);
    n->n_raw = data_input_names(c->raw_attrs, &n->more, &n->more_text);
    n->n = plain + n->n_raw;
    n->at = mem_realloc(n->at, n->n + 1, sizeof(*n->at));
    for (size_t i = 0; i < n->n_raw; i++)
        n->at[plain + i] = n->more[i];
    for (size_t i = 0; i < n->n; i++) {
        bool twice = strcmp(n->at[i], c->item) == 0;
        for (size_t k = 0; k < i; k++)
            twice |= strcmp(n->at[i], n->at[k]) == 0;
        if (twice)
            return err_coded(err, RC_INVAL, E2401,
                             "'%s' is named twice: the item's id is there already, and "
                             "a column is one attribute",
                             n->at[i]);
    }
    return RC_OK;
}

static int by_category(const void *a, const void *b, void *arg)
{
    const struct recall_items *x = arg;
    const struct column *cates = &x->rows.cols[x->text_at];
    const struct column *ids = recall_items_ids(x);
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    struct buf s, t;
    int64_t u, v;
    buf_init(&s, CMD_TEXT_MAX);
    buf_init(&t, CMD_TEXT_MAX);
    recall_value_print(cates, i, &s);
    recall_value_print(cates, k, &t);
    int order = strcmp(buf_str(&s), buf_str(&t));
    if (order == 0 && x->kind == ID_NUMBER) {
        id_key(ids, i, ID_NUMBER, &u);
        id_key(ids, k, ID_NUMBER, &v);
        order = u < v ? -1 : u > v;
    } else if (order == 0) {
        buf_clear(&s);
        buf_clear(&t);
        recall_value_print(ids, i, &s);
        recall_value_print(ids, k, &t);
        order = strcmp(buf_str(&s), buf_str(&t));
    }
    buf_release(&s);
    buf_release(&t);
    return order;
}

static enum rc build_by_category(const struct tree_conf *c, struct recall_items *items,
                                 struct itree *t, struct err *err)
{
    int64_t *order = mem_try_alloc((size_t)items->n, sizeof(*order));
    if (!order)
        return err_set(err, RC_NOMEM, "no memory for %jd items", (intmax_t)items->n);
    for (int64_t i = 0; i < items->n; i++)
        order[i] = i;
    qsort_r(order, (size_t)items->n, sizeof(*order), by_category, items);
    enum rc rc = itree_by_order(order, items->n, c->branch, t, err);
    mem_free(order);
    return rc;
}

/* What a config has to say of the tree. */
static void tdm_tree_report(const struct tree_conf *c, const struct itree *t)
{
    fprintf(stderr, "%s: a tree of %jd items on %jd levels, %jd nodes\n", c->out,
            (intmax_t)itree_leaves(t), (intmax_t)t->n_levels, (intmax_t)t->n);
    printf("layer_num_sample: [0");
    for (int64_t l = 1; l < t->n_levels; l++) {
        int64_t others = t->level_at[l + 1] - t->level_at[l] - 1;
        int64_t n = (int64_t)rint(pow(1.3, (double)l));
        printf(", %jd", (intmax_t)(n < others ? n : others));
    }
    printf("]\n");
}

static enum rc make_tree(const struct tree_conf *c, bool cluster,
                         struct recall_items *items, const struct names *names,
                         struct pool *pool, struct err *err)
{
    struct itree t = {0};
    struct itree_cluster how = {.branch = c->branch,
                                .iterations = c->iterations,
                                .seed = (uint64_t)c->seed,
                                .pool = pool};
    struct itree_files files = {.dir = c->out,
                                .serving = c->serving_dir,
                                .attr_delim = c->attr_delimiter,
                                .n_attrs = names->n,
                                .n_raw = names->n_raw,
                                .pool = pool};
    enum rc rc =
        cluster ? itree_by_vectors(items->vectors, items->n, items->width, &how, &t, err)
                : build_by_category(c, items, &t, err);
    if (!rc)
        rc = itree_write(&t, items, &files, err);
    if (!rc)
        tdm_tree_report(c, &t);
    itree_release(&t);
    return rc;
}

static enum rc check_outputs(const struct tree_conf *c, const char *const *paths,
                             size_t n, struct err *err)
{
    static const char *const names[] = {"node_table.txt", "edge_table.txt",
                                        "predict_edge_table.txt",
                                        "node_feature/part-0.parquet", NULL};
    static const char *const serving[] = {"serving_tree", NULL};
    struct fs_names files = {0};
    data_input_files(paths, n, &files);
    enum rc rc = io_guard_files(c->out, names, &files, c->overwrite, err);
    if (!rc && c->serving_dir)
        rc = io_guard_files(c->serving_dir, serving, &files, c->overwrite, err);
    fs_names_release(&files);
    return rc;
}

static enum rc run_tree(const struct tree_conf *c, const struct opt_args *args,
                        bool cluster, struct err *err)
{
    struct recall_items items = {0};
    struct names names = {0};
    struct dataset *d = NULL;
    struct pool *pool = NULL;
    enum rc rc = check_usage(c, args, cluster, err);
    if (rc)
        return rc;
    int64_t threads = c->threads > 0 ? c->threads : cpu_count();
    const char *const *paths = args->n ? args->at : &c->input;
    size_t n_paths = args->n ? args->n : 1;
    rc = check_outputs(c, paths, n_paths, err);
    if (!rc)
        rc = names_take(c, &names, err);
    if (!rc)
        rc = pool_create((int)threads, &pool, err);
    if (!rc)
        rc = data_input_open(&c->in, paths, n_paths, ROWS, NULL, 0, &d, err);
    struct recall_items_conf conf = {.what = "item table",
                                     .id = c->item,
                                     .text = cluster ? NULL : c->cate,
                                     .vector = cluster ? c->embedding : NULL,
                                     .attrs = names.at,
                                     .n_attrs = names.n,
                                     .unique = true};
    if (!rc)
        rc = recall_items_read(d, &conf, &items, err);
    if (!rc) {
        data_input_report(d);
        rc = make_tree(c, cluster, &items, &names, pool, err);
    }
    recall_items_release(&items);
    dataset_close(d);
    pool_destroy(pool);
    names_release(&names);
    return rc;
}

static enum rc tdm_init_tree_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    return run_tree(conf, args, false, err);
}

static enum rc tdm_cluster_tree_command(const void *conf, const struct opt_args *args,
                                        struct err *err)
{
    return run_tree(conf, args, true, err);
}

static const struct cmd_example init_examples[] = {
    {"an initial tree from categories",
     "trainyard tdm init-tree items --item id --cate cate --attrs brand --out tree"},
    {0},
};

const struct cmd cmd_tdm_init_tree = {
    .name = "tdm init-tree",
    .args = "[IN...]",
    .summary = "build an item tree from categories",
    .description =
        "Sorts the items by category and id, and splits that order recursively into "
        "halves (or --branch parts). Writes the files that data_config.tdm_sampler "
        "reads to DIR: node_table.txt, edge_table.txt, predict_edge_table.txt; and "
        "node_feature, the nodes as columns. Prints a layer_num_sample of the right "
        "depth to start from.",
    .examples = init_examples,
    .opts = init_opts,
    .conf_size = sizeof(struct tree_conf),
    .max_args = CMD_ANY,
    .run = tdm_init_tree_command,
};

static const struct cmd_example cluster_examples[] = {
    {"a tree from learned item vectors",
     "trainyard tdm cluster-tree item_emb --item id --attrs brand --out tree2"},
    {0},
};

const struct cmd cmd_tdm_cluster_tree = {
    .name = "tdm cluster-tree",
    .args = "[IN...]",
    .summary = "build an item tree from learned vectors",
    .description =
        "Splits the items level by level into parts of equal size by k-means on their "
        "vectors, and writes the same files as `tdm init-tree`. The same vectors and "
        "--seed give the same tree for any number of threads.",
    .examples = cluster_examples,
    .opts = cluster_opts,
    .conf_size = sizeof(struct tree_conf),
    .max_args = CMD_ANY,
    .run = tdm_cluster_tree_command,
};
