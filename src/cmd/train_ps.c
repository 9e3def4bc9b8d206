/* SPDX-License-Identifier: Apache-2.0 */
/* The processes are those of PaddleRec's local_cluster_train, which learn from their environment
 * what they are; each opens the config by itself. A trainer makes num_epochs passes over its
 * stretch of the files; behind each of them the first one saves. Without evaluations: `eval`
 * takes what was saved.
 */
#include "cmd/train_ps.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "ckpt/ckpt.h"
#include "cmd/paddlerec_cluster.h"
#include "cmd/paddlerec_node.h"
#include "cmd/train_config.h"
#include "data/files.h"
#include "text/prototext.h"
#include "train/epochs.h"

static enum rc read_processes(const struct train_ps_command *c, struct dist_ps_job *job,
                              struct err *err)
{
    struct str rest = str_c(c->ps), part;
    int64_t n[2] = {0, 0};
    size_t i = 0;
    while (i < 2 && str_split(&rest, 'x', &part) && str_to_i64(part, &n[i]))
        i++;
    if (i != 2 || rest.p || n[0] < 1 || n[0] > DIST_PS_SERVERS_MAX || n[1] < 1 ||
        n[1] > DIST_PS_WORKERS_MAX)
        return err_coded(err, RC_INVAL, E0603,
                         "--ps: '%s' is not SERVERSxTRAINERS, such as 2x4, with up to %d "
                         "servers and %d trainers",
                         c->ps, DIST_PS_SERVERS_MAX, DIST_PS_WORKERS_MAX);
    *job = (struct dist_ps_job){
        .servers = (int)n[0], .workers = (int)n[1], .mode = dist_ps_mode_find(c->mode)};
    return RC_OK;
}

static const struct pc_EasyRecConfig *config_of(const struct train_ps_command *c)
{
    return c->conf->data;
}

/* What the config asks for and trainers do not do. */
static enum rc check_config(const struct train_ps_command *c, struct err *err)
{
    const struct pc_TrainConfig *t = config_of(c)->train_config;
    const char *wrong = NULL;
    if (!t || t->num_epochs == 0)
        return err_coded(err, RC_INVAL, E0609,
                         "--ps needs train_config.num_epochs, the number of passes");
    if (t->num_steps)
        wrong = "num_steps";
    else if (t->fine_tune_checkpoint && *t->fine_tune_checkpoint)
        wrong = "fine_tune_checkpoint";
    else if (t->delta_embedding_dump_config)
        wrong = "delta_embedding_dump_config";
    return wrong ? err_coded(err, RC_INVAL, E0609, "--ps has no train_config.%s", wrong)
                 : RC_OK;
}

/* A trainer's files, with commas between them; the caller's. */
static char *share_of(const struct fs_names *files, int index, int workers)
{
    size_t first, count;
    struct buf b;
    paddlerec_node_share(files->n, index, workers, &first, &count);
    buf_init(&b, (size_t)1 << 30);
    for (size_t i = first; i < first + count; i++)
        buf_printf(&b, "%s%s", i > first ? "," : "", files->at[i]);
    return buf_take(&b);
}

static enum rc find_files(const struct train_ps_command *c, int workers,
                          struct fs_names *out, struct err *err)
{
    const char *input = config_of(c)->train_input_path;
    enum rc rc = files_expand(input, out, err);
    if (!rc && out->n < (size_t)workers)
        rc =
            err_coded(err, RC_INVAL, E0603,
                      "--ps: %d trainers take whole files, and train_input_path '%s' has "
                      "%zu",
                      workers, input, out->n);
    return rc;
}

/* --- one process of the run --- */

struct passing {
    double loss;
    int64_t steps;
};

static bool on_batch(void *arg, const struct train_epochs_batch *b)
{
    struct passing *p = arg;
    p->loss += b->loss;
    p->steps++;
    return true;
}

static enum rc make_passes(const struct train_ps_command *c, struct train_epochs *e,
                           const char *input, int worker, struct err *err)
{
    const struct pc_EasyRecConfig *pc = config_of(c);
    int64_t epochs = pc->train_config->num_epochs;
    enum rc rc = RC_OK;
    for (int64_t i = 0; !rc && i < epochs; i++) {
        struct passing p = {0};
        struct diags diags = {0};
        rc = train_epochs_pass(e, input, on_batch, &p, &diags, err);
        config_show(&diags);
        if (!rc)
            fprintf(stderr, "pass %jd: %jd steps, loss %.6g\n", (intmax_t)i + 1,
                    (intmax_t)p.steps, p.loss / (double)(p.steps ? p.steps : 1));
        if (!rc && worker == 0)
            rc = train_epochs_save(e, pc->model_dir, err);
    }
    return rc ? rc : train_epochs_complete(e, err);
}

static enum rc open_epochs(const struct train_ps_command *c,
                           const struct train_ps_conf *ps, struct pool *pool,
                           struct train_epochs **out, struct err *err)
{
    struct diags diags = {0};
    struct train_epochs_options o = {.conf = c->conf,
                                     .pool = pool,
                                     .seed = (uint64_t)c->seed,
                                     .training = true,
                                     .ps = ps};
    enum rc rc = train_epochs_open(&o, out, &diags, err);
    config_show(&diags);
    return rc;
}

/* Whether dense parameters are updated by SGD, whose gradients async adds up. */
static bool is_sgd(const struct pc_EasyRecConfig *pc)
{
    const struct pc_TrainConfig *t = pc->train_config;
    return t && t->dense_optimizer && t->dense_optimizer->sgd_optimizer;
}

static enum rc run_trainer(const struct train_ps_command *c,
                           const struct paddlerec_node *n,
                           const struct comm_link_ops *ops, struct pool *pool,
                           struct err *err)
{
    struct train_ps_conf ps = {.job = n->job,
                               .worker = n->index,
                               .ops = ops,
                               .link = {.secret = n->secret},
                               .servers = n->servers,
                               .geo_step = c->geo_step};
    struct train_epochs *e = NULL;
    struct fs_names files = {0};
    paddlerec_node_flags(n, 1, is_sgd(config_of(c)), &ps);
    enum rc rc = find_files(c, n->job.workers, &files, err);
    char *input = rc ? NULL : share_of(&files, n->index, n->job.workers);
    if (!rc)
        rc = open_epochs(c, &ps, pool, &e, err);
    if (!rc)
        rc = make_passes(c, e, input, n->index, err);
    train_epochs_close(e);
    mem_free(input);
    fs_names_release(&files);
    return rc;
}

static enum rc run_server(const struct train_ps_command *c,
                          const struct paddlerec_node *n, const struct comm_link_ops *ops,
                          struct pool *pool, struct err *err)
{
    struct train_ps_serve_conf s = {.job = n->job,
                                    .server = n->index,
                                    .ops = ops,
                                    .link = {.secret = n->secret},
                                    .address = n->servers[n->index],
                                    .silence_ms = paddlerec_node_silence()};
    struct train_epochs *e = NULL;
    s.snapshot = paddlerec_node_snapshot(&s.snapshot_ms);
    enum rc rc = open_epochs(c, NULL, pool, &e, err);
    if (!rc)
        rc = train_epochs_serve(e, &s, err);
    train_epochs_close(e);
    return rc;
}

static enum rc run_node(const struct train_ps_command *c, struct err *err)
{
    struct paddlerec_node n = {0};
    const struct comm_link_ops *ops = NULL;
    struct pool *pool = NULL;
    enum rc rc = paddlerec_node_read(&n, dist_ps_mode_find(c->mode), true, err);
    if (!rc)
        rc = comm_link_of_processes(&ops, err);
    if (!rc)
        rc = pool_create(c->threads > 0 ? (int)c->threads : 1, &pool, err);
    if (!rc)
        rc = n.server ? run_server(c, &n, ops, pool, err)
                      : run_trainer(c, &n, ops, pool, err);
    pool_destroy(pool);
    paddlerec_node_release(&n);
    return rc;
}

/* --- all of them --- */

/* Another run's checkpoints are not replaced. */
static enum rc check_model_dir(const char *dir, struct err *err)
{
    struct ckpt_list all = {0};
    enum rc rc = fs_is_dir(dir) ? ckpt_list(dir, &all, err) : RC_OK;
    if (!rc && all.n)
        rc = err_coded(err, RC_INVAL, E1405,
                       "model_dir '%s' holds a checkpoint: parameter servers start anew; "
                       "use another model_dir",
                       dir);
    ckpt_list_release(&all);
    return rc;
}

/* Beside the checkpoint, as `export` and `eval` take it. */
static enum rc write_config(const struct train_ps_command *c, struct err *err)
{
    struct buf text;
    char *path = fs_join(config_of(c)->model_dir, "pipeline.config");
    buf_init(&text, SOURCE_MAX);
    prototext_print(c->conf->doc.root, &text);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = fs_write(path, text.p, text.n, 0644, err);
    buf_release(&text);
    mem_free(path);
    return rc;
}

static enum rc start_all(const struct train_ps_command *c, const struct dist_ps_job *job,
                         struct err *err)
{
    struct fs_names files = {0};
    struct paddlerec_cluster k = {.job = *job, .args = c->args, .threads = 1};
    enum rc rc = find_files(c, job->workers, &files, err);
    fs_names_release(&files);
    if (!rc)
        rc = check_model_dir(config_of(c)->model_dir, err);
    if (!rc)
        rc = paddlerec_cluster_run(&k, err);
    if (!rc)
        rc = write_config(c, err);
    if (!rc)
        fprintf(stderr,
                "done        %d servers and %d trainers, %s; what they said is in logs/\n"
                "next        trainyard eval %s/pipeline.config\n",
                job->servers, job->workers, c->mode, config_of(c)->model_dir);
    return rc;
}

enum rc train_ps_command(const struct train_ps_command *c, struct err *err)
{
    struct dist_ps_job job;
    enum rc rc = read_processes(c, &job, err);
    if (!rc)
        rc = check_config(c, err);
    if (rc)
        return rc;
    return paddlerec_node_is_one() && env_is_true("CLUSTER_INSTANCE")
               ? run_node(c, err)
               : start_all(c, &job, err);
}
