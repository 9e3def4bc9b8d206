#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What explain says about codes, messages, fields, choices and names that are none.
. "$(dirname "$0")/lib.sh"

explain()
{
    run "$TRAINYARD" explain "$@"
}

a_code_in_either_case()
{
    explain e0201
    status 0
    err_empty
    out_is <<'END'
E0201: unknown field

The message at this place has no field of that name. The hint shows the nearest
name; `trainyard explain MESSAGE` lists all.
END
}

a_message_by_its_name_or_by_its_field()
{
    explain GradClipping
    status 0
    out_has "GradClipping, a message of TorchEasyRec pipeline.config"
    out_has "used in TrainConfig.grad_clipping"
    out_has "field"
    out_has "default"
    cp .out by_name
    explain grad_clipping
    out_is <by_name
}

a_field_by_its_path()
{
    explain train_config.save_checkpoints_steps
    status 0
    out_is <<'END'
TrainConfig.save_checkpoints_steps, a field of TorchEasyRec pipeline.config
  type     uint32
  default  1000
  meaning  save a checkpoint every so many steps; 0: never
END
    explain TrainConfig.save_checkpoints_steps
    out_has "TrainConfig.save_checkpoints_steps, a field of"
    explain 'feature_configs[3].id_feature.pooling'
    out_has "IdFeature.pooling, a field of"
    out_has "(one of 'sum', 'mean')"
}

a_field_that_several_messages_have()
{
    explain num_steps
    status 0
    out_has "TrainConfig.num_steps, a field of"
    out_has "EvalConfig.num_steps, a field of"
}

oneofs_deprecations_and_enums_are_told()
{
    explain SparseOptimizer
    out_has "  one of these (optimizer):"
    out_has "    adagrad_optimizer "
    explain DataConfig.fg_encoded
    out_has "(deprecated: use"
    explain DataConfig.fg_mode
    out_has "FG_DAG"
    explain FgMode
    out_has "FgMode, a choice of TorchEasyRec pipeline.config"
    out_has "used in DataConfig.fg_mode"
    explain FG_DAG
    out_has "FG_DAG (3), a value of FgMode: "
}

a_family_can_be_named()
{
    explain nni:ExperimentConfig
    status 0
    out_has "ExperimentConfig, a message of NNI experiment"
    out_has "trialConcurrency"
    explain nni:trainingService
    out_has "(platform is one of local, "
    explain pipeline:ExperimentConfig
    status 2
    err_has "trainyard explain: error[E0608]: nothing is named 'ExperimentConfig'"
    explain nono:X
    status 2
    err_has "'nono' is not a kind of file ("
}

names_that_are_none_get_a_suggestion()
{
    explain IdFeatur
    status 2
    out_empty
    err_is <<'END'
trainyard explain: error[E0608]: nothing is named 'IdFeatur', did you mean 'IdFeature'?
END
    explain train_config.num_epoch
    status 2
    err_is <<'END'
trainyard explain: error[E0608]: 'TrainConfig' has no field 'num_epoch', did you mean 'num_epochs'?
END
    explain E9999
    status 2
    err_has "no error code E9999; --all lists them"
    explain ""
    status 2
    err_has "nothing is named ''"
    explain ...
    status 2
    explain
    status 2
    err_has "error[E0605]: argument WHAT is missing"
}

all_lists_every_message_and_code()
{
    explain --all
    status 0
    out_has "TorchEasyRec pipeline.config (pipeline), messages:"
    out_has "  EasyRecConfig "
    out_has "  E0201  unknown field"
}

every_message_explains_itself()
{
    explain --all
    sed -n 's/^  \([A-Z][A-Za-z0-9]*\)  .*/\1/p' .out | grep -v '^E[0-9]' | sort -u >names
    [ "$(wc -l <names)" -gt 200 ] || fail "only $(wc -l <names) names"
    xargs "$TRAINYARD" explain <names >all.txt || fail "explain failed"
    awk 'length > 100 && !/^  [A-Za-z_]+ +[A-Za-z]+/' all.txt >long
    [ ! -s long ] || fail "lines over 100 columns: $(head -3 long)"
    check "no blanks at line ends" test "$(grep -c ' $' all.txt)" = 0
}

a_schema_is_printed_as_json()
{
    explain --json pipeline
    status 0
    python3 - <<'END' || fail "not that JSON"
import json
s = json.load(open(".out"))
field = s["messages"]["TrainConfig"]["fields"]["num_epochs"]
assert s["root"] == "EasyRecConfig" and field["type"] == "uint32" and field["shape"] == "single", field
assert "FG_DAG" in s["enums"]["FgMode"]["values"]
END
    explain --json pipelin
    status 2
    err_has "--json: 'pipelin' is not one of job, nni, "
}

reference_pages_are_written()
{
    explain --markdown pages
    status 0
    for page in pipeline nni errors commands; do
        check "pages/$page.md" test -s "pages/$page.md"
    done
    check "a table of fields" grep -q '^| `num_epochs` | uint32 |' pages/pipeline.md
    check "a link" grep -qF '[TrainConfig](#trainconfig)' pages/pipeline.md
    check "a code" grep -q '^## E0201: unknown field' pages/errors.md
    check "a command" grep -q '^## check' pages/commands.md
    : >file
    explain --markdown file/below
    status 1
    err_has "trainyard explain: error[E0003]: "
}

tap_cases \
    a_code_in_either_case \
    a_message_by_its_name_or_by_its_field \
    a_field_by_its_path \
    a_field_that_several_messages_have \
    oneofs_deprecations_and_enums_are_told \
    a_family_can_be_named \
    names_that_are_none_get_a_suggestion \
    all_lists_every_message_and_code \
    every_message_explains_itself \
    a_schema_is_printed_as_json \
    reference_pages_are_written
