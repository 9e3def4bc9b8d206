/* SPDX-License-Identifier: Apache-2.0 */
/* A file is one piece of work and depends on its rows alone; threads take files. Scores
 * are integers but for the loss, which is summed in the order of the files.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "data/gen/gen.h"

#define CHUNK 8192 /* rows made at a time */

struct gen_file {
    size_t split;
    int64_t first, rows;
    char *path; /* owned */
    double loss[GEN_LABELS_MAX];
    enum rc rc;
    struct err err;
};

struct gen_work {
    const struct gen_conf *conf;
    struct gen_report *report;
    struct data_schema schema;
    struct gen_file *files; /* [n] */
    size_t n;
    pthread_mutex_t lock; /* guards the scores of `report` */
};

void gen_report_release(struct gen_report *r)
{
    for (size_t s = 0; s < r->n_splits; s++)
        for (size_t i = 0; i < GEN_LABELS_MAX; i++)
            gen_score_release(&r->splits[s].scores[i]);
    *r = (struct gen_report){0};
}

static enum rc write_file(struct gen_work *w, struct gen_file *f,
                          struct gen_score *scores, struct err *err)
{
    struct writer *out = NULL;
    struct batch b;
    enum rc rc =
        writer_open(f->path, w->conf->format, &w->schema, &w->conf->writer, &out, err);
    if (rc)
        return rc;
    batch_init(&b, &w->schema);
    for (int64_t at = 0; !rc && at < f->rows; at += CHUNK) {
        int64_t n = f->rows - at < CHUNK ? f->rows - at : CHUNK;
        rc = gen_rows(w->conf->kind, w->conf->seed, f->first + at, n, &b, scores, err);
        if (!rc)
            rc = writer_add(out, &b, err);
    }
    batch_release(&b);
    if (rc) {
        writer_abandon(out);
        return rc;
    }
    return writer_commit(out, err);
}

static void make_file(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct gen_work *w = arg;
    struct gen_file *f = &w->files[begin];
    struct gen_score scores[GEN_LABELS_MAX];
    for (size_t i = 0; i < GEN_LABELS_MAX; i++)
        gen_score_init(&scores[i]);
    f->rc = write_file(w, f, scores, &f->err);
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < GEN_LABELS_MAX; i++) {
        f->loss[i] = scores[i].loss;
        gen_score_add(&w->report->splits[f->split].scores[i], &scores[i]);
        gen_score_release(&scores[i]);
    }
    pthread_mutex_unlock(&w->lock);
}

static void plan_split(struct gen_report *r, const char *name, int64_t first,
                       int64_t rows, int64_t files)
{
    struct gen_split *s = &r->splits[r->n_splits++];
    *s = (struct gen_split){.name = name, .first = first, .rows = rows, .files = files};
    for (size_t i = 0; i < GEN_LABELS_MAX; i++)
        gen_score_init(&s->scores[i]);
}

static void gen_run_plan(const struct gen_conf *c, struct gen_report *r)
{
    int64_t eval = (int64_t)((double)c->rows * c->eval_fraction);
    int64_t train = c->rows - eval;
    plan_split(r, "train", 0, train, c->files);
    if (eval > 0) {
        int64_t files =
            train ? (int64_t)((double)c->files * (double)eval / (double)train) : c->files;
        plan_split(r, "eval", train, eval, files ? files : 1);
    }
}

static enum rc plan_files(struct gen_work *w, struct err *err)
{
    enum rc rc = RC_OK;
    size_t at = 0;
    for (size_t s = 0; s < w->report->n_splits; s++)
        w->n += (size_t)w->report->splits[s].files;
    w->files = mem_calloc(w->n, sizeof(*w->files));
    for (size_t s = 0; !rc && s < w->report->n_splits; s++) {
        const struct gen_split *split = &w->report->splits[s];
        char *dir = fs_join(w->conf->out, split->name);
        rc = fs_mkdirs(dir, 0777, err);
        for (int64_t i = 0; i < split->files; i++) {
            int64_t from = split->rows / split->files * i +
                           split->rows % split->files * i / split->files;
            int64_t to = split->rows / split->files * (i + 1) +
                         split->rows % split->files * (i + 1) / split->files;
            w->files[at++] = (struct gen_file){
                .split = s,
                .first = split->first + from,
                .rows = to - from,
                .path =
                    mem_printf("%s/part-%jd.%s", dir, (intmax_t)i, w->conf->format->name),
            };
        }
        mem_free(dir);
    }
    return rc;
}

static enum rc make_files(struct gen_work *w, struct err *err)
{
    struct pool *pool = NULL;
    enum rc rc = pool_create(w->conf->threads, &pool, err);
    if (rc)
        return rc;
    pool_for(pool, (int64_t)w->n, 1, make_file, w);
    pool_destroy(pool);
    for (size_t s = 0; s < w->report->n_splits; s++)
        for (size_t i = 0; i < GEN_LABELS_MAX; i++)
            w->report->splits[s].scores[i].loss = 0;
    for (size_t f = 0; f < w->n; f++) {
        if (w->files[f].rc) {
            if (err)
                *err = w->files[f].err;
            return w->files[f].rc;
        }
        for (size_t i = 0; i < GEN_LABELS_MAX; i++)
            w->report->splits[w->files[f].split].scores[i].loss += w->files[f].loss[i];
    }
    return RC_OK;
}

static bool is_new(const struct gen_work *w, const char *path)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->files[i].path, path) == 0)
            return true;
    return false;
}

/* Parts of an earlier run, of another format or number, that nothing replaced. */
static enum rc remove_old(const struct gen_work *w, struct err *err)
{
    static const char *const splits[] = {"train", "eval"};
    enum rc rc = RC_OK;
    for (size_t s = 0; s < ARRAY_LEN(splits); s++) {
        char *dir = fs_join(w->conf->out, splits[s]);
        struct fs_names names = {0};
        if (fs_is_dir(dir) && !rc)
            rc = fs_list(dir, &names, err);
        for (size_t i = 0; i < names.n && !rc; i++) {
            char *path = fs_join(dir, names.at[i]);
            if (str_starts(names.at[i], "part-") && !is_new(w, path))
                rc = fs_remove_all(path, err);
            mem_free(path);
        }
        fs_names_release(&names);
        mem_free(dir);
    }
    return rc;
}

static enum rc write_report(const struct gen_conf *conf, const struct gen_report *r,
                            struct err *err)
{
    struct buf text;
    char *path = fs_join(conf->out, "gen.json");
    buf_init(&text, 1 << 20);
    gen_report_json(conf, r, &text);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = fs_write(path, buf_str(&text), text.n, 0644, err);
    buf_release(&text);
    mem_free(path);
    return rc;
}

enum rc gen_run(const struct gen_conf *conf, struct gen_report *report, struct err *err)
{
    struct gen_report r = {0};
    struct gen_work w = {.conf = conf, .report = &r};
    pthread_mutex_init(&w.lock, NULL);
    gen_schema(conf->kind, &w.schema);
    gen_run_plan(conf, &r);
    enum rc rc = plan_files(&w, err);
    if (!rc)
        rc = make_files(&w, err);
    if (!rc)
        rc = remove_old(&w, err);
    if (!rc)
        rc = write_report(conf, &r, err);
    for (size_t i = 0; i < w.n; i++)
        mem_free(w.files[i].path);
    mem_free(w.files);
    data_schema_release(&w.schema);
    pthread_mutex_destroy(&w.lock);
    if (rc)
        gen_report_release(&r);
    else
        *report = r;
    return rc;
}

static void put_number(struct buf *out, const char *name, double v)
{
    if (isnan(v))
        buf_printf(out, ", \"%s\": null", name);
    else
        buf_printf(out, ", \"%s\": %.6f", name, v);
}

void gen_report_json(const struct gen_conf *conf, const struct gen_report *r,
                     struct buf *out)
{
    buf_printf(out, "{\n  \"kind\": \"%s\",\n  \"rows\": %jd,\n  \"seed\": %ju,\n",
               gen_name(conf->kind), (intmax_t)conf->rows, (uintmax_t)conf->seed);
    buf_printf(out, "  \"format\": \"%s\",\n  \"splits\": [", conf->format->name);
    for (size_t s = 0; s < r->n_splits; s++) {
        const struct gen_split *split = &r->splits[s];
        buf_printf(out,
                   "%s\n    {\"name\": \"%s\", \"path\": \"%s/*.%s\", \"files\": %jd, ",
                   s ? "," : "", split->name, split->name, conf->format->name,
                   (intmax_t)split->files);
        buf_printf(out, "\"first_row\": %jd, \"rows\": %jd, \"labels\": [",
                   (intmax_t)split->first, (intmax_t)split->rows);
        for (size_t i = 0; i < gen_labels(conf->kind); i++) {
            const struct gen_score *score = &split->scores[i];
            buf_printf(out, "%s\n      {\"name\": \"%s\", \"positives\": %jd",
                       i ? "," : "", gen_label(conf->kind, i), (intmax_t)score->n_pos);
            put_number(out, "best_auc", gen_score_auc(score));
            put_number(out, "best_logloss", gen_score_logloss(score));
            buf_putc(out, '}');
        }
        buf_puts(out, "]}");
    }
    buf_puts(out, "\n  ]\n}\n");
}
