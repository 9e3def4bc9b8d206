#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tuners and assessors that are Python classes, other search spaces while an experiment runs,
# several metrics, and the ways in which trials take parameters and give results.
. "$(dirname "$0")/lib.sh"

experiment() # LINE... are added to the file
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g,gpu=2 HOME=$PWD/home
    unset TRAINYARD_STORE
    mkdir -p home
    cat >config.yml <<'YML'
trialCommand: sleep ${NAP:-0}; echo "::trainyard default={{x}}"
searchSpace: {x: {_type: uniform, _value: [0, 1]}}
trainingService: {platform: local}
YML
    printf '%s\n' "$@" >>config.yml
    grep -q '^tuner' config.yml || echo 'tuner: {name: Random, classArgs: {seed: 3}}' >>config.yml
}

create() # DIR ARGUMENT...
{
    local dir=$1
    shift
    run "$TRAINYARD" tune create --config config.yml --dir "$dir" --wait "$@"
}

pick() # EXPRESSION over d, of .out
{
    python3 -c 'import json,sys; d=json.load(open(".out")); print(eval(sys.argv[1]))' "$1"
}

is() # what got want
{
    [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

trials() # DIR EXPRESSION over d, by number
{
    "$TRAINYARD" tune trials --dir "$1" --json | python3 -c '
import json, sys
d = sorted(json.load(sys.stdin), key=lambda t: t["trial"])
print(eval(sys.argv[1]))' "$2"
}

# A tuner in NNI's manner: halves the distance to the best, remembers what it was told.
own_tuner()
{
    mkdir -p code
    cat >code/mine.py <<'PY'
import random
from nni.tuner import Tuner
class Halving(Tuner):
    def __init__(self, step=0.5, optimize_mode="minimize"):
        self.step, self.best, self.rng, self.n = step, None, random.Random(7), 0
        print("this is no answer")
    def update_search_space(self, space):
        self.low, self.high = space["x"]["_value"]
    def generate_parameters(self, parameter_id, **kwargs):
        self.n += 1
        if self.best is None:
            return {"x": self.rng.uniform(self.low, self.high)}
        x = self.best[1] + self.rng.uniform(-self.step, self.step) / self.n
        return {"x": min(max(x, self.low), self.high)}
    def receive_trial_result(self, parameter_id, parameters, value, **kwargs):
        if self.best is None or value < self.best[0]:
            self.best = (value, parameters["x"])
class Finite(Halving):
    def generate_parameters(self, parameter_id, **kwargs):
        import nni
        if parameter_id >= 3:
            raise nni.NoMoreTrialError("that is all")
        return {"x": parameter_id / 10}
class Broken(Halving):
    def receive_trial_result(self, *args, **kwargs):
        raise ValueError("cannot learn from that")
PY
    cat >code/judge.py <<'PY'
from nni.assessor import Assessor, AssessResult
class Second(Assessor):
    def assess_trial(self, trial_job_id, trial_history):
        return AssessResult.Bad if trial_history[-1] > 0.5 else AssessResult.Good
PY
}

a_class_of_ones_own_steers_the_search()
{
    own_tuner
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 8' \
        'tuner: {className: mine.Halving, codeDirectory: code, classArgs: {step: 0.25}}'
    create exp
    status 0
    is trials "$(trials exp '[t["status"] for t in d] == ["SUCCEEDED"] * 8')" True
    is ids "$(trials exp '[t["parameter_id"] for t in d]')" "[0, 1, 2, 3, 4, 5, 6, 7]"
    is "its answers count" "$(trials exp 'all(abs(t["parameters"]["x"] - min(u["value"] for u in d[:i])) <= 0.26 for i, t in enumerate(d) if i)')" True
    run "$TRAINYARD" tune get --dir exp
    out_has "mine.Halving"
    run cat exp/custom.log
    out_has "this is no answer"
    sed -i 's/mine.Halving/mine.Finite/; s/, classArgs: {step: 0.25}//' config.yml
    create finite
    status 0
    err_has DONE
    is "it ends itself" "$(trials finite '[t["parameters"]["x"] for t in d]')" "[0.0, 0.1, 0.2]"
}

a_class_goes_on_as_if_nothing_had_happened()
{
    own_tuner
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 9' \
        'tuner: {className: mine.Halving, codeDirectory: code}'
    create whole
    trials whole '[t["parameters"] for t in d]' >whole.txt
    export NAP=0.1
    "$TRAINYARD" tune create --config config.yml --dir cut --wait >/dev/null 2>&1 &
    for i in 1 2 3; do
        sleep 0.$((RANDOM % 5 + 4))
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
        "$TRAINYARD" tune resume --dir cut --wait >/dev/null 2>>resume.err &
    done
    wait $!
    is "exit status" $? 0
    trials cut '[t["parameters"] for t in d]' >cut.txt
    check "the same suggestions" cmp whole.txt cut.txt
}

a_class_that_fails_ends_the_experiment_with_its_words()
{
    own_tuner
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 4' \
        'tuner: {className: mine.Broken, codeDirectory: code}'
    create exp
    status 2
    err_has "error[E4011]: the tuner mine.Broken failed: ValueError: cannot learn from that"
    run "$TRAINYARD" tune get --dir exp --json
    is status "$(pick 'd["status"]')" ERROR
    is "the result is kept" "$(trials exp 'd[0]["value"] is not None')" True
    sed -i 's/raise ValueError.*/return super().receive_trial_result(*args, **kwargs)/' code/mine.py
    run "$TRAINYARD" tune resume --dir exp --wait
    status 0
    is "mended, it goes on" "$(trials exp 'len(d)')" 4
    sed -i 's/mine.Broken/mine.Nobody/' config.yml
    create nobody
    status 2
    err_has "has no attribute 'Nobody'"
    create nothing --python no-such-python
    status 2
    err_has "needs the interpreter 'no-such-python'"
}

an_assessor_of_ones_own_stops_trials()
{
    own_tuner
    cat >>code/trial.sh <<'SH'
echo "::trainyard default=$1"
sleep 0.8
echo "::trainyard default=$1"
sleep "$(python3 -c "print(20 if $1 > 0.5 else 0)")"
SH
    experiment 'trialConcurrency: 4' 'maxTrialNumber: 4' \
        'assessor: {className: judge.Second, codeDirectory: code}'
    sed -i 's/^trialCommand.*/trialCommand: bash code\/trial.sh {{x}}/' config.yml
    create exp
    status 0
    is "by their values" "$(trials exp 'all((t["status"] == "EARLY_STOPPED") == (t["parameters"]["x"] > 0.5) for t in d)')" True
    is "some were stopped" "$(trials exp 'any(t["status"] == "EARLY_STOPPED" for t in d)')" True
}

another_space_while_it_runs()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 8' 'tuner: {name: TPE, classArgs: {seed: 1}}'
    echo '{"x": {"_type": "uniform", "_value": [5, 6]}, "y": {"_type": "choice", "_value": ["a"]}}' >new.json
    echo '{"x": {"_type": "uniform", "_value": [6, 5]}}' >bad.json
    export NAP=0.3
    run "$TRAINYARD" tune create --config config.yml --dir exp
    run "$TRAINYARD" tune update --dir exp --space bad.json
    status 2
    err_has "must have high > low"
    for i in $(seq 100); do grep -q '"e": "end"' exp/log.jsonl 2>/dev/null && break; sleep 0.1; done
    run "$TRAINYARD" tune update --dir exp --space new.json
    status 0
    for _ in $(seq 100); do grep -q '"e": "space"' exp/log.jsonl 2>/dev/null && break; sleep 0.1; done
    pkill -9 -f "tune resume --wait --dir $PWD/exp"
    sleep 0.2
    run "$TRAINYARD" tune resume --dir exp --wait
    status 0
    is "early ones in the old space" "$(trials exp 'd[0]["parameters"]["x"] < 1')" True
    is "the last in the new one" "$(trials exp '5 <= d[-1]["parameters"]["x"] <= 6 and d[-1]["parameters"]["y"] == "a"')" True
    is "ids stay apart" "$(trials exp 'len({t["parameter_id"] for t in d}) == 8')" True
    run "$TRAINYARD" tune get --dir exp --as config
    is "as NNI has it" "$(pick 'd["searchSpace"]["x"]["_value"]')" "[5, 6]"
}

several_metrics_make_a_front()
{
    experiment 'trialConcurrency: 2' 'maxTrialNumber: 8' \
        'objectives: [{metric: auc}, {metric: ms, optimize_mode: minimize}]' \
        'constraints: [{metric: size, at_most: 0.9}]'
    sed -i 's/^trialCommand.*/trialCommand: echo "::trainyard auc={{x}} ms={{x}} size={{x}}"/' config.yml
    create exp
    status 0
    run "$TRAINYARD" tune best --dir exp --json
    feasible=$(trials exp 'sum(t["parameters"]["x"] <= 0.9 for t in d)')
    is "better in one is worse in the other" "$(pick 'len(d["front"])')" "$feasible"
    is "none breaks the constraint" "$(pick 'max(t["violation"] for t in d["front"])')" 0
    is values "$(pick 'all(t["values"]["auc"] == t["values"]["ms"] for t in d["front"])')" True
    run "$TRAINYARD" tune best --dir exp
    out_has "auc "
    run "$TRAINYARD" tune get --dir exp
    out_has "Pareto-optimal trials"
    sed -i 's/ ms={{x}}//' config.yml
    create lacking
    status 2
    err_has "has no number 'ms'"
    sed -i 's/at_most: 0.9/x: 1/' config.yml
    create wrong
    status 2
}

one_named_metric_and_a_pattern()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 2' \
        'objectives: [{metric: loss, optimize_mode: minimize}]' \
        "metrics: {loss: 'loss is ([0-9.e-]+)'}"
    # shellcheck disable=SC2016
    sed -i 's/^trialCommand.*/trialCommand: echo "loss is $PAI_HPS_X"; cat "$NNI_SYS_DIR"\/parameter.cfg; sleep 1/' config.yml
    create exp
    status 0
    is "found in the log" "$(trials exp 'all(abs(t["value"] - t["parameters"]["x"]) < 1e-6 for t in d)')" True
    run "$TRAINYARD" tune best --dir exp --json
    is "the least" "$(pick 'd["values"]["loss"]')" "$(trials exp 'min(t["value"] for t in d)')"
}

where_trials_run()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 1' 'trialGpuNumber: 1'
    # shellcheck disable=SC2016
    sed -i 's/^trialCommand.*/trialCommand: echo "::trainyard default=0"; echo "gpu <$CUDA_VISIBLE_DEVICES> <$MINE>"/
        s/^trainingService.*/trainingService: {platform: trainyard, backend: local, cpuNumber: 2, memorySize: 1gb, env: {MINE: yes}}/' config.yml
    create exp
    status 0
    job=$(trials exp 'd[0]["job"]')
    run "$TRAINYARD" job logs "$job"
    out_has "gpu <0> <yes>"
    run "$TRAINYARD" job get "$job" --json
    out_has '"cpu": "2"'
    sed -i 's/backend: local/backend: moon/' config.yml
    create moon
    status 2
    err_has "moon"
    cat >dlc.yml <<YML
experimentWorkingDirectory: $PWD/work
searchSpace: {x: {_type: uniform, _value: [0, 1]}}
trialCommand: ls /root/data/here >/dev/null && echo "::trainyard default=1"
trialConcurrency: 1
maxTrialNumber: 1
tuner: {name: TPE, classArgs: {optimize_mode: maximize}}
trainingService:
  platform: dlc
  type: Worker
  image: registry-vpc.cn-beijing.aliyuncs.com/pai-dlc/pytorch-training:1.6.0-gpu-py37-cu101-ubuntu18.04
  jobType: PyTorchJob
  podCount: 1
  ecsSpec: ecs.c6.large
  region: cn-hangzhou
  accessKeyId: AK-not-shown
  accessKeySecret: SK-not-shown
  nasDataSourceId: datat56by9n1xt0a
  ossDataSourceId: dataoss
  localStorageMountPoint: $PWD/nas/
  containerStorageMountPoint: /root/data/
YML
    mkdir -p nas/here
    run "$TRAINYARD" tune create --config dlc.yml --wait
    status 0
    err_has "trainingService is 'dlc'; trials run on this machine, without the image"
    err_has "'/root/data/' in trialCommand is '$PWD/nas/' on this machine"
    id=$(cat .out)
    run "$TRAINYARD" job get "$(trials "work/$id" 'd[0]["job"]')" --json
    out_has datat56by9n1xt0a
    out_has PyTorchJob
    check "no key is written down" bash -c '! grep -r not-shown work jobs'
    run "$TRAINYARD" tune get "$id"
    status 0
}

# Registered under a name, a class is used like a built-in algorithm, in NNI's words as well.
a_registered_class_goes_by_its_name()
{
    experiment 'tuner: {name: HALVING, classArgs: {step: 0.25}}' 'trialConcurrency: 1' 'maxTrialNumber: 3'
    own_tuner
    cat >>code/mine.py <<'PY'
class Steps:
    def validate_class_args(self, **args):
        if args.get("step", 0.5) > 1:
            raise ValueError("step should be at most 1!")
PY
    ln -sf "$TRAINYARD" nnictl
    run "$TRAINYARD" check config.yml
    status 2
    out_has "Builtin name is not found: halving"
    cat >code/meta.yml <<'YML'
algoType: tuner
builtinName: halving
className: mine.Halving
classArgsValidator: mine.Steps
YML
    run ./nnictl algo register -m code/meta.yml
    status 0
    out_is <<<"halving registered"
    run ./nnictl algo register --meta_path code/meta.yml
    out_is <<<"halving updated"
    run ./nnictl algo list
    status 0
    out_has "| halving         | tuner      | user      | Halving              | mine"
    out_has "| TPE             | tuner      | trainyard |"
    run ./nnictl algo show Halving
    json 'd == {"algoType": "tuner", "builtinName": "halving", "source": "user", "className": "mine.Halving", "classArgsValidator": "mine.Steps"}'
    run "$TRAINYARD" check config.yml
    status 0
    create exp
    status 0
    is "trials" "$(trials exp 'len(d)')" 3
    "$TRAINYARD" tune get --dir exp --as config >.out
    json 'd["tuner"]["className"] == "mine.Halving" and d["tuner"]["classArgs"] == {"step": 0.25}'
    # The class that checks arguments is asked.
    sed -i 's/step: 0.25/step: 2/' config.yml
    create bad
    [ "$got" != 0 ] || fail "arguments that the validator refuses"
    err_has "step should be at most 1!"
    # What cannot be registered, and why.
    sed 's/mine.Halving/mine.Nothing/; s/halving/other/' code/meta.yml >code/wrong.yml
    run ./nnictl algo register -m code/wrong.yml
    status 2
    err_has "module 'mine' has no attribute 'Nothing'"
    sed 's/halving/TPE/' code/meta.yml >code/wrong.yml
    run ./nnictl algo register -m code/wrong.yml
    err_has "there is a built-in algorithm 'TPE'"
    sed 's/: tuner/: dancer/' code/meta.yml >code/wrong.yml
    run ./nnictl algo register -m code/wrong.yml
    err_has "algoType is tuner, assessor or advisor, not 'dancer'"
    run ./nnictl algo unregister tpe
    err_has "is built in and cannot be unregistered"
    run ./nnictl algo unregister halving
    out_is <<<"halving unregistered"
    run ./nnictl algo unregister halving
    status 1
    err_has "no algorithm 'halving' is registered"
    run "$TRAINYARD" check config.yml
    out_has "Builtin name is not found: halving"
}

# The program is run once, with functions of ours in the place of nni.choice and its kin.
a_search_space_is_made_from_what_a_program_asks_for()
{
    mkdir -p home trial
    export HOME=$PWD/home
    cat >trial/train.py <<'PY'
import nni
from nni import uniform
params = {"lr": 0.1}
params.update(nni.get_next_parameter())
batch = nni.choice(16, 32, name="batch")
act = nni.choice("act", ["relu", "tanh"])
lr = nni.loguniform(1e-4, 0.1, name="lr")
drop = uniform("drop", 0.0, 0.5)
layers = nni.randint(1, 5)
nni.report_final_result(batch * lr + drop)
print("act", act, "layers", layers)
PY
    ln -sf "$TRAINYARD" nnictl
    run ./nnictl ss_gen --trial_command "python3 train.py" --trial_dir trial --file space.json
    status 0
    out_is <<<"$PWD/space.json"
    err_has "act relu layers 1"
    cp space.json .out
    json 'd == {"batch": {"_type": "choice", "_value": [16, 32]}, "act": {"_type": "choice", "_value": ["relu", "tanh"]}, "lr": {"_type": "loguniform", "_value": [1e-4, 0.1]}, "drop": {"_type": "uniform", "_value": [0.0, 0.5]}, "line9": {"_type": "randint", "_value": [1, 5]}}'
    printf 'trialCommand: python3 train.py\ntrialCodeDirectory: trial\nsearchSpaceFile: space.json\ntuner: {name: TPE}\ntrialConcurrency: 1\ntrainingService: {platform: local}\n' >exp.yml
    run "$TRAINYARD" check exp.yml
    status 0
    # NNI's command replaces the file, ours asks first.
    run ./nnictl ss_gen -t "python3 train.py" -d trial -f space.json
    status 0
    run "$TRAINYARD" tune space --command "python3 train.py" --dir trial --file space.json
    status 2
    err_has "exists"
    echo 'print("nothing")' >trial/train.py
    run ./nnictl ss_gen -t "python3 train.py" -d trial -f none.json
    status 2
    err_has "asked for no parameter"
    check "no file" test ! -e none.json
}

tap_cases a_registered_class_goes_by_its_name a_search_space_is_made_from_what_a_program_asks_for \
    a_class_of_ones_own_steers_the_search a_class_goes_on_as_if_nothing_had_happened \
    a_class_that_fails_ends_the_experiment_with_its_words an_assessor_of_ones_own_stops_trials \
    another_space_while_it_runs several_metrics_make_a_front one_named_metric_and_a_pattern \
    where_trials_run
