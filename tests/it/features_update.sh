#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# features update: a template and a table of feature_info become a config.
. "$(dirname "$0")/lib.sh"

# The template lacks widths and sizes; a sequence of its own loses all its features.
template()
{
    cat >t.config <<'END'
train_input_path: "d" eval_input_path: "d" model_dir: "m"
train_config { num_epochs: 1
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 8 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "y" }
feature_configs { id_feature { feature_name: "a" expression: "user:a" } }
feature_configs { raw_feature { feature_name: "b" expression: "user:b" boundaries: [7.0] } }
feature_configs { id_feature { feature_name: "gone" expression: "user:gone" } }
feature_configs { sequence_feature { sequence_name: "s" sequence_length: 5 sequence_delim: ";"
  features { id_feature { feature_name: "a" expression: "item:a" } }
  features { id_feature { feature_name: "c" expression: "item:c" } } } }
feature_configs { sequence_feature { sequence_name: "u" sequence_length: 5 sequence_delim: ";"
  features { id_feature { feature_name: "a" expression: "item:a" } } } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["a", "b", "gone"]
    sequence_groups { group_name: "one" feature_names: "a" feature_names: "s__a" feature_names: "s__c" }
    sequence_groups { group_name: "two" feature_names: "u__a" }
    sequence_encoders { din_encoder { input: "one" attn_mlp { hidden_units: 4 } } }
    sequence_encoders { pooling_encoder { input: "two" } } }
  multi_tower { towers { input: "deep" mlp { hidden_units: 8 } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
    cat >info.csv <<'END'
feature,feature_info,message
a,"{""embedding_dim"": 16, ""hash_bucket_size"": 1000}",
b,"{""embedding_dim"": ""8"", ""boundary"": [1, 2.5, ""9""]}",fine
gone,"{""embedding_dim"": 8}",too rare: DROP IT
s__a,"{""embedding_dim"": 16, ""hash_bucket_size"": ""500""}",
s__c,"{""embedding_dim"": 16}",DROP IT
u__a,"{""embedding_dim"": 4}",DROP IT
END
}

a_table_completes_a_template()
{
    template
    run "$TRAINYARD" features update t.config --table info.csv --output new.config
    status 0
    err_has "3 features edited, 3 dropped"
    run "$TRAINYARD" check new.config
    status 0
    run cat new.config
    out_has 'boundaries: [1.0, 2.5, 9.0]'
    out_has 'hash_bucket_size: 500'
    out_lacks '"gone"'
    out_lacks 's__c'
    out_lacks 'u__a'
    out_lacks 'sequence_name: "u"'
    out_lacks 'group_name: "two"'
    out_lacks 'pooling_encoder'
    out_has 'input: "one"'
}

what_is_missing_is_told()
{
    template
    sed -i '/^a,/d' info.csv
    run "$TRAINYARD" features update t.config --table info.csv --output new.config
    status 2
    err_has "note: the table says nothing of feature 'a'"
    err_has "feature 'a' has no way to make ids"
    echo 'b,[1],' >>info.csv
    run "$TRAINYARD" features update t.config --table info.csv --output new.config --overwrite
    status 2
    err_has "error[E2402]: table: feature 'b': feature_info is not a JSON object"
    run "$TRAINYARD" features update t.config --output new.config
    status 2
    err_has "--table PATH is missing"
    run "$TRAINYARD" features update t.config --table info.csv --output t.config --overwrite
    status 2
    err_has "error[E0009]"
    cut -d, -f1 info.csv >names.csv
    run "$TRAINYARD" features update t.config --table names.csv
    status 2
    err_has "feature_info"
}

tap_cases a_table_completes_a_template what_is_missing_is_told
