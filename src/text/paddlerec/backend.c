/* SPDX-License-Identifier: Apache-2.0 */
/* backend.yaml: what can be said without the config.yaml that it goes with: storage and
 * keys, the files that are uploaded, paths, the version, and the rules of each kind of
 * cluster. Sentences are those of PaddleRec's own tool where it has one, so that people
 * find them.
 */
#include <fnmatch.h>
#include <string.h>

#include "text/paddlerec/paddlerec_private.h"

struct paddlerec_check {
    struct diags *d;
    const struct prec_Backend *b;
    const struct msg *config, *submit; /* the root when the section is missing */
    const struct prec_BackendConfig *c;
    const struct prec_Submit *s;
};

static int paddlerec_backend_probe(const char *path, enum syntax syntax,
                                   const struct node *root)
{
    if (syntax == SYNTAX_PROTOTEXT || root->kind != NODE_MAP ||
        !node_find(root, "backend"))
        return 0;
    int score = 50;
    score += node_find(root, "cluster_type") ? 25 : 0;
    score += node_find(root, "submit") ? 25 : 0;
    score += node_find(root, "config") ? 20 : 0;
    return score > 100 ? 100 : score;
}

static enum schema_dialect paddlerec_backend_dialect(enum syntax syntax)
{
    return SCHEMA_YAML;
}

static void check_storage(struct paddlerec_check *x)
{
    const struct prec_BackendConfig *c = x->c;
    if (!c || !*c->fs_name || !*c->fs_ugi)
        schema_report(x->d, DIAG_ERROR, E0532, x->config,
                      c && *c->fs_name ? "fs_ugi" : "fs_name",
                      "No -- FS_UGI or FS_NAME -- found in your backend.yaml, please "
                      "check.");
    else if (!strchr(c->fs_ugi, ','))
        schema_report(x->d, DIAG_ERROR, E0532, x->config, "fs_ugi",
                      "fs_ugi is written user,password");
    if (!c || !*c->output_path)
        schema_report(x->d, DIAG_WARNING, E0535, x->config, "output_path",
                      "Job output_path not set! Please check your backend yaml.");
}

static void check_keys(struct paddlerec_check *x)
{
    const struct prec_Submit *s = x->s;
    if (!s || !*s->ak || !*s->sk)
        schema_report(x->d, DIAG_ERROR, E0533, x->submit, s && *s->ak ? "sk" : "ak",
                      "No -- AK or SK -- found in your backend.yaml, please check.");
    if (!s || !*s->files)
        schema_report(x->d, DIAG_ERROR, E0534, x->submit, "files",
                      "No -- files -- found in your backend.yaml, please check.");
    if (s && strcmp(s->priority, "normal") != 0 && strcmp(s->priority, "high") != 0 &&
        strcmp(s->priority, "very_high") != 0)
        schema_report(x->d, DIAG_WARNING, E0537, x->submit, "priority",
                      "priority is normal, high or very_high, not '%s'", s->priority);
}

static struct str base_name(struct str path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/')
            return str_of(path.p + i + 1, path.n - i - 1);
    return path;
}

/* The last argument behind -m or --model that is not the name of a module. */
static struct str config_of(const char *command)
{
    struct str rest = str_c(command), word, found = {0};
    bool takes = false;
    while (str_split(&rest, ' ', &word)) {
        if (word.n == 0)
            continue;
        if (takes && !(word.n > 10 && memcmp(word.p, "paddlerec.", 10) == 0))
            found = word;
        takes = str_is(word, "-m") || str_is(word, "--model");
    }
    return found;
}

static void check_files(struct paddlerec_check *x)
{
    struct str config = x->s ? base_name(config_of(x->s->start_cmd)) : (struct str){0};
    struct str rest = x->s ? str_c(x->s->files) : (struct str){0}, word;
    char name[256], pattern[256];
    if (config.n == 0 || config.n >= sizeof(name) || rest.n == 0)
        return;
    memcpy(name, config.p, config.n);
    name[config.n] = '\0';
    while (str_split(&rest, ' ', &word)) {
        word = base_name(word);
        if (word.n >= sizeof(pattern))
            return;
        memcpy(pattern, word.p, word.n);
        pattern[word.n] = '\0';
        if (fnmatch(pattern, name, 0) == 0)
            return;
    }
    schema_report(x->d, DIAG_WARNING, E0534, x->submit, "files",
                  "start_cmd runs %s, but files does not upload it", name);
}

static void check_data(struct paddlerec_check *x, bool mpi)
{
    const struct prec_BackendConfig *c = x->c;
    if (!mpi) {
        if (!c || !*c->afs_remote_mount_point)
            schema_report(x->d, DIAG_WARNING, E0535, x->config, "afs_remote_mount_point",
                          "Job afs_remote_mount_point not set! Please check your backend "
                          "yaml.");
        else
            schema_report(x->d, DIAG_NOTE, E0535, x->config, "afs_remote_mount_point",
                          "The remote afs path will be mounted to the ./afs/");
        return;
    }
    if (!c || !*c->train_data_path)
        schema_report(x->d, DIAG_ERROR, E0535, x->config, "train_data_path",
                      "No -- TRAIN_DATA_PATH -- found in your backend.yaml, please add "
                      "train_data_path in your backend yaml.");
    if (!c || !*c->test_data_path)
        schema_report(x->d, DIAG_WARNING, E0535, x->config, "test_data_path",
                      "Job test_data_path not set! Please check your backend yaml.");
    if (!c || !*c->thirdparty_path)
        schema_report(x->d, DIAG_WARNING, E0535, x->config, "thirdparty_path",
                      "Job thirdparty_path not set! Please check your backend yaml.");
}

static void check_paths(struct paddlerec_check *x)
{
    static const char *const names[] = {"output_path", "train_data_path",
                                        "test_data_path", "thirdparty_path",
                                        "afs_remote_mount_point"};
    for (size_t i = 0; x->c && i < ARRAY_LEN(names); i++) {
        const struct node *n = node_find(x->config->node, names[i]);
        const char *colon = n ? strstr(n->text.p, ":/") : NULL;
        if (!colon)
            continue;
        struct diag *g = schema_report(x->d, DIAG_WARNING, E0539, x->config, names[i],
                                       "%s is written without a scheme", names[i]);
        const char *rest = colon + 1;
        while (rest[0] == '/' && rest[1] == '/')
            rest++;
        diag_hint(x->d, g, "write %s: \"%s\"", names[i], rest);
    }
}

/* Reads "1.8.5"; parts that are missing are 0. */
static bool read_version(const char *text, int64_t *v)
{
    struct str rest = str_c(text), part;
    int n = 0;
    v[0] = v[1] = v[2] = 0;
    while (str_split(&rest, '.', &part)) {
        if (n < 3 && (!str_to_i64(part, &v[n]) || v[n] < 0))
            return false;
        n++;
    }
    return n >= 1;
}

static void check_version(struct paddlerec_check *x)
{
    int64_t v[3], least[3] = {1, 7, 2};
    if (!x->c || !x->c->has_paddle_version)
        return;
    if (!read_version(x->c->paddle_version, v)) {
        schema_report(x->d, DIAG_ERROR, E0536, x->config, "paddle_version",
                      "paddle_version reads like 1.8.5, not '%s'", x->c->paddle_version);
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (v[i] > least[i])
            return;
        if (v[i] == least[i])
            continue;
        schema_report(x->d, DIAG_ERROR, E0536, x->config, "paddle_version",
                      "paddle_version must be at least 1.7.2, not %s",
                      x->c->paddle_version);
        return;
    }
}

static void check_cloud(struct paddlerec_check *x)
{
    bool mpi = prec_is(x->b->cluster_type, "mpi");
    bool k8s = prec_is(x->b->cluster_type, "k8s");
    if (!mpi && !k8s)
        schema_report(x->d, DIAG_ERROR, E0531, &x->b->base, "cluster_type",
                      "cluster_type %s error, must in MPI/K8S",
                      x->b->has_cluster_type ? x->b->cluster_type : "None");
    check_storage(x);
    check_keys(x);
    check_files(x);
    if (mpi || k8s)
        check_data(x, mpi);
}

static void check_kubernetes(struct paddlerec_check *x)
{
    const struct prec_Engine *e = x->b->engine;
    const struct prec_EngineSubmit *s = e ? e->submit : NULL;
    if (!s || !s->has_docker_image)
        schema_report(x->d, DIAG_WARNING, E0535, e ? &e->base : &x->b->base, NULL,
                      "engine.submit.docker_image is not set");
}

static void paddlerec_backend_check(struct conf *c, struct diags *diags)
{
    const struct prec_Backend *b = c->data;
    struct paddlerec_check x = {.d = diags, .b = b, .c = b->config, .s = b->submit};
    x.config = b->config ? &b->config->base : &b->base;
    x.submit = b->submit ? &b->submit->base : &b->base;
    if (prec_is(b->backend, "PaddleCloud")) {
        check_cloud(&x);
    } else if (prec_is(b->backend, "Kubernetes") || prec_is(b->backend, "k8s")) {
        check_kubernetes(&x);
    } else {
        struct buf upper;
        buf_init(&upper, 256);
        for (const char *p = b->has_backend ? b->backend : "None"; *p; p++)
            buf_putc(&upper, (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p));
        schema_report(diags, DIAG_ERROR, E0530, &b->base, "backend",
                      "%s can not be supported now", buf_str(&upper));
        buf_release(&upper);
    }
    check_version(&x);
    check_paths(&x);
}

const struct conf_kind conf_kind_paddlerec_backend = {
    .name = "paddlerec-backend",
    .title = "PaddleRec backend.yaml",
    .example = "backend.yaml",
    .family = &schema_family_paddlerec,
    .root = &prec_Backend_def,
    .usual = SYNTAX_YAML,
    .last_key_wins = true,
    .probe = paddlerec_backend_probe,
    .dialect = paddlerec_backend_dialect,
    .check = paddlerec_backend_check,
};
