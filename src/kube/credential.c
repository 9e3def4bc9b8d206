/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in is run without a shell, with nothing of our environment but where things are, and
 * what its kubeconfig adds; it reads KUBERNETES_EXEC_INFO and prints an ExecCredential.
 */
#include "kube/credential.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"
#include "text/json.h"

#define SECOND_NS INT64_C(1000000000)
#define FILE_NS (60 * SECOND_NS)
#define EARLY_NS (30 * SECOND_NS) /* before its end a token is renewed */
#define EXEC_S 30.0
#define ANSWER_MAX (1 << 20)

int64_t kube_time_read(const char *text)
{
    struct tm t = {0};
    int n = 0, digits = 0;
    int64_t ns = 0;
    if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon,
                        &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &n) != 6)
        return 0;
    const char *rest = text + n;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++)
            if (digits < 9) {
                ns = ns * 10 + (*rest - '0');
                digits++;
            }
    for (; digits < 9; digits++)
        ns *= 10;
    int h = 0, m = 0;
    bool east = *rest == '+', west = *rest == '-';
    if (strcmp(rest, "Z") != 0 &&
        (!(east || west) || sscanf(rest + 1, "%2d:%2d", &h, &m) != 2))
        return 0;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    int64_t s = timegm(&t) - (int64_t)(h * 3600 + m * 60) * (west ? -1 : 1);
    return s * SECOND_NS + ns;
}

void kube_credential_release(struct kube_credential *c)
{
    arena_release(&c->arena);
    *c = (struct kube_credential){.until = 0};
}

static enum rc read_token_file(struct kube_credential *c, const struct kube_config *conf,
                               struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    if (fs_read(conf->token_file, ANSWER_MAX, &text, &n, err))
        return err_set(err, RC_CANCELED, "cannot read the token file '%s'",
                       conf->token_file);
    struct str token = str_trim(str_of(text, n));
    c->token = arena_strndup(&c->arena, token.p, token.n);
    c->until = clock_wall_ns() + FILE_NS;
    mem_free(text);
    return RC_OK;
}

static bool is_wanted(const char *variable)
{
    static const char *const names[] = {
        "PATH=",         "HOME=",        "USER=",       "LOGNAME=",     "LANG=",
        "TZ=",           "TMPDIR=",      "XDG_",        "https_proxy=", "http_proxy=",
        "no_proxy=",     "HTTPS_PROXY=", "HTTP_PROXY=", "NO_PROXY=",    "SSL_CERT_FILE=",
        "SSL_CERT_DIR=", "KUBECONFIG="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(variable, names[i]))
            return true;
    return false;
}

typedef VEC(const char *) words;

static void fill_env(words *env, const struct kube_exec *x, struct arena *a)
{
    for (char **e = environ; *e; e++)
        if (is_wanted(*e))
            VEC_PUSH(env, *e);
    for (const char *const *e = x->env; *e; e++)
        VEC_PUSH(env, *e);
    VEC_PUSH(env, arena_printf(a,
                               "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\","
                               "\"apiVersion\":\"%s\",\"spec\":{\"interactive\":false}}",
                               x->api));
    VEC_PUSH(env, NULL);
}

static enum rc take_credential(struct kube_credential *c, const char *program,
                               const struct proc_output *got, struct err *err)
{
    struct doc d = {0};
    enum rc rc = json_read("its answer", got->out, got->n_out, &d, err);
    const struct node *s = rc ? NULL : node_get_map(d.root, "status");
    const char *token = node_get_text(s, "token", NULL);
    const char *cert = node_get_text(s, "clientCertificateData", NULL);
    const char *key = node_get_text(s, "clientKeyData", NULL);
    if (token)
        c->token = arena_strdup(&c->arena, token);
    if (cert && key) {
        c->cert = arena_strdup(&c->arena, cert);
        c->key = arena_strdup(&c->arena, key);
    }
    int64_t end = kube_time_read(node_get_text(s, "expirationTimestamp", NULL));
    c->until = end ? end - EARLY_NS : 0;
    if (!rc && !c->token && !c->cert)
        rc = err_set(err, RC_CANCELED, "it gave neither a token nor a certificate");
    doc_release(&d);
    return rc ? err_wrap(err, RC_CANCELED, "credential plug-in '%s'", program) : RC_OK;
}

static enum rc run_plugin(struct kube_credential *c, const struct kube_config *conf,
                          struct err *err)
{
    words env = {0};
    struct proc_output got = {0};
    struct proc_limits limits = {.seconds = EXEC_S, .max_bytes = ANSWER_MAX};
    fill_env(&env, &conf->exec, &c->arena);
    struct proc_spec spec = {.argv = conf->exec.argv, .env = env.at};
    const char *program = conf->exec.argv[0];
    enum rc rc = proc_capture(&spec, &limits, &got, err);
    if (rc)
        rc = err_wrap(err, RC_CANCELED, "credential plug-in '%s'", program);
    else if (got.exit.code != 0)
        rc = err_set(err, RC_CANCELED,
                     "credential plug-in '%s' ended with status %d: %.100s", program,
                     got.exit.code, got.err);
    else
        rc = take_credential(c, program, &got, err);
    proc_output_release(&got);
    VEC_RELEASE(&env);
    return rc;
}

enum rc kube_credential_renew(struct kube_credential *c, const struct kube_config *conf,
                              bool refused, struct err *err)
{
    bool have = c->token || c->cert;
    if (have && !refused && (!c->until || clock_wall_ns() < c->until))
        return RC_OK;
    kube_credential_release(c);
    c->cert = conf->cert;
    c->key = conf->key;
    if (conf->token_file)
        return read_token_file(c, conf, err);
    if (conf->exec.argv)
        return run_plugin(c, conf, err);
    c->token = conf->token;
    return RC_OK;
}
