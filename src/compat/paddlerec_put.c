/* SPDX-License-Identifier: Apache-2.0 */
/* What networks are written with: slots, fields, numbers, groups, initial values. */
#include <math.h>

#include "compat/paddlerec_private.h"

void paddlerec_group(struct paddlerec_put *x, const char *name, const char *type,
                     const char *prefix, int64_t n, const char *last)
{
    buf_printf(x->out, "  feature_groups {\n    group_name: \"%s\" group_type: %s\n",
               name, type);
    for (int64_t i = 0; i < n; i++)
        buf_printf(x->out, "    feature_names: \"%s%jd\"\n", prefix, (intmax_t)i);
    if (last)
        buf_printf(x->out, "    feature_names: \"%s\"\n", last);
    buf_puts(x->out, "  }\n");
}

void paddlerec_numbers(struct paddlerec_put *x, const char *name, const char *slot,
                       int64_t width)
{
    buf_printf(x->out,
               "feature_configs { raw_feature { feature_name: \"%s\" expression: "
               "\"user:%s\" value_dim: %jd } }\n",
               name, name, (intmax_t)width);
    buf_printf(&x->columns, " %s=floats(%s,%jd)", name, slot, (intmax_t)width);
}

/* Numbers of all dense slots, in their order. */
int64_t paddlerec_dense_width(const struct paddlerec_put *x)
{
    int64_t width = 0;
    for (size_t i = 0; i < x->dense.n; i++)
        width += x->dense.at[i].width;
    return width;
}

/* The label is the first sparse slot. */
bool paddlerec_label(struct paddlerec_put *x, size_t least_sparse, size_t dense)
{
    if (x->sparse.n < least_sparse || x->dense.n != dense) {
        paddlerec_fault(x, &x->set->base, "sparse_slots",
                        "%s reads a label, %zu or more other sparse slots and %zu dense "
                        "one; dataset '%s' has %zu sparse and %zu dense slots",
                        x->net->name, least_sparse - 1, dense, x->set->name, x->sparse.n,
                        x->dense.n);
        return false;
    }
    buf_printf(&x->columns, "label=id(%s)", x->sparse.at[0].name);
    return true;
}

const char *paddlerec_truncated(struct paddlerec_put *x, double deviation)
{
    return arena_printf(x->a, "nn.init.trunc_normal_,mean=0,std=%.9g,a=%.9g,b=%.9g",
                        deviation, -2 * deviation, 2 * deviation);
}

/* The slots behind the label in one table, whose vectors are added up by slot. */
void paddlerec_slots(struct paddlerec_put *x, const char *table, const char *init)
{
    int64_t rows = paddlerec_int(x, "sparse_feature_number", 1);
    int64_t dim = paddlerec_int(x, "sparse_feature_dim", 1);
    for (size_t i = 1; i < x->sparse.n; i++) {
        buf_printf(x->out,
                   "feature_configs { id_feature { feature_name: \"slot%zu\" expression: "
                   "\"user:slot%zu\" num_buckets: %jd embedding_dim: %jd embedding_name: "
                   "\"%s\" init_fn: \"%s\" } }\n",
                   i - 1, i - 1, (intmax_t)rows, (intmax_t)dim, table, init);
        buf_printf(&x->columns, " slot%zu=ids(%s)", i - 1, x->sparse.at[i].name);
    }
}

static void one_field(struct paddlerec_put *x, const char *name, int64_t i, int64_t rows,
                      int64_t dim, const char *init)
{
    buf_printf(x->out,
               "feature_configs { id_feature { feature_name: \"%s%jd\" expression: "
               "\"user:%s%jd\" num_buckets: %jd embedding_dim: %jd weighted: true "
               "embedding_name: \"feat_embeddings\" init_fn: \"%s\" } }\n",
               name, (intmax_t)i, name, (intmax_t)i, (intmax_t)rows, (intmax_t)dim, init);
}

int64_t paddlerec_fields(struct paddlerec_put *x, bool aware, bool plain)
{
    if (!paddlerec_label(x, 2, 1))
        return 0;
    int64_t rows = paddlerec_int(x, "sparse_feature_number", 1) + 1;
    int64_t n = paddlerec_dense_width(x);
    int64_t dim = paddlerec_int(x, "sparse_feature_dim", 1) * (aware ? n : 1);
    const char *ids = x->sparse.at[1].name, *values = x->dense.at[0].name;
    paddlerec_must_be(x, "num_field", n);
    const char *init = paddlerec_truncated(x, 0.1 / sqrt((double)dim));
    for (int64_t i = 0; i < n; i++) {
        one_field(x, "f", i, rows, dim, init);
        buf_printf(&x->columns, " f%jd=pair(%s,%jd,%s)", (intmax_t)i, ids, (intmax_t)i,
                   values);
    }
    for (int64_t i = 0; plain && i < n; i++) {
        one_field(x, "w", i, rows, dim, init);
        buf_printf(&x->columns, " w%jd=pair(%s,%jd)", (intmax_t)i, ids, (intmax_t)i);
    }
    buf_puts(x->out, "model_config {\n");
    return n;
}

void paddlerec_log_loss(struct paddlerec_put *x)
{
    double scale = x->phase->gradient_scale_strategy ? 1 : 1.0 / (double)x->replicas;
    buf_printf(x->out,
               "  num_class: 1\n  losses { log_loss { epsilon: 0.0001 reduction: \"sum\" "
               "scale: %.9g } }\n  metrics { auc {} }\n",
               scale);
}

void paddlerec_initial(struct paddlerec_put *x, const char *names, const char *how)
{
    buf_printf(x->out,
               "  initializers { regex_pattern: \"%s\" init_fn: \"nn.init.%s\" }\n",
               names, how);
}
