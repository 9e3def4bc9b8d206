#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The console without a browser: the page and its headers, sessions, who may change something
# by a cookie, and links that work once.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

start() # [FLAG...]
{
    export HOME=$PWD/home
    mkdir -p home
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none --no-queue "$@" 2>server.log &
    server=$!
    wait_for_server
    token=$(cat yard/admin.token)
}

# ask METHOD PATH [CURL-WORD...]: the answer is in .out, its head in .head, its status in $code.
ask()
{
    code=$(curl -s -k -o .out -D .head -w '%{http_code}' -X "$1" "${@:3}" "$url$2")
    tr -d '\r' <.head >.head.plain
}

answers() # STATUS
{
    [ "$code" = "$1" ] || fail "status $code, want $1: $(head -c 300 .out)"
}

head_has() { holds .head.plain "$1"; }
head_lacks() { lacks .head.plain "$1"; }

field() # NAME: of the JSON in .out
{
    python3 -c 'import json, sys; print(json.load(open(".out"))[sys.argv[1]])' "$1"
}

# log_in: the cookie is in jar, $csrf is what changes must bring.
log_in()
{
    ask POST /api/v1/session -c jar -H 'Content-Type: application/json' -d "{\"token\":\"$token\"}"
    answers 200
    csrf=$(field csrf)
}

the_page_runs_nothing_but_its_own_files()
{
    start
    ask GET /
    answers 200
    head_has "Content-Type: text/html; charset=utf-8"
    head_has "script-src 'self'; style-src 'self'"
    head_has "frame-ancestors 'none'"
    head_has "require-trusted-types-for 'script'"
    head_has "X-Content-Type-Options: nosniff"
    head_has "X-Frame-Options: DENY"
    head_has "Referrer-Policy: no-referrer"
    head_has "Cache-Control: no-cache"
    head_lacks unsafe-inline
    grep -qiE '<script>|<style|style=| on[a-z]+=|https?://' <(sed "s|xmlns='[^']*'||" .out) && fail "the page holds inline code, or an address elsewhere"
    tag=$(sed -n 's/^ETag: //p' .head.plain)
    ask GET / -H "If-None-Match: $tag"
    answers 304
    for kind in js css; do
        curl -s "$url/" >page
        name=$(grep -o "assets/app-[0-9a-f]*\.$kind" page)
        ask GET "/$name" -H 'Accept-Encoding: gzip'
        answers 200
        head_has "Content-Encoding: gzip"
        head_has "Cache-Control: public, max-age=31536000, immutable"
        gzip -dc .out >packed
        ask GET "/$name"
        head_lacks Content-Encoding
        cmp -s .out packed || fail "$name differs without compression"
        cmp -s .out "$TY_SOURCE/web/dist/app.$kind" || fail "$name is not web/dist/app.$kind"
    done
    head_has "Content-Type: text/css; charset=utf-8"
    ask GET /assets/app-000000000000.js
    answers 404
    ask GET /assets/..%2f..%2fetc%2fpasswd
    answers 404
    ask POST /
    answers 405
    finish
}

a_session_is_a_cookie_that_scripts_cannot_read()
{
    start
    ask GET /api/v1/session
    answers 401
    head_lacks Set-Cookie
    ask POST /api/v1/session -H 'Content-Type: application/json' -d '{"token":"ty_0"}'
    answers 401
    head_lacks Set-Cookie
    ask POST /api/v1/session -H 'Content-Type: application/json' -d '{}'
    answers 400
    out_has "either 'token' or 'link' is required"
    log_in
    port=${url##*:}
    grep -qE "^Set-Cookie: trainyard-$port=ty_[0-9a-f]{64}; Path=/; Max-Age=60[0-9]{4}; HttpOnly; SameSite=Strict$" .head.plain ||
        fail "the cookie: $(grep Set-Cookie .head.plain)"
    grep -q "$token" .head.plain .out && fail "the token itself is told"
    ask GET /api/v1/session -b jar
    answers 200
    out_has '"name":"admin","role":"admin"'
    [ "$(field csrf)" = "$csrf" ] || fail "csrf changes"
    grep -qF "$csrf" jar && fail "csrf is in the cookie"
    ask GET /api/v1/jobs -b jar
    answers 200
    run "$TRAINYARD" token list --dir yard --server local
    out_has "browser session"
    kill "$server"
    wait "$server" 2>/dev/null
    port=${url##*:}
    "$TRAINYARD" server --listen "127.0.0.1:$port" --dir yard --experiments none --no-queue 2>server.log &
    server=$!
    wait_for_server
    ask GET /api/v1/jobs -b jar # a session outlives a restart
    answers 200
    ask DELETE /api/v1/session -b jar -H "X-Trainyard-Csrf: $csrf"
    answers 204
    head_has "Max-Age=0"
    ask GET /api/v1/jobs -b jar
    answers 401
    ask DELETE /api/v1/session -H "Authorization: Bearer $token"
    answers 409
    finish
}

a_change_by_cookie_needs_its_proof()
{
    start
    log_in
    name='{"name":"clicks","path":"/usr/share"}'
    ask POST /api/v1/datasets -b jar -H 'Content-Type: application/json' -d "$name"
    answers 403
    out_has E5038
    ask POST /api/v1/datasets -b jar -H 'Content-Type: application/json' -H "X-Trainyard-Csrf: ${csrf%?}x" -d "$name"
    answers 403
    ask POST /api/v1/datasets -b jar -H 'Content-Type: application/json' -H "X-Trainyard-Csrf: $csrf" -H 'Origin: http://evil.example' -d "$name"
    answers 403
    out_has E5005
    # another port of this machine is the same site, but another origin
    ask GET /api/v1/jobs -b jar -H 'Sec-Fetch-Site: same-site'
    answers 403
    out_has E5038
    ask GET /api/v1/jobs -b jar -H 'Sec-Fetch-Site: same-origin'
    answers 200
    head_has "Cross-Origin-Resource-Policy: same-origin"
    ask POST /api/v1/datasets -b jar -H 'Content-Type: application/json' -H "X-Trainyard-Csrf: $csrf" -d "$name"
    answers 201
    ask POST /api/v1/datasets -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"name":"two","path":"/usr/share"}'
    answers 201
    ask GET "/api/v1/audit?action=open_session" -b jar
    out_has '"who":"admin"'
    finish
}

a_session_may_no_more_than_its_token()
{
    start
    ask POST /api/v1/users/admin/tokens -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"role":"viewer","expires_s":3600}'
    answers 201
    token=$(field token)
    log_in
    out_has '"role":"viewer"'
    grep -qE 'Max-Age=3[56][0-9]{2};' .head.plain || fail "it lives longer than its token: $(grep Set-Cookie .head.plain)"
    ask POST /api/v1/jobs -b jar -H 'Content-Type: application/json' -H "X-Trainyard-Csrf: $csrf" -d '{"command":"true"}'
    answers 403
    out_has E5010
    finish
}

a_session_goes_with_its_token()
{
    start
    ask POST /api/v1/users/admin/tokens -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"role":"viewer"}'
    answers 201
    admin=$token token=$(field token) id=$(field id)
    log_in
    session=$(awk '/trainyard/ { print $7 }' jar)
    ask POST /api/v1/session -H 'Content-Type: application/json' -d "{\"token\":\"$session\"}"
    answers 401
    out_has "a session opens no other"
    ask GET /api/v1/session -b jar
    answers 200
    ask DELETE "/api/v1/tokens/$id" -H "Authorization: Bearer $admin"
    answers 204
    ask GET /api/v1/session -b jar
    answers 401
    token=$admin
    finish
}

cookies_of_another_port_keep_nobody_out()
{
    start
    log_in
    name=$(awk '/trainyard/ { print $6 }' jar) session=$(awk '/trainyard/ { print $7 }' jar)
    ask GET /api/v1/session -H "Cookie: $name=ty_planted; $name=$session"
    answers 200
    ask GET /api/v1/session -H "Cookie: $name=ty_planted"
    answers 401
    ask POST /api/v1/users -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"name":"eve","role":"viewer"}'
    answers 201
    ask POST /api/v1/users/eve/tokens -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{}'
    ask POST /api/v1/session -c eve -H 'Content-Type: application/json' -d "{\"token\":\"$(field token)\"}"
    answers 200
    ask GET /api/v1/session -H "Cookie: $name=$(awk '/trainyard/ { print $7 }' eve); $name=$session"
    answers 401
    out_has "sessions of two users"
    finish
}

who_guesses_keeps_nobody_out()
{
    start --rate 20
    for _ in $(seq 8); do ask POST /api/v1/session -H 'Content-Type: application/json' -d '{"token":"ty_wrong"}'; done
    answers 429
    log_in
    finish
}

sessions_of_a_user_are_limited()
{
    start
    log_in
    mv jar first
    for _ in $(seq 50); do log_in; done
    ask GET /api/v1/session -b first
    answers 401
    ask GET /api/v1/session -b jar
    answers 200
    ask GET /api/v1/users/admin/tokens -b jar
    [ "$(grep -o 'browser session' .out | wc -l)" = 50 ] || fail "$(grep -o 'browser session' .out | wc -l) sessions"
    finish
}

streams_of_a_user_are_limited()
{
    start --rate 0
    ask POST /api/v1/users -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"name":"ann","role":"viewer"}'
    answers 201
    ask POST /api/v1/users/ann/tokens -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{}'
    answers 201
    python3 - "${url#http://}" "$token" "$(field token)" <<'EOF' || fail "the limit is another one"
import socket, sys
where, admin, ann = sys.argv[1:]
host, port = where.rsplit(":", 1)
kept = []
def opened(token):
    s = socket.create_connection((host, int(port)))
    s.sendall(f"GET /api/v1/changes?follow=true HTTP/1.1\r\nHost: {where}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    kept.append(s)
    return int(s.recv(12).split()[1])
assert [opened(admin) for _ in range(500)] == [200] * 500
assert opened(admin) == 429
assert opened(ann) == 200
EOF
    finish
}

over_tls_the_cookie_goes_nowhere_else()
{
    command -v openssl >/dev/null || skip "openssl is not installed"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    start --tls-cert cert.pem --tls-key key.pem
    log_in
    grep -qE "^Set-Cookie: __Host-trainyard-[0-9]+=.*; Secure$" .head.plain || fail "$(grep Set-Cookie .head.plain)"
    ask GET /api/v1/session -b jar
    answers 200
    finish
}

a_link_of_ui_works_once()
{
    export HOME=$PWD/home
    mkdir -p home
    "$TRAINYARD" ui --dir yard --experiments none >address 2>ui.log &
    server=$!
    for _ in $(seq 400); do
        [ -s address ] && break
        sleep 0.05
    done
    grep -qE '^http://127\.0\.0\.1:[0-9]+/#link=tl_[0-9a-f]{64}$' address || fail "ui: $(cat address ui.log)"
    grep -q tl_ ui.log && fail "the link is in the log"
    url=$(sed 's|/#.*||' address)
    link=$(sed 's|.*#link=||' address)
    ask GET /api/v1/jobs -H "Authorization: Bearer $link"
    answers 401
    ask POST /api/v1/session -c jar -H 'Content-Type: application/json' -d "{\"link\":\"$link\"}"
    answers 200
    out_has '"role":"admin"'
    ask GET /api/v1/jobs -b jar
    answers 200
    ask POST /api/v1/session -H 'Content-Type: application/json' -d "{\"link\":\"$link\"}"
    answers 401
    out_has E5039
    run "$TRAINYARD" ui --dir yard --no-open # of the server that runs
    status 0
    grep -qE "^$url/#link=tl_[0-9a-f]{64}$" .out || fail "a second ui: $(cat .out .err)"
    run "$TRAINYARD" ui --dir yard --user nobody
    status 1
    err_has E3111
    finish
}

curves_keep_their_peaks()
{
    export HOME=$PWD/home
    mkdir -p home
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none --trust-submitters 2>server.log &
    server=$!
    wait_for_server
    token=$(cat yard/admin.token)
    auth=(-H "Authorization: Bearer $token")
    ask POST /api/v1/jobs "${auth[@]}" -H 'Content-Type: application/json' \
        -d '{"name":"<script>alert(1)</script>","command":"true"}'
    answers 422 # a name has no markup
    ask POST /api/v1/jobs "${auth[@]}" -H 'Content-Type: application/json' \
        -d '{"command":"seq 1 3000 | sed \"s/.*/::trainyard step=& loss=0.5/; s/step=1234 .*/step=1234 loss=99/\""}'
    answers 201
    id=$(field id)
    for _ in $(seq 600); do
        ask GET "/api/v1/jobs/$id" "${auth[@]}"
        [ "$(field state)" = Succeeded ] && break
        sleep 0.1
    done
    ask GET "/api/v1/jobs/$id/series?name=loss&points=50" "${auth[@]}"
    answers 200
    python3 -c 'import json; [s] = json.load(open(".out"))["series"]; v = dict(zip(s["steps"], s["values"])); \
assert s["total"] == 3000 and v[1234] == 99 and len(v) <= 50 and s["steps"] == sorted(s["steps"]), s' || fail "$(cat .out)"
    ask GET "/api/v1/jobs/$id/series?points=3" "${auth[@]}"
    answers 400
    ask GET "/api/v1/jobs/jb-000000000000/series" "${auth[@]}"
    answers 404
    finish
}

ends_with() # STATUS CODE FLAG...: a server that does not start
{
    run "$TRAINYARD" server --listen 127.0.0.1:0 --dir other --experiments none --no-queue "${@:3}"
    status "$1"
    err_has "$2"
    [ ! -e other/jobs.db ] || fail "something was made before the flags were looked at"
}

model_servers_are_asked_by_the_server()
{
    for bad in ctr =http://127.0.0.1:1 ctr=127.0.0.1:8500 ctr=ftp://x a/b=http://x ctr=http://me:pw@x ctr=http://x/ 'ctr=http://x?y' ctr=http://; do
        ends_with 2 E5040 --serving "$bad"
    done
    ends_with 2 "'ctr' is there twice" --serving ctr=http://x --serving ctr=http://y
    printf 'two words\n' >words
    ends_with 2 E5040 --serving ctr=http://x --serving-token-file words
    echo a-token-of-sixteen >token.file
    cat >fake.py <<'END'
import http.server, json
class H(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body, kind='application/json'):
        self.send_response(status); self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body.encode())
    def do_GET(self):
        if self.headers.get('Authorization') != 'Bearer a-token-of-sixteen': self.answer(401, '{"error": {"message": "no"}}')
        elif self.path == '/model': self.answer(200, '{"model": "fm", "asked": "%s"}' % ','.join(k for k in self.headers if k.lower() in ('cookie', 'origin')))
        elif self.path == '/metrics': self.answer(200, 'trainyard_items_total 7\n', 'text/plain')
        else: self.answer(200, '<html>')
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        if body.get('bad'): self.answer(400, '{"error": {"code": "E2103", "message": "items[0]: column a is missing"}}')
        else: self.answer(200, json.dumps({'outputs': {'probs': [len(body['items'])]}}))
    def log_message(self, *a): pass
s = http.server.HTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()
END
    python3 fake.py >port &
    fake=$!
    for _ in $(seq 100); do [ -s port ] && break; sleep 0.05; done
    start --serving "ctr=http://127.0.0.1:$(cat port)" --serving gone=http://127.0.0.1:1 --serving-token-file token.file
    auth=(-H "Authorization: Bearer $token" -H 'Content-Type: application/json')
    ask GET /api/v1/serving "${auth[@]}"
    answers 200
    out_has "{\"name\":\"ctr\",\"url\":\"http://127.0.0.1:$(cat port)\"}"
    ask GET /api/v1/serving/ctr "${auth[@]}"
    answers 200
    out_has '{"model": "fm", "asked": ""}'
    ask GET /api/v1/serving/ctr/counters "${auth[@]}"
    answers 200
    out_has 'trainyard_items_total 7'
    ask GET /api/v1/serving/ctr/samples "${auth[@]}" # not JSON
    answers 503
    out_has E5041
    ask POST /api/v1/serving/ctr/score "${auth[@]}" -d '{"items": [{}, {}]}'
    answers 200
    out_has '{"outputs": {"probs": [2]}}'
    ask POST /api/v1/serving/ctr/score "${auth[@]}" -d '{"bad": true}'
    answers 400
    out_has '"code":"E2103"'
    out_has "model server 'ctr' answered 400: items[0]: column a is missing"
    ask GET /api/v1/serving/gone "${auth[@]}"
    answers 503
    out_has E5041
    ask GET /api/v1/serving/other "${auth[@]}"
    answers 404
    log_in
    ask POST /api/v1/serving/ctr/score -b jar -H 'Content-Type: application/json' -d '{"items": []}'
    answers 403 # by a cookie without its proof
    ask POST /api/v1/users/admin/tokens "${auth[@]}" -d '{"role": "viewer"}'
    viewer=$(field token)
    ask POST /api/v1/serving/ctr/score -H "Authorization: Bearer $viewer" -H 'Content-Type: application/json' -d '{"items": []}'
    answers 403
    ask GET /api/v1/serving/ctr -H "Authorization: Bearer $viewer"
    answers 200
    echo another-token-of-16 >token.file
    finish
    start --serving "ctr=http://127.0.0.1:$(cat port)" --serving-token-file token.file
    ask GET /api/v1/serving/ctr -H "Authorization: Bearer $token"
    answers 503
    out_has "does not accept the token of --serving-token-file"
    kill $fake
    finish
}

lists_of_jobs_and_long_addresses()
{
    start
    auth=(-H "Authorization: Bearer $token" -H 'Content-Type: application/json')
    ask POST /api/v1/jobs "${auth[@]}" -d '{"name": "a-trial", "command": "true", "labels": {"experiment": "x"}}'
    answers 201
    ask POST /api/v1/jobs "${auth[@]}" -d '{"name": "a-job", "command": "true", "labels": {"team": "ads"}, "cpu": "2"}'
    answers 201
    ask GET '/api/v1/jobs?without_label=experiment' "${auth[@]}"
    answers 200
    out_has a-job
    out_lacks a-trial
    ask GET '/api/v1/jobs?without_label=experiment&label=team' "${auth[@]}"
    out_has a-job
    ask GET /api/v1/clusters "${auth[@]}"
    answers 200
    out_has '"waiting":2,"running":0,"workers":0'
    out_has '"nodes":[]'
    out_lacks capacity # --no-queue
    ask GET "/api/v1/jobs?name=$(head -c 60000 /dev/zero | tr '\0' x)" "${auth[@]}"
    answers 414
    out_has '"code":"E5003"'
    out_has 'the address has more than 8192 bytes'
    finish
}

tap_cases the_page_runs_nothing_but_its_own_files a_session_is_a_cookie_that_scripts_cannot_read \
    a_change_by_cookie_needs_its_proof a_session_may_no_more_than_its_token a_session_goes_with_its_token cookies_of_another_port_keep_nobody_out who_guesses_keeps_nobody_out sessions_of_a_user_are_limited streams_of_a_user_are_limited \
    over_tls_the_cookie_goes_nowhere_else a_link_of_ui_works_once curves_keep_their_peaks \
    model_servers_are_asked_by_the_server lists_of_jobs_and_long_addresses
