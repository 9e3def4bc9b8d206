#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kafka: kafka:// as input, against the mock cluster of librdkafka; tests/interop/kafka.sh
# asks a real broker. Messages are those of tests/golden/arrow.
. "$(dirname "$0")/lib.sh"

arrow=$TY_SOURCE/tests/golden/arrow
mock=${TY_BUILD:-$TY_SOURCE/build/dev}/tests/it/kafka_mock
"$TRAINYARD" version | grep -q librdkafka || { echo "1..0 # SKIP built without librdkafka"; exit 77; }

# Starts a cluster for the case; it ends with it. Sets $at.
serve()
{
    mkfifo in out
    "$mock" ready <in >out &
    exec 7>in 8<out
    for _ in $(seq 400); do [ -s ready ] && break; sleep 0.05; done
    at=kafka://$(cat ready)
    export TRAINYARD_KAFKA_TIMEOUT=60
}
tell()
{
    local answer
    echo "$*" >&7
    read -r answer <&8
    [ "$answer" = ok ] || fail "$*: $answer"
}

all="group.id=g&auto.offset.reset=earliest&stop.at.end=true"

messages_are_rows()
{
    serve
    tell topic t 1
    for k in 0 1 2; do tell send t 0 "$arrow/rows$k.stream"; done
    run "$TRAINYARD" data head --json "$at/t?$all"
    status 0
    out_is <<'X'
{"id": 0, "msg": "m0"}
{"id": 1, "msg": "m0"}
{"id": 2, "msg": "m0"}
{"id": 3, "msg": "m1"}
{"id": 4, "msg": "m1"}
{"id": 5, "msg": "m1"}
{"id": 6, "msg": "m2"}
{"id": 7, "msg": "m2"}
{"id": 8, "msg": "m2"}
X
    run "$TRAINYARD" data head --json --columns msg -n 1 "$at/t?$all"
    out_is <<'X'
{"msg": "m0"}
X
}

every_type_of_arrow_is_read()
{
    serve
    tell topic t 1
    for f in types lz4 zstd reordered; do tell send t 0 "$arrow/$f.stream"; done
    tell send t 0 "$arrow/types.stream"
    run "$TRAINYARD" data head --json -n 25 "$at/t?$all"
    status 0
    [ "$(sort -u .out | wc -l)" = 5 ] || fail "other rows: $(cat .out)"
    out_has '"ll": [["a"], null, []], "m": {"k": 1.5, "z": null}, "st": {"x": 1, "y": "p"}'
}

all_partitions_are_read()
{
    serve
    tell topic t 3
    for k in 0 1 2 3 4 5; do tell send t $((k % 3)) "$arrow/rows$k.stream"; done
    run "$TRAINYARD" data stats --json "$at/t?$all"
    status 0
    json 'd["rows"] == 18 and d["files"] == 3'
    run "$TRAINYARD" data head --json "$at/t?$all#1"
    out_is <<'X'
{"id": 3, "msg": "m1"}
{"id": 4, "msg": "m1"}
{"id": 5, "msg": "m1"}
{"id": 12, "msg": "m4"}
{"id": 13, "msg": "m4"}
{"id": 14, "msg": "m4"}
X
}

a_stream_waits_for_more()
{
    serve
    tell topic t 1
    tell send t 0 "$arrow/rows0.stream"
    "$TRAINYARD" data head --json -n 6 "$at/t?group.id=g&auto.offset.reset=earliest" >late &
    sleep 1
    tell send t 0 "$arrow/rows1.stream"
    wait $!
    [ "$(wc -l <late)" = 6 ] || fail "rows: $(cat late)"
}

damaged_messages_are_told()
{
    serve
    tell topic t 1
    tell send t 0 "$arrow/types.stream"
    tell send t 0 "$arrow/missing.stream"
    tell send t 0 "$arrow/types.stream"
    run "$TRAINYARD" data head --json "$at/t?$all"
    status 2
    err_has "error[E1806]: '$at/t?$all#0': message 1: there is no column 'f'"
    tell topic u 1
    printf 'not arrow at all' >x
    tell send u 0 "$PWD/x"
    run "$TRAINYARD" data head "$at/u?$all"
    status 1
    err_has "error[E1805]: '$at/u?$all#0': message 0: not an Arrow record batch: "
}

failures_are_told()
{
    serve
    tell topic t 1
    run "$TRAINYARD" data head "$at/t?$all"
    status 1
    err_has "error[E1804]: '$at/t?$all#0': topic 't': it has no message that would tell the columns: declare them with input_fields"
    run "$TRAINYARD" data head "$at/t"
    status 2
    err_has "error[E1801]: '$at/t': it has no group.id; write kafka://broker:port/topic?group.id=name"
    run "$TRAINYARD" data head "$at?group.id=g"
    err_has "it names no topic"
    run "$TRAINYARD" data head "$at/t?group.id=g&no.such.setting=1"
    status 2
    err_has 'error[E1802]: Kafka: No such configuration property: "no.such.setting"'
    run "$TRAINYARD" data head "$at/t?group.id=g&sasl.password=hidden"
    status 2
    err_has "error[E1801]: sasl.password does not belong in an address, which is shown and stored: write it to the file that TRAINYARD_KAFKA_CONFIG names"
    err_lacks hidden
    TRAINYARD_KAFKA_TIMEOUT=1 run "$TRAINYARD" data head "kafka://127.0.0.1:1/t?group.id=g"
    status 1
    err_has "error[E1803]: 'kafka://127.0.0.1:1/t?group.id=g': no broker answers within 1 s: "
    printf 'sasl.nonsense=hidden\n' >k.conf
    TRAINYARD_KAFKA_CONFIG=$PWD/k.conf run "$TRAINYARD" data head "$at/t?$all"
    err_has "error[E1802]: TRAINYARD_KAFKA_CONFIG: 'sasl.nonsense' is not known to the Kafka library, or its value is refused"
    err_lacks hidden
}

# Six messages of three rows, so many seconds behind a full minute; a config with a batch for each.
timed()
{
    local k=0
    serve
    tell topic t 1
    for s in "$@"; do
        tell send t 0 "$arrow/rows$k.stream" $((1700000040000 + s * 1000))
        k=$((k + 1))
    done
    cat >k.config <<X
train_input_path: "$at/t?$all"
train_config { num_epochs: 1 save_checkpoints_steps: 1000
  sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 3 dataset_type: KafkaDataset fg_mode: FG_DAG label_fields: "id" num_workers: 1 }
feature_configs { id_feature { feature_name: "msg" expression: "user:msg" embedding_dim: 4 hash_bucket_size: 10 } }
model_config { feature_groups { group_name: "deep" feature_names: "msg" group_type: DEEP }
  multi_tower { towers { input: "deep" mlp { hidden_units: 4 } } final { hidden_units: 4 } }
  losses { l2_loss {} } metrics { mean_squared_error {} } }
X
}
# Checkpoints of $1, by step.
saved()
{
    for d in "$1"/model.ckpt-*; do echo "${d##*-}"; done | sort -n | tr '\n' ' '
}

event_times_save_checkpoints()
{
    timed 10 30 61 90 185 190
    run "$TRAINYARD" train k.config --model-dir a --set train_config.save_checkpoints_timestamp_interval=60
    status 0
    err_lacks "have no time of their own"
    [ "$(saved a)" = "2 4 5 " ] || fail "checkpoints: $(saved a)"
    run "$TRAINYARD" train k.config --model-dir b \
        --edit-config-json '{"train_config.save_checkpoints_timestamps": [1700000065, 1700000226]}'
    status 0
    [ "$(saved b)" = "1 5 " ] || fail "checkpoints: $(saved b)"
    run "$TRAINYARD" train k.config --model-dir c
    [ "$(saved c)" = "5 " ] || fail "checkpoints: $(saved c)"
}

# The run that goes on knows the event time of its checkpoint.
event_times_outlive_a_stop()
{
    timed 10 30 61 90 185 190
    set -- --model-dir a --set train_config.save_checkpoints_timestamp_interval=60
    run "$TRAINYARD" train k.config "$@" --set train_config.num_steps=2
    [ "$(saved a)" = "1 " ] || fail "checkpoints: $(saved a)"
    run "$TRAINYARD" train k.config "$@" --continue
    status 0
    [ "$(saved a)" = "1 2 4 5 " ] || fail "checkpoints: $(saved a)"
    # data that begins anew has its own first time
    run "$TRAINYARD" train k.config "$@" --continue --data restart --set train_config.num_steps=3
    status 0
    [ "$(saved a)" = "1 2 4 5 8 " ] || fail "checkpoints: $(saved a)"
}

tap_cases messages_are_rows every_type_of_arrow_is_read all_partitions_are_read \
    a_stream_waits_for_more damaged_messages_are_told failures_are_told \
    event_times_save_checkpoints event_times_outlive_a_stop
