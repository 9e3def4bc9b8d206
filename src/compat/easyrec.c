/* SPDX-License-Identifier: Apache-2.0 */
/* What is neither feature nor model: paths, data, training. */
#include "compat/easyrec.h"

#include <string.h>

#include "compat/easyrec_private.h"

/* The first learning rate anywhere below; NULL: none. */
static const struct node *find_rate(const struct node *n)
{
    static const char *const keys[] = {"learning_rate", "initial_learning_rate",
                                       "learning_rate_base"};
    for (size_t i = 0; n && n->kind == NODE_MAP && i < n->map.n; i++) {
        const struct node *v = n->map.at[i].value;
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            if (str_is(n->map.at[i].key, keys[k]) && node_number(v, &(double){0}))
                return v;
        const struct node *below = find_rate(v);
        if (below)
            return below;
    }
    return NULL;
}

static void put_optimizer(struct compat_easyrec *x, const char *kind,
                          const struct node *rate, struct node *to)
{
    struct node *o = easyrec_sub(x, to, kind);
    struct node *adam = easyrec_sub(x, o, "adam_optimizer");
    if (rate)
        easyrec_put(x, adam, "lr", rate);
    else
        node_add(x->arena, adam, str_c("lr"), (struct span){0},
                 node_real(x->arena, 0.001, (struct span){0}));
    easyrec_sub(x, o, "constant_learning_rate");
}

static void put_training(struct compat_easyrec *x)
{
    static const char *const same[] = {"save_checkpoints_steps", "log_step_count_steps",
                                       "keep_checkpoint_max"};
    const struct node *from = node_find(x->from, "train_config");
    const struct node *rate = find_rate(node_find(from, "optimizer_config"));
    const struct node *epochs =
        easyrec_at(node_find(x->from, "data_config"), "num_epochs", 0);
    const struct node *steps = easyrec_at(from, "num_steps", 0);
    struct node *t = easyrec_sub(x, x->to, "train_config");
    put_optimizer(x, "sparse_optimizer", rate, t);
    put_optimizer(x, "dense_optimizer", rate, t);
    easyrec_note(x, "optimizer: adam with a constant learning rate for tables and dense "
                    "parameters; schedules and other optimizers are not converted");
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        easyrec_copy(x, from, same[i], t, same[i]);
    if (epochs || !steps)
        easyrec_put_int(
            x, t, "num_epochs",
            epochs ? node_get_int(node_find(x->from, "data_config"), "num_epochs", 1)
                   : 1);
    else
        easyrec_put(x, t, "num_steps", steps);
    easyrec_sub(x, x->to, "eval_config");
}

static void put_data(struct compat_easyrec *x)
{
    const struct node *from = node_find(x->from, "data_config");
    const char *input = easyrec_text(from, "input_type");
    struct node *d = easyrec_sub(x, x->to, "data_config");
    const char *kind = str_starts(input, "CSV")       ? "CsvDataset"
                       : str_starts(input, "Parquet") ? "ParquetDataset"
                                                      : "OdpsDataset";
    easyrec_copy(x, from, "batch_size", d, "batch_size");
    easyrec_put_word(x, d, "dataset_type", kind);
    easyrec_copy(x, from, "label_fields", d, "label_fields");
    easyrec_put_int(x, d, "num_workers", 8);
    easyrec_put_word(x, d, "fg_mode", "FG_DAG");
    easyrec_copy(x, from, "negative_sampler", d, "negative_sampler");
    if (strcmp(kind, "CsvDataset") == 0 && easyrec_text(from, "separator")[0])
        easyrec_put_text(x, d, "delimiter", easyrec_text(from, "separator"));
}

enum rc compat_easyrec_convert(struct compat_easyrec *x, struct err *err)
{
    static const char *const paths[] = {"train_input_path", "eval_input_path",
                                        "model_dir"};
    if (!node_find(x->from, "model_config") || !node_find(x->from, "data_config"))
        return err_coded(err, RC_INVAL, E2209,
                         "it has no model_config and data_config: no config of EasyRec");
    x->to = easyrec_map(x);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *text = easyrec_text(x->from, paths[i]);
        easyrec_put_text(x, x->to, paths[i], text);
    }
    put_training(x);
    put_data(x);
    easyrec_features(x);
    return easyrec_model(x, err);
}
