/* SPDX-License-Identifier: Apache-2.0 */
#include "train/mask.h"

#include "base/mem.h"
#include "base/rng.h"
#include "text/pipeline/feature.h"

#define STREAM_MASK 0x6d61736b /* use of the generator */

struct train_mask_conf train_mask_conf_of(const struct pc_DataConfig *d,
                                          const struct feature_plan *plan, uint64_t seed,
                                          uint64_t rank)
{
    bool used = false;
    for (size_t i = 0; i < feature_plan_count(plan); i++)
        used = used || feature_plan_info(plan, i)->conf->use_mask;
    if (!used || !pc_fg_mode_masks(pc_fg_mode(d)))
        return (struct train_mask_conf){0};
    return (struct train_mask_conf){.rows = d->sample_mask_prob,
                                    .negatives = d->negative_sample_mask_prob,
                                    .seed = seed,
                                    .rank = rank};
}

/* How many of the rows that are masked at all a sampler drew as negatives: the last. */
static int64_t drawn(const struct sampled *in)
{
    return in->items ? in->items->n - in->n_own : in->n_negatives;
}

enum rc train_mask_draw(struct train_mask *m, const struct train_mask_conf *c,
                        const struct sampled *in, uint64_t step, struct err *err)
{
    int64_t n = in->items ? in->items->n : in->rows->n, first = n - drawn(in);
    struct rng r;
    if (c->rows <= 0 && c->negatives <= 0)
        return RC_OK;
    if ((size_t)n > m->cap) {
        uint8_t *more = mem_try_realloc(m->at, (size_t)n, 1);
        if (!more)
            return err_set(err, RC_NOMEM, "no memory for the mask of %jd rows",
                           (intmax_t)n);
        m->at = more;
        m->cap = (size_t)n;
    }
    rng_init(&r, c->seed, STREAM_MASK, step, c->rank);
    for (int64_t i = 0; i < n; i++)
        m->at[i] = rng_f64(&r) < (i < first ? c->rows : c->negatives);
    return RC_OK;
}

void train_mask_release(struct train_mask *m)
{
    mem_free(m->at);
    *m = (struct train_mask){0};
}
