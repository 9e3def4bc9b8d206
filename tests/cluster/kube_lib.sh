# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # settings of contract_lib.sh
# kube_lib.sh - a real Kubernetes for the script that sources this, behind contract_lib.sh; it
# ends with the script, which runs a second time in the cluster's network. Skips where
# TRAINYARD_KUBE does not say where its programs are (tests/cluster/kube-up).
#
# Jobs have the rights that `trainyard backend role kubernetes` prints, and no others: `admin`
# is for the test alone. The image is nearly empty: /usr is that of this machine.
up=$TY_SOURCE/tests/cluster/kube-up
if [ -z "${TY_KUBE_CLUSTER:-}" ]; then
    TY_KUBE_CLUSTER=$(mktemp -d "${TMPDIR:-/tmp}/ty-kube.XXXXXX")
    export TY_KUBE_CLUSTER TY_SOURCE TY_BUILD
    trap '"$up" "$TY_KUBE_CLUSTER" stop; rm -rf "$TY_KUBE_CLUSTER"' EXIT
    "$up" "$TY_KUBE_CLUSTER" start
    case $? in
    0) ;;
    77) echo "1..0 # SKIP no Kubernetes (TRAINYARD_KUBE)"; exit 77 ;;
    *) echo "Bail out! Kubernetes does not start"; tail -n 3 "$TY_KUBE_CLUSTER"/log/*; exit 1 ;;
    esac
    "$up" "$TY_KUBE_CLUSTER" exec "$0" "$@"
    exit $?
fi
cluster=$TY_KUBE_CLUSTER
space=${TY_KUBE_SPACE:-lab} # the namespace
admin() { kubectl --kubeconfig "$cluster/kubeconfig" "$@"; }

# The image: what is not in /usr, and a place for it.
test_image()
{
    local r=$cluster/rootfs d
    mkdir -p "$r"/{usr,tmp,proc,sys,dev,run,var/tmp,root,ml}
    chmod 1777 "$r/tmp" "$r/var/tmp"
    for d in bin sbin lib lib32 lib64; do [ ! -L "/$d" ] || cp -P "/$d" "$r/"; done
    mkdir -p "$r/etc"
    cp -rP /etc/{passwd,group,nsswitch.conf,ld.so.cache,alternatives,protocols,services} "$r/etc/" 2>/dev/null
    [ ! -d /etc/openmpi ] || cp -rP /etc/openmpi "$r/etc/"
    "$up" "$cluster" image node:1 "$r"
}

# An account with the rights that we print, and a kubeconfig with its token.
account() # NAMESPACE FILE
{
    admin create namespace "$1" >/dev/null
    "$TRAINYARD" backend role kubernetes --namespace "$1" | admin apply -f - >/dev/null
    token_config "$1" "$2" "$(admin create token trainyard --namespace "$1" --duration 24h)"
}

token_config() # NAMESPACE FILE TOKEN
{
    cat >"$2" <<YAML
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "https://127.0.0.1:6443", certificate-authority: $cluster/pki/ca.crt}}]
users: [{name: trainyard, user: {token: $3}}]
contexts: [{name: here, context: {cluster: here, user: trainyard, namespace: $1}}]
YAML
}

if [ ! -e "$cluster/prepared-$space" ]; then
    test_image
    account "$space" "$cluster/account-$space"
    touch "$cluster/prepared-$space"
fi

usr=host:/usr=/usr:ro,host:$TY_BUILD=$TY_BUILD:ro
flags=(--backend kubernetes --image localhost/node:1 --cpu 100m --backend-option "mounts=$usr")
signals=no
# Of these, what the cluster has.
kinds=$(admin api-resources -o name | grep -xE '(jobs.batch|jobsets.jobset.x-k8s.io|pytorchjobs.kubeflow.org|mpijobs.kubeflow.org|trainjobs.trainer.kubeflow.org|trainingruntimes.trainer.kubeflow.org|jobs.batch.volcano.sh)' | paste -sd,)
ready()
{
    export KUBECONFIG=$cluster/account-$space
    admin delete pods,"$kinds" -n "$space" --all --wait=false --grace-period=0 --ignore-not-found >/dev/null 2>&1 # of a case that failed
}

# What a node runs a pod by. Its death is told as that of the worker, by SIGKILL: exit status 137.
kept=UserExit
keeper() # ID
{
    local pod
    pod=$(admin get pods -n "$space" -l "trainyard.io/job=$1" -o jsonpath='{.items[0].metadata.uid}')
    ctr --address "$cluster/run/containerd.sock" -n k8s.io containers list -q | while read -r c; do
        ctr --address "$cluster/run/containerd.sock" -n k8s.io containers info "$c" | grep -q "\"io.kubernetes.pod.uid\": \"$pod\"" &&
            pgrep -f "containerd-shim.* -id $c " && break
    done | head -1
}

left() # ID
{
    admin get "pods,services,secrets,$kinds" -n "$space" -l "trainyard.io/job=$1" -o name --ignore-not-found 2>/dev/null
}

why_has() # ID TEXT: waits for it
{
    for _ in $(seq 300); do
        run "$TRAINYARD" job why "$1"
        grep -qF -e "$2" .out && return
        sleep 0.2
    done
    fail "job why does not say '$2': $(cat .out)"
}
