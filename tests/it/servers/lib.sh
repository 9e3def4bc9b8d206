# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh - what tests with a server of ours share: starting it, and its control.

# serve SCRIPT [ARG...]: starts it for the case; it ends with it. Sets $at.
serve_with()
{
    rm -f port
    python3 "$TY_SOURCE/tests/it/servers/$1" port "${@:2}" &
    server=$!
    # shellcheck disable=SC2064
    trap "kill $server 2>/dev/null; wait $server 2>/dev/null" EXIT
    for _ in $(seq 400); do [ -s port ] && break; sleep 0.05; done
    at=http://127.0.0.1:$(cat port)
    export no_proxy=127.0.0.1,localhost,.localhost HOME=$PWD
}

# ask PATH [TEXT | @FILE]: a request to the server's control, without starting a program.
ask()
{
    local n=0 line
    case ${2-} in
    '') ;;
    @*) n=$(stat -c %s "${2#@}") ;;
    *) n=$(printf %s "$2" | wc -c) ;;
    esac
    exec 9<>"/dev/tcp/127.0.0.1/$(cat port)"
    printf '%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' \
        "$([ $# -gt 1 ] && echo POST || echo GET)" "$1" "$n" >&9
    case ${2-} in
    '') ;;
    @*) cat "${2#@}" >&9 ;;
    *) printf %s "$2" >&9 ;;
    esac
    while IFS= read -r line <&9 && [ "$line" != $'\r' ]; do :; done
    cat <&9
    exec 9>&-
}
fault() { ask /_fault "$1"; }
# stats EXPRESSION: over d, the server's counts.
stats()
{
    ask /_stats >.stats
    python3 -c 'import json,sys; d=json.load(open(".stats")); assert eval(sys.argv[1]), d' "$1" 2>.pyerr && return
    fail "server: not true: $1"
    tail -1 .pyerr | cut -c1-300 | sed 's/^/#   /' >&3
}

# click_config DATA: a small model of generated clicks, whose data_config says DATA as well.
click_config()
{
    cat >c.config <<END
train_config {
  num_epochs: 1 save_checkpoints_steps: 5
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config { fg_mode: FG_DAG label_fields: "clk" num_workers: 2 $1 }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id"
  hash_bucket_size: 500 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "wide" group_type: WIDE feature_names: ["user_id", "cate_id"] }
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "cate_id"] }
  deepfm { deep { hidden_units: [8] } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
}
