/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and configs for tests of whole models: DeepFM with a weighted and a keyed table,
 * and DIN with sequences of a table that they share with an item.
 */
#ifndef TESTS_TRAIN_ROWS_H
#define TESTS_TRAIN_ROWS_H

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"
#include "text/conf.h"

#define ROWS_COMMON(steps)                                                              \
    "model_dir: \"m\"\n"                                                                \
    "train_config { num_epochs: 2 save_checkpoints_steps: " steps                       \
    " save_checkpoints_epochs: 0\n"                                                     \
    "  sparse_optimizer { adagrad_optimizer { lr: 0.05 } constant_learning_rate {} }\n" \
    "  dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} } }\n"     \
    "data_config { batch_size: 32 dataset_type: CsvDataset with_header: true\n"         \
    "  delimiter: \"|\" fg_mode: FG_DAG label_fields: \"clk\"\n"                        \
    "  input_fields { input_name: \"clk\" input_type: INT64 }\n"                        \
    "  input_fields { input_name: \"u\" input_type: STRING }\n"                         \
    "  input_fields { input_name: \"i\" input_type: INT64 }\n"                          \
    "  input_fields { input_name: \"tags\" input_type: STRING }\n"                      \
    "  input_fields { input_name: \"click__i\" input_type: STRING }\n"                  \
    "  input_fields { input_name: \"p\" input_type: FLOAT } }\n"                        \
    "feature_configs { id_feature { feature_name: \"u\" expression: \"user:u\"\n"       \
    "  hash_bucket_size: 500 embedding_dim: 8 } }\n"                                    \
    "feature_configs { id_feature { feature_name: \"i\" expression: \"item:i\"\n"       \
    "  num_buckets: 200 embedding_dim: 8 embedding_name: \"item\" } }\n"                \
    "feature_configs { raw_feature { feature_name: \"p\" expression: \"item:p\" } }\n"

static const char rows_deepfm[] = ROWS_COMMON(
    "7") "feature_configs { id_feature { feature_name: \"tags\" expression: \"user:tags\"\n"
         "  weighted: true separator: \",\" embedding_dim: 8 pooling: \"mean\"\n"
         "  zch { zch_size: 40 eviction_interval: 3 lfu {} } } }\n"
         "model_config {\n"
         "  feature_groups { group_name: \"wide\" group_type: WIDE feature_names: [\"u\", \"i\"] }\n"
         "  feature_groups { group_name: \"fm\" group_type: DEEP feature_names: [\"u\", \"i\"] }\n"
         "  feature_groups { group_name: \"deep\" group_type: DEEP\n"
         "    feature_names: [\"u\", \"i\", \"tags\", \"p\"] }\n"
         "  deepfm { deep { hidden_units: [16, 8] } final { hidden_units: 8 } wide_embedding_dim: 4 }\n"
         "  losses { binary_cross_entropy {} } metrics { auc {} } }\n";

static const char rows_din[] = ROWS_COMMON(
    "7") "feature_configs { sequence_feature { sequence_name: \"click\" sequence_length: 6\n"
         "  sequence_delim: \";\" features { id_feature { feature_name: \"i\" expression: "
         "\"item:i\"\n"
         "    num_buckets: 200 embedding_dim: 8 embedding_name: \"item\" } } } }\n"
         "model_config {\n"
         "  feature_groups { group_name: \"deep\" group_type: DEEP\n"
         "    feature_names: [\"u\", \"i\", \"p\"] }\n"
         "  feature_groups { group_name: \"seq\" group_type: SEQUENCE\n"
         "    feature_names: [\"i\", \"click__i\"] }\n"
         "  multi_tower_din { towers { input: \"deep\" mlp { hidden_units: [16, 8] } }\n"
         "    din_towers { input: \"seq\" attn_mlp { hidden_units: [8] } }\n"
         "    final { hidden_units: 8 } }\n"
         "  losses { binary_cross_entropy {} } metrics { auc {} } }\n";

static inline void rows_put(struct buf *b, int64_t i)
{
    int64_t u = i * 7919 % 311, item = i * 104729 % 200;
    buf_printf(b, "%d|u%jd|%jd|t%jd:0.5,t%jd:1.25|", (u + item) % 3 == 0 ? 1 : 0,
               (intmax_t)u, (intmax_t)item, (intmax_t)(i * 31 % 97),
               (intmax_t)(i * 17 % 13));
    for (int64_t k = 0; k < i % 5; k++)
        buf_printf(b, "%s%jd", k ? ";" : "", (intmax_t)((item + 3 * k) % 200));
    buf_printf(b, "|%jd.25\n", (intmax_t)(i % 11));
}

/* Rows by number, in that order. */
static inline void rows_write(const char *path, const int64_t *rows, int64_t n)
{
    struct buf b;
    struct err err = {0};
    buf_init(&b, (size_t)1 << 24);
    buf_puts(&b, "clk|u|i|tags|click__i|p\n");
    for (int64_t i = 0; i < n; i++)
        rows_put(&b, rows[i]);
    CHECK(fs_write(path, b.p, b.n, 0644, &err) == RC_OK);
    buf_release(&b);
}

static inline void rows_conf(const char *text, struct conf *conf, struct diags *diags)
{
    struct conf_options co = {.kind = &conf_kind_pipeline};
    struct err err = {0};
    enum rc rc = conf_from("c", text, strlen(text), &co, conf, diags, &err);
    CHECK_INT(rc, RC_OK);
    CHECK_STR(err.msg, "");
}

#endif
