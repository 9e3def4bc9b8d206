/* SPDX-License-Identifier: Apache-2.0 */
/* What of LDAP can be tested without a server: escapes, settings, refusals before any question.
 * tests/interop/ldap.sh asks a real one.
 */
#include "http/ldap.h"

#include <string.h>

#include "base/mem.h"
#include "tap.h"

static void check_escape(void (*escape)(struct buf *, const char *), const char *in,
                         const char *want)
{
    struct buf b;
    buf_init(&b, 4096);
    escape(&b, in);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
}

static void nothing_in_a_filter_value_has_a_meaning(void)
{
    check_escape(http_ldap_escape_filter, "ann", "ann");
    check_escape(http_ldap_escape_filter, "*)(uid=*", "\\2a\\29\\28uid=\\2a");
    check_escape(http_ldap_escape_filter, "a\\b", "a\\5cb");
    check_escape(http_ldap_escape_filter, "\xc3\xa4\n", "\\c3\\a4\\0a");
}

static void nothing_in_a_value_of_a_dn_has_a_meaning(void)
{
    check_escape(http_ldap_escape_dn, "ann", "ann");
    check_escape(http_ldap_escape_dn, "a,ou=x+b", "a\\2cou\\3dx\\2bb");
    check_escape(http_ldap_escape_dn, " #x ", "\\20#x\\20");
    check_escape(http_ldap_escape_dn, "#x", "\\23x");
    check_escape(http_ldap_escape_dn, "a\"<>;\\", "a\\22\\3c\\3e\\3b\\5c");
}

static void check_refused(struct http_ldap_conf c, const char *part)
{
    struct http_ldap *l = NULL;
    struct err err = {0};
    CHECK(http_ldap_open(&c, &l, &err) == RC_INVAL);
    CHECK(err.code == E5035);
    CHECK(strstr(err.msg, part) != NULL);
}

static void settings_that_do_not_go_together_are_refused(void)
{
    static const char *const wrong[] = {"boss=cn=x", NULL}, *const half[] = {"admin=",
                                                                             NULL};
    struct http_ldap_conf good = {.url = "ldaps://localhost",
                                  .user_dn = "uid={},dc=example",
                                  .filter = "(uid={})",
                                  .role = "viewer"};
    struct http_ldap_conf c = good;
    c.url = "http://localhost";
    check_refused(c, "ldaps://HOST or ldap://HOST");
    c = good;
    c.base = "dc=example";
    check_refused(c, "and not both");
    c = good;
    c.user_dn = NULL;
    check_refused(c, "is required");
    c = good;
    c.user_dn = "uid=ann,dc=example";
    check_refused(c, "needs {}");
    c = good;
    c.bind_dn = "cn=search";
    check_refused(c, "go together");
    c = good;
    c.bind_dn = "cn=search";
    c.password = "";
    check_refused(c, "is empty");
    c = good;
    c.role = NULL;
    check_refused(c, "who is let in");
    c = good;
    c.groups = wrong;
    check_refused(c, "'boss=cn=x': ROLE=DN is required");
    c.groups = half;
    check_refused(c, "ROLE=DN is required");
}

/* Nobody listens at this address: a question would fail with E5036. */
static void an_empty_password_never_leaves_the_server(void)
{
    struct http_ldap_conf c = {.url = "ldaps://127.0.0.1:1",
                               .user_dn = "uid={},dc=example",
                               .filter = "(uid={})",
                               .role = "viewer"};
    struct http_ldap *l = NULL;
    struct arena a = {0};
    struct http_ldap_person p;
    struct err err = {0};
    enum rc rc = http_ldap_open(&c, &l, &err);
    if (rc == RC_NOTFOUND)
        return; /* no libldap on this machine */
    CHECK(rc == RC_OK);
    CHECK(http_ldap_person(l, "ann", "", &a, &p, &err) == RC_INVAL);
    CHECK_STR(err.msg, "wrong name or password");
    CHECK(http_ldap_person(l, "ann", "x", &a, &p, &err) == RC_IO);
    CHECK(err.code == E5036);
    arena_release(&a);
    http_ldap_close(l);
}

static const struct tap_case cases[] = {
    TAP(nothing_in_a_filter_value_has_a_meaning),
    TAP(nothing_in_a_value_of_a_dn_has_a_meaning),
    TAP(settings_that_do_not_go_together_are_refused),
    TAP(an_empty_password_never_leaves_the_server),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
