#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Notifications: rules, a receiver on a real port, signatures, addresses that are refused.
. "$(dirname "$0")/lib.sh"

yard()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE TRAINYARD_MAIL_COMMAND TRAINYARD_NOTIFY_REDIRECTS
    export TRAINYARD_NOTIFY_ALLOW=127.0.0.1
    python3 "$TY_SOURCE/tests/it/servers/hook.py" . 2>hook.err &
    hook=$!
    for _ in $(seq 100); do [ -f port ] && break; sleep 0.05; done
    base=http://127.0.0.1:$(cat port)
    touch requests
}

watcher() { "$TRAINYARD" schedule due --loop 2>>watcher.err & watcher=$!; }

finish()
{
    kill "$watcher" "$hook" 2>/dev/null
    wait "$watcher" "$hook" 2>/dev/null
    return 0
}

soon() # what command...: it becomes true within a while
{
    local what=$1
    shift
    for _ in $(seq 150); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "$what"
    show watcher.err
}

received() { grep -q -F -e "\"path\": \"$1" requests; }
delivery() { "$TRAINYARD" notify log "$1" | grep -q -e "$2"; }
rule() { "$TRAINYARD" notify create "$@" 2>secret.txt; }

every_kind_of_rule_is_told_once()
{
    yard
    local failed metric log stall mail id
    failed=$(rule --webhook "$base/ok/state" --state Failed,Succeeded)
    cp secret.txt state.secret
    metric=$(rule --webhook "$base/ok/metric" --metric auc --below 0.6 --name din)
    log=$(rule --webhook "$base/ok/log" --log 'disk (full|broken)')
    stall=$(rule --webhook "$base/ok/stall" --stall 1s --label kind=slow)
    cat >mailer <<'END'
#!/bin/sh
echo "args: $*" >>"$(dirname "$0")/mail.out"
cat >>"$(dirname "$0")/mail.out"
END
    chmod +x mailer
    # shellcheck disable=SC2016
    export TRAINYARD_MAIL_COMMAND="$PWD/mailer -t "'$HOME;'
    mail=$(rule --mail me@example.com --state Failed)
    watcher
    id=$("$TRAINYARD" job submit --name din -- \
        'echo "::trainyard auc=0.7"; echo "::trainyard auc=0.5"; echo "::trainyard auc=0.4"; echo the disk full; echo disk full; exit 3')
    "$TRAINYARD" job submit --name dcn --label kind=slow -- 'sleep 3; echo "::trainyard auc=0.1"' >/dev/null
    soon "state" received "/ok/state"
    soon "metric" received "/ok/metric"
    soon "log" received "/ok/log"
    soon "stall" received "/ok/stall"
    soon "mail" delivery "$mail" sent
    run "$TRAINYARD" job wait "$("$TRAINYARD" job list --name dcn --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')"
    soon "both ends" sh -c "grep -c ok/state requests | grep -q 2"
    finish
    python3 - "$id" state.secret <<'PY' 2>.pyerr || { fail "what was received"; show .pyerr; }
import hashlib, hmac, json, re, sys
job, secret = sys.argv[1], open(sys.argv[2]).read().split()[-1]
got = [json.loads(line) for line in open('requests')]
by = {}
for g in got:
    by.setdefault(g['path'], []).append(g)
assert {k: len(v) for k, v in by.items()} == {'/ok/state': 2, '/ok/metric': 1, '/ok/log': 1, '/ok/stall': 1}, got
one = json.loads([g for g in by['/ok/state'] if job in g['body']][0]['body'])
assert one['on'] == 'state' and one['job']['state'] == 'Failed' and one['job']['reason'] == 'UserExit', one
assert 'is Failed: UserExit' in one['text'], one
value = json.loads(by['/ok/metric'][0]['body'])
assert value['metric'] == 'auc' and value['value'] == 0.5 and value.get('step', 0) >= 0, value
assert value['text'].endswith(' (din): auc is 0.5, below 0.6'), value
line = json.loads(by['/ok/log'][0]['body'])
assert line['line'] == 'the disk full' and line['worker'] == 0, line
stall = json.loads(by['/ok/stall'][0]['body'])
assert stall['job']['name'] == 'dcn' and stall['silent_s'] >= 1, stall
for g in by['/ok/state']:
    h = g['headers']
    assert h['X-Trainyard-Delivery'] == json.loads(g['body'])['id'], h
    text = h['X-Trainyard-Timestamp'] + '.' + g['body']
    mac = hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
    assert h['X-Trainyard-Signature'] == 'sha256=' + mac, (h, mac)
PY
    # Mail goes to a program by words; nothing of it is a shell's.
    # shellcheck disable=SC2016
    check "no shell" grep -q -F -x 'args: -t $HOME;' mail.out
    check "to" grep -q -x 'To: me@example.com' mail.out
    check "subject" grep -q "^Subject: job $id (din) is Failed: UserExit" mail.out
    check "one mail" test "$(grep -c '^To:' mail.out)" = 1
    # Another look, from the start, tells nothing twice.
    cp requests before
    watcher
    sleep 1
    finish
    check "nothing twice" cmp requests before
    run "$TRAINYARD" notify delete "$metric"
    status 0
    run "$TRAINYARD" notify list --json
    json 'sorted(r["id"] for r in d) == sorted(["'"$failed"'", "'"$log"'", "'"$stall"'", "'"$mail"'"])'
    json 'all("secret" not in r for r in d)'
}

what_is_refused_is_tried_again_or_given_up()
{
    yard
    local a b c d flaky gone
    export TRAINYARD_NOTIFY_REDIRECTS=3 TRAINYARD_NOTIFY_ALLOW='*,127.0.0.1'
    a=$(rule --webhook "$base/to/307/http://169.254.169.254/latest/meta-data" --state Succeeded)
    b=$(rule --webhook "$base/to/308/http://127.0.0.2:$(cat port)/inner" --state Succeeded)
    c=$(rule --webhook "$base/to/302/$base/ok/again" --state Succeeded)
    d=$(rule --webhook "$base/to/307/$base/ok/moved" --state Succeeded)
    flaky=$(rule --webhook "$base/flaky" --state Succeeded)
    gone=$(rule --webhook "$base/gone" --state Succeeded)
    watcher
    "$TRAINYARD" job run -- true 2>/dev/null
    soon "it waits for the next try" delivery "$flaky" "pending   1  webhook '$base/...': answered with status 503"
    soon "a clear no is final" delivery "$gone" "failed    1  webhook '$base/...': answered with status 404"
    touch well
    python3 -c "import sqlite3; db = sqlite3.connect('jobs/jobs.db', timeout=20); db.execute('UPDATE deliveries SET due = 1'); db.commit()"
    soon "metadata" delivery "$a" "failed    1  webhook 'http://169.254.169.254/...': address 169.254.169.254 is not allowed"
    soon "another address of this machine" delivery "$b" "address 127.0.0.2 is not allowed"
    soon "a redirect that makes it a GET" delivery "$c" "failed    1  .*answered with status 302; redirects are not followed"
    soon "a good one is followed" delivery "$d" "sent"
    soon "it was taken" delivery "$flaky" "sent      2"
    finish
    run python3 -c "import json; print(len({json.loads(l)['headers']['X-Trainyard-Delivery'] for l in open('requests') if 'flaky' in l}))"
    out_is <<<1
    check "moved" received /ok/moved
    if received /inner || received /ok/again; then fail "a refused place was reached"; fi
    # Without being asked for, no redirect is followed; and a name is not enough.
    unset TRAINYARD_NOTIFY_REDIRECTS
    export TRAINYARD_NOTIFY_ALLOW=localhost,127.0.0.1
    a=$(rule --webhook "$base/to/307/$base/ok/second" --state Stopped,Succeeded)
    export TRAINYARD_NOTIFY_ALLOW=localhost
    b=$(rule --webhook "http://localhost:$(cat port)/ok/name" --state Succeeded)
    python3 "$TY_SOURCE/tests/it/servers/hook.py" . 2>hook.err &
    hook=$!
    watcher
    "$TRAINYARD" job run -- true 2>/dev/null
    soon "its address" delivery "$b" "is not allowed"
    soon "not on the list any more" delivery "$a" "host '127.0.0.1' is not on the list of allowed hosts"
    finish
    if received /ok/name; then fail "a loopback address was reached by name"; fi
}

wrong_input_is_named()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_NOTIFY_ALLOW=hooks.example.com
    run "$TRAINYARD" notify create --webhook https://other.example.com/x --state Failed
    status 2
    err_has "error[E5302]: webhook: host 'other.example.com' is not on the list of allowed hosts"
    run "$TRAINYARD" notify create --webhook ftp://hooks.example.com/x --state Failed
    status 2
    err_has "error[E5301]: webhook 'ftp://hooks.example.com/...': only http and https are sent to"
    run "$TRAINYARD" notify create --webhook https://user:pw@hooks.example.com/x --state Failed
    status 2
    err_is <<'END'
trainyard notify create: error[E5301]: webhook: a URL with a password is refused
END
    run "$TRAINYARD" notify create --webhook https://hooks.example.com/x --state Dead
    status 2
    err_has "error[E5301]: rule: no such state: 'Dead'"
    run "$TRAINYARD" notify create --webhook https://hooks.example.com/x --metric auc --below low
    status 2
    err_has "error[E5301]: --below: 'low' is not a number"
    run "$TRAINYARD" notify create --webhook https://hooks.example.com/x --log '('
    status 2
    err_has "error[E5301]: rule: pattern '('"
    run "$TRAINYARD" notify create --webhook https://hooks.example.com/x
    status 2
    err_has "error[E5301]: use one of --state"
    run "$TRAINYARD" notify create --state Failed
    status 2
    err_has "error[E5301]: use one of --webhook, --mail, --slack, --dingtalk, --feishu"
    run "$TRAINYARD" notify create --mail -oQ/tmp@x --state Failed
    status 2
    err_has "E5301"
    run "$TRAINYARD" notify delete nr-x
    status 1
    err_has "error[E5304]: no rule 'nr-x'"
    TRAINYARD_NOTIFY_ALLOW='a b' run "$TRAINYARD" notify create --mail a@b --state Failed
    status 2
    err_has "error[E5302]: allowed hosts: 'a b' is not a host"
    check "the key is ours alone" sh -c "stat -c %a jobs/notify.key | grep -qx 600"
}

chat_services_get_their_own_form()
{
    yard
    local ding feishu slack wrong id
    echo SEC42 >robot.secret
    slack=$(rule --slack "$base/ok/slack" --state Failed)
    ding=$(rule --dingtalk "$base/ok/ding?access_token=T" --sign-secret-file robot.secret --state Failed)
    feishu=$(rule --feishu "$base/ok/feishu" --sign-secret-file robot.secret --state Failed)
    wrong=$(rule --dingtalk "$base/say/%7B%22errcode%22%3A310000%2C%22errmsg%22%3A%22sign%20not%20match%22%7D" --state Failed)
    run "$TRAINYARD" notify list
    out_has "slack"
    out_has "#secret=..."
    grep -q SEC42 .out && fail "a robot's secret is shown"
    watcher
    id=$("$TRAINYARD" job submit --name din_a -- 'exit 3')
    soon "slack" delivery "$slack" sent
    soon "dingtalk" delivery "$ding" sent
    soon "feishu" delivery "$feishu" sent
    soon "a refusal with status 200 is one" delivery "$wrong" "failed.*310000: sign not match"
    python3 - "$id" <<'PY' || fail "not in the form of the services: $(cat requests)"
import base64, hashlib, hmac, json, sys, urllib.parse
got = {}
for line in open("requests"):
    r = json.loads(line)
    got[r["path"].split("?")[0]] = (r["path"], json.loads(r["body"]), r["headers"])
def mac(key, text):
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()
path, body, head = got["/ok/slack"]
assert "job %s (din_a) is Failed" % sys.argv[1] in body["text"], body
assert [b["type"] for b in body["blocks"]] == ["section", "context"], body
assert body["blocks"][0]["text"]["type"] == "mrkdwn", body
path, body, head = got["/ok/ding"]
query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
assert query["access_token"] == ["T"] and len(query["timestamp"][0]) == 13, path
assert query["sign"] == [mac("SEC42", query["timestamp"][0] + "\nSEC42")], path
assert body["msgtype"] == "markdown" and body["markdown"]["title"] == "din_a Failed", body
assert "din\\_a" in body["markdown"]["text"] and "SEC42" not in path, body
path, body, head = got["/ok/feishu"]
assert body["sign"] == mac(body["timestamp"] + "\nSEC42", ""), body
assert body["msg_type"] == "interactive" and body["card"]["header"]["template"] == "red", body
assert body["card"]["header"]["title"] == {"tag": "plain_text", "content": "din_a Failed"}, body
PY
    run "$TRAINYARD" notify create --slack "$base/x" --sign-secret-file robot.secret --state Failed
    status 2
    err_has "is for --dingtalk and --feishu"
    run "$TRAINYARD" notify create --slack "$base/x" --mail a@b --state Failed
    status 2
    err_has "use one of --webhook, --mail, --slack, --dingtalk, --feishu"
    finish
}

tap_cases every_kind_of_rule_is_told_once what_is_refused_is_tried_again_or_given_up \
    chat_services_get_their_own_form wrong_input_is_named
