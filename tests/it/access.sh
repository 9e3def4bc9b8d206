#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may do what at a server: former members, colleagues, viewers, names that are used again.
# shellcheck disable=SC2154 # $got is set by run, $url by wait_for_server
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN

# yard [FLAG...]: a server with ann and bob of the project ads, carl of no project, vera who looks.
yard()
{
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_NOTIFY_ALLOW=127.0.0.1
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none "$@" 2>server.log &
    server=$!
    wait_for_server
    export TRAINYARD_SERVER=$url
    admin=$(cat yard/admin.token)
    ann=$(person ann --project ads)
    bob=$(person bob --project ads)
    carl=$(person carl)
    vera=$(person vera --project ads --role viewer)
}

person() # NAME FLAG...: the token
{
    as "$admin" user create "$@" && as "$admin" token create "$1"
}

as() # TOKEN COMMAND...
{
    TRAINYARD_TOKEN=$1 "$TRAINYARD" "${@:2}"
}

refused() # CODE TOKEN COMMAND...
{
    run as "${@:2}"
    [ "$got" != 0 ] || fail "allowed: ${*:3}"
    err_has "error[$1]"
}

soon() # what command...: it becomes true within a while
{
    local what=$1
    shift
    for _ in $(seq 100); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    fail "$what"
}

hook()
{
    python3 "$TY_SOURCE/tests/it/servers/hook.py" . 2>hook.err &
    hook=$!
    touch requests
    for _ in $(seq 100); do [ -f port ] && break; sleep 0.05; done
    base=http://127.0.0.1:$(cat port)
}

received() { grep -qF -e "$1" requests; }

# What runs goes on; what waits is held, says why, and starts with the owner's return.
queued_jobs_of_a_disabled_user_are_held()
{
    local running queued other
    yard
    running=$(as "$ann" job submit --cpu 8 -- 'sleep 300')
    for _ in $(seq 100); do
        as "$ann" job get --json "$running" | grep -q '"Running"' && break
        sleep 0.1
    done
    queued=$(as "$ann" job submit --cpu 8 --priority 9 -- 'echo ran')
    as "$admin" user update ann --disable
    run as "$admin" job get --json "$running"
    json 'd["state"] == "Running"'
    as "$admin" job stop "$running" >/dev/null
    as "$admin" job wait "$running" >/dev/null 2>&1
    other=$(as "$admin" job submit --cpu 8 -- 'echo other')
    as "$admin" job wait "$other" >/dev/null || fail "a job behind it: $(as "$admin" job why "$other")"
    run as "$admin" job get --json "$queued"
    json 'd["state"] == "Queuing"'
    run as "$admin" job why "$queued"
    out_is <<<"$queued waits until an admin lets its owner run jobs: 'ann' is disabled"
    as "$admin" user update ann --enable
    run as "$ann" job wait "$queued"
    status 0
    # One who may only look runs nothing either.
    running=$(as "$admin" job submit --cpu 8 -- 'sleep 300')
    for _ in $(seq 100); do
        as "$admin" job get --json "$running" | grep -q '"Running"' && break
        sleep 0.1
    done
    queued=$(as "$ann" job submit --cpu 8 -- 'echo ran')
    as "$admin" user update ann --role viewer
    as "$admin" job stop "$running" >/dev/null
    as "$admin" job wait "$running" >/dev/null 2>&1
    other=$(as "$admin" job submit --cpu 8 -- 'echo other')
    as "$admin" job wait "$other" >/dev/null
    run as "$ann" job why "$queued"
    out_is <<<"$queued waits until an admin lets its owner run jobs: 'ann' may not submit jobs"
    as "$admin" user update ann --role submitter
    run as "$ann" job wait "$queued"
    status 0
    # All of them at once.
    running=$(as "$ann" job submit --cpu 8 -- 'sleep 300')
    queued=$(as "$ann" job submit --cpu 8 -- 'sleep 300')
    for _ in $(seq 100); do
        as "$ann" job get --json "$running" | grep -q '"Running"' && break
        sleep 0.1
    done
    run as "$admin" user update ann --stop-jobs
    status 2
    err_has "--stop-jobs goes with --disable"
    run as "$admin" user update ann --disable --stop-jobs
    status 0
    as "$admin" job wait "$running" "$queued" >/dev/null 2>&1
    for id in $running $queued; do
        run as "$admin" job get --json "$id"
        json 'd["state"] == "Stopped" and d["reason"] == "UserStopped"'
    done
    finish
}

a_schedule_stops_with_its_owner_and_goes_on_with_them()
{
    yard
    as "$ann" schedule create nightly --cron '0 3 * * *' --project ads -- true >/dev/null
    run as "$admin" schedule get nightly
    out_lacks stopped
    as "$admin" user update ann --disable
    run as "$admin" schedule list
    out_has "stopped"
    out_has "'ann' is disabled"
    run as "$admin" schedule list --json
    json 'd[0]["paused"] and d[0]["stopped"] == "'"'ann'"' is disabled" and "next" not in d[0]'
    refused E5107 "$admin" schedule run nightly
    err_has "schedule 'nightly' is stopped: 'ann' is disabled"
    as "$admin" user update ann --enable
    run as "$ann" schedule run nightly --wait
    status 0
    as "$admin" user update ann --no-projects
    run as "$bob" schedule get nightly
    out_has "stopped: 'ann' is not a member of the project 'ads' any more"
    as "$admin" user update ann --project ads --role viewer
    refused E5107 "$admin" schedule run nightly
    as "$admin" user update ann --role submitter
    run as "$admin" schedule get nightly
    out_lacks stopped
    as "$admin" user delete ann
    refused E5107 "$admin" schedule run nightly
    err_has "'ann' is not a user of this server any more"
    run env -u TRAINYARD_SERVER "$TRAINYARD" schedule get nightly --dir yard
    out_has "stopped: 'ann' is not a user of this server any more"
    finish
}

a_former_member_is_told_nothing_of_the_project()
{
    local rule
    hook
    yard
    rule=$(as "$ann" notify create --webhook "$base/ok/ann" --log 'loss' --project ads 2>/dev/null)
    as "$bob" job run --project ads -- 'echo loss first' >/dev/null 2>&1
    soon "a member is told" received "loss first"
    as "$admin" user update ann --no-projects
    run as "$admin" notify list
    out_has "muted: 'ann' is not a member of the project 'ads' any more"
    run as "$admin" notify list --json
    json 'd[0]["muted"].startswith("'"'ann'"' is not a member")'
    as "$bob" notify create --webhook "$base/ok/bob" --state Succeeded --project ads >/dev/null 2>&1
    as "$bob" job run --project ads -- 'echo loss second' >/dev/null 2>&1
    soon "another member is told" received '"path": "/ok/bob"'
    as "$admin" user update ann --project ads --disable
    as "$bob" job run --project ads -- 'echo loss third' >/dev/null 2>&1
    soon "another member is told again" test "$(grep -cF '"path": "/ok/bob"' requests)" -ge 1
    sleep 2
    received "loss second" && fail "a former member got a line of the log"
    received "loss third" && fail "a disabled user got a line of the log"
    as "$admin" user update ann --enable
    as "$bob" job run --project ads -- 'echo loss fourth' >/dev/null 2>&1
    soon "who is back is told" received "loss fourth"
    as "$admin" user delete ann
    run as "$admin" notify list --json
    json '[r["muted"] for r in d if r["id"] == "'"$rule"'"] == ["'"'ann'"' is not a user of this server any more"]'
    kill "$hook"
    finish
}

a_dataset_for_reading_is_not_written_to()
{
    local n
    yard
    mkdir open closed && chmod 777 open closed && echo data | tee open/f >closed/f
    chmod 755 . .. "$(dirname "$(dirname "$PWD")")" 2>/dev/null
    as "$admin" dataset create closed --path "$PWD/closed" --mount /mnt/closed >/dev/null
    as "$admin" dataset create open --path "$PWD/open" --mount /mnt/open --writable >/dev/null
    for who in "$ann" "$admin"; do
        run as "$who" job run --data closed --data open:/mnt/o -- \
            'cat /mnt/closed/f; echo x >/mnt/closed/new || echo no; rm -f /mnt/closed/f || echo no; mktemp /mnt/o/XXXXXX >/tmp/name && echo yes'
        status 0
        out_has data
        out_has yes
        run as "$who" job run --input in=dataset:closed -- 'echo x >/ml/input/data/in/new || echo no'
        out_has no
    done
    n=$(as "$ann" job list | wc -l)
    for place in dataset:closed pai://datasets/closed/; do
        refused E3303 "$ann" job submit --output "model=$place" -- true
        err_has "output 'model': '$place' is a read-only dataset; an administrator can register it with --writable"
    done
    [ "$(as "$ann" job list | wc -l)" = "$n" ] || fail "a job was made for a refused output"
    run as "$ann" job run --output model=dataset:open -- 'echo z >/ml/output/model/m'
    status 0
    [ "$(cat open/m)" = z ] || fail "the output is not in the writable dataset"
    [ "$(ls closed)" = f ] || fail "closed was written to: $(ls closed)"
    # A schedule is held to it each time.
    as "$ann" schedule create out --cron @daily --output model=dataset:open -- true >/dev/null
    as "$admin" dataset delete open
    as "$admin" dataset create open --path "$PWD/open" >/dev/null
    refused E3303 "$ann" schedule run out
    finish
}

a_schedule_is_changed_in_place()
{
    local first second
    yard
    mkdir one two
    echo 'echo first $S' >one/run.sh
    echo 'echo second $S' >two/run.sh
    S=secret-one run as "$ann" schedule create nightly --cron '30 2 1 1 *' --source one --secret S --label a=b -- sh run.sh
    status 0
    first=$(as "$ann" schedule run nightly --at 2024-01-01T02:30:00Z)
    as "$ann" job wait "$first" >/dev/null
    # When alone: the job, its code and its secret stay.
    run as "$ann" schedule update nightly --cron '0 4 1 1 *' --overlap allow --json
    status 0
    json 'd["cron"] == "0 4 1 1 *" and d["overlap"] == "allow" and d["catch_up"] == "last" and "T04:00:00" in d["next"]'
    second=$(as "$ann" schedule run nightly --at 2024-01-01T04:00:00Z)
    as "$ann" job wait "$second" >/dev/null
    run as "$ann" job logs "$second"
    out_has "first "
    out_lacks secret-one
    # New code, another secret; what has run is still known.
    S=secret-two run as "$ann" schedule update nightly --source two --secret S -- 'sh run.sh; test $S = secret-two'
    status 0
    second=$(as "$ann" schedule run nightly --at 2024-01-02T04:00:00Z)
    run as "$ann" job wait "$second"
    status 0
    run as "$ann" job logs "$second"
    out_has "second "
    run as "$ann" schedule get nightly
    out_has "$first"
    out_has "$second"
    # Checked as a new one is, and nothing changes then.
    refused E5101 "$ann" schedule update nightly --cron '61 * * * *'
    refused E3107 "$ann" schedule update nightly --input d=dataset:nope -- true
    refused E0603 "$ann" schedule update nightly --cpu 2
    err_has "flags of the job go with its FILE or COMMAND"
    refused E0603 "$ann" schedule update nightly
    refused E5103 "$ann" schedule update nope --cron @daily
    run as "$ann" schedule get nightly --json
    json 'd["cron"] == "0 4 1 1 *"'
    # Others: an admin changes the time, not what runs in somebody's name.
    refused E5103 "$carl" schedule update nightly --cron @daily
    run as "$admin" schedule update nightly --zone Asia/Shanghai
    status 0
    refused E5010 "$admin" schedule update nightly -- 'echo in her name'
    err_has "only 'ann' may change the job or the parameters of this schedule"
    refused E5010 "$admin" schedule update nightly --param 'yyyymmdd=x; id'
    finish
}

projects_are_added_and_left_one_by_one()
{
    yard
    run as "$admin" user create dan --project ads --project feed:admin
    status 0
    err_has "note: nobody was in the project 'feed:admin' before 'dan'"
    run as "$admin" user update dan --add-project adss
    status 0
    err_is <<<"note: nobody was in the project 'adss' before 'dan'"
    run as "$admin" user update dan --remove-project adss --add-project feed
    status 0
    err_is </dev/null
    run as "$admin" user list --json
    json '[u["projects"] for u in d if u["name"] == "dan"] == ["ads,feed"]'
    run as "$admin" user update dan --remove-project nope
    status 2
    err_has "'dan' is only in: ads,feed"
    run as "$admin" user update dan --project ads --add-project feed
    status 2
    run as "$admin" user update nobody --add-project feed
    err_has "no user 'nobody'"
    # The same without a server.
    run env -u TRAINYARD_SERVER "$TRAINYARD" user update dan --add-project more --dir yard
    status 0
    run as "$admin" user list --json
    json '[u["projects"] for u in d if u["name"] == "dan"] == ["ads,feed,more"]'
    # A token without an end says so.
    run as "$admin" token create dan
    err_is <<<"note: this token never expires; --expires 90d limits it, \`token delete\` ends it"
    run as "$admin" token create dan --expires 1d
    err_is </dev/null
    # Nobody waits in a queue that is not there.
    refused E3022 "$ann" job submit --queue nope -- true
    err_has "there is no queue 'nope': jobs here wait in one, 'default'"
    refused E3022 "$ann" schedule create q --cron @daily --queue nope -- true
    run as "$ann" job run --queue default -- true
    status 0
    # Secrets of a job are given again with the next.
    S=hunter22 run as "$ann" job submit --wait --secret S -- true
    status 0
    refused E5015 "$ann" job rerun "$(head -1 .out)"
    err_has "had secrets, which are not kept for another: submit it again with --secret S"
    finish
}

a_dataset_never_holds_the_servers_own_files()
{
    yard
    mkdir -p beside yard/jobs
    ln -s "$PWD/yard/jobs" beside/link
    for path in "$PWD/yard" "$PWD/yard/jobs" "$PWD" / "$PWD/beside/link" "$PWD/beside/../yard/jobs"; do
        run as "$admin" dataset create own --path "$path"
        status 2
        err_has "error[E3301]"
    done
    run as "$admin" dataset create own --path "$PWD/yard/jobs"
    err_has "'path': '$PWD/yard/jobs' holds, or lies in, '"
    err_has "of this server, which no job may see; name another directory"
    run as "$admin" dataset create own --path "$PWD/beside"
    status 0
    finish
}

a_dataset_of_a_deleted_user_is_not_opened_with_the_servers_keys()
{
    yard
    as "$carl" dataset create private --type s3 --path s3://bucket/private >/dev/null
    refused E3302 "$ann" job submit --input d=dataset:private -- true
    as "$admin" user delete carl
    refused E3302 "$ann" job submit --input d=dataset:private -- true
    finish
}

quotas_of_users_work_at_a_server_as_they_do_here()
{
    yard
    run as "$admin" quota set --user nosuchuser --running 2
    status 1
    err_has "no user 'nosuchuser'"
    run as "$admin" quota set --user ann --running -1
    status 2
    err_has "running: '-1' is not a limit: give a number from 0 on, or none for no limit"
    run as "$admin" quota set --user '*' --running 2 --cpu 4
    status 0
    out_has "user      * "
    run as "$admin" quota set --user '*' --gpu 1 --json
    json 'd["user"] == "*" and d["running"] == 2 and d["cpu_milli"] == 4000 and d["gpu"] == 1'
    as "$admin" quota set --user ann --running 5 >/dev/null
    as "$admin" quota set --user bob --running 6 >/dev/null
    as "$admin" quota set --project ads --running 7 >/dev/null
    as "$admin" quota set --project secret --running 8 >/dev/null
    run as "$admin" quota list --json
    json '[(x.get("user"), x.get("project"), x["running"]) for x in d] == [(None, "ads", 7), (None, "secret", 8), ("*", None, 2), ("ann", None, 5), ("bob", None, 6)]'
    cp .out at-server
    env -u TRAINYARD_SERVER "$TRAINYARD" quota list --json --dir yard >here
    python3 -c 'import json,sys; a, b = (sorted(json.load(open(f)), key=str) for f in sys.argv[1:]); assert a == b, (a, b)' at-server here ||
        fail "the server lists other quotas than the store has"
    # Others see what holds for them.
    run as "$ann" quota list --json
    json '[x.get("user", x.get("project")) for x in d] == ["ads", "*", "ann"]'
    run as "$carl" quota list --json
    json '[x.get("user", x.get("project")) for x in d] == ["*"]'
    refused E5010 "$ann" quota set --user ann --running 50
    refused E5010 "$ann" quota set --user '*' --running 50
    run as "$admin" quota delete --user '*'
    status 0
    refused E5202 "$admin" quota delete --user '*'
    finish
}

a_directory_has_one_server()
{
    yard --min-free 7m --job-log-size 5m
    for flags in "" --no-queue "--policy /no/such/file"; do
        # shellcheck disable=SC2086
        run env -u TRAINYARD_SERVER "$TRAINYARD" server --listen 127.0.0.1:0 --dir ./yard/. --min-free 1 --job-log-size 1 $flags
        [ "$got" != 0 ] || fail "a second server started"
        err_has "error[E5021]: '$PWD/yard' has a server already: process $server on $(hostname); stop it first"
    done
    # Somebody else's port does not help either.
    run env -u TRAINYARD_SERVER "$TRAINYARD" server --listen "${url#http://}" --dir yard --min-free 1
    err_has "error[E5021]"
    [ "$(cat yard/min-free) $(cat yard/log-size)" = "7340032 5242880" ] || fail "settings: $(cat yard/min-free yard/log-size)"
    run as "$ann" job run -- 'echo still here'
    out_has "still here"
    kill -9 "$server"
    wait "$server" 2>/dev/null
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none 2>server.log &
    server=$!
    wait_for_server
    TRAINYARD_SERVER=$url
    run as "$ann" job list
    status 0
    finish
}

a_name_that_is_given_out_again_brings_nothing_along()
{
    local id uid long
    yard
    mkdir up && echo private >up/f
    as "$ann" job run --input in=./up --secret KEY=file:up/f -- 'true' >/dev/null 2>&1
    id=$(as "$ann" job list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
    as "$ann" schedule create nightly --cron @daily -- true >/dev/null
    as "$ann" dataset create mine --type s3 --path s3://bucket/mine >/dev/null
    uid=$(sed -n 's/ ann$//p' yard/accounts 2>/dev/null)
    as "$admin" user delete ann
    refused E3112 "$admin" user create ann
    err_has "the name 'ann' has belongings: 1 jobs, 1 schedules, 0 notification rules, 0 models, 1 datasets; delete them with \`trainyard user delete ann --purge\`"
    run env -u TRAINYARD_SERVER "$TRAINYARD" user create ann --dir yard
    err_has "error[E3112]"
    # The same person is back.
    as "$admin" user create ann --inherit
    ann=$(as "$admin" token create ann)
    run as "$ann" job get "$id"
    status 0
    long=$(as "$ann" job submit -- sleep 100 2>/dev/null)
    refused E5022 "$admin" user delete ann --purge
    err_has "1 jobs of 'ann' have not ended"
    run as "$ann" job get "$id"
    status 0
    as "$ann" job stop "$long" >/dev/null 2>&1
    soon "it has ended" as "$admin" user delete ann --purge
    refused E3111 "$admin" user delete ann --purge
    [ ! -e yard/users/ann ] || fail "uploads are left"
    [ ! -e "yard/jobs/$id" ] || fail "the job's directory is left"
    # Somebody else of that name.
    ann=$(person ann)
    run as "$ann" job list --json
    json 'd == []'
    run as "$ann" schedule list --json
    json 'd == []'
    refused E3107 "$ann" dataset get mine
    refused E3103 "$ann" job get "$id"
    as "$ann" job run -- true >/dev/null 2>&1
    [ -z "$uid" ] || grep -q "^$uid #*$" yard/accounts || fail "the account is given out again: $(cat yard/accounts)"
    [ -z "$uid" ] || [ "$(sed -n 's/ ann$//p' yard/accounts)" != "$uid" ] || fail "the same account"
    # Deleted first, purged later.
    as "$admin" user delete ann
    run as "$admin" user delete ann --purge
    status 0
    finish
}

# A colleague may stop a job and run it again, but what deletes it or speaks for its owner needs the owner, an
# admin of the project or an admin.
a_member_controls_a_job_and_its_owner_deletes_it()
{
    local id lead
    yard
    lead=$(person lena --project ads:admin --project feed)
    id=$(as "$ann" job submit --project ads -- true 2>/dev/null)
    as "$ann" job wait "$id" >/dev/null 2>&1
    as "$ann" schedule create nightly --cron @daily --project ads -- true >/dev/null
    run as "$bob" job rerun "$id"
    status 0
    for who in "$bob" "$vera"; do
        refused E5010 "$who" job delete "$id"
        refused E5010 "$who" schedule delete nightly
        refused E5010 "$who" schedule run nightly
    done
    run as "$bob" job delete "$id"
    err_has "the job is ann's: only its owner, admins of its project and admins may do that"
    refused E3103 "$carl" job delete "$id"
    refused E5103 "$carl" schedule delete nightly
    run as "$bob" schedule pause nightly
    status 0
    run as "$bob" schedule resume nightly
    status 0
    run as "$lead" schedule run nightly --wait
    status 0
    run as "$lead" job delete "$id"
    status 0
    run as "$lead" schedule delete nightly
    status 0
    # Of another project she is a member like any other, and her own token may be less than she is.
    as "$admin" user update bob --project feed --project ads
    id=$(as "$bob" job submit --project feed -- true 2>/dev/null)
    as "$bob" job wait "$id" >/dev/null 2>&1
    refused E5010 "$lead" job delete "$id"
    refused E5010 "$lead" user create eve
    refused E5010 "$lead" user update bob --project ads:admin
    id=$(as "$ann" job submit --project ads -- true 2>/dev/null)
    as "$ann" job wait "$id" >/dev/null 2>&1
    refused E5010 "$(as "$admin" token create lena --role viewer)" job delete "$id"
    as "$admin" user update lena --project ads
    refused E5010 "$lead" job delete "$id"
    run as "$ann" job delete "$id"
    status 0
    refused E5006 "$admin" user update lena --project ads:boss
    run as "$admin" user update lena --project ads:admin
    status 0
    run as "$admin" user list
    out_has "ads:admin"
    finish
}

what_is_somebody_elses_answers_as_what_is_not_there()
{
    local path method id long name=nightly
    yard
    as "$ann" schedule create "$name" --cron @daily --project ads -- true >/dev/null
    as "$ann" notify create --webhook http://127.0.0.1:9/x --state Failed >rule 2>/dev/null
    long=$(printf 'n%.0s' $(seq 128))
    as "$ann" schedule create "$long" --cron @daily -- true >/dev/null
    while read -r method path; do
        for n in "$name:missing" "$long:${long%?}m"; do
            for one in "${n%%:*}" "${n#*:}"; do
                curl -s -w '%{http_code}' -X "$method" -H "Authorization: Bearer $carl" "$url/api/v1/schedules/$one$path" |
                    sed "s/$one/NAME/" >"answer-$one"
            done
            cmp -s "answer-${n%%:*}" "answer-${n#*:}" || fail "$method $path tells whether a schedule is there: $(cat answer-*)"
        done
    done <<'END'
GET
DELETE
POST /pause
POST /resume
POST /run
GET /runs
END
    as "$ann" job run -- 'echo m >/ml/output/model/m' >/dev/null 2>&1
    id=$(as "$ann" job list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
    as "$ann" model register "$name" --job "$id" >/dev/null
    as "$ann" model register "$long" --job "$id" >/dev/null
    run as "$ann" model show "$long"
    status 0
    for path in "" /versions/1 /versions/latest /versions/9 '/versions/latest/file?path=m'; do
        for n in "$name:missing" "$long:${long%?}m"; do
            for one in "${n%%:*}" "${n#*:}"; do
                curl -s -w '%{http_code}' -H "Authorization: Bearer $carl" "$url/api/v1/models/$one$path" | sed "s/$one/NAME/" >"answer-$one"
                for v in "" :1; do
                    curl -s -w '%{http_code}' -X POST -H "Authorization: Bearer $carl" -H 'Content-Type: application/json' \
                        -d "{\"command\":\"true\",\"input\":{\"m\":\"model:$one$v\"}}" "$url/api/v1/jobs" | sed "s/$one/NAME/" >>"answer-$one"
                done
            done
            cmp -s "answer-${n%%:*}" "answer-${n#*:}" || fail "$path tells whether a model is there: $(cat answer-*)"
        done
    done
    refused E5301 "$carl" notify create --webhook http://127.0.0.1:9/x --state Failed --schedule nightly
    sed s/nightly/NAME/ .err >there
    refused E5301 "$carl" notify create --webhook http://127.0.0.1:9/x --state Failed --schedule missing
    sed s/missing/NAME/ .err | cmp -s - there || fail "a rule tells whether a schedule is there"
    refused E5304 "$carl" notify log "$(cat rule)"
    finish
}

a_rule_that_can_never_come_true_is_refused()
{
    local id base=http://127.0.0.1:9/x
    yard
    id=$(as "$bob" job submit --project ads -- sleep 100 2>/dev/null)
    never() { refused E5301 "$ann" notify create --webhook "$base" "$@"; }
    never --state Failed --job jb-000000000000
    err_has "it would never come true: no job 'jb-000000000000' whose jobs it is about"
    never --state Failed --job "$id"
    never --state Failed --job jb-0
    err_has "job is the whole id of a job: 'jb-0'"
    never --state Failed --schedule none
    never --state Failed --name 'a b'
    err_has "no job's name can hold: 'a b'"
    never --state Failed --above 3
    run as "$ann" notify create --webhook "$base" --state Failed --job "$id" --project ads
    status 0
    for condition in '{"on":"state","states":["Failed"],"pattern":"x"}' '{"on":"log","pattern":"x","above":3}' \
        '{"on":"stall","after_s":9,"states":["Failed"]}' '{"on":"state","states":["Failed"],"project":"a/d"}'; do
        curl -s -o .out -X POST -H "Authorization: Bearer $admin" -H 'Content-Type: application/json' \
            -d "{\"webhook\":\"$base\",\"condition\":$condition}" "$url/api/v1/rules"
        json 'd["code"] == "E5301"'
    done
    refused E5305 "$ann" notify create --mail a@example.com --state Failed
    as "$bob" job stop "$id" >/dev/null
    as "$bob" job wait "$id" >/dev/null 2>&1
    never --state Failed --job "$id" --project ads
    err_has "job $id has ended"
    finish
}

the_log_of_notifications_shows_ones_own()
{
    hook
    yard
    as "$ann" notify create --webhook "$base/ok/ann" --state Succeeded >a 2>/dev/null
    as "$bob" notify create --webhook "$base/ok/bob" --state Succeeded >b 2>/dev/null
    as "$ann" job run -- true >/dev/null 2>&1
    as "$bob" job run -- true >/dev/null 2>&1
    soon "ann is told" received /ok/ann
    soon "bob is told" received /ok/bob
    sleep 1
    run as "$ann" notify log --json
    status 0
    json '{(x["rule"], x["state"]) for x in d} == {("'"$(cat a)"'", "sent")}'
    run as "$admin" notify log --json
    json '{x["rule"] for x in d} == {"'"$(cat a)"'", "'"$(cat b)"'"}'
    run as "$vera" notify log
    status 0
    out_empty
    kill "$hook"
    finish
}

a_policy_for_nobody_is_refused()
{
    yard
    refused E5504 "$admin" retention set --user '' --age 1d
    refused E5504 "$admin" retention set --user nobody --age 1d
    err_has "there is no user 'nobody', and no job of that name"
    refused E5504 "$admin" retention set --project 'a b' --age 1d
    run as "$admin" retention set --user ann --age 1d
    status 0
    run as "$admin" retention list --json
    json '[x["name"] for x in d] == ["user:ann"]'
    refused E5010 "$ann" retention set --user ann --age 9d
    run env -u TRAINYARD_SERVER "$TRAINYARD" retention set --user '' --age 1d --dir yard
    err_has "error[E5504]"
    run env -u TRAINYARD_SERVER "$TRAINYARD" retention set --user "$(id -un)" --age 1d --dir yard
    status 0
    finish
}

# A stream of a log lasts as long as the right to see it, that of changes as long as its token.
a_follower_who_may_not_any_more_hears_no_more()
{
    local id n pids=() told=() tokens
    yard
    id=$(as "$bob" job submit --project ads -- 'echo first; while [ ! -e /ml/output/model/go ]; do sleep 0.2; done; echo later' 2>/dev/null)
    soon "the job runs" sh -c "TRAINYARD_TOKEN=$bob $TRAINYARD job logs $id | grep first"
    tokens=("$ann" "$vera" "$(as "$admin" token create bob)" "$bob" "$(as "$admin" token create bob --expires 10s)")
    for n in 4 0 1 2 3; do # the one that expires first
        curl -sN -H "Authorization: Bearer ${tokens[$n]}" "$url/api/v1/jobs/$id/logs/0?follow=true" >"stream-$n" &
        pids[$n]=$!
        curl -sN -H "Authorization: Bearer ${tokens[$n]}" "$url/api/v1/changes?follow=true" >"changes-$n" &
        told[$n]=$!
    done
    for i in 4 0 1 2 3; do soon "$i follows" grep -q first "stream-$i"; done
    for i in 4 1 2 3; do soon "$i is told" grep -q "event: changed" "changes-$i"; done
    as "$admin" user update ann --no-projects
    as "$admin" user update vera --disable
    as "$admin" token delete "$(as "$admin" token list bob --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[1]["id"])')"
    for i in 0 1 2 4; do soon "stream $i ends" test ! -e "/proc/${pids[$i]}/fd/0"; done
    for i in 1 2 4; do soon "changes of $i end" test ! -e "/proc/${told[$i]}/fd/0"; done
    [ -e "/proc/${told[3]}/fd/0" ] || fail "bob is told no more"
    touch "yard/jobs/$id/ml/output/model/go"
    soon "bob goes on" grep -q later stream-3
    for i in 0 1 2 4; do grep -q later "stream-$i" && fail "stream $i went on"; done
    finish
}

a_job_of_an_array_is_run_again_in_its_place_at_a_server()
{
    yard
    mkdir -m 777 shared && chmod 711 . ..
    as "$admin" dataset create sh --path "$PWD/shared" --writable >/dev/null
    local array failed again
    # shellcheck disable=SC2016
    array=$(as "$ann" job submit --array 3 --data sh:/mnt/s -- '[ $TRAINYARD_ARRAY_INDEX != 2 ] || [ -e /mnt/s/mended ]')
    run as "$ann" job wait --timeout 60s "$array"
    status 1
    touch shared/mended
    run as "$ann" job list --json --label "array=$array" --state Failed
    failed=$(python3 -c 'import json; print(json.load(open(".out"))[0]["id"])')
    again=$(as "$ann" job rerun "$failed")
    run as "$ann" job wait --timeout 60s "$array"
    status 0
    [ "$(wc -l <.out)" = 3 ] || fail "the array has $(wc -l <.out) jobs"
    out_has "$again Succeeded"
    run as "$ann" job submit --after-ok "$array" --wait -- true
    status 0
    # One job is wanted: which ones there are is said.
    for what in get logs; do
        run as "$ann" job "$what" "$array"
        [ "$got" != 0 ] || fail "job $what of an array"
        err_has "error[E3020]: '$array' is an array; give one of its jobs: jb-"
    done
    run as "$ann" job get jb-
    status 2
    err_has "error[E3020]: 'jb-' is the beginning of jb-"
    run as "$ann" job delete "$array"
    status 0
    [ "$(wc -l <.out)" = 4 ] || fail "deleted: $(cat .out)"
    finish
}

whose_and_what_a_job_is_is_shown()
{
    yard
    local id
    id=$(as "$ann" job submit --project ads --name night --cpu 0.5 --memory 64Mi --priority 2 --label team=ads --hp lr=0.1 -- sh -c 'echo "two words"')
    as "$bob" job submit --name other -- true >/dev/null
    as "$admin" job wait --timeout 60s "$id" >/dev/null
    run as "$admin" job list
    out_has "  owner         project       state"
    out_has "$id  night                     ann           ads           Succeeded"
    out_has "  bob           -"
    run as "$admin" job list --project ads --json
    json '[(j["name"], j["owner"], j["project"]) for j in d] == [("night", "ann", "ads")]'
    run as "$bob" job get "$id"
    for line in "project    ads" "asks for   1 worker, 0.5 processors, 64.0 MiB of memory, priority 2" "label      team=ads" "hp         lr=0.1" \
        "command    sh -c 'echo \"two words\"'"; do
        out_has "$line"
    done
    finish
}

everybody_has_their_own_tokens()
{
    yard
    local mine id weak
    run as "$ann" whoami
    out_has "user      ann"
    out_has "projects  ads"
    run as "$ann" whoami --json
    json 'd["name"] == "ann" and d["role"] == "submitter" and d["token"].startswith("tk-") and "expires" not in d'
    mine=$(as "$ann" token create --note laptop)
    run as "$mine" token list --json
    json 'len(d) == 2 and {t["owner"] for t in d} == {"ann"} and "laptop" in [t["name"] for t in d]'
    # No more than the one that asks: neither role nor lifetime.
    refused E5010 "$ann" token create --role admin
    weak=$(as "$ann" token create --expires 1h)
    run as "$weak" whoami --json
    json 'd["role"] == "submitter" and "expires" in d'
    run as "$(as "$weak" token create)" whoami --json
    json '"expires" in d'
    weak=$(as "$weak" token create --role viewer)
    run as "$mine" whoami --json
    id=$(python3 -c 'import json; print(json.load(open(".out"))["token"])')
    refused E3111 "$weak" token delete "$id"
    refused E3111 "$bob" token delete "$id"
    refused E3111 "$bob" token list ann
    refused E3111 "$bob" token create ann
    run as "$ann" token delete "$id"
    status 0
    refused E5008 "$mine" whoami
    # A login can take its token along.
    as "$ann" token create >t
    HOME=$PWD/home XDG_CONFIG_HOME=$PWD/config run "$TRAINYARD" login "$url" --token-file t
    status 0
    HOME=$PWD/home XDG_CONFIG_HOME=$PWD/config run "$TRAINYARD" logout --revoke
    out_has "the token is revoked"
    refused E5008 "$(cat t)" whoami
    as "$admin" user create other --role admin >/dev/null
    refused E5010 "$admin" user delete admin
    err_has "you cannot delete yourself"
    as "$admin" user update ann --disable
    refused E5008 "$ann" whoami
    err_has "the user 'ann' is disabled"
    finish
}

an_auditor_sees_everything_and_changes_nothing()
{
    yard
    local aud id
    aud=$(person aud --role auditor)
    id=$(as "$carl" job submit --wait -- true | head -1)
    as "$admin" user update carl --role viewer
    as "$admin" token create carl --role viewer --note door >/dev/null
    run as "$aud" job list
    out_has "$id"
    run as "$aud" job get "$id"
    status 0
    run as "$aud" job logs "$id"
    status 0
    run as "$aud" user list
    out_has "aud                       auditor"
    run as "$aud" token list
    out_has "door"
    run as "$aud" quota list
    status 0
    refused E5010 "$aud" job submit -- true
    refused E5010 "$aud" job stop "$id"
    refused E5010 "$aud" user update carl --disable
    refused E3111 "$aud" token create ann
    refused E5010 "$aud" dataset create x --path /tmp
    # What was done, and to what.
    run as "$aud" audit --user admin --since 1h --json
    json '[e["object"] for e in d if e["action"] == "change_user"] == ["/api/v1/users/carl {\"role\": \"viewer\"}"]'
    json 'any(e["action"] == "create_token" and "/api/v1/tokens/tk-" in e["object"] and "door" in e["object"] for e in d)'
    run as "$aud" audit --action create_job --json
    json '[(e["who"], e["object"]) for e in d if e["outcome"] == "201"] == [("carl", "/api/v1/jobs/'"$id"'")]'
    run as "$aud" audit --user aud
    out_has "403"
    refused E5010 "$ann" audit
    refused E5010 "$vera" user list
    # A token of an auditor with another role is a viewer's.
    run as "$(as "$admin" token create aud --role submitter)" whoami --json
    json 'd["role"] == "viewer"'
    finish
}

tap_cases \
    a_follower_who_may_not_any_more_hears_no_more \
    what_is_somebody_elses_answers_as_what_is_not_there \
    a_rule_that_can_never_come_true_is_refused \
    the_log_of_notifications_shows_ones_own \
    a_policy_for_nobody_is_refused \
    a_member_controls_a_job_and_its_owner_deletes_it \
    a_name_that_is_given_out_again_brings_nothing_along \
    a_directory_has_one_server \
    quotas_of_users_work_at_a_server_as_they_do_here \
    a_dataset_for_reading_is_not_written_to \
    a_dataset_never_holds_the_servers_own_files a_schedule_is_changed_in_place projects_are_added_and_left_one_by_one \
    a_dataset_of_a_deleted_user_is_not_opened_with_the_servers_keys \
    a_schedule_stops_with_its_owner_and_goes_on_with_them \
    queued_jobs_of_a_disabled_user_are_held \
    a_former_member_is_told_nothing_of_the_project \
    a_job_of_an_array_is_run_again_in_its_place_at_a_server whose_and_what_a_job_is_is_shown \
    everybody_has_their_own_tokens an_auditor_sees_everything_and_changes_nothing
