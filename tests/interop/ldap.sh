#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Logins with passwords of a real LDAP server, OpenLDAP's slapd of Debian: over TLS from the start and by
# StartTLS, found by a template and by search, groups to roles, who becomes which user, who is refused.
# shellcheck disable=SC2054 # names of entries have commas
set -euo pipefail

slapd=$(command -v slapd || echo /usr/sbin/slapd)
[ -x "$slapd" ] || { echo "there is no slapd"; exit 77; }
command -v openssl >/dev/null || { echo "there is no openssl"; exit 77; }
export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/config
unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN
mkdir -p home db tls

# Two authorities: one that the server of ours trusts, one that it does not.
for ca in ca other; do
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$ca" -keyout tls/$ca.key -out tls/$ca.pem 2>/dev/null
done
openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout tls/key.pem -out tls/req.pem 2>/dev/null
# libldap takes localhost for the machine's own name.
printf 'subjectAltName=DNS:localhost,DNS:%s,DNS:%s\n' "$(uname -n)" "$(hostname -f 2>/dev/null || uname -n)" >tls/ext
openssl x509 -req -in tls/req.pem -CA tls/ca.pem -CAkey tls/ca.key -CAcreateserial -days 30 -extfile tls/ext -out tls/cert.pem 2>/dev/null

cat >slapd.conf <<END
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile $PWD/slapd.pid
TLSCACertificateFile $PWD/tls/ca.pem
TLSCertificateFile $PWD/tls/cert.pem
TLSCertificateKeyFile $PWD/tls/key.pem
security simple_bind=128
database mdb
suffix dc=example
rootdn cn=root,dc=example
rootpw root
directory $PWD/db
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
END
person() { printf 'dn: uid=%s,ou=people,dc=example\nobjectClass: inetOrgPerson\nuid: %s\nsn: %s\ncn: %s\nmail: %s@example.com\nuserPassword: %s\n\n' "$1" "$1" "$1" "$1" "$1" "$2"; }
{
    printf 'dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n\n'
    printf 'dn: ou=people,dc=example\nobjectClass: organizationalUnit\nou: people\n\n'
    printf 'dn: ou=groups,dc=example\nobjectClass: organizationalUnit\nou: groups\n\n'
    printf 'dn: cn=search,dc=example\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: search\nuserPassword: search-1\n\n'
    person ann ann-1
    person bob 'bob "2" \x'
    person eve eve-3
    person twin twin-1
    printf 'dn: uid=twin,ou=groups,dc=example\nobjectClass: inetOrgPerson\nuid: twin\nsn: t\ncn: t\nuserPassword: twin-2\n\n'
    printf 'dn: cn=ops,ou=groups,dc=example\nobjectClass: groupOfNames\ncn: ops\nmember: uid=ann,ou=people,dc=example\n\n'
    printf 'dn: cn=ml,ou=groups,dc=example\nobjectClass: posixGroup\ncn: ml\ngidNumber: 500\nmemberUid: bob\nmemberUid: ann\n\n'
} >tree.ldif
/usr/sbin/slapadd -f slapd.conf -l tree.ldif >slapadd.log 2>&1 || { cat slapadd.log; exit 1; }
free() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
plain=$(free)
secure=$(free)
"$slapd" -d 0 -f slapd.conf -h "ldap://127.0.0.1:$plain ldaps://127.0.0.1:$secure" >slapd.log 2>&1 &
ldap=$!
server=
checks=0
trap 'kill $ldap $server 2>/dev/null || true' EXIT

bad() { echo "ldap: FAILED: $*"; cat login.err server.log slapd.log 2>/dev/null | tail -n 30; exit 1; }
# shellcheck source=tests/interop/server_lib.sh
. "$TY_SOURCE/tests/interop/server_lib.sh"
# says 0|1 TEXT NAME PASSWORD: whether a login fails, and what it prints, on either stream
says()
{
    local want=$1 text=$2 got=0
    printf '%s\n' "$4" | "$TRAINYARD" login "$url" --ldap "$3" >login.out 2>login.err || got=$?
    [ $((got != 0)) = "$want" ] || bad "login of $3: status $got, want $want"
    grep -qF "$text" login.out login.err || bad "login of $3 does not say '$text': $(cat login.out login.err)"
    checks=$((checks + 1))
}
by_search=(--ldap-base ou=people,dc=example --ldap-bind-dn cn=search,dc=example --ldap-password-file search.pw)
groups=(--ldap-group admin=cn=ops,ou=groups,dc=example --ldap-group submitter=cn=ml,ou=groups,dc=example)
echo search-1 >search.pw

# A template, TLS from the start, one role for all.
serve --ldap-url "ldaps://localhost:$secure" --ldap-ca tls/ca.pem --ldap-user-dn 'uid={},ou=people,dc=example' --ldap-role viewer
says 0 "as ann (viewer)" ann ann-1
says 0 "as bob (viewer)" bob 'bob "2" \x'
says 1 "wrong name or password" ann ann-2
says 1 "wrong name or password" nobody x
says 1 "empty" ann ""
says 1 "is not a valid user name here" 'ann,ou=people' ann-1
code=$(curl -s -o out -w '%{http_code}' -H 'Content-Type: application/json' -d '{"name": "ann", "password": ""}' "$url/api/v1/login")
[ "$code" = 403 ] || bad "an empty password over HTTP: $code"
code=$(curl -s -o out -w '%{http_code}' -H 'Content-Type: application/json' -d '{"name": "*", "password": "x"}' "$url/api/v1/login")
[ "$code" = 403 ] || bad "a name that is a filter: $code"
grep -q '"ldap":true' <(curl -s "$url/api/v1/login") || bad "the ways to log in"
checks=$((checks + 3))
# A user whom an admin made is opened by an admin alone; one that is disabled stays out.
token=$(cat yard/admin.token)
TRAINYARD_SERVER=$url TRAINYARD_TOKEN=$token "$TRAINYARD" user create eve --role submitter >/dev/null
says 1 "is a user with tokens" eve eve-3
TRAINYARD_SERVER=$url TRAINYARD_TOKEN=$token "$TRAINYARD" user update eve --oidc >/dev/null
says 0 "as eve (submitter)" eve eve-3
TRAINYARD_SERVER=$url TRAINYARD_TOKEN=$token "$TRAINYARD" user update eve --disable >/dev/null
says 1 "is disabled" eve eve-3
# Guesses of one name have to wait, right ones as well; others do not.
for _ in 1 2 3 4 5; do says 1 "wrong name or password" bob guess; done
says 1 "too many wrong passwords" bob 'bob "2" \x'
says 0 "as ann (viewer)" ann ann-1

# By search, StartTLS, groups to roles: at each login anew.
serve --ldap-url "ldap://localhost:$plain" --ldap-ca tls/ca.pem "${by_search[@]}" "${groups[@]}"
rm -rf yard config
serve --ldap-url "ldap://localhost:$plain" --ldap-ca tls/ca.pem "${by_search[@]}" "${groups[@]}"
says 0 "as ann (admin)" ann ann-1
says 0 "as bob (submitter)" bob 'bob "2" \x'
says 1 "is in no group that is let in" eve eve-3
printf 'dn: cn=ml,ou=groups,dc=example\nchangetype: modify\ndelete: memberUid\nmemberUid: bob\n' |
    LDAPTLS_CACERT=$PWD/tls/ca.pem ldapmodify -x -H "ldaps://localhost:$secure" -D cn=root,dc=example -w root >modify.log 2>&1 || bad "ldapmodify: $(cat modify.log)"
says 1 "is in no group that is let in" bob 'bob "2" \x'
# A filter of one's own; two entries that fit are nobody.
serve --ldap-url "ldaps://localhost:$secure" --ldap-ca tls/ca.pem "${by_search[@]/ou=people,/}" --ldap-filter '(mail={}@example.com)' --ldap-role viewer
says 0 "as bob (submitter)" bob 'bob "2" \x'
serve --ldap-url "ldaps://localhost:$secure" --ldap-ca tls/ca.pem "${by_search[@]/ou=people,/}" --ldap-role viewer
says 1 "wrong name or password" twin twin-1

# Certificates: another authority, and another name.
serve --ldap-url "ldaps://localhost:$secure" --ldap-ca tls/other.pem --ldap-user-dn 'uid={},ou=people,dc=example' --ldap-role viewer
says 1 "E5036" ann ann-1
serve --ldap-url "ldap://localhost:$plain" --ldap-ca tls/other.pem --ldap-user-dn 'uid={},ou=people,dc=example' --ldap-role viewer
says 1 "TLS failed: its certificate is for another name, or not from --ldap-ca tls/other.pem" ann ann-1
serve --ldap-url "ldap://localhost:$plain" --ldap-user-dn 'uid={},ou=people,dc=example' --ldap-role viewer
says 1 "its certificate is not trusted; name the authority's with --ldap-ca FILE" ann ann-1
serve --ldap-url "ldaps://localhost:$secure" --ldap-user-dn 'uid={},ou=people,dc=example' --ldap-role viewer
says 1 "its certificate is not trusted; name the authority's with --ldap-ca FILE" ann ann-1
LDAPTLS_REQCERT=never serve --ldap-url "ldaps://127.0.0.1:$secure" --ldap-ca tls/ca.pem --ldap-user-dn 'uid={},ou=people,dc=example' --ldap-role viewer
says 1 "E5036" ann ann-1
# An account for searches that is not accepted, and a server that is away.
echo wrong >search.pw
serve --ldap-url "ldaps://localhost:$secure" --ldap-ca tls/ca.pem "${by_search[@]}" --ldap-role viewer
says 1 "does not accept --ldap-bind-dn" ann ann-1
kill $ldap
says 1 "E5036" ann ann-1
grep -q 'ann-1\|bob "2"' server.log && bad "a password is in the log"
echo "ldap: $checks checks against slapd $("$slapd" -VV 2>&1 | sed -n 's/.*slapd \([0-9.]*\).*/\1/p' | head -1)"
