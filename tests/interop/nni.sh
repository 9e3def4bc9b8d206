#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An experiment whose trials use the unmodified nni package, started by nnictl's command line.
# The package has requirements of its own, so it lives apart from the other peers.
set -euo pipefail

venv=$TY_SOURCE/build/interop-nni
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import nni' 2>/dev/null ||
    "$venv/bin/pip" install -q --disable-pip-version-check 'nni==3.0' 'setuptools<80'

cat >trial.py <<'PY'
import nni
p = nni.get_next_parameter()
for i in range(3):
    nni.report_intermediate_result((p["x"] - 0.3) ** 2 + 1 / (i + 1))
nni.report_final_result({"default": (p["x"] - 0.3) ** 2, "other": p["net"]["_name"]})
PY
cat >search_space.json <<'JSON'
{"x": {"_type": "uniform", "_value": [0, 1]},
 "net": {"_type": "choice", "_value": [{"_name": "flat"},
         {"_name": "deep", "n": {"_type": "randint", "_value": [1, 5]}}]}}
JSON
cat >config.yml <<YML
searchSpaceFile: search_space.json
trialConcurrency: 2
maxTrialNumber: 6
trialCommand: $venv/bin/python trial.py
experimentWorkingDirectory: experiments
tuner: {name: TPE, classArgs: {optimize_mode: minimize, seed: 1}}
trainingService: {platform: local}
YML
export TRAINYARD_DIR=$PWD/jobs
ln -s "$TRAINYARD" nnictl
id=$(./nnictl create --config config.yml --foreground)
"$TRAINYARD" tune trials --dir "experiments/$id" --json >trials.json
python3 - <<'PY'
import json
trials = json.load(open("trials.json"))
assert len(trials) == 6, len(trials)
for t in trials:
    want = (t["parameters"]["x"] - 0.3) ** 2
    assert t["status"] == "SUCCEEDED", t
    assert t["value"] == want, t
    assert t["intermediate"] == [want + 1 / (i + 1) for i in range(3)], t
print(f"nni 3.0: {len(trials)} trials, values and intermediate results as reported")
PY
