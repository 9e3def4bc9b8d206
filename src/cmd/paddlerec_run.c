/* SPDX-License-Identifier: Apache-2.0 */
/* run: PaddleRec's config.yaml. All runners of `mode` are translated into pipelines and
 * checked before the first of them starts, so that a mistake in the last is not found hours
 * later. Then they run one after another: a runner of class train goes epoch by epoch
 * through its phases and saves between them, one of class infer evaluates each model below
 * init_model_path. paddlerec_show.c prints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cmd/cmd.h"
#include "cmd/paddlerec_cluster.h"
#include "cmd/paddlerec_node.h"
#include "cmd/paddlerec_reader.h"
#include "cmd/paddlerec_show.h"
#include "cmd/paddlerec_submit.h"
#include "cmd/train_config.h"
#include "compat/paddlerec.h"
#include "data/slots/slots.h"
#include "text/conf.h"
#include "train/epochs.h"

#define LINES_LOOKED_AT 1000
#define SHUFFLE_STREAM 0x70616464 /* random numbers for the order of files */

struct run_conf {
    const char *as, *backend;
    struct opt_list set;
    int64_t threads, seed;
    bool strict, print, print_config, trust;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct run_conf, as, NULL,
              "the built-in network that stands for model.py, such as rank/dnn"),
     .meta = "MODEL", .filled = true},
    {OPT_TEXT(struct run_conf, backend, NULL,
              "backend.yaml of the cluster that runners of class cluster_train go to"),
     .meta = "FILE", .filled = true},
    {OPT_LIST(struct run_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_BOOL(struct run_conf, strict, "false",
              "slots that the data does not have are an error, not a warning")},
    {OPT_BOOL(struct run_conf, print, "false",
              "print the pipeline.config of each phase, and run nothing"),
     .flag = "print-pipeline"},
    {OPT_BOOL(struct run_conf, trust, "false",
              "run a reader.py of your own (data_converter) without a sandbox"),
     .flag = "trust-reader"},
    {OPT_BOOL(struct run_conf, print_config, "false",
              "print the config.yaml with what --set changes, and run nothing")},
    {OPT_INT(struct run_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU. Results do not depend on it")},
    {OPT_INT(struct run_conf, seed, "1", 0, INT64_MAX, "random seed")},
    {0},
};

/* One phase of a runner while the config is run. */
struct work {
    struct paddlerec_phase phase;
    struct conf pipeline;
    struct fs_names files, hidden;
    struct train_epochs *epochs; /* while its runner runs */
    struct paddlerec_show show;
    struct buf dump; /* runner_result_dump_path: an array of JSON; empty: not wanted */
};

/* Where a runner runs. */
enum place {
    PLACE_HERE,   /* in this process */
    PLACE_SUBMIT, /* on a cluster; there are no works */
    PLACE_LAUNCH, /* in processes that this one starts */
    PLACE_NODE,   /* this is one of those, or of a cluster */
};

struct task {
    const struct prec_Runner *r;
    struct work *works; /* [n], owned */
    size_t n;
    bool infer;
    enum place place;
    struct paddlerec_submit submit; /* of PLACE_SUBMIT */
    const struct train_ps_conf *ps; /* of a trainer on a node, while it runs; else NULL */
};

struct running {
    const struct run_conf *o;
    const struct prec_Config *c;
    const struct prec_Backend *backend; /* NULL: none is given */
    const char *path;                   /* of the config */
    const char *base;                   /* PACKAGE_BASE, or NULL */
    bool built_in;                      /* the config is no file */
    struct arena arena;
    struct paddlerec_readers readers;
    struct diags *diags;
    struct pool *pool;
    struct task *tasks; /* [n], owned: the runners of mode */
    size_t n;
};

static const char *path_of(struct running *x, const char *text)
{
    return paddlerec_expand(x->c, text, x->base, &x->arena);
}

/* Files below `dir`, with names that begin with '.' set aside. */
static enum rc list_files(const char *dir, struct fs_names *out, struct fs_names *hidden,
                          struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = fs_list(dir, &names, err);
    for (size_t i = 0; !rc && i < names.n; i++) {
        char *path = fs_join(dir, names.at[i]);
        struct fs_names *to = names.at[i][0] == '.' ? hidden : out;
        if (to == out && fs_is_dir(path)) {
            rc = list_files(path, out, hidden, err);
            mem_free(path);
            continue;
        }
        to->at = mem_realloc(to->at, to->n + 1, sizeof(*to->at));
        to->at[to->n++] = path;
    }
    fs_names_release(&names);
    return rc;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool find_files(struct running *x, struct work *w)
{
    const struct paddlerec_phase *p = &w->phase;
    struct err err = {0};
    enum rc rc = list_files(p->data_path, &w->files, &w->hidden, &err);
    if (!rc && w->files.n)
        qsort(w->files.at, w->files.n, sizeof(*w->files.at), by_bytes);
    for (size_t i = 0; !rc && i < w->files.n; i++)
        if (strchr(w->files.at[i], ','))
            rc = err_set(&err, RC_INVAL, "'%s': a comma in the name of a data file",
                         w->files.at[i]);
    if (!rc && w->files.n)
        return true;
    struct diag *g = schema_report(x->diags, DIAG_ERROR, E0514, &p->set->base,
                                   "data_path", "%s%s%s", rc ? err.msg : "no files in '",
                                   rc ? "" : p->data_path, rc ? "" : "'");
    if (x->built_in)
        diag_hint(x->diags, g,
                  "the config is built in, its data are not: --set "
                  "'dataset[name=%s].data_path=DIR', or PACKAGE_BASE with a source tree",
                  p->set->name);
    return false;
}

/* Slots that the data spells otherwise are filled with padding without a fault. */
static void look_at_slots(struct running *x, const struct work *w)
{
    struct slots_look look;
    const struct prec_Dataset *set = w->phase.set;
    enum severity s = x->o->strict ? DIAG_ERROR : DIAG_WARNING;
    if (!w->phase.slots)
        return;
    if (slots_look(w->files.at[0], w->phase.columns, LINES_LOOKED_AT, &look, NULL) ==
            RC_OK &&
        look.missing.n) {
        struct diag *g = schema_report(
            x->diags, s, E0528, &set->base, "data_path",
            "no line of '%s' has slot %s: it is filled with %jd in every row",
            w->files.at[0], buf_str(&look.missing), (intmax_t)set->padding);
        if (look.unknown.n)
            diag_hint(x->diags, g, "slots of the data that are not read: %s",
                      buf_str(&look.unknown));
    }
    slots_look_release(&look);
}

static bool open_pipeline(struct running *x, struct work *w, const struct buf *text)
{
    struct conf_options o = {.kind = &conf_kind_pipeline};
    struct diags found = {0};
    struct err err = {0};
    const char *name =
        arena_printf(&x->arena, "phase %s as pipeline.config", w->phase.phase->name);
    enum rc rc = conf_from(name, buf_str(text), text->n, &o, &w->pipeline, &found, &err);
    if (rc)
        config_show(&found); /* of our own making: shown as it is */
    diags_release(&found);
    if (rc)
        schema_report(x->diags, DIAG_ERROR, E0527, &w->phase.phase->base, "model",
                      "%s cannot be built with these settings%s%s",
                      paddlerec_net_name(w->phase.net), err.msg[0] ? ": " : "", err.msg);
    return !rc;
}

static void make_work(struct running *x, const struct task *t,
                      const struct prec_Phase *phase, struct work *w)
{
    struct paddlerec_options o = {.as = x->o->as,
                                  .base = x->base,
                                  .read = paddlerec_readers_read,
                                  .arg = &x->readers};
    struct buf text;
    buf_init(&text, SOURCE_MAX);
    bool good =
        paddlerec_pipeline(x->c, t->r, phase, &o, &x->arena, &w->phase, &text, x->diags);
    if (good && x->o->print)
        printf("# runner %s, phase %s\n%s", t->r->name, phase->name, buf_str(&text));
    else if (good && open_pipeline(x, w, &text) && find_files(x, w))
        look_at_slots(x, w);
    buf_release(&text);
}

static void refuse(struct running *x, const struct prec_Runner *r, const char *field,
                   const char *why)
{
    schema_report(x->diags, DIAG_ERROR, E0529, &r->base, field, "runner.%s: %s", r->name,
                  why);
}

static void check_user_code(struct running *x, const struct prec_Runner *r)
{
    const char *const keys[][2] = {{"instance_class_path", r->instance_class_path},
                                   {"network_class_path", r->network_class_path},
                                   {"startup_class_path", r->startup_class_path},
                                   {"runner_class_path", r->runner_class_path},
                                   {"terminal_class_path", r->terminal_class_path}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i][1][0])
            refuse(x, r, keys[i][0], "Python code in place of a step is not run");
    if (strcmp(r->trainer_class, "GeneralTrainer") != 0)
        refuse(x, r, "trainer_class", "GeneralTrainer is the only trainer");
}

/* Parameter servers are what clusters are made of here. */
static void check_cluster(struct running *x, const struct task *t)
{
    if (t->place == PLACE_HERE)
        return;
    if (strcasecmp(t->r->fleet_mode, "ps") != 0)
        refuse(x, t->r, "fleet_mode",
               "this version trains on clusters with fleet_mode ps");
    if (strcasecmp(t->r->distribute_strategy, "geo") == 0 && *t->r->init_model_path)
        refuse(x, t->r, "init_model_path", "geo does not start from a model");
    if (t->r->worker_num > DIST_PS_WORKERS_MAX || t->r->server_num > DIST_PS_SERVERS_MAX)
        refuse(x, t->r, t->r->has_worker_num ? "worker_num" : "server_num",
               "that many processes are not started");
}

static void check_runner(struct running *x, const struct task *t)
{
    const struct prec_Runner *r = t->r;
    check_cluster(x, t);
    if (strcasecmp(r->device, "cpu") != 0) {
        refuse(x, r, "device", "this version runs config.yaml on the CPU");
        diag_hint(x->diags, &x->diags->list.at[x->diags->list.n - 1],
                  "--set 'runner[name=%s].device=cpu' runs it there", r->name);
    }
    check_user_code(x, r);
    if (r->n_finetuning_aspect_varnames || *r->init_pretraining_model_path)
        schema_report(x->diags, DIAG_WARNING, E0520, &r->base,
                      r->n_finetuning_aspect_varnames ? "finetuning_aspect_varnames"
                                                      : "init_pretraining_model_path",
                      "only a fine-tuning trainer or startup reads it, which are Python "
                      "code: it has no effect");
    if (r->n_save_inference_feed_varnames && r->n_save_inference_fetch_varnames &&
        *r->save_inference_path)
        schema_report(x->diags, DIAG_WARNING, E0520, &r->base, "save_inference_path",
                      "inference models are not written in this version: `trainyard "
                      "export` makes one of a checkpoint");
    if (t->infer && *r->init_model_path == '\0')
        refuse(x, r, "class", "init_model_path names no model to evaluate");
}

/* A child of local_cluster_train is told so, and that it is on a node, as nodes are. */
static enum place place_of(const struct prec_Runner *r)
{
    bool node = paddlerec_node_is_one();
    if (strcasecmp(r->class, "cluster_train") == 0)
        return node ? PLACE_NODE : PLACE_SUBMIT;
    if (strcasecmp(r->class, "local_cluster_train") == 0)
        return node && env_is_true("CLUSTER_INSTANCE") ? PLACE_NODE : PLACE_LAUNCH;
    return PLACE_HERE;
}

static void make_submission(struct running *x, struct task *t)
{
    t->submit = (struct paddlerec_submit){.config = x->path, .backend = x->o->backend};
    if (!x->backend)
        refuse(x, t->r, "class",
               "cluster_train needs -b backend.yaml (or PADDLE_PADDLEREC_ROLE=WORKER on "
               "a node)");
    else if (x->o->set.n)
        refuse(x, t->r, "class", "--set does not reach the config that nodes get");
    else if (paddlerec_submission(x->c, t->r, x->backend, &t->submit.job, x->diags))
        paddlerec_submit_check(&t->submit, x->diags);
}

static void make_task(struct running *x, const struct prec_Runner *r, struct task *t)
{
    const struct prec_Phase **phases =
        arena_alloc(&x->arena, ((size_t)x->c->n_phase + 1) * sizeof(*phases));
    *t = (struct task){
        .r = r, .infer = strcasecmp(r->class, "infer") == 0, .place = place_of(r)};
    if (t->place == PLACE_SUBMIT) {
        make_submission(x, t);
        return;
    }
    t->n = paddlerec_phases(x->c, r, phases);
    if (t->place != PLACE_HERE && t->n > 1) {
        schema_report(x->diags, DIAG_WARNING, E0520, &r->base, "phases",
                      "Cluster Train Only Support One Phase.");
        t->n = 1;
    }
    t->works = mem_calloc(t->n + 1, sizeof(*t->works));
    check_runner(x, t);
    for (size_t i = 0; i < t->n; i++)
        make_work(x, t, phases[i], &t->works[i]);
}

static const struct prec_Runner *runner_of(const struct prec_Config *c, const char *name)
{
    for (int64_t i = 0; i < c->n_runner; i++)
        if (strcmp(c->runner[i]->name, name) == 0)
            return c->runner[i];
    return NULL;
}

static bool same_diag(const struct diag *a, const struct diag *b)
{
    return a->code == b->code && a->at.src == b->at.src && a->at.off == b->at.off &&
           strcmp(a->msg, b->msg) == 0;
}

/* Two runners may say the same of one place; what runners of clusters would need matters
 * only to those that are submitted.
 */
static void tidy(struct diags *d, bool submits)
{
    size_t n = 0;
    for (size_t i = 0; i < d->list.n; i++) {
        bool leave_out = !submits && d->list.at[i].code == E0519 &&
                         d->list.at[i].severity == DIAG_WARNING;
        for (size_t k = 0; k < n && !leave_out; k++)
            leave_out = same_diag(&d->list.at[i], &d->list.at[k]);
        if (leave_out && d->list.at[i].severity == DIAG_WARNING)
            d->n_warnings--;
        else if (leave_out && d->list.at[i].severity == DIAG_ERROR)
            d->n_errors--;
        if (!leave_out)
            d->list.at[n++] = d->list.at[i];
    }
    d->list.n = n;
}

static enum rc make_tasks(struct running *x, struct err *err)
{
    bool submits = false;
    x->tasks = mem_calloc((size_t)x->c->n_mode + 1, sizeof(*x->tasks));
    for (int64_t i = 0; i < x->c->n_mode; i++) {
        const struct prec_Runner *r = runner_of(x->c, x->c->mode[i]);
        if (!r)
            continue;
        make_task(x, r, &x->tasks[x->n++]);
        submits |= x->tasks[x->n - 1].place == PLACE_SUBMIT;
    }
    if (x->backend && !submits)
        schema_report(x->diags, DIAG_WARNING, E0520, &x->c->base, "mode",
                      "no runner of mode is cluster_train: '%s' has no effect",
                      x->o->backend);
    bool wrong = x->diags->n_errors > 0;
    tidy(x->diags, submits);
    config_show(x->diags);
    if (wrong && err)
        err->msg[0] = '\0'; /* they say it */
    return wrong ? RC_INVAL : RC_OK;
}

static void work_release(struct work *w)
{
    train_epochs_close(w->epochs);
    conf_release(&w->pipeline);
    fs_names_release(&w->files);
    fs_names_release(&w->hidden);
    paddlerec_show_close(&w->show);
    buf_release(&w->dump);
}

/* The files of an epoch, separated by commas. */
static char *input_of(struct running *x, const struct work *w, int64_t epoch)
{
    struct buf b;
    int64_t *order = mem_calloc(w->files.n, sizeof(*order));
    for (size_t i = 0; i < w->files.n; i++)
        order[i] = (int64_t)i;
    if (w->phase.phase->has_shuffle_filelist && w->phase.phase->shuffle_filelist) {
        struct rng r;
        rng_init(&r, (uint64_t)x->o->seed, SHUFFLE_STREAM, (uint64_t)epoch, 0);
        rng_shuffle(&r, order, w->files.n);
    }
    buf_init(&b, (size_t)1 << 30);
    for (size_t i = 0; i < w->files.n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", w->files.at[order[i]]);
    mem_free(order);
    return buf_take(&b);
}

struct passing {
    struct running *x;
    const struct task *t;
    struct work *w;
    int64_t epoch;
    enum rc rc;
    struct err *err;
};

static enum rc save_step(struct passing *p, int64_t batch)
{
    const struct prec_Runner *r = p->t->r;
    bool queue = strcmp(p->w->phase.set->type, "QueueDataset") == 0;
    bool follows = p->t->ps && p->t->ps->worker > 0; /* the first trainer saves */
    if (p->t->infer || queue || follows || r->save_step_interval < 1 ||
        !*r->save_step_path || batch % r->save_step_interval != 0)
        return RC_OK;
    const char *dir = arena_printf(&p->x->arena, "%s/epoch_%jd_batch_%jd",
                                   path_of(p->x, r->save_step_path), (intmax_t)p->epoch,
                                   (intmax_t)batch);
    enum rc rc = train_epochs_save(p->w->epochs, dir, p->err);
    if (!rc)
        printf("\tsave epoch_id:%jd, batch_id:%jd model into: \"%s\"\n",
               (intmax_t)p->epoch, (intmax_t)batch, dir);
    return rc;
}

static bool on_batch(void *arg, const struct train_epochs_batch *b)
{
    struct passing *p = arg;
    p->rc = paddlerec_show_batch(&p->w->show, b, p->err);
    if (!p->rc && *p->t->r->runner_result_dump_path) {
        buf_puts(&p->w->dump, p->w->dump.n ? ", " : "[");
        paddlerec_show_json(&p->w->show, &p->w->dump);
    }
    if (!p->rc)
        p->rc = save_step(p, b->number);
    return !p->rc;
}

static enum rc write_dump(struct passing *p)
{
    const char *path = path_of(p->x, p->t->r->runner_result_dump_path);
    struct buf *b = &p->w->dump;
    if (!*path)
        return RC_OK;
    if (!p->t->infer)
        path = arena_printf(&p->x->arena, "%s_epoch_%jd", path, (intmax_t)p->epoch);
    buf_puts(b, b->n ? "]" : "[]");
    enum rc rc = buf_check(b, p->err);
    if (!rc)
        rc = fs_write(path, b->p, b->n, 0644, p->err);
    if (!rc)
        printf("Dump runner result in %s\n", path);
    buf_clear(b);
    return rc;
}

static enum rc one_pass(struct running *x, const struct task *t, struct work *w,
                        int64_t epoch, const char *model, struct err *err)
{
    struct passing p = {.x = x, .t = t, .w = w, .epoch = epoch, .err = err};
    char *input = input_of(x, w, epoch);
    struct diags diags = {0};
    paddlerec_show_pass(&w->show, epoch);
    enum rc rc = train_epochs_pass(w->epochs, input, on_batch, &p, &diags, err);
    config_show(&diags);
    mem_free(input);
    rc = rc ? rc : p.rc;
    if (!rc)
        paddlerec_show_done(&w->show, w->phase.phase->name, model);
    return rc ? rc : write_dump(&p);
}

/* At multiples of the interval, and at the end. */
static enum rc save_epoch(struct running *x, const struct task *t, struct work *w,
                          int64_t epoch, struct err *err)
{
    const struct prec_Runner *r = t->r;
    int64_t every = r->save_checkpoint_interval;
    bool due = every < 1 || (epoch + 1) % every == 0 || epoch + 1 == r->epochs;
    const char *path = path_of(x, r->save_checkpoint_path);
    if (!*path || !due)
        return RC_OK;
    const char *dir = arena_printf(&x->arena, "%s/%jd", path, (intmax_t)epoch);
    enum rc rc = train_epochs_save(w->epochs, dir, err);
    if (!rc)
        printf("\tsave epoch_id:%jd model into: \"%s\"\n", (intmax_t)epoch, dir);
    return rc;
}

/* The model as it is at first; one that was there is gone. */
static enum rc open_epochs(struct running *x, const struct task *t, struct work *w,
                           struct err *err)
{
    struct train_epochs_options o = {.conf = &w->pipeline,
                                     .pool = x->pool,
                                     .seed = (uint64_t)x->o->seed,
                                     .training = !t->infer,
                                     .ps = t->ps};
    struct diags diags = {0};
    train_epochs_close(w->epochs);
    w->epochs = NULL;
    enum rc rc = train_epochs_open(&o, &w->epochs, &diags, err);
    config_show(&diags);
    return rc;
}

static enum rc open_work(struct running *x, const struct task *t, struct work *w,
                         struct err *err)
{
    enum rc rc = open_epochs(x, t, w, err);
    buf_init(&w->dump, (size_t)1 << 30);
    paddlerec_show_open(&w->show, &w->phase, !t->infer, t->r->print_interval);
    return rc;
}

static enum rc warm_start(struct running *x, const struct task *t, struct err *err)
{
    const char *dir = path_of(x, t->r->init_model_path);
    enum rc rc = RC_OK;
    if (!*dir)
        return RC_OK;
    printf("going to load  %s\n", dir);
    for (size_t i = 0; !rc && i < t->n; i++)
        rc = train_epochs_load(t->works[i].epochs, dir, err);
    if (!rc)
        printf("load from %s success\n", dir);
    return rc;
}

static enum rc train_task(struct running *x, const struct task *t, struct err *err)
{
    enum rc rc = warm_start(x, t, err);
    for (int64_t epoch = 0; !rc && epoch < t->r->epochs; epoch++)
        for (size_t i = 0; !rc && i < t->n; i++) {
            rc = one_pass(x, t, &t->works[i], epoch, "", err);
            if (!rc)
                rc = save_epoch(x, t, &t->works[i], epoch, err);
        }
    return rc;
}

/* --- parameter servers --- */

/* The trainer's part of the files. */
static void keep_share(struct work *w, int index, int workers)
{
    size_t first, count, kept = 0;
    paddlerec_node_share(w->files.n, index, workers, &first, &count);
    for (size_t i = 0; i < w->files.n; i++)
        if (i >= first && i < first + count)
            w->files.at[kept++] = w->files.at[i];
        else
            mem_free(w->files.at[i]);
    w->files.n = kept;
}

/* 1: the optimizer is SGD, 0: another, -1: the network's own, where the flag counts. */
static int is_sgd(const struct running *x, const struct work *w)
{
    const struct prec_HyperParameters *h = x->c->hyper_parameters;
    if (paddlerec_net_is_adam(w->phase.net) || !h || !h->optimizer)
        return -1;
    return h->optimizer->has_class && strcasecmp(h->optimizer->class, "SGD") == 0;
}

static int64_t geo_step(const struct running *x, const struct prec_Runner *r)
{
    const struct prec_Train *t = x->c->train;
    bool set = t && t->strategy && t->strategy->mode && t->strategy->mode->has_push_num;
    return set && !r->has_geo_step ? t->strategy->mode->push_num : r->geo_step;
}

static enum rc trainer_epochs(struct running *x, const struct task *t, struct work *w,
                              struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t epoch = 0; !rc && epoch < t->r->epochs; epoch++) {
        rc = w->files.n ? one_pass(x, t, w, epoch, "", err) : RC_OK;
        if (!rc && t->ps->worker == 0)
            rc = save_epoch(x, t, w, epoch, err);
    }
    return rc ? rc : train_epochs_complete(w->epochs, err);
}

static enum rc run_trainer(struct running *x, struct task *t,
                           const struct paddlerec_node *n,
                           const struct comm_link_ops *ops, struct err *err)
{
    struct work *w = &t->works[0];
    struct train_ps_conf ps = {.job = n->job,
                               .worker = n->index,
                               .ops = ops,
                               .link = {.secret = n->secret},
                               .servers = n->servers,
                               .geo_step = geo_step(x, t->r)};
    paddlerec_node_flags(n, w->phase.phase->thread_num, is_sgd(x, w), &ps);
    if (n->splits)
        keep_share(w, n->index, n->job.workers);
    t->ps = &ps;
    enum rc rc = open_work(x, t, w, err);
    printf("Running PSStartup.\nRunning PSRunner.\n");
    fflush(stdout);
    if (!rc)
        rc = trainer_epochs(x, t, w, err);
    train_epochs_close(w->epochs);
    w->epochs = NULL;
    t->ps = NULL;
    return rc;
}

/* A server starts from init_model_path, and trainers from the server. */
static enum rc load_server(struct running *x, const struct task *t, struct err *err)
{
    const char *dir = path_of(x, t->r->init_model_path);
    if (*dir && !fs_is_dir(dir))
        return err_set(err, RC_NOTFOUND, "There is no directory named '%s'", dir);
    return warm_start(x, t, err);
}

static enum rc run_server(struct running *x, struct task *t,
                          const struct paddlerec_node *n, const struct comm_link_ops *ops,
                          struct err *err)
{
    struct train_ps_serve_conf c = {.job = n->job,
                                    .server = n->index,
                                    .ops = ops,
                                    .link = {.secret = n->secret},
                                    .address = n->servers[n->index],
                                    .silence_ms = paddlerec_node_silence()};
    c.snapshot = paddlerec_node_snapshot(&c.snapshot_ms);
    enum rc rc = open_work(x, t, &t->works[0], err);
    if (!rc)
        rc = load_server(x, t, err);
    printf("Running PSStartup.\n");
    fflush(stdout);
    return rc ? rc : train_epochs_serve(t->works[0].epochs, &c, err);
}

static enum rc node_task(struct running *x, struct task *t, struct err *err)
{
    struct paddlerec_node n = {0};
    const struct comm_link_ops *ops = NULL;
    bool local = strcasecmp(t->r->class, "local_cluster_train") == 0;
    enum rc rc =
        paddlerec_node_read(&n, dist_ps_mode_find(t->r->distribute_strategy), local, err);
    if (!rc)
        rc = comm_link_of_processes(&ops, err);
    if (!rc)
        rc = n.server ? run_server(x, t, &n, ops, err) : run_trainer(x, t, &n, ops, err);
    paddlerec_node_release(&n);
    return rc;
}

/* This program's own command for one runner, as words; behind the last NULL. */
static const char **child_words(struct running *x, const struct task *t, int processes)
{
    const struct run_conf *o = x->o;
    const char **w = arena_alloc(&x->arena, (2 * o->set.n + 16) * sizeof(*w));
    int64_t threads = o->threads > 0 ? o->threads : cpu_count() / processes;
    struct buf mode;
    size_t n = 0;
    buf_init(&mode, 1 << 16);
    buf_puts(&mode, "mode=[");
    buf_json_str(&mode, t->r->name, strlen(t->r->name));
    buf_puts(&mode, "]");
    w[n++] = "run";
    for (size_t i = 0; i < o->set.n; i++) {
        w[n++] = "--set";
        w[n++] = o->set.at[i];
    }
    w[n++] = "--set";
    w[n++] = arena_strdup(&x->arena, buf_str(&mode));
    w[n++] = "--seed";
    w[n++] = arena_printf(&x->arena, "%jd", (intmax_t)o->seed);
    w[n++] = "--threads";
    w[n++] = arena_printf(&x->arena, "%jd", (intmax_t)(threads < 1 ? 1 : threads));
    if (o->trust)
        w[n++] = "--trust-reader";
    if (o->as) {
        w[n++] = "--as";
        w[n++] = o->as;
    }
    w[n++] = "--";
    w[n++] = x->path;
    w[n] = NULL;
    buf_release(&mode);
    return w;
}

static enum rc launch_task(struct running *x, const struct task *t, struct err *err)
{
    const struct prec_Runner *r = t->r;
    int64_t files = (int64_t)t->works[0].files.n, workers = r->worker_num;
    if (workers > files) {
        printf("phases do not have enough datas for training, set worker/gpu cards num "
               "from %jd to %jd\n",
               (intmax_t)workers, (intmax_t)files);
        workers = files;
    }
    struct paddlerec_cluster c = {
        .job = {.servers = (int)r->server_num,
                .workers = (int)workers,
                .mode = dist_ps_mode_find(r->distribute_strategy)},
        .threads = t->works[0].phase.phase->thread_num};
    printf("launch %s engine with cluster to run model: %s\n", r->trainer_class, x->path);
    fflush(stdout);
    c.args = child_words(x, t, c.job.servers + c.job.workers);
    return paddlerec_cluster_run(&c, err);
}

static int by_number(const void *a, const void *b)
{
    const char *l = *(char *const *)a, *r = *(char *const *)b;
    int64_t x, y;
    if (str_to_i64(str_c(l), &x) && str_to_i64(str_c(r), &y))
        return x < y ? -1 : x > y;
    return strcmp(l, r);
}

/* The directories that hold a model: those below `dir`, by number, or itself. */
static enum rc list_models(struct running *x, const char *dir, struct fs_names *out,
                           struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = fs_list(dir, &names, err);
    if (!rc && names.n)
        qsort(names.at, names.n, sizeof(*names.at), by_number);
    for (size_t i = 0; !rc && i < names.n; i++) {
        char *path = fs_join(dir, names.at[i]);
        bool model = names.at[i][0] != '.' && fs_is_dir(path) &&
                     !str_starts(names.at[i], "model.ckpt-");
        if (model) {
            out->at = mem_realloc(out->at, out->n + 1, sizeof(*out->at));
            out->at[out->n++] = mem_strdup(path);
        }
        mem_free(path);
    }
    if (!rc && out->n == 0) {
        out->at = mem_calloc(1, sizeof(*out->at));
        out->at[out->n++] = mem_strdup(dir);
    }
    fs_names_release(&names);
    return rc;
}

static enum rc infer_task(struct running *x, const struct task *t, struct err *err)
{
    struct fs_names models = {0};
    enum rc rc = list_models(x, path_of(x, t->r->init_model_path), &models, err);
    for (size_t m = 0; !rc && m < models.n; m++)
        for (size_t i = 0; !rc && i < t->n; i++) {
            struct work *w = &t->works[i];
            printf("load persistables from %s\n", models.at[m]);
            rc = m ? open_epochs(x, t, w, err) : RC_OK;
            if (!rc)
                rc = train_epochs_load(w->epochs, models.at[m], err);
            if (!rc)
                rc = one_pass(x, t, w, 0, models.at[m], err);
        }
    fs_names_release(&models);
    return rc;
}

static void print_hidden(const struct task *t)
{
    printf("Warning:please make sure there are no hidden files in the dataset folder and "
           "check these hidden files:[");
    for (size_t i = 0, n = 0; i < t->n; i++)
        for (size_t k = 0; k < t->works[i].hidden.n; k++, n++)
            printf("%s'%s'", n ? ", " : "", t->works[i].hidden.at[k]);
    printf("]\n");
}

static void print_beginning(struct running *x, const struct task *t)
{
    const char *kind = t->place == PLACE_NODE ? "PS" : "Single";
    const char *cluster = env_get("PADDLEREC_CLUSTER_TYPE");
    paddlerec_show_tables(x->c, t->r, x->base);
    printf("PaddleRec: Runner %s Begin\n", t->r->name);
    if (strcasecmp(t->r->class, "cluster_train") == 0)
        printf("PADDLEREC_CLUSTER_TYPE: %s\n", cluster ? cluster : "MPI");
    printf("Executor Mode: %s\nprocessor_register begin\n"
           "Running %sInstance.\nRunning %sNetwork.\n",
           t->infer ? "infer" : "train", kind, kind);
    print_hidden(t);
}

static enum rc run_here(struct running *x, struct task *t, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < t->n; i++)
        rc = open_work(x, t, &t->works[i], err);
    printf("Running %sStartup.\nRunning %sRunner.\n", t->infer ? "SingleInfer" : "Single",
           t->infer ? "SingleInfer" : "Single");
    fflush(stdout);
    if (!rc)
        rc = t->infer ? infer_task(x, t, err) : train_task(x, t, err);
    return rc;
}

static enum rc run_task(struct running *x, struct task *t, struct err *err)
{
    enum rc rc;
    if (t->place == PLACE_HERE || t->place == PLACE_NODE)
        print_beginning(x, t);
    if (t->place == PLACE_SUBMIT)
        rc = paddlerec_submit_run(&t->submit, err);
    else if (t->place == PLACE_LAUNCH)
        rc = launch_task(x, t, err);
    else
        rc = t->place == PLACE_NODE ? node_task(x, t, err) : run_here(x, t, err);
    if (!rc && t->place != PLACE_SUBMIT)
        printf("PaddleRec Finish\n");
    fflush(stdout);
    for (size_t i = 0; i < t->n; i++) {
        train_epochs_close(t->works[i].epochs);
        t->works[i].epochs = NULL;
    }
    return rc ? err_wrap(err, rc, "runner %s", t->r->name) : RC_OK;
}

static enum rc run_all(struct running *x, struct err *err)
{
    enum rc rc = make_tasks(x, err);
    if (!rc && !x->o->print) {
        int threads = x->o->threads > 0 ? (int)x->o->threads : cpu_count();
        rc = pool_create(threads, &x->pool, err);
        for (size_t i = 0; !rc && i < x->n; i++)
            rc = run_task(x, &x->tasks[i], err);
    }
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < x->tasks[i].n; k++)
            work_release(&x->tasks[i].works[k]);
        mem_free(x->tasks[i].works);
        paddlerec_submit_release(&x->tasks[i].submit);
    }
    mem_free(x->tasks);
    pool_destroy(x->pool);
    paddlerec_readers_release(&x->readers);
    arena_release(&x->arena);
    return rc;
}

/* `text` is that of a config that is no file; NULL: `path` is read. */
static enum rc open_config(const struct run_conf *o, const char *path,
                           const struct buf *text, const struct conf_kind *kind,
                           struct conf *c, struct diags *diags, struct err *err)
{
    struct conf_edit *edits = mem_calloc(o->set.n + 1, sizeof(*edits));
    for (size_t i = 0; i < o->set.n; i++)
        edits[i] = (struct conf_edit){.origin = "--set", .text = o->set.at[i]};
    struct conf_options options = {.kind = kind, .edits = edits, .n_edits = o->set.n};
    enum rc rc = text ? conf_from(path, buf_str(text), text->n, &options, c, diags, err)
                      : conf_open(path, &options, c, diags, err);
    if (diags->list.n && rc && err)
        err->msg[0] = '\0'; /* they say it */
    mem_free(edits);
    return rc;
}

/* CONFIG: a file, or by its dotted name one of a source tree, or one that is built in. */
static enum rc open_main(struct running *x, const char *name, struct conf *c,
                         struct err *err)
{
    struct buf text;
    enum rc rc;
    buf_init(&text, SOURCE_MAX);
    x->path = paddlerec_path(name, x->base, &x->arena);
    if (x->path != name)
        x->path = arena_printf(&x->arena, "%s/config.yaml", x->path);
    x->built_in =
        x->path != name && !fs_exists(x->path) && paddlerec_shipped(name, &text);
    if (x->built_in)
        x->path = name;
    if (x->path != name && !fs_exists(x->path)) {
        rc = err_coded(err, RC_INVAL, E0540,
                       "'%s': there is no '%s', and no config of this name is built in",
                       name, x->path);
    } else {
        rc = open_config(x->o, x->path, x->built_in ? &text : NULL,
                         &conf_kind_paddlerec_config, c, x->diags, err);
    }
    buf_release(&text);
    return rc;
}

/* Of a node that trains nothing is submitted, whatever its command says. */
static enum rc open_backend(const struct run_conf *o, struct conf *c, struct diags *diags,
                            struct err *err)
{
    struct run_conf plain = {0};
    return o->backend ? open_config(&plain, o->backend, NULL,
                                    &conf_kind_paddlerec_backend, c, diags, err)
                      : RC_OK;
}

static void print_config(const struct conf *c)
{
    struct buf text;
    buf_init(&text, SOURCE_MAX);
    conf_print(c, &text);
    fputs(buf_str(&text), stdout);
    buf_release(&text);
}

static enum rc run_command(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct run_conf *o = conf;
    struct conf c = {0}, b = {0};
    struct diags diags = {0};
    struct running x = {.o = o, .base = getenv("PACKAGE_BASE"), .diags = &diags};
    enum rc rc = open_main(&x, args->at[0], &c, err);
    if (!rc)
        rc = open_backend(o, &b, &diags, err);
    if (rc || o->print_config) {
        if (!rc)
            print_config(&c);
        config_show(&diags);
        arena_release(&x.arena);
    } else {
        x.c = c.data;
        x.backend = b.data;
        x.readers = (struct paddlerec_readers){.c = x.c,
                                               .base = x.base,
                                               .seed = o->seed,
                                               .trusted = o->trust,
                                               .one = o->print};
        rc = run_all(&x, err);
    }
    diags_release(&diags);
    conf_release(&b);
    conf_release(&c);
    return rc;
}

static const struct cmd_example examples[] = {
    {"all runners of mode, one after another", "trainyard run config.yaml"},
    {"a model of PaddleRec's source tree",
     "trainyard run models/rank/dnn/config.yaml --set 'runner[name=single_cpu_train].epochs=2'"},
    {"the same without a source tree, on data of your own",
     "trainyard run paddlerec.models.rank.dnn --set "
     "'dataset[name=dataloader_train].data_path=train'"},
    {"on a cluster of PaddleCloud", "trainyard run config.yaml --backend backend.yaml"},
    {"what it is in our own words", "trainyard run config.yaml --print-pipeline"},
    {0},
};

const struct cmd cmd_run = {
    .name = "run",
    .args = "CONFIG",
    .summary = "run PaddleRec's config.yaml",
    .description =
        "Runs the runners that `mode` names: those of class train train the networks of "
        "their phases epoch by epoch and save them by epochs, those of class infer "
        "evaluate the models below init_model_path, those of class cluster_train are "
        "submitted to the cluster of --backend. CONFIG is a file, or "
        "paddlerec.models.X.Y: that of a source tree below PACKAGE_BASE, else the one that "
        "is built in.\n"
        "\n"
        "Networks are built in; model.py is not run. The folder of the model names the "
        "network, or --as. docs/paddlerec.md lists them. Lines are those that PaddleRec "
        "prints: progress on stderr, the rest on stdout.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct run_conf),
    .min_args = 1,
    .max_args = 1,
    .run = run_command,
};
