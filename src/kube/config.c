/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a list are looked at in order, and the first that has a cluster, user or context
 * of a name is where it comes from, as with kubectl. File names in a kubeconfig are relative
 * to it. Settings that would make the connection less sure are refused by name.
 */
#include "kube/config.h"

#include <string.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "text/diag.h"
#include "text/yaml.h"

#define PEM_MAX (1 << 20)
#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct file {
    struct doc doc;
    struct diags diags;
    char *path, *dir; /* owned */
};

struct reading {
    VEC(struct file *) files;
    struct kube_config *out;
    const struct file *from; /* of what is read now */
};

static int letter(char c)
{
    static const char all[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(all, c) : NULL;
    return at ? (int)(at - all) : -1;
}

char *kube_base64_read(const char *text, size_t n, struct arena *a)
{
    unsigned char *out = arena_alloc(a, n / 4 * 3 + 4);
    unsigned bits = 0, held = 0;
    size_t k = 0, i = 0;
    for (; i < n && text[i] != '='; i++) {
        int v = letter(text[i]);
        if (strchr(" \t\r\n", text[i]))
            continue;
        if (v < 0)
            return NULL;
        held = held << 6 | (unsigned)v;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[k++] = (unsigned char)(held >> bits & 0xff);
        }
    }
    for (; i < n; i++)
        if (!strchr("= \t\r\n", text[i]))
            return NULL;
    out[k] = '\0';
    return k && bits < 6 ? (char *)out : NULL;
}

static void file_destroy(struct file *f)
{
    if (!f)
        return;
    doc_release(&f->doc);
    diags_release(&f->diags);
    mem_free(f->path);
    mem_free(f->dir);
    mem_free(f);
}

static enum rc read_file(struct reading *r, const char *path, struct err *err)
{
    struct file *f = mem_calloc(1, sizeof(*f));
    f->path = mem_strdup(path);
    f->dir = fs_dirname(path);
    enum rc rc = source_open(path, &f->doc.src, err);
    if (!rc && yaml_parse(&f->doc, true, &f->diags))
        rc = err_set(err, RC_FORMAT, "'%s' is not YAML: %s", path,
                     f->diags.list.n ? f->diags.list.at[0].msg : "it cannot be read");
    if (!rc && (!f->doc.root || f->doc.root->kind != NODE_MAP))
        rc = err_set(err, RC_FORMAT, "'%s' is no kubeconfig: it has no settings", path);
    if (rc) {
        file_destroy(f);
        return rc;
    }
    VEC_PUSH(&r->files, f);
    return RC_OK;
}

/* Files of a list that are not there are passed over, as long as one is. */
static enum rc read_files(struct reading *r, const char *list, struct err *err)
{
    struct str rest = str_c(list), part;
    enum rc rc = RC_OK;
    while (!rc && str_split(&rest, ':', &part)) {
        char *path = mem_strndup(part.p, part.n);
        if (*path && fs_exists(path))
            rc = read_file(r, path, err);
        mem_free(path);
    }
    if (!rc && !r->files.n)
        rc = err_set(err, RC_NOTFOUND, "there is no kubeconfig '%s'", list);
    return rc;
}

/* The settings of `name` in a list of "clusters", "users" or "contexts". */
static const struct node *find(struct reading *r, const char *list, const char *inner,
                               const char *name)
{
    for (size_t f = 0; f < r->files.n; f++) {
        const struct node *l = node_get_list(r->files.at[f]->doc.root, list);
        for (size_t i = 0; l && i < l->list.n; i++) {
            const char *is = node_get_text(l->list.at[i], "name", NULL);
            if (is && strcmp(is, name) == 0) {
                r->from = r->files.at[f];
                return node_get_map(l->list.at[i], inner);
            }
        }
    }
    return NULL;
}

static const char *text_of(struct reading *r, const struct node *map, const char *key)
{
    const char *s = node_get_text(map, key, NULL);
    return s && *s ? arena_strdup(&r->out->arena, s) : NULL;
}

/* A path of the file, which may be relative to it. */
static const char *path_of(struct reading *r, const struct node *map, const char *key)
{
    const char *s = text_of(r, map, key);
    if (!s || *s == '/')
        return s;
    return arena_printf(&r->out->arena, "%s/%s", r->from->dir, s);
}

static enum rc read_pem(struct arena *a, const char *path, const char **out,
                        struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, PEM_MAX, &text, &n, err);
    if (!rc)
        *out = arena_strdup(a, text);
    mem_free(text);
    return rc;
}

/* "KEY-data" in base64, else the file KEY; neither: *out stays. */
static enum rc take_pem(struct reading *r, const struct node *map, const char *key,
                        const char **out, struct err *err)
{
    struct arena *a = &r->out->arena;
    const char *data = text_of(r, map, arena_printf(a, "%s-data", key));
    const char *path = path_of(r, map, key);
    if (data) {
        *out = kube_base64_read(data, strlen(data), a);
        return *out ? RC_OK
                    : err_set(err, RC_FORMAT, "'%s': %s-data is not base64",
                              r->from->path, key);
    }
    return path ? read_pem(a, path, out, err) : RC_OK;
}

static enum rc refuse(const struct reading *r, const char *what, const char *instead,
                      struct err *err)
{
    return err_set(err, RC_UNSUPPORTED, "'%s': %s is not supported; %s", r->from->path,
                   what, instead);
}

static enum rc take_cluster(struct reading *r, const struct node *c, struct err *err)
{
    struct kube_config *out = r->out;
    char *server = NULL;
    if (node_get_bool(c, "insecure-skip-tls-verify", false))
        return refuse(r, "insecure-skip-tls-verify",
                      "give the cluster's certificate-authority", err);
    if (text_of(r, c, "proxy-url"))
        return refuse(r, "proxy-url", "set https_proxy", err);
    if (text_of(r, c, "tls-server-name"))
        return refuse(r, "tls-server-name", "use a server name of its certificate", err);
    server = mem_strdup(node_get_text(c, "server", ""));
    while (*server && server[strlen(server) - 1] == '/')
        server[strlen(server) - 1] = '\0';
    bool good = str_starts(server, "https://") || str_starts(server, "http://");
    out->server = arena_strdup(&out->arena, server);
    mem_free(server);
    if (!good)
        return err_set(err, RC_INVAL, "'%s': server '%s' is no http(s) address",
                       r->from->path, out->server);
    return take_pem(r, c, "certificate-authority", &out->ca, err);
}

static const char *const *words_of(struct reading *r, const char *first,
                                   const struct node *list)
{
    struct arena *a = &r->out->arena;
    size_t n = list ? list->list.n : 0, k = 0;
    const char **v = arena_alloc(a, (n + 2) * sizeof(*v));
    v[k++] = first;
    for (size_t i = 0; i < n; i++)
        if (node_is_scalar(list->list.at[i]))
            v[k++] = arena_strndup(a, list->list.at[i]->text.p, list->list.at[i]->text.n);
    v[k] = NULL;
    return v;
}

static const char *const *variables_of(struct reading *r, const struct node *list)
{
    struct arena *a = &r->out->arena;
    size_t n = list ? list->list.n : 0, k = 0;
    const char **v = arena_alloc(a, (n + 1) * sizeof(*v));
    for (size_t i = 0; i < n; i++) {
        const char *name = node_get_text(list->list.at[i], "name", "");
        const char *value = node_get_text(list->list.at[i], "value", "");
        if (*name && !strchr(name, '='))
            v[k++] = arena_printf(a, "%s=%s", name, value);
    }
    v[k] = NULL;
    return v;
}

/* A command with a '/' in it is a path, relative to the file. */
static enum rc take_exec(struct reading *r, const struct node *e, struct err *err)
{
    struct kube_exec *x = &r->out->exec;
    const char *command = text_of(r, e, "command");
    if (!command)
        return err_set(err, RC_INVAL, "'%s': exec has no command", r->from->path);
    if (strchr(command, '/'))
        command = path_of(r, e, "command");
    x->argv = words_of(r, command, node_get_list(e, "args"));
    x->env = variables_of(r, node_get_list(e, "env"));
    x->api = text_of(r, e, "apiVersion");
    if (!x->api || (strcmp(x->api, "client.authentication.k8s.io/v1") != 0 &&
                    strcmp(x->api, "client.authentication.k8s.io/v1beta1") != 0))
        return err_set(err, RC_UNSUPPORTED,
                       "'%s': exec has the apiVersion '%s', not "
                       "client.authentication.k8s.io/v1 or v1beta1",
                       r->from->path, x->api ? x->api : "");
    return RC_OK;
}

static enum rc take_user(struct reading *r, const struct node *u, struct err *err)
{
    struct kube_config *out = r->out;
    const struct node *exec = node_get_map(u, "exec");
    if (node_find(u, "auth-provider"))
        return refuse(r, "auth-provider", "use an exec plug-in", err);
    enum rc rc = take_pem(r, u, "client-certificate", &out->cert, err);
    if (!rc)
        rc = take_pem(r, u, "client-key", &out->key, err);
    out->token = text_of(r, u, "token");
    out->token_file = path_of(r, u, "tokenFile");
    out->user = text_of(r, u, "username");
    out->password = text_of(r, u, "password");
    if (!rc && exec && !out->token && !out->token_file && !out->cert)
        rc = take_exec(r, exec, err);
    return rc;
}

static enum rc missing(const char *what, const char *name, const char *list,
                       struct err *err)
{
    return err_set(err, RC_INVAL, "kubeconfig '%s' has no %s '%s'", list, what, name);
}

static const char *current_context(struct reading *r)
{
    for (size_t i = 0; i < r->files.n; i++) {
        const char *name = text_of(r, r->files.at[i]->doc.root, "current-context");
        if (name)
            return name;
    }
    return NULL;
}

static enum rc take_context(struct reading *r, const struct kube_options *o,
                            const char *list, struct err *err)
{
    const char *name = o->context ? o->context : current_context(r);
    if (!name)
        return err_set(err, RC_INVAL, "kubeconfig '%s' has no current-context", list);
    const struct node *c = find(r, "contexts", "context", name);
    if (!c)
        return missing("context", name, list, err);
    const char *cluster = text_of(r, c, "cluster"), *user = text_of(r, c, "user");
    const char *ns = text_of(r, c, "namespace");
    struct kube_config *out = r->out;
    out->name = arena_printf(&out->arena, "context '%s'", name);
    out->ns = o->ns ? arena_strdup(&out->arena, o->ns) : ns ? ns : "default";
    c = cluster ? find(r, "clusters", "cluster", cluster) : NULL;
    if (!c)
        return missing("cluster", cluster ? cluster : "", list, err);
    enum rc rc = take_cluster(r, c, err);
    c = user ? find(r, "users", "user", user) : NULL;
    if (!rc && user && !c)
        return missing("user", user, list, err);
    return rc || !c ? rc : take_user(r, c, err);
}

static enum rc load_files(const struct kube_options *o, const char *list,
                          struct kube_config *out, struct err *err)
{
    struct reading r = {.out = out};
    enum rc rc = read_files(&r, list, err);
    if (!rc)
        rc = take_context(&r, o, list, err);
    for (size_t i = 0; i < r.files.n; i++)
        file_destroy(r.files.at[i]);
    VEC_RELEASE(&r.files);
    return rc;
}

static enum rc load_pod(const struct kube_options *o, const char *host,
                        struct kube_config *out, struct err *err)
{
    const char *port = env_get("KUBERNETES_SERVICE_PORT"), *ns = NULL;
    const char *open = strchr(host, ':') ? "[" : "", *end = *open ? "]" : "";
    enum rc rc = read_pem(&out->arena, POD_DIR "/ca.crt", &out->ca, err);
    if (!rc && !o->ns)
        rc = read_pem(&out->arena, POD_DIR "/namespace", &ns, err);
    out->name = "the service account of this pod";
    out->server = arena_printf(&out->arena, "https://%s%s%s:%s", open, host, end,
                               port ? port : "443");
    out->token_file = POD_DIR "/token";
    out->ns = arena_strdup(&out->arena, o->ns ? o->ns : ns ? ns : "default");
    return rc;
}

enum rc kube_config_load(const struct kube_options *o, struct kube_config *out,
                         struct err *err)
{
    const char *files = o->files ? o->files : env_get("KUBECONFIG");
    const char *host = env_get("KUBERNETES_SERVICE_HOST");
    char *home = env_home_path(".kube/config");
    enum rc rc;
    *out = (struct kube_config){.ns = "default"};
    if (files)
        rc = load_files(o, files, out, err);
    else if (home && fs_exists(home))
        rc = load_files(o, home, out, err);
    else if (host)
        rc = load_pod(o, host, out, err);
    else
        rc = err_set(err, RC_NOTFOUND,
                     "there is no kubeconfig: KUBECONFIG is not set and ~/.kube/config "
                     "is not there");
    mem_free(home);
    return rc;
}

void kube_config_release(struct kube_config *c)
{
    arena_release(&c->arena);
    *c = (struct kube_config){.ns = "default"};
}
