/* SPDX-License-Identifier: Apache-2.0 */
#include "http/auth.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "tap.h"

static char *temp;

static struct store *open_store(const char *name)
{
    char *path = fs_join(temp, name);
    struct store *s = NULL;
    CHECK_INT(store_open(path, &s, NULL), RC_OK);
    mem_free(path);
    return s;
}

static void make_user(struct store *s, const char *name, const char *role)
{
    struct store_user u = {.name = name, .role = role, .projects = "ads"};
    CHECK_INT(store_user_create(s, &u, NULL), RC_OK);
}

static void make_token(struct store *s, const char *owner, const char *role,
                       int64_t expires, char text[AUTH_TOKEN_SIZE])
{
    struct arena a = {0};
    struct store_token t = {.owner = owner, .role = role, .expires = expires};
    CHECK_INT(http_auth_make(s, &t, &a, text, NULL), RC_OK);
    CHECK(!strstr(t.hash, text + 3));
    arena_release(&a);
}

static void a_token_can_do_what_both_it_and_its_user_may(void)
{
    struct store *s = open_store("roles.db");
    struct http_auth *a = http_auth_create();
    struct http_caller c;
    char weak[AUTH_TOKEN_SIZE], strong[AUTH_TOKEN_SIZE];
    make_user(s, "ann", "submitter");
    make_token(s, "ann", "viewer", 0, weak);
    make_token(s, "ann", "admin", 0, strong);
    CHECK_INT(strlen(weak), 67);
    CHECK_INT(http_auth_find(a, s, weak, &c, NULL), RC_OK);
    CHECK_INT(c.role, ROLE_VIEWER);
    CHECK_STR(c.name, "ann");
    CHECK_STR(c.projects, "ads");
    CHECK_INT(http_auth_find(a, s, strong, &c, NULL), RC_OK);
    CHECK_INT(c.role, ROLE_SUBMITTER); /* no more than the user */
    http_auth_destroy(a);
    store_close(s);
}

static void a_link_opens_once_and_is_no_token(void)
{
    struct store *s = open_store("links.db");
    struct http_auth *a = http_auth_create();
    struct http_caller c;
    char link[AUTH_TOKEN_SIZE], token[AUTH_TOKEN_SIZE];
    make_user(s, "ann", "submitter");
    make_token(s, "ann", "submitter", 0, token);
    CHECK_INT(http_auth_link_make(s, "ann", link, NULL), RC_OK);
    CHECK_INT(strlen(link), 67);
    CHECK_INT(http_auth_find(a, s, link, &c, NULL), RC_INVAL);
    CHECK_INT(http_auth_link_use(s, token, &c, NULL), RC_INVAL);
    CHECK_INT(http_auth_find(a, s, token, &c, NULL), RC_OK); /* it was not used up */
    CHECK_INT(http_auth_link_use(s, link, &c, NULL), RC_OK);
    CHECK_STR(c.name, "ann");
    CHECK_INT(c.role, ROLE_SUBMITTER);
    CHECK_INT(http_auth_link_use(s, link, &c, NULL), RC_INVAL);
    http_auth_destroy(a);
    store_close(s);
}

static void what_is_no_token_is_refused_alike(void)
{
    struct store *s = open_store("wrong.db");
    struct http_auth *a = http_auth_create();
    struct http_caller c;
    char good[AUTH_TOKEN_SIZE];
    make_user(s, "ann", "viewer");
    make_token(s, "ann", "viewer", 0, good);
    char *longer = mem_printf("%sa", good), *wrong = mem_strdup(good);
    wrong[66] = wrong[66] == '0' ? '1' : '0';
    const char *const bad[] = {"", "ty_", "ty_0", "Bearer", wrong, longer, good + 1};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        CHECK_INT(http_auth_find(a, s, bad[i], &c, &err), RC_INVAL);
        CHECK_STR(err.msg, "a valid token is required");
        CHECK_INT(err.code, E5008);
    }
    mem_free(longer);
    mem_free(wrong);
    http_auth_destroy(a);
    store_close(s);
}

static void expired_disabled_and_deleted_tokens_are_refused(void)
{
    struct store *s = open_store("gone.db");
    struct http_auth *a = http_auth_create();
    struct http_caller c;
    struct err err = {0};
    char old[AUTH_TOKEN_SIZE], good[AUTH_TOKEN_SIZE];
    make_user(s, "ann", "viewer");
    make_token(s, "ann", "viewer", clock_wall_ns() - 1, old);
    make_token(s, "ann", "viewer", clock_wall_ns() + 3600 * CLOCK_SECOND, good);
    CHECK_INT(http_auth_find(a, s, old, &c, &err), RC_INVAL);
    CHECK_STR(err.msg, "the token has expired");
    CHECK_INT(err.code, E5009);
    CHECK_INT(http_auth_find(a, s, good, &c, NULL), RC_OK);
    struct store_user off = {
        .name = "ann", .role = "viewer", .projects = "", .disabled = 5};
    CHECK_INT(store_user_update(s, &off, NULL), RC_OK);
    CHECK_INT(http_auth_find(a, s, good, &c, NULL), RC_OK); /* remembered for a moment */
    http_auth_forget(a);
    CHECK_INT(http_auth_find(a, s, good, &c, &err), RC_INVAL);
    CHECK_INT(err.code, E5008);
    CHECK_INT(store_user_delete(s, "ann", NULL), RC_OK);
    CHECK_INT(http_auth_find(a, s, good, &c, &err), RC_INVAL);
    http_auth_destroy(a);
    store_close(s);
}

static void the_first_start_makes_an_admin_once(void)
{
    struct store *s = open_store("first.db");
    struct http_auth *a = http_auth_create();
    char *path = fs_join(temp, "admin.token"), *text = NULL;
    struct stat st;
    struct http_caller c;
    size_t n;
    bool made = false;
    CHECK_INT(http_auth_first(s, path, &made, NULL), RC_OK);
    CHECK(made);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    CHECK_INT(fs_read(path, 1000, &text, &n, NULL), RC_OK);
    struct str token = str_trim(str_of(text, n));
    text[token.n] = '\0';
    CHECK_INT(http_auth_find(a, s, text, &c, NULL), RC_OK);
    CHECK_INT(c.role, ROLE_ADMIN);
    CHECK_INT(http_auth_first(s, path, &made, NULL), RC_OK);
    CHECK(!made);
    mem_free(text);
    mem_free(path);
    http_auth_destroy(a);
    store_close(s);
}

static const struct tap_case cases[] = {
    TAP(a_token_can_do_what_both_it_and_its_user_may),
    TAP(a_link_opens_once_and_is_no_token),
    TAP(what_is_no_token_is_refused_alike),
    TAP(expired_disabled_and_deleted_tokens_are_refused),
    TAP(the_first_start_makes_an_admin_once),
};

int main(int argc, char **argv)
{
    if (fs_temp_dir("ty-auth", &temp, NULL))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    if (fs_remove_all(temp, NULL))
        rc = 1;
    mem_free(temp);
    return rc;
}
