#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The contract of all backends, of every kind of object whose operator is among the programs of
# the cluster (kube-up): JobSet, PyTorchJob, MPIJob, TrainJob; and of Volcano, of which there is
# only the description, that its API server takes the object. KINDS names some of them alone.
TY_SOURCE=${TY_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
TY_BUILD=${TY_BUILD:-$TY_SOURCE/build/dev}
TRAINYARD=${TRAINYARD:-$TY_BUILD/trainyard}
export TRAINYARD
. "$TY_SOURCE/tests/it/contract_lib.sh"
. "$TY_SOURCE/tests/cluster/kube_lib.sh"

[ -e "$cluster/operators" ] || "$up" "$cluster" operators >"$cluster/operators" || { echo "Bail out! operators do not start"; exit 1; }
plain=("${flags[@]}")

# An object that no controller looks at waits, says so, and is gone when the job is stopped.
volcanos_job_is_taken()
{
    begin
    local id
    id=$(submit --workers 2 -- true)
    why_has "$id" "has no pod for it yet"
    is "tasks" "$(admin get jobs.batch.volcano.sh -n "$space" -o jsonpath='{.items[0].spec.minAvailable} {.items[0].spec.tasks[0].replicas}')" "2 2"
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
}

# What an attempt consists of, as `kubectl get` shows it.
object_is_of_the_kind()
{
    begin
    local id
    id=$(submit --workers 2 -- 'sleep 5')
    for _ in $(seq 100); do admin get "$resource" -n "$space" -l "trainyard.io/job=$id" -o name | grep -q . && break; sleep 0.2; done
    is "object" "$(admin get "$resource" -n "$space" -l "trainyard.io/job=$id" -o name)" "$object/$id-1"
    ended "$id" Succeeded ""
}

bad=0
while read -r kind operator resource object; do
    [ -z "${KINDS:-}" ] || case " $KINDS " in *" $kind "*) ;; *) continue ;; esac
    if [ "$operator" != - ] && ! grep -qw "$operator" "$cluster/operators"; then
        echo "# SKIP $kind: no operator"
        continue
    fi
    echo "# kind=$kind"
    flags=("${plain[@]}" --backend-option kind="$kind")
    if [ "$operator" = - ]; then (tap_cases volcanos_job_is_taken); else (contract object_is_of_the_kind); fi || bad=1
done <<'LIST'
jobset jobset jobsets.jobset.x-k8s.io jobset.jobset.x-k8s.io
pytorchjob training pytorchjobs.kubeflow.org pytorchjob.kubeflow.org
mpijob mpi mpijobs.kubeflow.org mpijob.kubeflow.org
trainjob trainer trainjobs.trainer.kubeflow.org trainjob.trainer.kubeflow.org
volcano - jobs.batch.volcano.sh job.batch.volcano.sh
LIST
exit $bad
