/* SPDX-License-Identifier: Apache-2.0 */
#include "job/inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

static const char *const outputs[] = {"model", "checkpoints", "tensorboard"};

/* A channel's name becomes a directory. */
static enum rc check_name(const char *name, struct err *err)
{
    size_t n = strlen(name);
    bool fine = n > 0 && n <= 128 && name[0] != '.';
    for (size_t i = 0; fine && i < n; i++)
        fine = (unsigned char)name[i] > ' ' && name[i] != '/' && name[i] != 0x7f;
    if (fine)
        return RC_OK;
    return err_coded(
        err, RC_INVAL, E3003,
        "'%.100s' is no name for a channel: no blanks, no '/', no '.' at the "
        "front",
        name);
}

static const char *scheme_end(const char *uri)
{
    return strstr(uri, "://");
}

/* The dataset's path as text in `a`. */
static enum rc from_dataset(const struct place *p, const char *name, struct arena *a,
                            const char **path, const char **mount, struct err *err)
{
    struct store_datasets got = {0};
    enum rc rc = store_dataset_get(p->store, name, &got, err);
    if (rc)
        return rc;
    const struct store_dataset *d = &got.at[0];
    if (d->uri[0] != '/')
        rc = err_coded(err, RC_UNSUPPORTED, E3006,
                       "dataset '%.100s' lies at %.200s, which cannot be mounted here",
                       name, d->uri);
    *path = arena_strdup(a, d->uri);
    *mount = arena_strdup(a, d->mount);
    store_datasets_release(&got);
    return rc;
}

static enum rc path_of(const struct place *p, const char *uri, const char *cwd,
                       struct arena *a, const char **path, struct err *err)
{
    static const char pai[] = "pai://datasets/";
    const char *mount;
    if (str_starts(uri, "file://"))
        uri += strlen("file://");
    if (str_starts(uri, pai)) {
        uri += sizeof(pai) - 1;
        return from_dataset(p, arena_strndup(a, uri, strcspn(uri, "/")), a, path, &mount,
                            err);
    }
    if (str_starts(uri, "dataset:"))
        return from_dataset(p, uri + strlen("dataset:"), a, path, &mount, err);
    if (scheme_end(uri))
        return err_coded(err, RC_UNSUPPORTED, E3006, "'%.200s'", uri);
    char *full = fs_join(cwd, uri);
    *path = arena_strdup(a, full);
    mem_free(full);
    return RC_OK;
}

static enum rc resolve_input(const struct place *p, const struct schema_kv_STR *kv,
                             const char *cwd, struct channels *out, struct err *err)
{
    struct channel c = {.kind = CHANNEL_INPUT, .name = kv->key};
    struct stat st;
    const char *mount;
    enum rc rc = check_name(kv->key, err);
    if (!rc)
        rc = path_of(p, kv->value, cwd, &out->arena, &c.path, err);
    if (rc)
        return err_wrap(err, rc, "input '%.100s'", kv->key);
    if (stat(c.path, &st) < 0) {
        int errnum = errno;
        struct err quiet = {0};
        /* A name that is no path may be a dataset's. */
        if (errnum != ENOENT || strchr(kv->value, '/') ||
            from_dataset(p, kv->value, &out->arena, &c.path, &mount, &quiet) ||
            stat(c.path, &st) < 0)
            return err_coded(err, RC_NOTFOUND, E3005, "input '%.100s': '%.300s': %s",
                             kv->key, c.path, strerror(errnum));
    }
    if (access(c.path, R_OK) < 0)
        return err_coded(err, RC_IO, E3005, "input '%.100s': '%.300s': %s", kv->key,
                         c.path, strerror(errno));
    c.is_file = !S_ISDIR(st.st_mode);
    c.mount = arena_printf(&out->arena, "input/data/%s", kv->key);
    VEC_PUSH(&out->list, c);
    return RC_OK;
}

static struct channel *find_output(struct channels *out, const char *name)
{
    for (size_t i = 0; i < out->list.n; i++)
        if (out->list.at[i].kind == CHANNEL_OUTPUT &&
            strcmp(out->list.at[i].name, name) == 0)
            return &out->list.at[i];
    return NULL;
}

static void add_output(struct channels *out, const char *name)
{
    struct channel c = {.kind = CHANNEL_OUTPUT,
                        .name = name,
                        .mount = arena_printf(&out->arena, "output/%s", name)};
    VEC_PUSH(&out->list, c);
}

/* The directory is made here, so that a job does not find out hours later. */
static enum rc resolve_output(const struct place *p, const struct schema_kv_STR *kv,
                              const char *cwd, struct channels *out, struct err *err)
{
    enum rc rc = check_name(kv->key, err);
    const char *path = NULL, *name = kv->key;
    if (strcmp(name, "logs") == 0)
        name = "tensorboard"; /* the other name of the same thing */
    if (!rc)
        rc = path_of(p, kv->value, cwd, &out->arena, &path, err);
    if (!rc && (fs_mkdirs(path, 0755, err) || access(path, W_OK) < 0))
        rc = err_coded(err, RC_IO, E3007, "'%.300s': %s", path, strerror(errno));
    if (rc)
        return err_wrap(err, rc, "output '%.100s'", kv->key);
    if (!find_output(out, name))
        add_output(out, name);
    find_output(out, name)->path = path;
    return RC_OK;
}

/* NAME, NAME:/mount, or DLC's id:version:/mount. */
static enum rc resolve_dataset(const struct place *p, const char *text,
                               struct channels *out, struct err *err)
{
    struct channel c = {.kind = CHANNEL_DATASET};
    const char *colon = strchr(text, ':'), *last = strrchr(text, ':');
    const char *own = NULL;
    if (text[0] == '/' && colon) { /* /path:/mount, without a dataset */
        c.name = c.path = arena_strndup(&out->arena, text, (size_t)(last - text));
        c.mount = last + 1;
    } else {
        size_t n = colon ? (size_t)(colon - text) : strlen(text);
        c.name = arena_strndup(&out->arena, text, n);
        enum rc rc = from_dataset(p, c.name, &out->arena, &c.path, &own, err);
        if (rc)
            return rc;
        c.mount = last && last[1] == '/' ? last + 1 : own;
    }
    if (!c.mount || c.mount[0] != '/' || strcmp(c.mount, "/") == 0 ||
        strstr(c.mount, ".."))
        return err_coded(err, RC_INVAL, E3301, "'%.100s' is no place to mount a dataset",
                         c.mount ? c.mount : "");
    if (!fs_exists(c.path))
        return err_coded(err, RC_NOTFOUND, E3005,
                         "dataset '%.100s': '%.300s' is not there", c.name, c.path);
    c.mount = arena_strdup(&out->arena, c.mount);
    VEC_PUSH(&out->list, c);
    return RC_OK;
}

enum rc channels_resolve(const struct place *p, const struct spec *s, const char *cwd,
                         struct channels *out, struct err *err)
{
    struct channels c = {0};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
        add_output(&c, outputs[i]);
    for (int64_t i = 0; i < s->s->n_input && !rc; i++)
        rc = resolve_input(p, &s->s->input[i], cwd, &c, err);
    for (int64_t i = 0; i < s->s->n_output && !rc; i++)
        rc = resolve_output(p, &s->s->output[i], cwd, &c, err);
    for (int64_t i = 0; i < s->s->n_data && !rc; i++)
        rc = resolve_dataset(p, s->s->data[i], &c, err);
    if (rc) {
        channels_release(&c);
        return rc;
    }
    *out = c;
    return RC_OK;
}

void channels_release(struct channels *c)
{
    VEC_RELEASE(&c->list);
    arena_release(&c->arena);
    *c = (struct channels){0};
}
