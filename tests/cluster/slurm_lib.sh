# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # settings of contract_lib.sh
# slurm_lib.sh - a Slurm of its own for the script that sources this, behind contract_lib.sh;
# it ends with the script. Skips where Slurm is not installed (tools/deps cluster).
up=$TY_SOURCE/tests/cluster/slurm-up
cluster=$(mktemp -d "${TMPDIR:-/tmp}/trainyard-slurm.XXXXXX")
trap '"$up" "$cluster" stop; rm -rf "$cluster"' EXIT
"$up" "$cluster" >/dev/null
case $? in
0) ;;
77) echo "1..0 # SKIP Slurm is not installed"; exit 77 ;;
*) echo "Bail out! Slurm does not start"; exit 1 ;;
esac
export SLURM_CONF=$cluster/etc/slurm.conf

flags=(--backend slurm --backend-option poll=1s)
signals=yes
ready() { "$up" "$cluster" await; }
keeper() { cut -d' ' -f1 "$TRAINYARD_DIR/jobs/$1/run/0.1.shim" | head -1; }
left() { squeue -h -t PD,R,S,CG,CF -o '%i %T %j' | grep -F "$1"; }
