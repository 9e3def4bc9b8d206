/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "http/oidc.h"
#include "job/status.h"
#include "tap.h"

static const struct http_oidc_conf conf = {.issuer = "https://id.example.com",
                                           .client_id = "yard",
                                           .claim = "preferred_username"};

static void only_tokens_for_us_and_now_are_taken(void)
{
    static const struct {
        const char *claims, *why; /* "": it is taken */
    } all[] = {
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yard\", \"sub\": \"1\", \"exp\": "
         "2000, \"iat\": 900, \"nonce\": \"n\"}",
         ""},
        {"{\"iss\": \"https://id.example.com\", \"aud\": [\"yard\"], \"sub\": \"1\", \"exp\": "
         "2000, \"nonce\": \"n\"}",
         ""},
        {"{\"iss\": \"https://id.example.com\", \"aud\": [\"other\", \"yard\"], \"azp\": "
         "\"yard\", \"sub\": \"1\", \"exp\": 2000, \"nonce\": \"n\"}",
         ""},
        {"{\"iss\": \"https://id.example.com\", \"aud\": [\"other\", \"yard\"], \"azp\": "
         "\"other\", \"sub\": \"1\", \"exp\": 2000, \"nonce\": \"n\"}",
         "the identity token is for another client"},
        {"{\"iss\": \"https://evil.example.com\", \"aud\": \"yard\", \"sub\": \"1\", \"exp\": "
         "2000, \"nonce\": \"n\"}",
         "the identity token is of another issuer"},
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yards\", \"sub\": \"1\", \"exp\": "
         "2000, \"nonce\": \"n\"}",
         "the identity token is for another client"},
        {"{\"iss\": \"https://id.example.com\", \"sub\": \"1\", \"exp\": 2000}",
         "the identity token is for another client"},
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yard\", \"sub\": \"1\", \"exp\": "
         "900, \"nonce\": \"n\"}",
         "the identity token has expired"},
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yard\", \"sub\": \"1\", \"nonce\": "
         "\"n\"}",
         "the identity token has expired"},
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yard\", \"sub\": \"1\", \"exp\": "
         "9000, \"iat\": 5000, \"nonce\": \"n\"}",
         "the identity token is of the future"},
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yard\", \"sub\": \"1\", \"exp\": "
         "2000, \"nonce\": \"m\"}",
         "the identity token answers another login"},
        {"{\"iss\": \"https://id.example.com\", \"aud\": \"yard\", \"exp\": 2000, \"nonce\": "
         "\"n\"}",
         "the identity token names nobody"},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct doc doc = {0};
        struct err err = {0};
        const struct node *claims = job_json_open(all[i].claims, &doc);
        enum rc rc = http_oidc_check(&conf, claims, "n", 1000 * CLOCK_SECOND, &err);
        CHECK_INT(rc, *all[i].why ? RC_INVAL : RC_OK);
        CHECK_STR(err.msg, all[i].why);
        doc_release(&doc);
    }
}

static void a_token_has_three_parts_and_json_in_the_middle(void)
{
    static const char *const bad[] = {"",      "a",         "e30",      "e30.e30",
                                      "x.*.y", "x.bm8.sig", "x.W10.sig"};
    struct doc doc = {0};
    struct err err = {0};
    CHECK_INT(http_oidc_claims("eyJhIjoxfQ.eyJzdWIiOiJhbm4ifQ.c2ln", &doc, &err), RC_OK);
    CHECK_STR(node_get_text(doc.root, "sub", ""), "ann");
    doc_release(&doc);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct doc none = {0};
        CHECK_INT(http_oidc_claims(bad[i], &none, &err), RC_INVAL);
        CHECK_INT(err.code, E5034);
        if (none.src)
            doc_release(&none);
    }
}

static void a_provider_is_reached_over_tls(void)
{
    struct http_oidc_conf c = conf;
    struct http_oidc *o = NULL;
    struct err err = {0};
    c.issuer = "http://id.example.com";
    CHECK_INT(http_oidc_open(&c, &o, &err), RC_INVAL);
    CHECK_INT(err.code, E5032);
    c.issuer = "https://id.example.com";
    c.client_id = NULL;
    CHECK_INT(http_oidc_open(&c, &o, &err), RC_INVAL);
    c.client_id = "yard";
    CHECK_INT(http_oidc_open(&c, &o, &err), RC_OK);
    http_oidc_close(o);
}

static const struct tap_case cases[] = {
    TAP(only_tokens_for_us_and_now_are_taken),
    TAP(a_token_has_three_parts_and_json_in_the_middle),
    TAP(a_provider_is_reached_over_tls),
};
TAP_MAIN(cases)
