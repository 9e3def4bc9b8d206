/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of channel is brought to one form: a path of this machine, or an address in an
 * object store and the place below the job's directory where its copy will lie. Outputs are
 * made here, so that a job does not find out hours later that it may not write.
 */
#include "job/inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/bucket.h"
#include "job/snapshot.h"
#include "store/users.h"

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
        "'%.100s' is not a valid channel name: no blanks, no '/', no '.' at the front",
        name);
}

static const char *scheme_end(const char *uri)
{
    return strstr(uri, "://");
}

/* What all of them need. */
struct resolving {
    const struct job_place *p;
    const char *owner; /* of the job */
    const char *cwd, *dir;
    struct job_channels *out;
};

static bool is_table(const char *uri)
{
    return str_starts(uri, "odps://");
}

static bool is_directory_type(const char *type)
{
    return strcmp(type, "local") == 0 || strcmp(type, "nas") == 0;
}

bool job_dataset_uri_ok(const char *type, const char *uri)
{
    size_t n = strlen(type);
    return n && strncmp(uri, type, n) == 0 && str_starts(uri + n, "://") &&
           (job_bucket_is(uri) || is_table(uri));
}

/* Registered by a user of a server who is no administrator, or was deleted since; not on the
 * server's own command line.
 */
static bool is_guarded(const struct resolving *r, const struct store_dataset *d)
{
    struct store_users users = {0};
    struct err err = {0};
    enum rc rc = store_user_get(r->p->store, d->owner, &users, &err);
    bool admin = !rc && strcmp(users.at[0].role, "admin") == 0 && !users.at[0].disabled;
    store_users_release(&users);
    return rc == RC_NOTFOUND ? !store_user_is_local(r->p->store, r->p->account, d->owner)
                             : !admin;
}

/* Fills path, mount and whom it belongs to. In a store it is all below its address: a
 * dataset is a directory.
 */
static enum rc from_dataset(const struct resolving *r, const char *name,
                            struct job_channel *c, struct err *err)
{
    struct arena *a = &r->out->arena;
    struct store_datasets got = {0};
    const char **path = &c->path;
    enum rc rc = store_dataset_get(r->p->store, name, &got, err);
    if (rc)
        return rc;
    const struct store_dataset *d = &got.at[0];
    c->guarded = is_guarded(r, d);
    c->writable = store_dataset_writable(d);
    c->read_only =
        !c->writable && !store_user_is_local(r->p->store, r->p->account, r->owner);
    if (d->uri[0] == '/' && !is_directory_type(d->type)) /* only admins name those */
        rc =
            err_coded(err, RC_INVAL, E3006,
                      "dataset '%.100s' of type %.20s lies at %.200s, which is not a URI",
                      name, d->type, d->uri);
    else if (d->uri[0] != '/' && !job_bucket_is(d->uri) && !is_table(d->uri))
        rc = err_coded(err, RC_UNSUPPORTED, E3006,
                       "dataset '%.100s' lies at %.200s, which cannot be mounted here",
                       name, d->uri);
    if (!rc && job_bucket_is(d->uri))
        rc = job_bucket_plain(d->uri, a, path, err);
    else if (!rc)
        *path = arena_strdup(a, d->uri);
    if (!rc && job_bucket_is(*path) && !str_ends(*path, "/"))
        *path = arena_printf(a, "%s/", *path);
    else if (!rc)
        *path = arena_strdup(a, *path);
    c->mount = arena_strdup(a, d->mount);
    store_datasets_release(&got);
    return rc;
}

/* snapshot:ID, or snapshot:ID/FILE for one file that was sent. */
static enum rc check_upload(const char *uri, struct err *err)
{
    const char *id = uri + strlen(SNAPSHOT_PREFIX), *slash = strchr(id, '/');
    char *text = mem_strndup(id, slash ? (size_t)(slash - id) : strlen(id));
    bool good = job_snapshot_id_ok(text);
    mem_free(text);
    if (good && slash)
        good = slash[1] && !strchr(slash + 1, '/') && strcmp(slash, "/.") != 0 &&
               strcmp(slash, "/..") != 0;
    return good ? RC_OK
                : err_coded(err, RC_INVAL, E3004,
                            "'%.200s' is not snapshot:ID or snapshot:ID/FILE, where ID "
                            "is 64 hexadecimal digits",
                            uri);
}

/* A path, or an address in an object store: c->path. */
static enum rc path_of(const struct resolving *r, const char *uri, struct job_channel *c,
                       struct err *err)
{
    static const char pai[] = "pai://datasets/";
    struct arena *a = &r->out->arena;
    const char **path = &c->path;
    if (str_starts(uri, "file://"))
        uri += strlen("file://");
    if (!uri[0])
        return err_coded(err, RC_INVAL, E3006, "'' is not a path");
    if (str_starts(uri, pai)) {
        uri += sizeof(pai) - 1;
        return from_dataset(r, arena_strndup(a, uri, strcspn(uri, "/")), c, err);
    }
    if (str_starts(uri, "dataset:"))
        return from_dataset(r, uri + strlen("dataset:"), c, err);
    if (job_bucket_is(uri))
        return job_bucket_plain(uri, a, path, err);
    if (str_starts(uri, SNAPSHOT_PREFIX)) {
        *path = arena_strdup(a, uri);
        return check_upload(uri, err);
    }
    if (is_table(uri)) {
        *path = arena_strdup(a, uri);
        return RC_OK;
    }
    const char *scheme = scheme_end(uri);
    if (scheme)
        return err_coded(err, RC_UNSUPPORTED, E3006,
                         "'%.200s': %.*s:// is not supported; give a path, "
                         "s3://, oss://, odps:// or dataset:NAME",
                         uri, (int)(scheme - uri), uri);
    char *full = fs_join(r->cwd, uri);
    *path = arena_strdup(a, full);
    mem_free(full);
    return RC_OK;
}

/* Looks at a path of this machine; a name that is no path may be a dataset's. */
static enum rc look_at(const struct resolving *r, const struct schema_kv_STR *kv,
                       struct job_channel *c, struct err *err)
{
    struct stat st;
    if (stat(c->path, &st) < 0) {
        int errnum = errno;
        struct err quiet = {0};
        if (errnum == ENOENT && !strchr(kv->value, '/') &&
            from_dataset(r, kv->value, c, &quiet) == RC_OK && c->path[0] != '/')
            return RC_OK;
        if (c->path[0] != '/' || stat(c->path, &st) < 0)
            return err_coded(err, RC_NOTFOUND, E3005, "input '%.100s': '%.300s': %s",
                             kv->key, c->path, strerror(errnum));
    }
    if (access(c->path, R_OK) < 0)
        return err_coded(err, RC_IO, E3005, "input '%.100s': '%.300s': %s", kv->key,
                         c->path, strerror(errno));
    c->is_file = !S_ISDIR(st.st_mode);
    return RC_OK;
}

static void place_upload(const struct resolving *r, struct job_channel *c,
                         const char *name)
{
    struct arena *a = &r->out->arena;
    const char *slash = strchr(c->path, '/');
    c->is_upload = true;
    c->is_file = slash != NULL;
    c->uri = slash ? arena_strndup(a, c->path, (size_t)(slash - c->path)) : c->path;
    c->path = r->dir ? arena_printf(a, "%s/remote/%s%s", r->dir, name, slash ? slash : "")
                     : NULL;
}

/* An address becomes the place where its copy will lie: below the job's directory. */
static void place_copy(const struct resolving *r, struct job_channel *c, const char *name)
{
    struct arena *a = &r->out->arena;
    const char *slash = strrchr(c->path, '/');
    c->uri = c->path;
    c->is_table = is_table(c->uri);
    c->is_file = !c->is_table && slash[1] != '\0';
    c->path = NULL;
    if (!r->dir || c->is_table)
        return;
    c->path = c->is_file ? arena_printf(a, "%s/remote/%s/%s", r->dir, name, slash + 1)
                         : arena_printf(a, "%s/remote/%s", r->dir, name);
}

static enum rc resolve_input(const struct resolving *r, const struct schema_kv_STR *kv,
                             struct err *err)
{
    struct job_channel c = {.kind = CHANNEL_INPUT, .name = kv->key};
    enum rc rc = check_name(kv->key, err);
    if (!rc)
        rc = path_of(r, kv->value, &c, err);
    if (rc)
        return err_wrap(err, rc, "input '%.100s'", kv->key);
    if (c.path[0] == '/')
        rc = look_at(r, kv, &c, err);
    if (rc)
        return rc;
    if (str_starts(c.path, SNAPSHOT_PREFIX))
        place_upload(r, &c, kv->key);
    else if (c.path[0] != '/')
        place_copy(r, &c, kv->key);
    c.mount = arena_printf(&r->out->arena, "input/data/%s", kv->key);
    VEC_PUSH(&r->out->list, c);
    return RC_OK;
}

static struct job_channel *find_output(struct job_channels *out, const char *name)
{
    for (size_t i = 0; i < out->list.n; i++)
        if (out->list.at[i].kind == CHANNEL_OUTPUT &&
            strcmp(out->list.at[i].name, name) == 0)
            return &out->list.at[i];
    return NULL;
}

static void add_output(struct job_channels *out, const char *name)
{
    struct job_channel c = {.kind = CHANNEL_OUTPUT,
                            .name = name,
                            .mount = arena_printf(&out->arena, "output/%s", name)};
    VEC_PUSH(&out->list, c);
}

/* A channel of the job's own, as model is. */
static struct job_channel *own_output(struct job_channels *out, const char *name)
{
    if (!find_output(out, name))
        add_output(out, name);
    return find_output(out, name);
}

/* The directory is made here, so that a job does not find out hours later. */
static enum rc resolve_output(const struct resolving *r, const struct schema_kv_STR *kv,
                              struct err *err)
{
    enum rc rc = check_name(kv->key, err);
    struct job_channels *out = r->out;
    struct job_channel from = {.path = NULL};
    const char *name = kv->key;
    if (strcmp(name, "logs") == 0)
        name = "tensorboard"; /* the other name of the same thing */
    if (!rc && !kv->value[0]) {
        own_output(out, name);
        return RC_OK;
    }
    if (!rc)
        rc = path_of(r, kv->value, &from, err);
    const char *path = from.path;
    if (!rc && (is_table(path) || str_starts(path, SNAPSHOT_PREFIX)))
        rc = err_coded(
            err, RC_UNSUPPORTED, E3006,
            is_table(path)
                ? "'%.200s': jobs write to tables themselves; give a directory, s3:// "
                  "or oss://"
                : "'%.200s': an output goes to a directory, s3:// or oss://",
            path);
    bool remote = !rc && job_bucket_is(path);
    if (!rc && !remote && from.read_only)
        rc = err_coded(
            err, RC_INVAL, E3303,
            "'%.100s' is a read-only dataset; an administrator can register it with "
            "--writable",
            kv->value);
    if (!rc && !remote && (fs_mkdirs(path, 0755, err) || access(path, W_OK) < 0))
        rc = err_coded(err, RC_IO, E3007, "'%.300s': %s", path, strerror(errno));
    if (rc)
        return err_wrap(err, rc, "output '%.100s'", kv->key);
    struct job_channel *to = own_output(out, name);
    to->guarded = from.guarded;
    to->writable = from.writable;
    if (remote)
        to->uri = str_ends(path, "/") ? path : arena_printf(&out->arena, "%s/", path);
    else
        to->path = path;
    return RC_OK;
}

/* What is made for each job, and what the machine's programs look at. */
static bool is_system(const char *mount)
{
    static const char *const tops[] = {"proc", "sys", "dev", "run"};
    struct str rest = str_c(mount), part = {0};
    while (rest.n && str_split(&rest, '/', &part))
        if (part.n && !str_is(part, "."))
            break;
    for (size_t i = 0; i < ARRAY_LEN(tops); i++)
        if (str_is(part, tops[i]))
            return true;
    return false;
}

bool job_inputs_place_ok(const char *mount)
{
    for (const char *c = mount; *c; c++)
        if ((unsigned char)*c < ' ' || strchr(":,\"", *c))
            return false;
    return mount[0] == '/' && mount[1] && !strstr(mount, "..") && !is_system(mount);
}

/* NAME, NAME:/mount, DLC's id:version:/mount, or a path or address with its mount. */
static enum rc dataset_of(const struct resolving *r, const char *text,
                          struct job_channel *c, struct err *err)
{
    struct arena *a = &r->out->arena;
    const char *colon = strchr(text, ':'), *last = strrchr(text, ':');
    if ((text[0] == '/' && colon) || (job_bucket_is(text) && last != colon)) {
        c->name = arena_strndup(a, text, (size_t)(last - text));
        c->path = c->name;
        c->mount = last + 1;
        if (job_bucket_is(c->path) && !str_ends(c->path, "/"))
            c->path = arena_printf(a, "%s/", c->path);
        return RC_OK;
    }
    if (text[0] == '/' || job_bucket_is(text))
        return err_coded(err, RC_INVAL, E3301,
                         "'%.200s' has no mount path: write %.200s:/mnt/data, or name it "
                         "with `trainyard dataset create`",
                         text, text);
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    c->name = arena_strndup(a, text, n);
    if (!n)
        return err_coded(err, RC_INVAL, E3301,
                         "'%.200s' names no dataset: write NAME or NAME:/mount/path",
                         text);
    enum rc rc = from_dataset(r, c->name, c, err);
    bool version = colon && last == colon && strspn(last + 1, "v0123456789") > 0 &&
                   !last[1 + strspn(last + 1, "v0123456789")]; /* DLC's, without mount */
    if (last && !version)
        c->mount = last + 1;
    return rc;
}

static enum rc resolve_dataset(const struct resolving *r, const char *text, int64_t index,
                               struct err *err)
{
    struct arena *a = &r->out->arena;
    struct job_channel c = {.kind = CHANNEL_DATASET};
    enum rc rc = dataset_of(r, text, &c, err);
    if (rc)
        return rc;
    if (!c.mount || !job_inputs_place_ok(c.mount))
        return err_coded(
            err, RC_INVAL, E3301,
            "dataset '%.100s': '%.100s' is not a mount path: " JOB_PLACE_RULE, c.name,
            c.mount ? c.mount : "");
    if (is_table(c.path))
        return err_coded(err, RC_UNSUPPORTED, E3006,
                         "dataset '%.100s' is a table, which cannot be mounted; use "
                         "--input NAME=dataset:%.100s",
                         c.name, c.name);
    if (job_bucket_is(c.path))
        place_copy(r, &c, arena_printf(a, ".data-%jd", (intmax_t)index));
    else if (!fs_exists(c.path))
        return err_coded(err, RC_NOTFOUND, E3005,
                         "dataset '%.100s': '%.300s': No such file or directory", c.name,
                         c.path);
    c.mount = arena_strdup(a, c.mount);
    VEC_PUSH(&r->out->list, c);
    return RC_OK;
}

enum rc job_channels_resolve(const struct job_place *p, const char *owner,
                             const struct job_spec *s, const char *cwd, const char *dir,
                             struct job_channels *out, struct err *err)
{
    struct job_channels c = {0};
    struct resolving r = {.p = p, .owner = owner, .cwd = cwd, .dir = dir, .out = &c};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
        add_output(&c, outputs[i]);
    for (int64_t i = 0; i < s->s->n_input && !rc; i++)
        rc = resolve_input(&r, &s->s->input[i], err);
    for (int64_t i = 0; i < s->s->n_output && !rc; i++)
        rc = resolve_output(&r, &s->s->output[i], err);
    for (int64_t i = 0; i < s->s->n_data && !rc; i++)
        rc = resolve_dataset(&r, s->s->data[i], i, err);
    if (rc) {
        job_channels_release(&c);
        return rc;
    }
    *out = c;
    return RC_OK;
}

bool job_channels_remote(const struct job_channels *c, enum job_channel_kind kind)
{
    for (size_t i = 0; i < c->list.n; i++)
        if (c->list.at[i].uri && !c->list.at[i].is_table && c->list.at[i].kind == kind)
            return true;
    return false;
}

bool job_channels_tables(const struct job_channels *c)
{
    for (size_t i = 0; i < c->list.n; i++)
        if (c->list.at[i].is_table)
            return true;
    return false;
}

void job_channels_release(struct job_channels *c)
{
    VEC_RELEASE(&c->list);
    arena_release(&c->arena);
    *c = (struct job_channels){0};
}
