/* SPDX-License-Identifier: Apache-2.0 */
/* login and logout. A token comes from the environment, a file or standard input, where it is
 * not shown, from a login at the server's OpenID provider (login_oidc.c), or for a password of
 * LDAP, which goes to the server once and is not kept. It is tried at
 * the server before anything is stored; URL, token and the certificates of --ca then lie in
 * one file that only its owner may read (remote.c), and logging out removes it. The server is
 * told, so that a file with the first admin's token can go.
 */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/login_oidc.h"
#include "cmd/remote.h"
#include "job/status.h"

#define TOKEN_MAX ((size_t)4096)

struct login_conf {
    const char *token_file, *ca;
    bool oidc, device;
    int64_t port;
    const char *ldap, *password_file;
};

static const struct opt login_opts[] = {
    {OPT_TEXT(struct login_conf, token_file, NULL,
              "file with the token; - or absent: read it from stdin"),
     .meta = "FILE"},
    {OPT_TEXT(struct login_conf, ca, NULL,
              "certificates (PEM) of the authority that signed the server's; stored with "
              "the login"),
     .meta = "FILE"},
    {OPT_BOOL(struct login_conf, oidc, "false",
              "log in at the server's OpenID provider, with a browser on this machine")},
    {OPT_INT(struct login_conf, port, "0", 0, 65535,
             "with --oidc: port on 127.0.0.1 that the browser is redirected to; 0: any")},
    {OPT_BOOL(struct login_conf, device, "false",
              "log in at the OpenID provider on another device, with a code")},
    {OPT_TEXT(struct login_conf, ldap, NULL,
              "log in as this user of the server's LDAP, with a password"),
     .meta = "NAME"},
    {OPT_TEXT(struct login_conf, password_file, NULL,
              "with --ldap: file with the password; - or absent: read it from stdin"),
     .meta = "FILE"},
    {0},
};

struct logout_conf {
    bool revoke;
};

static const struct opt logout_opts[] = {
    {OPT_BOOL(struct logout_conf, revoke, "false",
              "also revoke the token at the server, so that nobody can use it")},
    {0},
};

/* One line, without showing it on a terminal. */
static enum rc read_hidden(const char *what, char out[TOKEN_MAX], struct err *err)
{
    struct termios before, quiet;
    bool terminal = isatty(0) && tcgetattr(0, &before) == 0;
    if (terminal) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(0, TCSAFLUSH, &quiet);
        fprintf(stderr, "%s: ", what);
    }
    bool got = fgets(out, (int)TOKEN_MAX, stdin) != NULL;
    if (terminal) {
        tcsetattr(0, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    return got ? RC_OK : err_coded(err, RC_INVAL, E5008, "no %s given", what);
}

static enum rc take_token(const struct login_conf *c, char **out, struct err *err)
{
    char line[TOKEN_MAX] = "", *text = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    if (env_get("TRAINYARD_TOKEN"))
        snprintf(line, sizeof(line), "%s", env_get("TRAINYARD_TOKEN"));
    else if (c->token_file && strcmp(c->token_file, "-") != 0) {
        rc = fs_read(c->token_file, TOKEN_MAX - 1, &text, &n, err);
        if (!rc)
            memcpy(line, text, n);
    } else {
        rc = read_hidden("token", line, err);
    }
    if (!rc) {
        struct str token = str_trim(str_c(line));
        *out = mem_strndup(token.p, token.n);
    }
    explicit_bzero(line, sizeof(line));
    mem_free(text);
    return rc;
}

static enum rc take_password(const struct login_conf *c, char line[TOKEN_MAX],
                             struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc;
    if (c->password_file && strcmp(c->password_file, "-") != 0) {
        rc = fs_read(c->password_file, TOKEN_MAX - 1, &text, &n, err);
        if (!rc)
            memcpy(line, text, n);
        if (text)
            explicit_bzero(text, n);
        mem_free(text);
    } else {
        rc = read_hidden("password", line, err);
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (!rc && !*line)
        rc = err_coded(err, RC_INVAL, E5034, "the password is empty");
    return rc;
}

/* A token for name and password, which the server asks LDAP about. */
static enum rc login_ldap(const struct login_conf *c, struct remote *r, struct err *err)
{
    char line[TOKEN_MAX] = "";
    struct doc doc = {0};
    struct buf b;
    enum rc rc = take_password(c, line, err);
    buf_init(&b, 1 << 16);
    buf_puts(&b, "{\"name\": ");
    buf_json_str(&b, c->ldap, strlen(c->ldap));
    buf_puts(&b, ", \"password\": ");
    buf_json_str(&b, line, strlen(line));
    buf_putc(&b, '}');
    struct remote_ask q = {.method = "POST",
                           .path = "/api/v1/login",
                           .type = "application/json",
                           .body = buf_str(&b),
                           .n = b.n};
    if (!rc)
        rc = remote_call(r, &q, &doc, NULL, err);
    if (!rc)
        r->token = mem_strdup(node_get_text(doc.root, "token", ""));
    if (doc.src)
        doc_release(&doc);
    if (b.p)
        explicit_bzero(b.p, b.n);
    buf_release(&b);
    explicit_bzero(line, sizeof(line));
    return rc;
}

/* So that it removes the file with the first token. One that is older does not know how. */
static void tell_server(const struct remote *r)
{
    struct remote_ask q = {.method = "POST", .path = "/api/v1/me/stored"};
    struct err err = {0};
    enum rc rc = remote_call(r, &q, NULL, NULL, &err);
    (void)rc;
}

static enum rc login_command(const void *conf, const struct opt_args *args,
                             struct err *err)
{
    const char *url = args->at[0];
    struct remote r = {0};
    struct doc doc = {0};
    struct remote_ask q = {.method = "GET", .path = "/api/v1/me"};
    char *path = NULL;
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    r.url = mem_strndup(url, n);
    const struct login_conf *o = conf;
    enum rc rc = remote_check_url(url, err);
    if (!rc && o->ca)
        rc = remote_read_ca(o->ca, &r.ca, err);
    if (!rc)
        rc = o->oidc     ? login_browser(&r, o->port, err)
             : o->device ? login_device(&r, err)
             : o->ldap   ? login_ldap(o, &r, err)
                         : take_token(conf, &r.token, err);
    if (!rc)
        rc = remote_call(&r, &q, &doc, NULL, err);
    if (!rc)
        rc = remote_store(&r, &path, err);
    if (!rc)
        tell_server(&r);
    if (!rc)
        printf("logged in to %s as %s (%s)\n", r.url, node_get_text(doc.root, "name", ""),
               node_get_text(doc.root, "role", ""));
    if (doc.src)
        doc_release(&doc);
    mem_free(path);
    remote_release(&r);
    return rc;
}

/* The token that a login stored, at the server that it is for. */
static enum rc revoke_stored(struct err *err)
{
    struct remote r = {0};
    struct doc doc = {0};
    struct remote_ask me = {.method = "GET", .path = "/api/v1/me"};
    enum rc rc = remote_stored(&r, err);
    if (rc || !r.url)
        return rc;
    rc = remote_call(&r, &me, &doc, NULL, err);
    char *path =
        mem_printf("/api/v1/tokens/%s", rc ? "" : node_get_text(doc.root, "token", ""));
    struct remote_ask q = {.method = "DELETE", .path = path};
    if (!rc)
        rc = remote_call(&r, &q, NULL, NULL, err);
    mem_free(path);
    if (doc.src)
        doc_release(&doc);
    remote_release(&r);
    return rc;
}

static enum rc logout_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct logout_conf *c = conf;
    bool was = false;
    enum rc rc = c->revoke ? revoke_stored(err) : RC_OK;
    if (!rc)
        rc = remote_forget(&was, err);
    if (!rc)
        printf("%s\n",
               !was ? "was not logged in"
               : c->revoke
                   ? "logged out; the token is revoked"
                   : "logged out; the token itself stays valid (`logout --revoke` "
                     "revokes it, `token delete ID` later)");
    return rc;
}

static const struct cmd_example login_examples[] = {
    {"with the token from the server's first start",
     "trainyard login http://127.0.0.1:8420 --token-file "
     "~/.local/state/trainyard/admin.token"},
    {"a server whose certificate the company's own authority signed",
     "trainyard login https://yard.example.com --ca company-ca.pem"},
    {"as the company's OpenID provider knows you",
     "trainyard login https://yard.example.com --oidc"},
    {"with the password of the company's LDAP",
     "trainyard login https://yard.example.com --ldap ann"},
    {0},
};

const struct cmd cmd_login = {
    .name = "login",
    .args = "URL",
    .summary = "log in to a server",
    .description =
        "Checks the token and stores URL and token in XDG_CONFIG_HOME or ~/.config, "
        "readable only by you. From then on `job`, `dataset` and `tune` commands use "
        "that server, unless --dir or --store (or TRAINYARD_DIR, TRAINYARD_STORE) "
        "names a store or `--server local` is given. `trainyard logout` undoes it.\n\n"
        "A server whose certificate was signed by a private authority needs --ca FILE "
        "once; without a login, SSL_CERT_FILE or SSL_CERT_DIR name certificates to "
        "trust.",
    .examples = login_examples,
    .opts = login_opts,
    .conf_size = sizeof(struct login_conf),
    .min_args = 1,
    .max_args = 1,
    .run = login_command,
};

static const struct cmd_example logout_examples[] = {
    {"use the local store again", "trainyard logout"},
    {"and nobody can use the token any more", "trainyard logout --revoke"},
    {0},
};

const struct cmd cmd_logout = {
    .name = "logout",
    .summary = "log out of the server",
    .examples = logout_examples,
    .opts = logout_opts,
    .conf_size = sizeof(struct logout_conf),
    .run = logout_command,
};
