# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # settings of contract_lib.sh
# kubernetes_lib.sh - a stand-in cluster (servers/kubernetes.py) for the case that calls
# `ready`; it ends with the case.
flags=(--backend kubernetes --image any:1)
signals=no

# kubeconfig SERVER [CLUSTER-LINES [USER-LINES]]
kubeconfig()
{
    cat >kubeconfig <<YAML
apiVersion: v1
kind: Config
current-context: here
contexts:
- {name: here, context: {cluster: c, user: u, namespace: lab}}
clusters:
- name: c
  cluster:
    server: $1
${2-}
users:
- name: u
  user:
${3-    token: t0ken}
YAML
    export KUBECONFIG=$PWD/kubeconfig
}

ready()
{
    command -v bwrap >/dev/null || skip "bubblewrap is not installed"
    bwrap --unshare-pid --as-pid-1 --ro-bind / / --proc /proc true 2>/dev/null || skip "this machine allows no namespaces"
    mkdir -p cluster
    python3 "$TY_SOURCE/tests/it/servers/kubernetes.py" "$PWD/cluster" "$@" 2>cluster/log &
    cluster=$!
    disown $cluster # not one that `wait` waits for
    trap 'kill $cluster' EXIT
    for _ in $(seq 200); do [ -e cluster/port ] && break; sleep 0.05; done
    kubeconfig "http://127.0.0.1:$(cat cluster/port)"
}

fault() # NAME [TEXT]
{
    echo "${2-}" >"cluster/fault/$1"
}
mend() { rm -f "cluster/fault/$1"; }
once() # gone | cut | garbage
{
    python3 -c 'import sys, urllib.request; urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="POST"))' \
        "http://127.0.0.1:$(cat cluster/port)/fault/$1"
}
# What the cluster has of a job.
left()
{
    python3 - "http://127.0.0.1:$(cat cluster/port)" "$1" <<'PY'
import json, sys, urllib.request
for path in ("apis/batch/v1/namespaces/lab/jobs", "api/v1/namespaces/lab/pods", "api/v1/namespaces/lab/secrets", "api/v1/namespaces/lab/services"):
    q = urllib.request.Request("%s/%s?labelSelector=trainyard.io/job=%s" % (sys.argv[1], path, sys.argv[2]), headers={"Authorization": "Bearer t0ken"})
    for o in json.load(urllib.request.urlopen(q))["items"]:
        print(path.split("/")[-1], o["metadata"]["name"])
PY
}

why_has() # ID TEXT: waits for it
{
    for _ in $(seq 150); do
        run "$TRAINYARD" job why "$1"
        grep -qF -e "$2" .out && return
        sleep 0.2
    done
    fail "job why does not say '$2': $(cat .out)"
}
