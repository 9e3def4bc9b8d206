/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the one choice, in order, each as the whole set of parameters. */
#include "text/json.h"
#include "tune/tuner_private.h"

static enum tuner_answer batch_ask(struct tuner *t, struct rng *r, double *x)
{
    const struct nni_param *p = &t->history.space->at[0];
    for (int64_t k = 0; k < p->size; k++) {
        bool used = false;
        for (size_t i = 0; i < t->history.trials.n && !used; i++)
            used = t->history.trials.at[i].x[0] == (double)k;
        if (used)
            continue;
        x[0] = (double)k;
        return TUNER_GIVES;
    }
    return TUNER_ENDS;
}

static void batch_print(const struct tuner *t, int64_t trial, struct buf *out)
{
    const struct nni_param *p = &t->history.space->at[0];
    json_print(p->options[(int64_t)t->history.trials.at[trial].x[0]], 0, out);
}

static enum rc batch_read(const struct tuner *t, const struct node *params, double *x,
                          struct err *err)
{
    const struct nni_param *p = &t->history.space->at[0];
    for (int64_t k = 0; k < p->size; k++)
        if (node_equal(p->options[k], params)) {
            x[0] = (double)k;
            return RC_OK;
        }
    return err_set(err, RC_INVAL, "the parameters are not one of the options of '%s'",
                   p->path);
}

const struct tuner_ops tuner_batch = {
    .ask = batch_ask, .print = batch_print, .read = batch_read, .pure = true};
