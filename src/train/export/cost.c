/* SPDX-License-Identifier: Apache-2.0 */
#include "train/export/cost.h"

#include <stdio.h>
#include <string.h>

#include "train/best.h"
#include "train/export/export_private.h"
#include "train/save.h"
#include "train/trainer.h"

/* The value of the metric that counts; of none by name, that which tells the best. */
static enum rc measure(struct train_session *s, struct train_score *score,
                       struct train_export_cost *out, double *value, struct diags *diags,
                       struct err *err)
{
    const struct train_score_line *lines = NULL;
    struct train_best best;
    size_t n = 0;
    train_score_reset(score);
    enum rc rc = train_evaluate(s, score, NULL, NULL, diags, &lines, &n, err);
    if (rc)
        return rc;
    train_best_init(&best, s->conf->export_config);
    (void)train_best_take(&best, 0, lines, n);
    const struct train_score_line *l = train_best_line(&best, lines, n);
    if (!l || !l->defined)
        return err_set(err, RC_NOTFOUND, "no metric of the evaluation is defined");
    snprintf(out->metric, sizeof(out->metric), "%s", l->name);
    out->rows = train_score_rows(score);
    *value = l->value;
    return RC_OK;
}

enum rc train_export_cost(const struct conf *conf, const char *checkpoint,
                          const char *dir, bool farm_hash, struct pool *pool,
                          struct train_export_cost *out, struct diags *diags,
                          struct err *err)
{
    struct train_session_options so = {
        .pool = pool, .training = true, .farm_hash = farm_hash};
    struct train_session *s = NULL;
    struct train_score *score = NULL;
    struct ckpt *ckpt = NULL;
    *out = (struct train_export_cost){0};
    enum rc rc = ckpt_open(checkpoint, 0, &ckpt, NULL, err);
    if (!rc && ckpt_json(ckpt, "session"))
        rc = train_session_saved_seed(ckpt, &so.seed, err);
    if (!rc)
        rc = train_session_create(conf->data, &so, &s, diags, err);
    if (!rc)
        rc = train_session_load_weights(s, ckpt, train_export_averages(conf->data), err);
    if (!rc)
        rc = train_score_create(s, false, &score, err);
    if (!rc)
        rc = measure(s, score, out, &out->before, diags, err);
    if (!rc)
        rc = train_export_get_tensors(s, dir, err);
    if (!rc)
        rc = measure(s, score, out, &out->after, diags, err);
    train_score_destroy(score);
    train_session_destroy(s);
    ckpt_close(ckpt);
    return rc;
}
