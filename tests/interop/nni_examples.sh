#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NNI's own example experiments, unchanged, by nnictl's command line with the unmodified nni
# package: those whose trials need no more than NumPy and scikit-learn. NNI_CHECKOUT names a
# checkout of microsoft/nni. A table is printed.
set -euo pipefail

if [ ! -d "${NNI_CHECKOUT:-}/examples/trials" ]; then
    echo "SKIP: NNI_CHECKOUT names no checkout of microsoft/nni"
    exit 77
fi
venv=$TY_SOURCE/build/interop-nni
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import nni, sklearn' 2>/dev/null ||
    "$venv/bin/pip" install -q --disable-pip-version-check 'nni==3.0' 'setuptools<80' scikit-learn

export HOME=$PWD/home TRAINYARD_DIR=$PWD/jobs PATH=$venv/bin:$PATH OMP_NUM_THREADS=1
mkdir -p home bin
ln -s "$TRAINYARD" bin/nnictl
bad=0
printf '%-34s %-8s %7s %10s %s\n' example status trials failed best

example() # NAME FOLDER CONFIG TRIALS
{
    cp -r "$NNI_CHECKOUT/examples/$2" "run-$1"
    chmod -R u+w "run-$1"
    [ ! -f "extra-$1.yml" ] || cp "extra-$1.yml" "run-$1/$3"
    local id
    id=$(cd "run-$1" && ../bin/nnictl create --config "$3" 2>../err.txt) || {
        printf '%-34s %s\n' "$1" "$(tail -1 err.txt)"
        bad=1
        return
    }
    bin/nnictl update trialnum "$id" --value "$4" 2>/dev/null
    for _ in $(seq 1200); do
        bin/nnictl experiment status "$id" | grep -qE 'DONE|ERROR|STOPPED' && break
        sleep 0.25
    done
    "$TRAINYARD" tune get "$id" --json >get.json
    python3 - "$1" "$4" <<'PY' || bad=1
import json, sys
d = json.load(open("get.json"))
done = d["trials"]["SUCCEEDED"] + d["trials"]["EARLY_STOPPED"]
best = d["best"]["value"] if d["best"] else None
print(f"{sys.argv[1]:34} {d['status']:8} {done:7} {d['trials']['FAILED']:10} {best}")
sys.exit(not (d["status"] == "DONE" and done >= int(sys.argv[2]) and best is not None))
PY
}

# Algorithms that are Python classes: the example's own tuner, and two of the package itself.
cat >extra-customized-tuner.yml <<YML
searchSpaceFile: search_space.json
trialCommand: python3 main.py
trialConcurrency: 1
tuner: {className: demo_tuner.DemoTuner, codeDirectory: $NNI_CHECKOUT/examples/tuners/customized_tuner}
assessor: {className: nni.algorithms.hpo.medianstop_assessor.MedianstopAssessor, codeDirectory: .}
trainingService: {platform: local}
YML
cat >extra-package-advisor.yml <<'YML'
searchSpaceFile: search_space.json
trialCommand: python3 main.py
trialConcurrency: 4
advisor: {className: nni.algorithms.hpo.hyperband_advisor.Hyperband, codeDirectory: .,
          classArgs: {optimize_mode: maximize, R: 9, eta: 3}}
trainingService: {platform: local}
YML
example sklearn-classification trials/sklearn/classification config.yml 8
example sklearn-regression trials/sklearn/regression config.yml 6
example customized-tuner trials/sklearn/classification config_custom.yml 5
example package-advisor trials/sklearn/classification config_custom.yml 15
exit $bad
