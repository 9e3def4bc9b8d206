#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# backend.yaml: the submission folder of each kind of cluster, what is printed, the client's arguments, keys that nobody
# sees, what is refused. tests/golden/paddlerec/submit holds what is expected; the client is a script that notes how it is called.
. "$(dirname "$0")/lib.sh"

golden=$TY_SOURCE/tests/golden/paddlerec/submit

# client [EXIT STATUS]: a PaddleCloud client that notes its arguments, one a line.
client()
{
    mkdir -p bin
    cat >bin/paddlecloud <<END
#!/bin/sh
printf '%s\n' "\$@" >"$PWD/argv"
echo "Start checking your job configuration, please be patient."
exit ${1:-0}
END
    chmod +x bin/paddlecloud
    export PATH="$PWD/bin:$PATH"
}

# config DEVICE FLEET_MODE [THREADS]
config()
{
    cat >config.yaml <<END
workspace: "./"
mode: [cluster]

dataset:
- name: dataloader_train
  batch_size: 2
  type: DataLoader
  data_path: "{workspace}/train_data"
  sparse_slots: "click 1 2 3"
  dense_slots: "dense_var:13"

runner:
- name: cluster
  class: cluster_train
  epochs: 2
  device: $1
  fleet_mode: $2
  save_checkpoint_interval: 1
  save_checkpoint_path: "increment_dnn"
  init_model_path: ""
  print_interval: 1
  phases: [phase1]

phase:
- name: phase1
  model: "{workspace}/model.py"
  dataset_name: dataloader_train
  thread_num: ${3:-1}
END
    echo "class Model: pass" >model.py
}

# backend CLUSTER_TYPE [YAML more of config] [YAML more of submit]
backend()
{
    cat >backend.yaml <<END
backend: "PaddleCloud"
cluster_type: $1

config:
  paddle_version: "1.7.2"
  fs_name: "afs://xxx.com"
  fs_ugi: "usr,pwd"
  output_path: "/user/out"
${2:-}
submit:
  ak: "the-access-key"
  sk: 'the secret & #key'
  priority: "high"
  job_name: "PaddleRec_CTR"
  group: "g 1"
  start_cmd: "python -m paddlerec.run -m ./config.yaml"
  files: ./*.py ./*.yaml
${3:-}
END
}

mpi_data='  train_data_path: "/user/train"
  test_data_path: "/user/test"
  thirdparty_path: "/user/third"'
k8s_data='  afs_remote_mount_point: "/user/afs"'

# submitted NAME: the golden folder, lines and arguments.
submitted()
{
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    folder=$(sed -n 's/^The task submission folder is generated at //p' .out)
    check "the folder is here, with the minute" grep -qE "^$PWD/PaddleRec_CTR_20[0-9]{10}\$" <<<"$folder"
    check "its files" test "$(cd "$folder" && echo *)" = "backend.yaml before_hook.sh config.ini config.yaml end_hook.sh job.sh model.py"
    sed -n '/^The task/,$p' .out | sed "s,$folder,FOLDER," >got
    check "lines: $(diff "$golden/$1/stdout" got)" cmp "$golden/$1/stdout" got
    check "arguments: $(diff "$golden/$1/argv" argv)" cmp "$golden/$1/argv" argv
    for file in before_hook.sh config.ini end_hook.sh job.sh; do
        check "$file: $(diff "$golden/$1/$file" "$folder/$file")" cmp "$golden/$1/$file" "$folder/$file"
    done
    check "shells read what is theirs" sh -n "$folder/before_hook.sh"
    check "files are copied" cmp model.py "$folder/model.py"
    secret
}

# secret: keys are where the client needs them, and nowhere else.
secret()
{
    out_lacks "the-access-key"
    out_lacks "secret"
    out_lacks "usr,pwd"
    err_lacks "the-access-key"
    check "the folder is the user's alone" test "$(stat -c %a "$folder")" = 700
    check "keys are in one hidden file" test "$(cd "$folder" && grep -rl 'the-access-key\|the secret' . )" = ./.keys
    check "which nobody else reads" test "$(stat -c %a "$folder/.keys")" = 600
    check "the copy of backend.yaml is one" "$TRAINYARD" check "$folder/config.yaml"
    check "without keys" grep -q '^  ak: ""$' "$folder/backend.yaml"
}

servers_on_mpi()
{
    client
    config cpu ps 3
    backend mpi "$mpi_data" "  nodes: 2"
    submitted mpi
    check "nothing that is uploaded has keys" test "$(grep -c '^\./\.keys$' argv)" = 0
}

collective_on_kubernetes()
{
    client
    config gpu collective
    backend k8s "$k8s_data" "$(printf '  k8s_trainers: 2\n  k8s-cpu-cores: 4\n  k8s_gpu_card: 1')"
    submitted collective
}

servers_on_kubernetes()
{
    client
    config cpu ps
    backend k8s "$k8s_data
  communicator:
    FLAGS_communicator_is_sgd_optimizer: 1
    FLAGS_communicator_max_merge_var_num: 7
    FLAGS_rpc_retry_times: 5" "$(printf '  k8s_trainers: 9\n  k8s_trainers: 2\n  k8s_cpu_cores: 4\n  k8s_ps_num: 2\n  k8s_ps_cores: 4')"
    submitted ps
    err_has "k8s_trainers" # the last of two counts, which is told
}

one_card_is_trained_on_by_itself()
{
    client
    config gpu collective
    backend k8s "$k8s_data" "  k8s_trainers: 1"
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    folder=$(sed -n 's/^The task submission folder is generated at //p' .out)
    check "the node's class is train" test "$(diff config.yaml "$folder/config.yaml" | grep '^[<>]')" = "$(printf '<   class: cluster_train\n>   class: train')"
    check "it stands alone" grep -qx single-gpu argv
    check "with 1" test "$(grep -A1 is-standalone argv | tail -n 1)" = 1
    check "without NCCL2" test "$(grep -c NCCL2 argv)" = 0
    out_has "Attention: Use single GPU card for PaddleRec distributed training"
    sed -i 's/^k8s_gpu_cards=1/k8s_gpu_cards=4/' "$folder/job.sh"
    (cd "$folder" && sh job.sh >/dev/null)
    check "four cards, by an edit" grep -qx single-trainer argv
}

a_folder_is_submitted_again_as_it_is()
{
    client
    config cpu ps
    backend mpi "$mpi_data"
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    folder=$(sed -n 's/^The task submission folder is generated at //p' .out)
    rm argv
    sed -i 's/^mpi_nodes=1/mpi_nodes=5/' "$folder/job.sh"
    echo extra >"$folder/reader.py"
    (cd "$folder" && sh job.sh >/dev/null)
    check "an edit counts" test "$(grep -A1 mpi-nodes argv | tail -n 1)" = 5
    check "what lies there is uploaded" grep -qx ./reader.py argv
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    check "a second one has a folder of its own" test "$(printf '%s\n' PaddleRec_CTR_* | wc -l)" = 2
}

names_of_paddlerec_submit()
{
    client
    config cpu ps
    backend mpi "$mpi_data"
    ln -s "$TRAINYARD" bin/python
    run python -m paddlerec.run -m config.yaml -b backend.yaml
    status 0
    out_has "end submit"
}

a_client_that_fails_fails_the_run()
{
    client 3
    config cpu ps
    backend mpi "$mpi_data"
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 1
    err_has "error[E0538]: runner cluster: the client did not take the job (exit status 3)"
    out_lacks "end submit"
    PATH=/usr/bin:/bin
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 2
    err_has "error[E0538]: the client of PaddleCloud, 'paddlecloud', is not in PATH"
}

values_cannot_become_code()
{
    client
    config cpu ps
    backend mpi "$mpi_data"
    sed -i "s/group: .*/group: \"x'; touch pwned; '\$(touch pwned)\"/; s/start_cmd: .*/start_cmd: 'echo \"\$(touch pwned)\" # \& \`touch pwned\`'/" backend.yaml
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    check "a group is a word" grep -qxF "x'; touch pwned; '\$(touch pwned)" argv
    check "a command is one, too" grep -qxF 'echo "$(touch pwned)" # & `touch pwned`' argv
    check "nothing ran" test -z "$(find . -name pwned)"
    rm -r PaddleRec_CTR_*
    backend mpi "$mpi_data"
    sed -i 's,fs_name: .*,fs_name: "afs://x\\nLD_PRELOAD=evil.so",' backend.yaml
    refused E0539 "fs_name holds a control character"
    for name in ../up -rf .hidden; do
        backend mpi "$mpi_data"
        sed -i "s,job_name: .*,job_name: \"$name\"," backend.yaml
        refused E0502 "job_name begins the name of a folder"
    done
    config cpu ps
}

# refused CODE TEXT: nothing is made.
refused()
{
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 2
    err_has "error[$1]: $2"
    check "nothing is made" test "$(printf '%s\n' PaddleRec_CTR_*/job.sh)" = "PaddleRec_CTR_*/job.sh"
}

# wrong CODE TEXT SED: one mistake in backend.yaml, one message.
wrong()
{
    backend "${kind:-mpi}" "$mpi_data"
    sed -i "$3" backend.yaml
    refused "$1" "$2"
}

every_mistake_has_its_message()
{
    client
    config cpu ps
    wrong E0530 "NIMBUS can not be supported now" 's/^backend: .*/backend: Nimbus/'
    wrong E0531 "cluster_type slurm error, must in MPI/K8S" 's/^cluster_type: .*/cluster_type: slurm/'
    for line in fs_name fs_ugi; do
        wrong E0532 "No -- FS_UGI or FS_NAME -- found in your backend.yaml, please check." "s/$line: .*/$line:/"
    done
    for line in ak sk; do
        wrong E0533 "No -- AK or SK -- found in your backend.yaml, please check." "s/ $line: .*/ $line:/"
    done
    wrong E0534 "No -- files -- found in your backend.yaml, please check." 's/files: .*/files: ""/'
    wrong E0534 "'./*.cfg' matches no file here" 's/files: .*/files: .\/*.yaml .\/*.cfg/'
    wrong E0535 "No -- TRAIN_DATA_PATH -- found in your backend.yaml, please add train_data_path in your backend yaml." '/train_data_path/d'
    wrong E0536 "paddle_version must be at least 1.7.2, not 1.6.0" 's/1\.7\.2/1.6.0/'
    kind=k8s wrong E0529 "jobs are submitted to PaddleCloud" 's/^backend: .*/backend: k8s/'
    mkdir sub && cp model.py sub/
    wrong E0534 "'sub/model.py' has the name of another of them: the folder is flat" 's/files: .*/files: .\/*.py .\/*.yaml sub\/model.py/'
    touch job.sh
    wrong E0534 "'job.sh' has the name of a file that is made" 's/files: .*/files: job.sh/'
    backend mpi "$(sed 1d <<<"$mpi_data")
  train_data_path: x"
    config gpu collective
    refused E0507 "Paddlecloud with Mpi don't support GPU training, check your config.yaml & backend.yaml"
    backend k8s "$k8s_data"
    config gpu ps
    refused E0507 "PS-GPU on paddlecloud is not supported at this time, comming soon"
    config cpu collective
    refused E0507 "COLLECTIVE can not be used without GPU"
}

what_is_missing_is_warned_of()
{
    client
    config cpu ps
    backend mpi "  train_data_path: /x"
    sed -i 's/output_path: .*/output_path: ""/; s/files: .*/files: model.py/; s/high/urgent/' backend.yaml
    sed -i 's/^workspace: .*/workspace: models/' config.yaml
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    err_has "Job output_path not set! Please check your backend yaml."
    err_has "Job test_data_path not set! Please check your backend yaml."
    err_has "Job thirdparty_path not set! Please check your backend yaml."
    err_has "start_cmd runs config.yaml, but files does not upload it"
    err_has "priority is normal, high or very_high, not 'urgent'"
    err_has 'write workspace: "./"'
    backend k8s
    run "$TRAINYARD" run config.yaml --backend backend.yaml
    status 0
    err_has "Job afs_remote_mount_point not set! Please check your backend yaml."
    run "$TRAINYARD" run config.yaml --backend backend.yaml --set 'runner[name=cluster].epochs=1'
    status 2
    err_has "--set does not reach the config that nodes get"
    run "$TRAINYARD" run config.yaml
    status 2
    err_has "cluster_train needs -b backend.yaml (or PADDLE_PADDLEREC_ROLE=WORKER on a node)"
}

tap_cases servers_on_mpi collective_on_kubernetes servers_on_kubernetes one_card_is_trained_on_by_itself \
    a_folder_is_submitted_again_as_it_is names_of_paddlerec_submit a_client_that_fails_fails_the_run values_cannot_become_code \
    every_mistake_has_its_message what_is_missing_is_warned_of
