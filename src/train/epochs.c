/* SPDX-License-Identifier: Apache-2.0 */
/* A session and its config's text. A pass opens the data anew, with rounds of one epoch, and hands
 * each batch to whoever asked; a trainer of parameter servers settles with them behind each pass.
 */
#include "train/epochs.h"

#include "base/fs.h"
#include "base/mem.h"
#include "dist/ps_lookup.h"
#include "text/prototext.h"
#include "train/fine_tune.h"
#include "train/rounds.h"
#include "train/save.h"

struct train_epochs {
    struct train_epochs_options o;
    struct train_session *session;
    struct train_ps *ps; /* of a trainer of parameter servers; else NULL */
    struct buf config;   /* its text, kept in checkpoints */
};

enum rc train_epochs_open(const struct train_epochs_options *options,
                          struct train_epochs **out, struct diags *diags, struct err *err)
{
    struct train_epochs *e = mem_calloc(1, sizeof(*e));
    struct train_session_options so = {
        .pool = options->pool, .seed = options->seed, .training = options->training};
    if (options->ps && options->ps->job.mode != PS_GEO_MODE)
        so.lookup = &dist_ps_lookup_ops;
    e->o = *options;
    buf_init(&e->config, SOURCE_MAX);
    prototext_print(options->conf->doc.root, &e->config);
    enum rc rc = buf_check(&e->config, err);
    if (!rc)
        rc = train_session_create(options->conf->data, &so, &e->session, diags, err);
    if (!rc && options->ps)
        rc = train_ps_attach(e->session, options->ps, &e->ps, err);
    if (rc)
        train_epochs_close(e);
    else
        *out = e;
    return rc;
}

void train_epochs_close(struct train_epochs *e)
{
    if (!e)
        return;
    train_ps_detach(e->ps);
    train_session_destroy(e->session);
    buf_release(&e->config);
    mem_free(e);
}

const struct train_session *train_epochs_session(const struct train_epochs *e)
{
    return e->session;
}

static enum rc one_batch(struct train_epochs *e, const struct train_round *round,
                         double *loss, struct err *err)
{
    return e->o.training
               ? train_session_train(e->session, &round->batch, loss, err)
               : train_session_forward(e->session, round->batch.at[0], false, loss, err);
}

static enum rc each_batch(struct train_epochs *e, struct train_rounds *r,
                          train_epochs_fn *fn, void *arg, int64_t *n, struct err *err)
{
    for (;; ++*n) {
        struct train_round round;
        enum rc rc = train_rounds_next(r, 0, &round, err);
        if (rc || !round.any)
            return rc;
        struct train_epochs_batch b = {
            .session = e->session, .features = round.batch.at[0], .number = *n};
        rc = one_batch(e, &round, &b.loss, err);
        if (rc) {
            train_rounds_name(r, 0, err);
            return rc;
        }
        if (fn && !fn(arg, &b))
            return RC_OK;
    }
}

enum rc train_epochs_pass(struct train_epochs *e, const char *input, train_epochs_fn *fn,
                          void *arg, struct diags *diags, struct err *err)
{
    struct train_rounds *r = NULL;
    struct train_rounds_conf conf = {.path = input,
                                     .use = e->o.training ? SOURCE_TRAIN : SOURCE_EVAL,
                                     .epochs = 1,
                                     .first_step = e->session->step};
    int64_t n = 0;
    enum rc rc = train_rounds_open(e->session, &conf, &r, diags, err);
    if (!rc)
        rc = each_batch(e, r, fn, arg, &n, err);
    train_rounds_close(r);
    if (!rc && e->ps)
        rc = train_ps_settle(e->ps, err);
    if (!rc && n == 0)
        rc = err_coded(err, RC_INVAL, E1406,
                       e->session->conf->data_config->drop_remainder
                           ? "'%.400s' has no whole batch of %u rows"
                           : "no rows in '%.400s'",
                       input, e->session->conf->data_config->batch_size);
    if (!rc)
        e->session->epoch++;
    return rc;
}

static enum rc remove_others(const char *dir, int64_t step, struct err *err)
{
    struct ckpt_list all = {0};
    enum rc rc = ckpt_list(dir, &all, err);
    for (size_t i = 0; !rc && i < all.n; i++) {
        char *path = ckpt_dir(dir, all.steps[i]);
        if (all.steps[i] != step)
            rc = fs_remove_all(path, err);
        mem_free(path);
    }
    ckpt_list_release(&all);
    return rc;
}

enum rc train_epochs_save(struct train_epochs *e, const char *dir, struct err *err)
{
    enum rc rc = e->ps ? train_ps_fetch(e->ps, err) : RC_OK;
    if (rc)
        return rc;
    struct ckpt_writer *w =
        train_session_save(e->session, dir, buf_str(&e->config), NULL);
    rc = ckpt_commit(w, err);
    return rc ? rc : remove_others(dir, (int64_t)e->session->step - 1, err);
}

enum rc train_epochs_load(struct train_epochs *e, const char *dir, struct err *err)
{
    struct train_fine_tune_result taken;
    struct ckpt *c = NULL;
    enum rc rc = ckpt_open(dir, 0, &c, NULL, err);
    if (!rc)
        rc = e->o.training
                 ? train_fine_tune(e->session, c,
                                   &(struct train_fine_tune_conf){.strict = true}, &taken,
                                   err)
                 : train_session_load_weights(e->session, c, false, err);
    ckpt_close(c);
    return rc;
}

enum rc train_epochs_complete(struct train_epochs *e, struct err *err)
{
    return e->ps ? train_ps_complete(e->ps, err) : RC_OK;
}

enum rc train_epochs_serve(struct train_epochs *e, const struct train_ps_serve_conf *conf,
                           struct err *err)
{
    return train_ps_serve(e->session, conf, err);
}
