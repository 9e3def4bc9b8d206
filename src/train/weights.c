/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights.h"

#include <math.h>

enum rc train_weights_fill(const struct model_task *t, const float *weights,
                           const float *space, struct view out, struct err *err)
{
    double sum = 0;
    for (int64_t r = 0; r < out.rows; r++) {
        double w = weights ? (double)weights[r] : 1;
        if (!isfinite(w) || w < 0)
            return err_coded(err, RC_INVAL, E1403,
                             "sample weight '%s': row %jd of the batch is %g",
                             t->sample_weight, (intmax_t)r, w);
        if (space)
            w *= space[r] > 0.0f ? t->in_space : t->out_space;
        *view_row(&out, r) = (float)w;
        sum += w;
    }
    /* w / (sum / rows) * weight / rows */
    double scale = sum > 0 ? t->weight / sum : 0;
    for (int64_t r = 0; r < out.rows; r++)
        *view_row(&out, r) = (float)((double)*view_row(&out, r) * scale);
    return RC_OK;
}
