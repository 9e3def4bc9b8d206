# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# jobs_lib.sh - what tests of jobs share.

# Every case has a directory of jobs of its own; agents end soon after it.
place()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE TRAINYARD_JOB_ID
}

# state_is ID STATE: waits for it.
state_is()
{
    local now=
    for _ in $(seq 600); do
        now=$("$TRAINYARD" job get --json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])')
        [ "$now" = "$2" ] && return
        sleep 0.05
    done
    fail "job $1 is $now, want $2"
}

field() # ID EXPRESSION over d
{
    "$TRAINYARD" job get --events --json "$1" | python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

is() # what got want
{
    [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

private_ml()
{
    unshare -rm true 2>/dev/null || skip "this machine allows no mount namespaces"
}

# A script as PyTorch users write them: src/train.py, with data/part.csv.
make_program()
{
    mkdir -p src data
    printf 'a,1\nb,2\nc,3\n' >data/part.csv
    cat >src/train.py <<'PY'
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--learning_rate", type=float, default=0.1)
args = parser.parse_args()
rows = [line for name in sorted(os.listdir("/ml/input/data/train"))
        for line in open(os.path.join("/ml/input/data/train", name))]
hps = json.load(open("/ml/input/config/hyperparameters.json"))
assert hps == {"epochs": "2", "learning_rate": "0.01"}, hps
assert os.environ["PAI_INPUT_TRAIN"] == "/ml/input/data/train/"
assert os.getcwd() == "/ml/usercode", os.getcwd()
for epoch in range(args.epochs):
    print(f"epoch {epoch} loss: {args.learning_rate / (epoch + 1):.4f} rows {len(rows)}", flush=True)
with open(f"/ml/output/model/model-{os.environ['RANK']}.json", "w") as f:
    json.dump({"world": os.environ["WORLD_SIZE"], "rank": os.environ["RANK"]}, f)
PY
}

# A wheel by hand, in this directory: nothing is downloaded.
make_wheel()
{
    python3 - <<'PY'
import base64, hashlib, zipfile
files = {"ty_test_pack/__init__.py": "VALUE = 42\n",
         "ty_test_pack-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ty-test-pack\nVersion: 1.0\n",
         "ty_test_pack-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
record = "".join(f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b'=').decode()},{len(t)}\n" for n, t in files.items())
with zipfile.ZipFile("ty_test_pack-1.0-py3-none-any.whl", "w") as z:
    for n, t in files.items():
        z.writestr(n, t)
    z.writestr("ty_test_pack-1.0.dist-info/RECORD", record + "ty_test_pack-1.0.dist-info/RECORD,,\n")
PY
}
