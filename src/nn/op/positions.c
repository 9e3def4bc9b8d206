/* SPDX-License-Identifier: Apache-2.0 */
/* Where and when a token stands: learnt vectors of positions and of time differences, and
 * the time of day and the like as waves.
 */
#include "nn/op/positions.h"

#include "nn/graph_private.h"
#include "nn/onnx.h"

static enum rc positions_infer(const void *conf, const struct nn_shape *in, int n_in,
                               struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_positions_conf *c = conf;
    *keep_width = 2;
    out[0] = in[0];
    if (in[POSITIONS_X].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes positions");
    if (c->times && (n_in <= POSITIONS_TIME || in[POSITIONS_TIME].axis != in[0].axis ||
                     nn_shape_width(&in[POSITIONS_TIME]) != 1))
        return err_set(err, RC_INVAL, "takes one time per position");
    if (c->query && (in[POSITIONS_QUERY].axis != AXIS_BATCH ||
                     nn_shape_width(&in[POSITIONS_QUERY]) != 1))
        return err_set(err, RC_INVAL, "takes one time per row of the batch");
    return RC_OK;
}

const struct op op_add_positions = {
    .name = "add positions",
    .infer = positions_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_add_positions(struct graph *g, struct nn_val *x, struct nn_val *time,
                                struct nn_val *query, struct param *positions,
                                struct param *times, const struct nn_positions_conf *conf)
{
    if (!x || !positions || (times && !time))
        return NULL;
    struct op_positions_conf c = {.c = *conf,
                                  .positions = positions->dims[0],
                                  .times = times ? times->dims[0] : 0,
                                  .query = times && query};
    int64_t width = nn_shape_width(&x->shape);
    if (positions->dims[1] != width || (times && times->dims[1] != width))
        return graph_fail(g, "add positions: vectors are not as wide as tokens");
    struct nn_val *in[] = {x, time, query};
    struct param *params[] = {positions, times};
    return nn_op(g, &op_add_positions, in,
                 c.query ? 3
                 : times ? 2
                         : 1,
                 params, times ? 2 : 1, &c, sizeof(c));
}

static enum rc waves_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_waves_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {2 * c->n}};
    return nn_shape_width(&in[0]) == 1 ? RC_OK
                                       : err_set(err, RC_INVAL, "takes one time per row");
}

const struct op op_time_waves = {
    .name = "time waves",
    .flags = OP_NO_GRAD,
    .infer = waves_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_time_waves(struct graph *g, struct nn_val *time, const uint32_t *units,
                             const uint32_t *per, int64_t n)
{
    struct op_waves_conf conf = {.n = n};
    if (n < 1 || n > WAVES_MAX)
        return graph_fail(g, "time waves: %jd of them; there are 1 to %d", (intmax_t)n,
                          WAVES_MAX);
    for (int64_t i = 0; i < n; i++) {
        if (!units[i] || !per[i])
            return graph_fail(g, "time waves: a unit or period of 0");
        conf.unit[i] = (float)units[i];
        conf.per[i] = (float)per[i];
    }
    return nn_op(g, &op_time_waves, &time, 1, NULL, 0, &conf, sizeof(conf));
}
