#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Kubernetes backend when the cluster, the way to it or the job is at fault, in a stand-in
# cluster (servers/kubernetes.py): words, the right reason, and nothing lost or doubled.
. "$(dirname "$0")/contract_lib.sh"
. "$(dirname "$0")/kubernetes_lib.sh"

loop='i=0; while [ $i -lt 40 ]; do echo "line $i"; i=$((i+1)); sleep 0.05; done'
whole() # ID: its log has every line once
{
    log_of "$1" >got.txt
    seq -f 'line %.0f' 0 39 | cmp - got.txt || fail "the log differs"
}
asked() { grep -c -e "$1" cluster/requests; }

streams_that_break_cost_nothing()
{
    begin
    local id other
    id=$(submit -- "$loop")
    other=$(submit -- "$loop")
    log_has "$id" "line 3"
    once cut
    log_has "$id" "line 10"
    once garbage
    log_has "$id" "line 20"
    once gone
    ended "$id" Succeeded ""
    ended "$other" Succeeded ""
    whole "$id"
    whole "$other"
    # One watch per kind at a time for both jobs: three, and as many for each fault that broke them.
    [ "$(asked 'GET.*/pods?watch=1')" -le 5 ] || fail "pods were watched $(asked 'GET.*/pods?watch=1') times"
    is "lists of pods" "$(asked 'GET.*/pods?limit')" 2
    is "Jobs made" "$(asked "PATCH.*/jobs/$id-1?")" 1
}

a_cluster_that_is_away_loses_nothing()
{
    begin
    local id
    id=$(submit -- "$loop")
    log_has "$id" "line 3"
    fault down
    once cut
    sleep 3
    state_is "$id" Running
    mend down
    ended "$id" Succeeded ""
    whole "$id"
    fault down
    id=$(submit -- 'echo late')
    why_has "$id" "the cluster cannot be reached"
    mend down
    ended "$id" Succeeded ""
    is "log" "$(log_of "$id")" late
    fault busy 3
    id=$(submit -- 'echo busy')
    ended "$id" Succeeded ""
}

what_the_cluster_refuses_is_told_in_its_words()
{
    begin
    local id
    fault forbid jobs
    id=$(submit -- true)
    ended "$id" Failed Rejected
    run "$TRAINYARD" job why "$id"
    out_has 'Kubernetes does not take it: jobs is forbidden: User "tester" cannot patch resource "jobs" (403)'
    fault forbid secrets
    id=$(submit -- true)
    ended "$id" Failed Rejected
    run "$TRAINYARD" job why "$id"
    out_has 'its secrets: secrets is forbidden'
    mend forbid
    fault quota
    id=$(submit -- true)
    why_has "$id" 'FailedCreate: pods "'"$id"'-1-0" is forbidden: exceeded quota: small'
    mend quota
    ended "$id" Succeeded ""
}

an_expired_token_is_waited_for()
{
    begin
    local id
    fault token t0ken
    id=$(submit -- "$loop")
    log_has "$id" "line 3"
    fault token n3w
    once cut
    id2=$(submit -- 'echo late')
    why_has "$id2" "the API server does not accept the credentials (401): Unauthorized"
    sed 's/t0ken/n3w/' kubeconfig >new && mv new kubeconfig
    ended2 "$id" "$id2"
    whole "$id"
}
ended2() # as ended, with the token of now
{
    local id
    for id; do
        run "$TRAINYARD" job wait --timeout 100s "$id"
        is "end of $id" "$(field "$id" 'd["state"]')" Succeeded
    done
}

a_plug_in_gives_the_token_and_sees_nothing_of_ours()
{
    begin
    local id
    fault token t0ken
    cat >plugin <<'SH'
#!/bin/sh
env >"$(dirname "$0")/plugin.env"
case $KUBERNETES_EXEC_INFO in *'"interactive":false'*) ;; *) exit 3 ;; esac
echo "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"$PREFIX$1\"}}"
SH
    chmod +x plugin
    kubeconfig "http://127.0.0.1:$(cat cluster/port)" "" "    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./plugin
      args: ['0ken']
      env: [{name: PREFIX, value: t}]"
    id=$(SECRET_OF_OURS=x submit -- 'echo in')
    ended "$id" Succeeded ""
    grep -q '^PREFIX=t$' plugin.env || fail "the plug-in lacks its variable"
    if grep -q SECRET_OF_OURS plugin.env; then fail "the plug-in sees our environment"; fi
}

certificates_of_both_sides_are_checked()
{
    begin
    local id
    for name in authority other; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" \
            -keyout $name.key -out $name.pem 2>/dev/null
    done
    for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" -keyout $name.key -out $name.csr 2>/dev/null
        echo "subjectAltName=IP:127.0.0.1" >$name.ext
        openssl x509 -req -in $name.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile $name.ext -out $name.pem 2>/dev/null
    done
    kill "$cluster"
    rm cluster/port
    ready --tls server.pem server.key authority.pem
    url=https://127.0.0.1:$(cat cluster/port)
    kubeconfig "$url" "    certificate-authority: authority.pem" "    client-certificate: client.pem
    client-key: client.key"
    id=$(submit -- 'echo sure')
    run "$TRAINYARD" job wait --timeout 60s "$id"
    is "log" "$(log_of "$id")" sure
    kubeconfig "$url" "    certificate-authority: other.pem" "    client-certificate: client.pem
    client-key: client.key"
    id=$(submit -- 'echo never')
    why_has "$id" "certificate is refused"
    "$TRAINYARD" job stop "$id" >/dev/null
    kubeconfig "$url" "    insecure-skip-tls-verify: true"
    id=$(submit -- 'echo never')
    why_has "$id" "insecure-skip-tls-verify is not supported; give the cluster's certificate-authority"
}

pods_that_cannot_start_say_why()
{
    begin
    local id
    id=$(submit --image missing:1 --backend-option image_wait=1s -- true)
    ended "$id" Failed ImagePull
    run "$TRAINYARD" job why "$id"
    out_has "its image cannot be had (ImagePullBackOff): Back-off pulling image missing:1"
    id=$(submit --image huge:1 -- true)
    why_has "$id" "no node can take it yet (Unschedulable): 0/1 nodes are available: 1 Insufficient memory."
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
    id=$(submit --image tight:1 --memory 64Mi -- 'exit 137')
    ended "$id" Failed OutOfMemory
}

a_pod_that_somebody_deletes_starts_again()
{
    begin
    local id
    id=$(submit --retries 1 --backoff 100ms -- 'echo "try $TRAINYARD_RESTART_COUNT"; [ "$TRAINYARD_RESTART_COUNT" = 1 ] || sleep 100')
    log_has "$id" "try 0"
    python3 - "http://127.0.0.1:$(cat cluster/port)" "$(left "$id" | sed -n 's/^pods //p')" <<'PY'
import sys, urllib.request
urllib.request.urlopen(urllib.request.Request("%s/api/v1/namespaces/lab/pods/%s" % tuple(sys.argv[1:]), method="DELETE", data=b'{"gracePeriodSeconds": 0}'))
PY
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['Evicted']"
}

a_kind_that_the_cluster_does_not_have_is_said()
{
    begin
    local id
    id=$(submit --backend-option kind=jobset -- true)
    ended "$id" Failed Rejected
    run "$TRAINYARD" job why "$id"
    out_has "the cluster has no jobsets of jobset.x-k8s.io/v1alpha2"
    run "$TRAINYARD" job submit --backend kubernetes --image x:1 --backend-option kind=deployment -- true
    status 2
    err_has "objects are job, jobset, pytorchjob, mpijob, trainjob or volcano"
    id=$(submit --restart worker --backend-option kind=mpijob -- true)
    ended "$id" Failed LaunchFailure
    run "$TRAINYARD" job why "$id"
    out_has "no worker can start again alone"
    run "$TRAINYARD" backend role kubernetes --namespace lab
    out_has 'resources: ["trainingruntimes"]'
}

inputs_and_options_reach_the_pod()
{
    begin
    mkdir data
    echo 7 >data/part.csv
    local id
    id=$(submit --input train=data/ --cpu 2 --memory 64Mi --gpu 1 --backend-option node_selector=disk=ssd,zone=a \
        --backend-option tolerations=gpu=yes:NoSchedule,spot --backend-option priority_class=high --backend-option queue=team \
        --backend-option shm_size=1Gi --backend-option mounts=host:/usr/share=/data/share:ro -- \
        'cat "$PAI_INPUT_TRAIN/part.csv"; ls -d /data/share; echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"; sleep 100')
    log_has "$id" "0 of 1 at $id-1-0.$id-1:23456"
    log_has "$id" 7
    python3 - "$TRAINYARD_DIR/jobs/$id/run/pods.1.object" <<'PY' || fail "the Job differs"
import json, sys
job = json.load(open(sys.argv[1]))
pod = job["spec"]["template"]["spec"]
worker = pod["containers"][0]
assert worker["resources"]["limits"] == {"memory": str(64 << 20), "nvidia.com/gpu": "1"}, worker
assert worker["resources"]["requests"]["cpu"] == "2000m", worker
assert pod["nodeSelector"] == {"disk": "ssd", "zone": "a"}, pod
assert pod["tolerations"] == [{"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, {"key": "spot", "operator": "Exists"}], pod
assert pod["priorityClassName"] == "high" and pod["automountServiceAccountToken"] is False
assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
PY
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
    for option in volume=ftp:x mounts=pvc:x mounts=host:x=/y namespace=-x image_wait=x; do
        run "$TRAINYARD" job submit --backend kubernetes --image x --backend-option "$option" -- true
        [ "$got" = 2 ] && continue
        id=$(cat .out)
        run "$TRAINYARD" job wait --timeout 60s "$id"
        is "$option" "$(field "$id" 'd["state"], d["reason"]')" "('Failed', 'LaunchFailure')"
        run "$TRAINYARD" job why "$id"
        out_has "of the kubernetes backend"
    done
}

the_role_is_what_is_asked_for()
{
    begin
    run "$TRAINYARD" backend role kubernetes --namespace lab
    status 0
    cp .out role.yaml
    local id force
    for force in "" --force; do
        id=$(submit -- 'echo up; sleep 100')
        log_has "$id" up
        # shellcheck disable=SC2086 # no word, or one
        run "$TRAINYARD" job stop $force "$id"
        ended "$id" Stopped UserStopped
    done
    python3 - <<'PY' || fail "requests beyond the role, or verbs of it that nobody needs"
import re
rules, resources = {}, []
for line in open("role.yaml"):
    m = re.match(r"\s*resources: \[(.*)\]", line)
    if m:
        resources = [r.strip(' "') for r in m[1].split(",")]
    m = re.match(r"\s*verbs: \[(.*)\]", line)
    if m:
        for r in resources:
            rules[r] = {v.strip(' "') for v in m[1].split(",")}
used = {}
for line in open("cluster/requests"):
    method, path = line.split()
    m = re.match(r"/apis?/(?:batch/)?v1/namespaces/lab/(\w+)(/[^/?]+)?(/log)?", path)
    verb = {"PATCH": "patch", "DELETE": "delete"}.get(method) or ("watch" if "watch=1" in path else "get" if m[2] else "list")
    used.setdefault(m[1] + (m[3] or ""), set()).add(verb)
for resource, verbs in used.items():
    assert verbs <= rules.get(resource, set()), (resource, verbs, rules)
    # an apply of what is not there also needs create
    assert rules[resource] - verbs <= {"create"}, (resource, verbs, rules)
PY
}

tap_cases streams_that_break_cost_nothing a_cluster_that_is_away_loses_nothing what_the_cluster_refuses_is_told_in_its_words \
    an_expired_token_is_waited_for a_plug_in_gives_the_token_and_sees_nothing_of_ours certificates_of_both_sides_are_checked \
    pods_that_cannot_start_say_why a_pod_that_somebody_deletes_starts_again a_kind_that_the_cluster_does_not_have_is_said inputs_and_options_reach_the_pod \
    the_role_is_what_is_asked_for
