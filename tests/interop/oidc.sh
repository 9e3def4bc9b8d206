#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Logins through a real OpenID provider, the npm package oidc-provider: with a browser (code and
# PKCE) and of a device, public and confidential clients, who becomes which user, who is refused.
# shellcheck disable=SC2015,SC2094
set -euo pipefail

here=$TY_SOURCE/tests/interop
modules=$TY_BUILD/interop-oidc
command -v npm >/dev/null || { echo "there is no npm"; exit 77; }
[ -d "$modules/node_modules/oidc-provider" ] ||
    npm install --silent --no-fund --no-audit --prefix "$modules" oidc-provider@8 >npm.log 2>&1 || { cat npm.log; exit 1; }
cp "$here/oidc_provider.mjs" "$modules/provider.mjs"
echo client-secret-1 >secret
export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/config
unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN
mkdir -p home
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
: >provider.log # what is started in the background may come to its own later
node "$modules/provider.mjs" "$port" "$(cat secret)" >provider.log 2>&1 &
provider=$!
server=
trap 'kill $provider $server 2>/dev/null || true' EXIT
issuer=http://127.0.0.1:$port

bad() { echo "FAILED: $*"; cat login.err server.log provider.log 2>/dev/null | tail -n 40; exit 1; }

# shellcheck source=tests/interop/server_lib.sh
. "$TY_SOURCE/tests/interop/server_lib.sh"

# login NAME [FLAG...]: what the command says is in login.out and login.err, its status in $got
login()
{
    local name=$1 page
    shift
    : >login.err
    "$TRAINYARD" login "$url" "$@" >login.out 2>login.err &
    local command=$!
    for _ in $(seq 200); do
        page=$(grep -o 'http[^ )]*' login.err | tail -n 1 || true)
        case $page in *challenge_method=S256 | *user_code=*) break ;; esac
        kill -0 $command 2>/dev/null || break
        sleep 0.1
    done
    case $page in
    *challenge_method=S256 | *user_code=*) python3 "$here/oidc_browser.py" "$page" "$name" >page 2>&1 || cat page ;;
    esac
    got=0
    wait $command || got=$?
}

for _ in $(seq 200); do
    grep -q listening provider.log && break
    sleep 0.1
done

serve --oidc-issuer "$issuer" --oidc-client-id yard --oidc-role submitter --oidc-lifetime 1h
login ann --oidc
[ $got = 0 ] && grep -q "logged in to $url as ann (submitter)" login.out || bad "a browser"
"$TRAINYARD" job list >/dev/null || bad "the token does not work"
login ann --device
[ $got = 0 ] && grep -q "as ann (submitter)" login.out || bad "a device"
login '' --oidc
[ $got = 2 ] && grep -q 'E5034.*refuses the login' login.err || bad "an aborted login: $got"
login ann+2 --oidc
grep -q "'ann' belongs to somebody else" login.err || bad "the same name, another subject"
login admin --oidc
[ $got != 0 ] && grep -q "'admin' is a user with tokens" login.err || bad "an admin's name at the provider is no admin here"
admin() { TRAINYARD_SERVER=$url TRAINYARD_TOKEN=$(cat yard/admin.token) "$TRAINYARD" "$@"; }
admin user create bob --role viewer
login bob --oidc
[ $got != 0 ] || bad "a user whom nobody opened"
admin user update bob --oidc
login bob --oidc
grep -q 'as bob (viewer)' login.out || bad "a user whom an admin opened"
admin token list bob | grep -q 'viewer.*login through the OpenID provider' || bad "the token of a login"
admin user update bob --disable
login bob --oidc
grep -q "'bob' is disabled" login.err || bad "a disabled user"
admin user delete ann
login ann+2 --oidc
grep -q 'as ann (submitter)' login.out || bad "a name that is free again"

serve --oidc-issuer "$issuer" --oidc-client-id safe --oidc-client-secret-file secret --oidc-claim email --oidc-domain example.com
login eve --oidc
grep -q "'eve' is not a user of this server" login.err || bad "nobody is added without --oidc-role"
admin user create eve --role submitter
admin user update eve --oidc
login eve --device
grep -q 'as eve (submitter)' login.out || bad "a confidential client, by address"
login eve+x --oidc
grep -q "not a verified address" login.err || bad "an address that is not verified"
echo wrong >secret
serve --oidc-issuer "$issuer" --oidc-client-id safe --oidc-client-secret-file secret --oidc-claim email --oidc-domain example.com
login eve --oidc
grep -q 'E5034.*refuses the login' login.err || bad "a wrong secret"

kill $provider
serve --oidc-issuer "$issuer" --oidc-client-id yard
login ann --oidc
[ $got = 1 ] && grep -q 'E5033' login.err || bad "a provider that is away: $got"
echo "logins through oidc-provider: 15 cases"
