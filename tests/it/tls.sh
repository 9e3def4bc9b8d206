#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A server whose certificate a private authority signed: which certificates a client trusts.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE AWS_CA_BUNDLE

# authority NAME: NAME.pem, NAME.key
authority()
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

# certificate NAME AUTHORITY SAN: NAME.pem, NAME.key
certificate()
{
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf 'subjectAltName=%s\n' "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
}

start()
{
    export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/config TRAINYARD_SLOTS=cpu=4,memory=8g
    mkdir -p home
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --tls-cert "$1.pem" --tls-key "$1.key" 2>server.log &
    server=$!
    wait_for_server
}

a_private_authority_is_named_once()
{
    authority company
    authority stranger
    certificate host company IP:127.0.0.1
    start host
    case $url in https://*) ;; *) fail "no TLS: $url" ;; esac
    run "$TRAINYARD" login "$url" --token-file yard/admin.token
    status 1
    err_has "error[E5031]: the certificate of $url is not trusted: log in with --ca FILE"
    run "$TRAINYARD" login "$url" --token-file yard/admin.token --ca stranger.pem
    status 1
    err_has "error[E5031]"
    run "$TRAINYARD" login "$url" --token-file yard/admin.token --ca yard/admin.token
    status 2
    err_has "'yard/admin.token' holds no certificate"
    run "$TRAINYARD" login "$url" --token-file yard/admin.token --ca missing.pem
    status 1
    [ -e config/trainyard/login.json ] && fail "a failed login was stored"
    run "$TRAINYARD" login "$url" --token-file yard/admin.token --ca company.pem
    status 0
    out_has "logged in to $url as admin (admin)"
    mv company.pem elsewhere.pem # the login has its own copy
    run "$TRAINYARD" job submit --name safe -- true
    status 0
    run "$TRAINYARD" job wait "$(cat .out)"
    status 0
    SSL_CERT_FILE=$PWD/stranger.pem run "$TRAINYARD" job list # the login's counts
    status 0
    out_has safe
    run "$TRAINYARD" logout
    finish
}

without_a_login_variables_name_the_certificates()
{
    authority company
    certificate host company IP:127.0.0.1
    start host
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    run "$TRAINYARD" job list
    status 1
    err_has "error[E5031]"
    SSL_CERT_FILE=$PWD/company.pem run "$TRAINYARD" job list
    status 0
    mkdir certs
    cp company.pem "certs/$(openssl x509 -hash -noout -in company.pem).0"
    SSL_CERT_DIR=$PWD/certs run "$TRAINYARD" job list
    status 0
    finish
}

a_certificate_of_another_name_is_refused()
{
    authority company
    certificate other company DNS:other.example.com
    start other
    run "$TRAINYARD" login "$url" --token-file yard/admin.token --ca company.pem
    status 1
    err_has "error[E5031]"
    finish
}

files_of_tls_that_do_not_fit_are_named()
{
    authority company
    certificate host company IP:127.0.0.1
    certificate other company IP:127.0.0.1
    openssl pkey -in host.key -aes128 -passout pass:secret -out locked.key 2>/dev/null
    serve() { run "$TRAINYARD" server --dir new --listen 0.0.0.0:0 --tls-cert "$1" --tls-key "$2"; status 2; }
    serve host.pem other.key
    err_has "error[E5037]: --tls-key: 'other.key' is not the key of the certificate 'host.pem'"
    serve host.pem locked.key
    err_has "error[E5037]: --tls-key: 'locked.key' is encrypted with a passphrase"
    serve host.csr host.key
    err_has "error[E5037]: --tls-cert: 'host.csr' holds no certificate"
    serve host.pem host.pem
    err_has "error[E5037]: --tls-key: 'host.pem' holds no private key"
    [ -e new/admin.token ] && fail "a user was created"
    # Until somebody has logged in with it, each start says where the token is.
    start host
    grep -q "created the user admin; its token is in " server.log || fail "$(cat server.log)"
    finish
    start host
    grep -q "the token of the user admin is still in " server.log || fail "$(cat server.log)"
    run "$TRAINYARD" login "http${url#https}" --token-file yard/admin.token
    status 1
    err_has "does not answer http; try $url"
    finish
}

the_file_that_was_trusted_is_named()
{
    authority company
    authority stranger
    certificate host company IP:127.0.0.1
    start host
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    SSL_CERT_FILE=$PWD/company.pem CURL_CA_BUNDLE=$PWD/stranger.pem run "$TRAINYARD" job list
    status 0
    CURL_CA_BUNDLE=$PWD/stranger.pem run "$TRAINYARD" job list
    status 1
    err_has "is not trusted by '$PWD/stranger.pem', which CURL_CA_BUNDLE names"
    finish
}

tap_cases a_private_authority_is_named_once without_a_login_variables_name_the_certificates \
    a_certificate_of_another_name_is_refused \
    files_of_tls_that_do_not_fit_are_named the_file_that_was_trusted_is_named
