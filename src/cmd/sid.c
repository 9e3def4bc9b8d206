/* SPDX-License-Identifier: Apache-2.0 */
/* sid: semantic ids of items, by residual k-means of vectors, by a model, or as a column has
 * them; written as a column, with figures of how well they tell items apart.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/predict.h"
#include "cmd/train_config.h"
#include "data/rows.h"
#include "data/writer.h"
#include "io/guard.h"
#include "recall/items.h"
#include "recall/kmeans.h"
#include "recall/sid.h"
#include "train/export/export.h"
#include "train/export/predict.h"

#define ROWS 8192 /* at a time */
#define PICTURE_MAX ((size_t)16 << 20)
#define CODES "codes"

struct sid_conf {
    struct data_input in;
    const char *item, *embedding, *codes, *model, *codebook, *out, *picture;
    int64_t iterations, seed, threads;
    bool normalise, unique, json, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct sid_conf, item, NULL, "column with the item id"), .meta = "COLUMN"},
    {OPT_TEXT(struct sid_conf, embedding, NULL,
              "column with the item vector: codes are k-means centers, layer by layer"),
     .meta = "COLUMN"},
    {OPT_TEXT(struct sid_conf, model, NULL,
              "export of sid_rqvae or sid_rqkmeans that gives the codes"),
     .meta = "DIR", .filled = true},
    {OPT_TEXT(struct sid_conf, codes, NULL, "column that holds the codes already"),
     .meta = "COLUMN"},
    {OPT_TEXT(struct sid_conf, codebook, NULL,
              "codes of each layer, for example 256,256,256"),
     .meta = "N,N"},
    {OPT_BOOL(struct sid_conf, normalise, "false",
              "with --embedding: scale what is left to length 1 before each layer"),
     .flag = "normalize-residuals"},
    {OPT_INT(struct sid_conf, iterations, "25", 1, 10000,
             "maximum k-means iterations per layer")},
    {OPT_INT(struct sid_conf, seed, "1234", 0, INT64_MAX,
             "random seed of the initial centers")},
    {OPT_BOOL(struct sid_conf, unique, "false",
              "add a last code that tells items of the same tuple apart")},
    {OPT_TEXT(struct sid_conf, out, NULL,
              "table with the item id and a column codes: .parquet, .jsonl or .csv"),
     .meta = "FILE"},
    {OPT_TEXT(struct sid_conf, picture, NULL, "SVG picture of how often codes are used"),
     .meta = "FILE"},
    {OPT_INT(struct sid_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_BOOL(struct sid_conf, json, "false", "print one JSON object")},
    DATA_OVERWRITE_OPT(struct sid_conf),
    DATA_INPUT_OPTS(struct sid_conf),
    {0},
};

/* What is read and made. */
struct run {
    const struct sid_conf *c;
    const char *const *paths;
    size_t n_paths;
    struct pool *pool;
    struct recall_items items;
    struct recall_sid sid;
    int64_t sizes[RECALL_SID_LAYERS_MAX], layers;
};

static enum rc check_usage(const struct sid_conf *c, const struct opt_args *args,
                           struct err *err)
{
    int sources = (c->embedding != NULL) + (c->model != NULL) + (c->codes != NULL);
    if (!c->item)
        return err_coded(err, RC_INVAL, E0605, "--item COLUMN is missing");
    if (sources != 1)
        return err_coded(err, RC_INVAL, sources ? E0604 : E0605,
                         "one of --embedding COLUMN, --model DIR and --codes COLUMN %s",
                         sources ? "is enough" : "is missing");
    if (c->embedding && !c->codebook)
        return err_coded(err, RC_INVAL, E0605, "--codebook N,N is missing");
    if (c->normalise && !c->embedding)
        return err_coded(err, RC_INVAL, E0609,
                         "--normalize-residuals has no effect without --embedding");
    if (c->model && args->n != 1)
        return err_coded(err, RC_INVAL, E0609, "--model reads one IN, not %zu", args->n);
    if (c->out && !writer_of_path(c->out))
        return err_coded(err, RC_INVAL, E0603,
                         "--out: '%s' does not end in .parquet, .jsonl or .csv", c->out);
    return RC_OK;
}

static enum rc read_codebook(struct run *r, struct err *err)
{
    struct str rest = str_c(r->c->codebook ? r->c->codebook : ""), part;
    while (rest.n && str_split(&rest, ',', &part)) {
        if (r->layers == RECALL_SID_LAYERS_MAX ||
            !str_to_i64(part, &r->sizes[r->layers]) || r->sizes[r->layers] < 1 ||
            r->sizes[r->layers] > KMEANS_CENTRES_MAX)
            return err_coded(err, RC_INVAL, E0603,
                             "--codebook: '%s' is not 1 to %d numbers from 1 to %d",
                             r->c->codebook, RECALL_SID_LAYERS_MAX, KMEANS_CENTRES_MAX);
        r->layers++;
    }
    return RC_OK;
}

static enum rc check_outputs(const struct run *r, struct err *err)
{
    const char *outputs[] = {r->c->out, r->c->picture};
    struct fs_names files = {0};
    enum rc rc = RC_OK;
    data_input_files(r->paths, r->n_paths, &files);
    for (size_t i = 0; i < ARRAY_LEN(outputs) && !rc; i++)
        if (outputs[i])
            rc = io_guard_file(outputs[i], &files, r->c->overwrite, err);
    fs_names_release(&files);
    return rc;
}

static enum rc read_items(struct run *r, const char *const *paths, size_t n,
                          const char *vector, const char *list, struct err *err)
{
    struct recall_items_conf conf = {.what = "item table",
                                     .id = r->c->item,
                                     .vector = vector,
                                     .list = list,
                                     .unique = true};
    struct dataset *d = NULL;
    enum rc rc = data_input_open(&r->c->in, paths, n, ROWS, NULL, 0, &d, err);
    if (!rc)
        rc = recall_items_read(d, &conf, &r->items, err);
    if (!rc)
        data_input_report(d);
    dataset_close(d);
    return rc;
}

static enum rc codes_of_column(struct run *r, const char *const *paths, size_t n,
                               const char *name, struct err *err)
{
    enum rc rc = read_items(r, paths, n, NULL, name, err);
    return rc ? rc
              : recall_sid_read(&r->items.rows.cols[r->items.list_at], name, r->sizes,
                                r->layers, &r->sid, err);
}

static enum rc codes_of_vectors(struct run *r, struct err *err)
{
    struct recall_sid_conf conf = {.sizes = r->sizes,
                                   .layers = r->layers,
                                   .normalise = r->c->normalise,
                                   .iterations = r->c->iterations,
                                   .seed = (uint64_t)r->c->seed,
                                   .pool = r->pool};
    enum rc rc = read_items(r, r->paths, r->n_paths, r->c->embedding, NULL, err);
    return rc ? rc
              : recall_sid_fit(r->items.vectors, r->items.n, r->items.width, &conf,
                               &r->sid, err);
}

/* What the model says goes to a file and is read from there. */
static enum rc predict_codes(struct run *r, const char *file, struct err *err)
{
    struct train_export *x = NULL;
    struct diags diags = {0};
    struct train_predict_summary summary = {0};
    enum rc rc = train_export_open_on(NULL, r->c->model, 0, r->pool, &x, err);
    if (!rc) {
        struct train_predict_options o = {.input = r->paths[0],
                                          .output = file,
                                          .data = train_export_conf(x)->data_config,
                                          .model = train_export_id(x),
                                          .reserved = r->c->item,
                                          .outputs = CODES,
                                          .threads = pool_threads(r->pool)};
        rc = train_predict_run(train_export_session(x), &o, &summary, &diags, err);
    }
    train_predict_summary_release(&summary);
    config_show(&diags);
    diags_release(&diags);
    train_export_close(x);
    return rc;
}

static enum rc codes_of_model(struct run *r, struct err *err)
{
    char *beside = r->c->out ? fs_dirname(r->c->out) : mem_strdup(".");
    char *dir = mem_printf("%s/.trainyard-sid-XXXXXX", beside);
    mem_free(beside);
    if (!mkdtemp(dir)) {
        enum rc rc = err_set(err, RC_IO, "cannot make a directory like '%s': %s", dir,
                             strerror(errno));
        mem_free(dir);
        return rc;
    }
    char *file = fs_join(dir, "codes.parquet");
    const char *const paths[] = {file};
    enum rc rc = predict_codes(r, file, err);
    if (!rc)
        rc = codes_of_column(r, paths, 1, CODES, err);
    enum rc removed = fs_remove_all(dir, rc ? NULL : err);
    mem_free(file);
    mem_free(dir);
    return rc ? rc : removed;
}

static enum rc add_codes(const struct run *r, struct column *to, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < r->sid.n && !rc; i++) {
        for (int64_t l = 0; l < r->sid.layers && !rc; l++)
            rc = column_add_i64(&to->kids[0], r->sid.codes[i * r->sid.layers + l], err);
        if (!rc)
            rc = column_add_nested(to, err);
    }
    return rc;
}

static enum rc write_table(const struct run *r, struct err *err)
{
    struct data_schema s = {0};
    struct batch b = {0};
    struct writer *w = NULL;
    const struct column *ids = recall_items_ids(&r->items);
    struct type list = type_list(&s.mem, type_of(TYPE_I64, false), false);
    data_schema_add(&s, str_c(r->c->item), ids->type);
    data_schema_add(&s, str_c(CODES), &list);
    batch_init(&b, &s);
    enum rc rc = column_append(&b.cols[0], ids, 0, r->items.n, err);
    if (!rc)
        rc = add_codes(r, &b.cols[1], err);
    if (!rc)
        rc = batch_finish(&b, err);
    if (!rc)
        rc = writer_open(r->c->out, writer_of_path(r->c->out), &s,
                         &(struct writer_conf){0}, &w, err);
    if (!rc)
        rc = writer_add(w, &b, err);
    if (!rc)
        rc = writer_commit(w, err);
    else
        writer_abandon(w);
    batch_release(&b);
    data_schema_release(&s);
    return rc;
}

static enum rc write_picture(const struct run *r, const struct recall_sid_stats *stats,
                             struct err *err)
{
    struct buf b;
    buf_init(&b, PICTURE_MAX);
    enum rc rc = recall_sid_picture(&r->sid, stats, &b, err);
    if (!rc)
        rc = fs_write(r->c->picture, b.p, b.n, 0644, err);
    buf_release(&b);
    return rc;
}

static void print_text(const struct recall_sid *s, const struct recall_sid_stats *x)
{
    printf("%jd items, %jd tuples of %jd codes, collisions %.4f\n", (intmax_t)s->n,
           (intmax_t)x->tuples, (intmax_t)s->layers,
           1 - (double)x->tuples / (double)s->n);
    printf("%jd items share their tuple, %jd the commonest\n", (intmax_t)x->shared,
           (intmax_t)(x->shared ? x->largest : 0));
    if (s->error >= 0)
        printf("mse %.6g, of a variance of %.6g\n", s->error, s->spread);
    for (int64_t l = 0; l < s->layers; l++)
        printf(
            "layer %jd: %jd of %jd codes used, entropy %.4f, %jd to %jd items per code\n",
            (intmax_t)l, (intmax_t)x->use[l].used, (intmax_t)s->sizes[l],
            x->use[l].entropy, (intmax_t)x->use[l].least, (intmax_t)x->use[l].most);
}

static void print_json(const struct recall_sid *s, const struct recall_sid_stats *x)
{
    printf("{\"items\": %jd, \"tuples\": %jd, \"collisions\": %.9g, \"shared\": %jd, "
           "\"largest\": %jd, ",
           (intmax_t)s->n, (intmax_t)x->tuples, 1 - (double)x->tuples / (double)s->n,
           (intmax_t)x->shared, (intmax_t)x->largest);
    if (s->error >= 0)
        printf("\"mse\": %.9g, \"variance\": %.9g, ", s->error, s->spread);
    printf("\"layers\": [");
    for (int64_t l = 0; l < s->layers; l++)
        printf("%s{\"codes\": %jd, \"used\": %jd, \"entropy\": %.9g, \"least\": %jd, "
               "\"most\": %jd}",
               l ? ", " : "", (intmax_t)s->sizes[l], (intmax_t)x->use[l].used,
               x->use[l].entropy, (intmax_t)x->use[l].least, (intmax_t)x->use[l].most);
    printf("]}\n");
}

static enum rc give_codes(struct run *r, struct err *err)
{
    struct recall_sid_stats stats;
    enum rc rc = r->c->embedding ? codes_of_vectors(r, err)
                 : r->c->model
                     ? codes_of_model(r, err)
                     : codes_of_column(r, r->paths, r->n_paths, r->c->codes, err);
    if (!rc && r->c->unique)
        rc = recall_sid_tell_apart(&r->sid, err);
    if (!rc)
        rc = recall_sid_measure(&r->sid, &stats, err);
    if (!rc && r->c->out)
        rc = write_table(r, err);
    if (!rc && r->c->picture)
        rc = write_picture(r, &stats, err);
    if (rc)
        return rc;
    if (r->c->json)
        print_json(&r->sid, &stats);
    else
        print_text(&r->sid, &stats);
    return RC_OK;
}

static enum rc sid_command(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct sid_conf *c = conf;
    struct run r = {.c = c, .paths = args->at, .n_paths = args->n};
    enum rc rc = check_usage(c, args, err);
    if (!rc)
        rc = read_codebook(&r, err);
    if (!rc)
        rc = check_outputs(&r, err);
    if (!rc)
        rc = pool_create(c->threads > 0 ? (int)c->threads : (int)cpu_count(), &r.pool,
                         err);
    if (!rc)
        rc = give_codes(&r, err);
    recall_items_release(&r.items);
    recall_sid_release(&r.sid);
    pool_destroy(r.pool);
    return rc;
}

static const struct cmd_example examples[] = {
    {"codes from learned item vectors, with a picture of their use",
     "trainyard sid item_emb --item id --embedding item_emb --codebook 256,256,256 "
     "--out codes.parquet --picture codes.svg"},
    {"codes by a trained model; items with the same codes are told apart",
     "trainyard sid items.parquet --item id --model x --unique --out codes.parquet"},
    {"figures of codes that are there",
     "trainyard sid codes.parquet --item id --codes codes --json"},
    {0},
};

const struct cmd cmd_sid = {
    .name = "sid",
    .args = "IN...",
    .summary = "give items semantic ids, and measure them",
    .description =
        "Gives each item a tuple of codes: by residual k-means of its vector "
        "(--embedding), by an export of sid_rqvae or sid_rqkmeans (--model), or as a "
        "column holds them (--codes). --out writes the item id and the column codes, a "
        "list of integers. Prints how many tuples there are, how many items share theirs "
        "(collisions: 1 - tuples / items), and per layer how many codes are used and how "
        "evenly (entropy 1: all as often). The same items and --seed give the same codes "
        "for any number of threads.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct sid_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = sid_command,
};
