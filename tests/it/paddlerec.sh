#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PaddleRec's config.yaml, run: networks, epochs, checkpoints, what is printed, what is refused.
. "$(dirname "$0")/lib.sh"

reference=$TY_SOURCE/tests/golden/paddlerec/reference.py

# rows N [FIRST]: lines of slots whose label follows from slot 1.
rows()
{
    awk -v n="$1" -v from="${2:-0}" 'BEGIN { for (i = from; i < from + n; i++)
        printf "click:%d dense_feature:%g dense_feature:%g 1:%d 2:%d 2:%d\n", i % 3 == 0, i / 100, 1 - i / 100, i % 3, i % 7, i % 5 }'
}

# config [YAML of the runner train] [YAML more of the phase]
config()
{
    mkdir -p models/rank/dnn data
    rows 50 >data/part-0
    cat >config.yaml <<END
workspace: models/rank/dnn
mode: [train, infer]
dataset:
- {name: d, type: DataLoader, data_path: data, batch_size: 4, sparse_slots: "click 1 2", dense_slots: "dense_feature:2"}
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 50
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
runner:
- {name: train, class: train, print_interval: 5, phases: [p], ${1:-epochs: 2, save_checkpoint_path: increment}}
- {name: infer, class: infer, init_model_path: increment, phases: [p]}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d${2:-}}
END
}

# lines: of the output without the tables.
lines()
{
    grep -v '^[=-]\|  \|^$' .out | sed 's/use time: [0-9.e-]*/use time: T/'
}

networks_train_as_the_reference_does()
{
    for network in contentunderstanding/textcnn contentunderstanding/tagspace match/multiview-simnet match/dssm recall/ssr recall/gru4rec recall/look-alike_recall \
        demo/movie_recommand/rank demo/movie_recommand/recall rank/dnn rank/logistic_regression rank/fm rank/deepfm rank/wide_deep recall/ncf recall/youtube_dnn \
        multitask/esmm multitask/mmoe multitask/share-bottom rank/afm rank/AutoInt rank/dcn rank/deep_crossing rank/din \
        rank/ffm rank/fnn rank/fnn/fm_model rank/nfm rank/pnn rank/xdeepfm; do
        for how in "1 adam" "3 adam" "1 sgd" "1 adagrad"; do
            [ "$network $how" = "rank/dnn 1 sgd" ] && break       # it is always trained with Adam
            [ "$network $how" = "multitask/esmm 3 adam" ] && break # its towers are large
            case $network in
            rank/dnn | rank/logistic_regression | rank/fm | rank/deepfm | rank/wide_deep) ;;
            rank/* | recall/ssr) [ "$how" = "1 adam" ] || break ;; # optimizers and replicas are seen to with the others
            contentunderstanding/* | match/* | recall/gru4rec | recall/look-alike_recall | demo/*) [ "$how" = "1 sgd" ] && break ;;
            esac
            mkdir -p "$network/$how"
            # shellcheck disable=SC2086 # two arguments
            (cd "$network/$how" && python3 "$reference" "$TRAINYARD" "$network" $how >told 2>&1) ||
                fail "$network $how: $(tail -n 3 "$network/$how/told")"
        done
    done
}

# texts KIND: 32 lines whose label follows from the first word, the title, or what comes next.
texts()
{
    awk -v kind="$1" 'BEGIN { for (i = 0; i < 32; i++) {
        a = i % 4; b = 3 * a + 1; c = 11 + i % 5
        if (kind == "text") print a, c, b, 0, 0, 3, a % 2
        if (kind == "tags") print a % 3 "," a, c, b
        if (kind == "simnet") print "0:" a, "0:" c, "1:" b, "1:" c, "2:" (b + 5) % 16, "2:" c
        if (kind == "documents") print (a == 0) "," (a == 1) "," (a == 2) "," c % 2 "\t" (b == 1) "," (b == 4) "," (b == 7) ",1\t" c % 2 ",1,0,1"
        if (kind == "session") print a, c, c, b
        if (kind == "seeds") print "label:" (a < 2), "seeds:" a, "seeds:" 4 + a, "target:" b
        if (kind == "films") print "logid:1", "time:" i, "userid:" a, "gender:" a, "age:" c, "occupation:1", "movieid:" b, "title:" c, "genres:2", "label:" 1 + a } }'
}

# learns NETWORK KIND SOURCE HYPER SHARE [RATE]: the loss of the last of 150 epochs is below that share of the first's.
learns()
{
    mkdir -p "$1/data"
    (cd "$1" && texts "$2" >data/a && cat >config.yaml <<END
workspace: $1
mode: train
dataset: [{name: d, data_path: data, batch_size: 8, $3}]
hyper_parameters: {optimizer: {class: adam, learning_rate: ${6:-0.02}}, $4}
runner: [{name: train, class: train, epochs: 150, phases: p}]
phase: [{name: p, model: "{workspace}/model.py", dataset_name: d}]
END
        "$TRAINYARD" run config.yaml >.out 2>.err || fail "$1: $(cat .err)"
        sed -n 's/^epoch .*LOSS=\[\(.*\)\]/\1/p' .out | awk -v share="$5" 'NR == 1 { first = $1 } END { exit !($1 < share * first) }') ||
        fail "$1 does not learn: $(sed -n 's/.*LOSS/LOSS/p' "$1/.out" | sed -n '1p;$p' | tr '\n' ' ')"
}

networks_on_texts_learn_their_sample()
{
    learns contentunderstanding/textcnn text "data_converter: r.py" "dict_dim: 16, max_len: 5, cnn_dim: 4, cnn_filter_size1: 1, \
      cnn_filter_size2: 2, cnn_filter_size3: 3, emb_dim: 4, hid_dim: 4, class_dim: 2" 0.1
    learns contentunderstanding/tagspace tags "data_converter: r.py" "vocab_text_size: 16, vocab_tag_size: 3, emb_dim: 4, hid_dim: 8, \
      win_size: 3, margin: 0.5" 0.1
    learns match/multiview-simnet simnet "sparse_slots: '0 1 2'" "query_encoder: gru, title_encoder: cnn, query_encode_dim: 8, \
      title_encode_dim: 8, sparse_feature_dim: 16, embedding_dim: 4, hidden_size: 4, margin: 0.5" 0.1
    learns match/dssm documents "data_converter: r.py" "trigram_d: 4, neg_num: 1, fc_sizes: [8, 4], fc_acts: [tanh, tanh]" 0.6
    learns recall/ssr session "data_converter: r.py" "vocab_size: 16, emb_dim: 4, hidden_size: 4" 0.1
    learns recall/gru4rec session "data_converter: r.py" "vocab_size: 16, hid_size: 16, emb_lr_x: 2, gru_lr_x: 1, fc_lr_x: 1, \
      init_low_bound: -0.4, init_high_bound: 0.4, recall_k: 3" 0.5
    grep -q 'epoch 149 .*InsCnt=.*, RecallCnt=.*, Acc(Recall@k)=' recall/gru4rec/.out || fail "recalls are shown"
    learns recall/look-alike_recall seeds "sparse_slots: 'label seeds target'" "user_emb_size: 4, user_count: 16, transformed_size: 4" 0.7
    learns demo/movie_recommand/rank films "sparse_slots: 'logid time userid gender age occupation movieid title genres label'" \
        "sparse_feature_number: 16, sparse_feature_dim: 4, fc_sizes: [8, 4]" 0.1
    learns demo/movie_recommand/recall films "sparse_slots: 'logid time userid gender age occupation movieid title genres label'" \
        "sparse_feature_number: 16, sparse_feature_dim: 4, fc_sizes: [8, 4]" 0.1
    echo "class Reader: pass" >recall/ssr/r.py
    (cd recall/ssr && run "$TRAINYARD" run config.yaml --set 'runner[name=train].epochs=1')
    mv recall/ssr/.err .
    err_has "warning[E0526]: 'r.py' is not the one of PaddleRec 1.8.5 and is not read: the built-in reader of recall/ssr is used"
    (cd recall/ssr && run "$TRAINYARD" run config.yaml --set 'runner[name=train].epochs=1' --as recall/ssr)
    mv recall/ssr/.err .
    err_lacks E0526
}

evaluations_of_pairs_show_their_similarity()
{
    learns match/multiview-simnet simnet "sparse_slots: '0 1 2'" "query_encoder: bow, title_encoder: bow, query_encode_dim: 4, \
      title_encode_dim: 4, sparse_feature_dim: 16, embedding_dim: 4, hidden_size: 4, margin: 0.5" 0.5
    cp -r match/multiview-simnet/* .
    sed 's/0 1 2/0 1/; s/^mode: train/mode: t/; s/^runner.*/runner: [{name: t, class: infer, init_model_path: m, phases: p}]/' config.yaml >infer.yaml
    run "$TRAINYARD" run config.yaml --set 'runner[name=train].save_checkpoint_path=m' --set 'runner[name=train].epochs=1'
    status 0
    run "$TRAINYARD" run infer.yaml
    status 0
    check "one of each row of the last batch" grep -qE 'query_pt_sim=\[(-?[01]?\.[0-9]* ?){8}\]' .out
    run "$TRAINYARD" run infer.yaml --set 'dataset[name=d].sparse_slots=0'
    status 2
    err_has "match/multiview-simnet reads three sparse slots, query, title and another title"
    run "$TRAINYARD" run config.yaml --set 'hyper_parameters.query_encoder=lstm'
    status 2
    err_has "hyper_parameters.query_encoder: 'lstm' is not one of bow, cnn, gru"
}

a_run_prints_what_paddlerec_prints()
{
    config
    run "$TRAINYARD" run config.yaml
    status 0
    lines >plain
    sed 's/=\[[0-9.]*\]/=[V]/g' plain >got
    cat >want <<'END'
PaddleRec: Runner train Begin
Executor Mode: train
processor_register begin
Running SingleInstance.
Running SingleNetwork.
Warning:please make sure there are no hidden files in the dataset folder and check these hidden files:[]
Running SingleStartup.
Running SingleRunner.
epoch 0 done, use time: T, global metrics: BATCH_AUC=[V], AUC=[V], LOSS=[V]
TABsave epoch_id:0 model into: "increment/0"
epoch 1 done, use time: T, global metrics: BATCH_AUC=[V], AUC=[V], LOSS=[V]
TABsave epoch_id:1 model into: "increment/1"
PaddleRec Finish
PaddleRec: Runner infer Begin
Executor Mode: infer
processor_register begin
Running SingleInstance.
Running SingleNetwork.
Warning:please make sure there are no hidden files in the dataset folder and check these hidden files:[]
Running SingleInferStartup.
Running SingleInferRunner.
load persistables from increment/0
Infer p of epoch increment/0 done, use time: T, global metrics: BATCH_AUC=[V], AUC=[V]
load persistables from increment/1
Infer p of epoch increment/1 done, use time: T, global metrics: BATCH_AUC=[V], AUC=[V]
PaddleRec Finish
END
    sed -i "s/^TAB/$(printf '\t')/" want
    check "the lines are PaddleRec's" diff want got
    sed -n 's/^[-0-9]* [0-9:]*,[0-9]* - INFO: //p' .err | sed 's/[0-9.]*s, B.*/T/' >progress
    printf '\t[Train],  epoch: 0,  batch: 5, time_each_interval: T\n\t[Train],  epoch: 0,  batch: 10, time_each_interval: T\n' >want
    head -n 2 progress >got
    check "so are those of progress" diff want got
    # 12 whole batches of 4 of 50 rows: batches 0 to 11
    check "an incomplete batch is left out" test "$(grep -c 'epoch: 0,' progress)" = 2
    out_has "dataset.d.data_path                               data"
    out_has "paddlerec Global Envs"
}

every_row_is_evaluated_whatever_was_trained_before()
{
    config
    run "$TRAINYARD" run config.yaml --set 'runner[name=train].epochs=30'
    status 0
    # 50 rows, also the last two; metrics begin anew, so a model that fits has AUC 1
    grep -q 'Infer p of epoch increment/29 done.*AUC=\[1.\]' .out || fail "$(tail -n 2 .out)"
    grep -q 'epoch 29 done.*, AUC=\[0.' .out || fail "training metrics go on over epochs"
    cut -d' ' -f5 <<<"$(grep '^Infer' .out)" >order
    for i in $(seq 0 29); do echo "increment/$i"; done >want
    check "models come by number" diff want order
}

checkpoints_are_named_by_epochs()
{
    config "epochs: 4, save_checkpoint_interval: 2, save_checkpoint_path: a"
    run "$TRAINYARD" run config.yaml --set 'mode=[train]'
    status 0
    check "every second epoch" test "$(cd a && echo *)" = "1 3"
    run "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'runner[name=train].epochs=3' \
        --set 'runner[name=train].save_checkpoint_path={workspace}/b'
    status 0
    check "and the last" test "$(cd models/rank/dnn/b && echo *)" = "1 2"
    run "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'runner[name=train].save_checkpoint_path=a' \
        --set 'dataset[name=d].batch_size=5'
    status 0
    check "an epoch has one checkpoint" test "$(cd a/1 && echo * | wc -w)" = 1
}

steps_are_saved_and_results_dumped()
{
    config "epochs: 2, save_step_interval: 5, save_step_path: steps, runner_result_dump_path: r.json"
    run "$TRAINYARD" run config.yaml --set 'mode=[train]'
    status 0
    check "by batches" test "$(cd steps && echo *)" = \
        "epoch_0_batch_0 epoch_0_batch_10 epoch_0_batch_5 epoch_1_batch_0 epoch_1_batch_10 epoch_1_batch_5"
    out_has "$(printf '\t')"'save epoch_id:1, batch_id:5 model into: "steps/epoch_1_batch_5"'
    out_has "Dump runner result in r.json_epoch_1"
    check "an object per batch" python3 -c "import json
r = json.load(open('r.json_epoch_0'))
assert len(r) == 12 and list(r[0]) == ['BATCH_AUC', 'AUC', 'LOSS'] and r[3]['LOSS'][0] > 0"
}

a_warm_start_goes_on_from_a_model()
{
    config "epochs: 3, save_checkpoint_path: increment"
    run "$TRAINYARD" run config.yaml --set 'mode=[train]'
    first=$(sed -n 's/^epoch 0 .*LOSS=\[\(.*\)\]/\1/p' .out)
    run "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'runner[name=train].init_model_path=increment/2'
    status 0
    out_has "going to load  increment/2"
    out_has "load from increment/2 success"
    later=$(sed -n 's/^epoch 0 .*LOSS=\[\(.*\)\]/\1/p' .out)
    check "the loss goes on ($first, $later)" awk "BEGIN { exit !($later < $first / 2) }"
    run "$TRAINYARD" run config.yaml --set 'mode=[infer]' --set 'runner[name=infer].init_model_path=nowhere'
    status 1
    err_has "runner infer: "
    err_has "nowhere"
}

results_do_not_depend_on_threads()
{
    config "epochs: 2, save_checkpoint_path: increment" ", thread_num: 3"
    for n in 1 2; do
        run "$TRAINYARD" run config.yaml --set 'mode=[train]' --threads $n
        status 0
        mv increment "with$n"
    done
    check "the same bytes" diff -r with1 with2
}

files_are_read_in_order_and_hidden_ones_left_out()
{
    config "epochs: 1, save_checkpoint_path: increment"
    mkdir -p data/sub
    rows 10 50 >data/sub/part-1
    echo broken >data/.hidden
    run "$TRAINYARD" run config.yaml --set 'mode=[train]'
    status 0
    out_has "check these hidden files:['data/.hidden']"
    check "60 rows are 15 batches" test "$(grep -c 'batch: 10' .err)" = 1
    "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'phase[name=p].shuffle_filelist=true' >/dev/null 2>&1
    mv increment a
    "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'phase[name=p].shuffle_filelist=true' >/dev/null 2>&1
    check "a seed has one order" diff -r a increment
    echo "click:0 1:x" >>data/sub/part-1
    run "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'dataset[name=d].batch_size=61'
    status 1
    err_has "data/sub/part-1': line 11, column 11: slot '1': 'x' is not a whole number of 64 bits"
}

queue_datasets_keep_their_last_batch()
{
    config "epochs: 1, save_checkpoint_path: increment, print_interval: 1"
    run "$TRAINYARD" run config.yaml --set 'mode=[train]' --set 'dataset[name=d].type=QueueDataset'
    status 0
    check "13 batches of 50 rows" grep -q 'batch: 12,' .err
}

slots_that_the_data_lacks_are_told()
{
    config
    run "$TRAINYARD" run config.yaml --set 'dataset[name=d].dense_slots=dense_var:2'
    status 0
    err_has "warning[E0528]: no line of 'data/part-0' has slot dense_var: it is filled with 0 in every row"
    err_has "slots of the data that are not read: dense_feature"
    run "$TRAINYARD" run config.yaml --set 'dataset[name=d].dense_slots=dense_var:2' --strict
    status 2
    err_has "error[E0528]"
    run "$TRAINYARD" run config.yaml --set 'dataset[name=d].dense_slots=dense_feature:3'
    status 1
    err_has "slot 'dense_feature': holds 2 values, where 3 are expected"
}

networks_are_found_by_folder_or_by_name()
{
    config
    mkdir mine
    run "$TRAINYARD" run config.yaml --set workspace=mine
    status 2
    err_has "error[E0525]: 'mine/model.py' is Python code, which is not run"
    err_has "by its hyper_parameters this may be rank/dnn"
    err_has "--as rank/dnn trains that"
    run "$TRAINYARD" run config.yaml --set workspace=mine --set 'hyper_parameters={optimizer: {class: Adam, learning_rate: 0.01}, sparse_feature_number: 50, sparse_feature_dim: 4, depth: 3, colour: red}'
    status 2
    err_has "by its hyper_parameters this may be rank/dnn (it needs fc_sizes; depth, colour mean nothing to it); --as rank/dnn"
    run "$TRAINYARD" run config.yaml --set workspace=mine --as rank/dnn
    status 0
    mkdir -p models/recall/gnn
    run "$TRAINYARD" run config.yaml --set workspace=models/recall/gnn
    status 2
    err_has "error[E0525]: 'models/recall/gnn/model.py' is Python code"
    err_has "a pipeline.config has the model 'srgnn' for it"
    run "$TRAINYARD" run config.yaml --as rank/nothing
    status 2
    err_has "--as rank/nothing names no network; there are contentunderstanding/tagspace, "
    echo "class Model: pass" >models/rank/dnn/model.py
    run "$TRAINYARD" run config.yaml
    status 0
    err_has "warning[E0526]: 'models/rank/dnn/model.py' is not the one of PaddleRec 1.8.5 and is not read"
    (cd models/rank/dnn && sed 's/^workspace.*/workspace: ".\/"/; s/data_path: data/data_path: ..\/..\/..\/data/' ../../../config.yaml >config.yaml &&
        "$TRAINYARD" run config.yaml >/dev/null 2>&1) || fail "the folder tells also from within"
}

# refused CODE TEXT OPTION...
refused()
{
    code=$1 text=$2
    shift 2
    run "$TRAINYARD" run config.yaml "$@"
    status 2
    err_has "error[$code]: $text"
}

# reader_of_mine FILE [sed of it]: columns label, number, word, ids.
reader_of_mine()
{
    cat >.reader <<'END'
import os
import socket
from paddlerec.core.reader import ReaderBase
from paddlerec.core.utils import envs

class Reader(ReaderBase):
    def init(self):
        self.rows = envs.get_global_env("hyper_parameters.sparse_feature_number", None)
        self.scale = envs.get_global_env("scale", 1, "dataset.d")

    def generate_sample(self, line):
        def samples():
            label, number, word, ids = line.strip().split("\t")
            if label == "skip":
                yield None
                return
            yield [("click", [int(label)]), ("dense_feature", [float(number) * self.scale, 0.5]),
                   ("1", [hash(word) % self.rows]), ("2", [int(i) for i in ids.split(",")])]
        return samples
END
    sed "${2:-}" .reader >"models/rank/dnn/$1"
}

a_reader_of_ones_own_runs_in_a_sandbox()
{
    config "epochs: 3, save_checkpoint_path: increment"
    reader_of_mine mine.py
    mkdir raw
    awk 'BEGIN { for (i = 0; i < 50; i++) printf "%d\t%g\tw%d\t%d,%d\n", i % 3 == 0, i / 100, i % 3, i % 7, i % 5; print "skip\t0\tw\t1" }' >raw/a
    cp raw/a raw/b
    sed -i 's/data_path: data/data_path: raw/; s/sparse_slots:.*"}/data_converter: "{workspace}\/mine.py", scale: 2}/' config.yaml
    run "$TRAINYARD" run config.yaml
    trust=
    if grep -q 'cannot keep a program apart' .err; then
        status 2
        err_has "error[E0541]: this machine cannot keep a program apart"
        trust=--trust-reader # no name spaces here
        run "$TRAINYARD" run config.yaml $trust
    fi
    status 0
    check "it learns" grep -q 'Infer p of epoch increment/2 done.*, AUC=\[1.\]' .out
    mv increment first
    run "$TRAINYARD" run config.yaml $trust --set 'mode=[train]'
    check "hash() gives the same in each run" diff -r first increment
    run "$TRAINYARD" run config.yaml --trust-reader --set 'mode=[train]'
    check "so it does without a sandbox" diff -r first increment
    run "$TRAINYARD" run config.yaml $trust --print-pipeline
    out_has 'line_columns: "label=id(click) slot0=ids(1) slot1=ids(2) dense=floats(dense_feature,2)"'
    check "nothing stays behind" test -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'trainyard-reader-*' -newer config.yaml)"
    while IFS='|' read -r name change text; do
        reader_of_mine "$name" "$change"
        run "$TRAINYARD" run config.yaml $trust --set "dataset[name=d].data_converter={workspace}/$name"
        status 2
        err_has "error[E0541]: "
        err_has "$text"
        err_has "1 error"
    done <<'END'
zero.py|s/int(label)\]/int(label) \/\/ 0]/|zero.py:17: line 1 of the data: ZeroDivisionError
word.py|s/hash(word) % self.rows/word/|word.py: line 1 of the data: TypeError: slot '1' holds 'w0', which is no number
name.py|s/"click"/"a b"/|name.py: line 1 of the data: ValueError: 'a b' cannot be the name of a slot
none.py|s/yield \[/yield None; [/|'raw/a': the reader made no sample of it
class.py|s/class Reader/class Other/|class.py: AttributeError: there is no class Reader
import.py|s/^import os/import nowhere_to_be_found/|import.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'
die.py|s/self.scale = .*/os.kill(os.getpid(), 9)/|'raw/a': killed by SIGKILL
END
    [ "$trust" ] && return
    while IFS='|' read -r name change text; do
        reader_of_mine "$name" "$change"
        run "$TRAINYARD" run config.yaml --set "dataset[name=d].data_converter={workspace}/$name"
        status 2
        err_has "$text"
    done <<END
write.py|s,self.scale = .*,open("$PWD/stolen"\, "w"),|OSError: [Errno 30] Read-only file system: '$PWD/stolen'
net.py|s/self.scale = .*/raise OSError(sorted(i[1] for i in socket.if_nameindex()))/|OSError: ['lo']
END
    check "nothing is written" test ! -e stolen
}

what_cannot_be_run_is_refused_before_anything_runs()
{
    config
    refused E0529 "runner.train: cluster_train needs -b backend.yaml" --set 'runner[name=train].class=cluster_train'
    refused E0529 "runner.train: this version runs config.yaml on the CPU" --set 'runner[name=train].device=gpu'
    err_has "--set 'runner[name=train].device=cpu' runs it there"
    refused E0529 "runner.train: Python code in place of a step is not run" --set 'runner[name=train].startup_class_path=a.py'
    refused E0529 "runner.train: GeneralTrainer is the only trainer" --set 'runner[name=train].trainer_class=t.py'
    refused E0529 "runner.infer: init_model_path names no model to evaluate" --set 'runner[name=infer].init_model_path='
    refused E0527 "hyper_parameters.fc_sizes: rank/dnn needs a list of sizes, such as [512, 256]" --set 'hyper_parameters.fc_sizes=7'
    refused E0527 "hyper_parameters.sparse_feature_dim: rank/dnn needs a whole number from 1 on" --set 'hyper_parameters.sparse_feature_dim=0'
    refused E0527 "hyper_parameters.dense_input_dim is 13, but the slots of dataset 'd' make it 2" --set 'hyper_parameters.dense_input_dim=13'
    refused E0527 "rank/dnn reads a label, 1 or more other sparse slots and 1 dense one" --set 'dataset[name=d].dense_slots='
    refused E0541 "reader 'r.py': No such file or directory" \
        --set 'dataset[name=d]={name: d, data_path: data, batch_size: 4, data_converter: r.py}'
    refused E0527 "multitask/mmoe reads lines of the form 'mmoe' through a data_converter, not slots" --as mmoe
    refused E0527 "hyper_parameters.optimizer: rank/fm needs class and learning_rate" --as fm --set 'hyper_parameters.optimizer={class: SGD}'
    refused E0514 "" --set 'dataset[name=d].data_path=nowhere'
    refused E0527 "the loss of rank/dnn is a mean" --set 'phase[name=p].gradient_scale_strategy=1' --set 'phase[name=p].thread_num=2'
    check "nothing ran" test ! -e increment
    run "$TRAINYARD" run config.yaml --set 'hyper_parameters.colour=red'
    status 0
    err_has "warning[E0520]: hyper_parameters.colour has no effect on rank/dnn"
    run "$TRAINYARD" run config.yaml --set 'dataset[name=d].batch_size=64' --set 'mode=[train]'
    status 2
    err_has "has no whole batch of 64 rows"
}

a_pipeline_is_printed_that_trains()
{
    config
    run "$TRAINYARD" run config.yaml --print-pipeline --set 'mode=[train]'
    status 0
    cp .out pipeline.config
    run "$TRAINYARD" check pipeline.config
    status 0
    run "$TRAINYARD" train pipeline.config
    status 0
}

configs_are_built_in()
{
    run "$TRAINYARD" run paddlerec.models.rank.nothing
    status 2
    err_has "error[E0540]: 'paddlerec.models.rank.nothing': there is no 'models/rank/nothing/config.yaml'"
    sed -n 's,^    {.name = "\(.*\)"\,.*,\1,p' "$TY_SOURCE/src/compat/paddlerec_shipped.c" | sed 's,/,.,g; s/^/paddlerec.models./' >names
    check "there are $(wc -l <names)" test "$(wc -l <names)" -ge 35
    mkdir -p models/rank/dcn/data/sample_data # dcn reads the sizes of its tables
    for i in $(seq 26); do echo "C$i 9"; done >models/rank/dcn/data/sample_data/cat_feature_num.txt
    while read -r name; do
        "$TRAINYARD" run "$name" --print-pipeline >p.config 2>.err || fail "$name: $(cat .err)"
        check "$name makes no warnings" test ! -s .err
    done <names
    run "$TRAINYARD" run paddlerec.models.rank.dnn
    status 2
    err_has "error[E0514]: "
    err_has "the config is built in, its data are not: --set 'dataset[name=dataloader_train].data_path=DIR'"
    config # data of our own, as a file and by name
    run "$TRAINYARD" run paddlerec.models.rank.dnn --set 'dataset[name=dataloader_train].data_path=data' \
        --set 'dataset[name=dataset_infer].data_path=data' --set 'hyper_parameters.fc_sizes=[8]' \
        --set 'hyper_parameters.sparse_inputs_slots=27' --set hyper_parameters.dense_input_dim=2 \
        --set 'dataset[name=dataset_infer].dense_slots=dense_feature:2' \
        --set 'dataset[name=dataloader_train].dense_slots=dense_feature:2'
    status 0
    check "as often as PaddleRec's" test "$(ls increment_dnn)" = "$(printf '1\n3')"
    out_has "load persistables from increment_dnn/3"
    "$TRAINYARD" run paddlerec.models.rank.dnn --set 'hyper_parameters.fc_sizes=[8]' --print-config >mine.yaml
    run "$TRAINYARD" run mine.yaml --print-pipeline
    status 0
    out_has "hidden_units: [8]"
}

names_of_paddlerec_reach_the_program()
{
    config
    mkdir bin
    ln -s "$TRAINYARD" bin/paddlerec
    ln -s "$TRAINYARD" bin/python
    run env PATH="$PWD/bin:$PATH" paddlerec -m config.yaml
    status 0
    run env PATH="$PWD/bin:$PATH" python -m paddlerec.run -m config.yaml
    status 0
    cp config.yaml models/rank/dnn/
    run env PACKAGE_BASE=. PATH="$PWD/bin:$PATH" python -m paddlerec.run --model paddlerec.models.rank.dnn
    status 0
    run env PATH="$PWD/bin:$PATH" paddlerec
    status 0
    out_has "usage: paddlerec -m config.yaml"
    run env PATH="$PWD/bin:$PATH" paddlerec -b backend.yaml
    status 2
    err_has "-m config.yaml, or -m paddlerec.models.X.Y, is required"
    printf 'backend: Nimbus\n' >backend.yaml
    run env PATH="$PWD/bin:$PATH" paddlerec -m config.yaml -b backend.yaml
    status 2
    err_has "error[E0530]"
}

tap_cases networks_train_as_the_reference_does networks_on_texts_learn_their_sample evaluations_of_pairs_show_their_similarity a_run_prints_what_paddlerec_prints \
    every_row_is_evaluated_whatever_was_trained_before checkpoints_are_named_by_epochs steps_are_saved_and_results_dumped \
    a_warm_start_goes_on_from_a_model results_do_not_depend_on_threads files_are_read_in_order_and_hidden_ones_left_out \
    queue_datasets_keep_their_last_batch slots_that_the_data_lacks_are_told networks_are_found_by_folder_or_by_name \
    what_cannot_be_run_is_refused_before_anything_runs a_pipeline_is_printed_that_trains a_reader_of_ones_own_runs_in_a_sandbox configs_are_built_in names_of_paddlerec_reach_the_program
