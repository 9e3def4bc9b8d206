/* SPDX-License-Identifier: Apache-2.0 */
/* The tree below /ml is made by one function, the variables by another; both go through the
 * spec's lists in their order, so a job sees the same on every backend. Variables are kept
 * as a list in which a later value of a name takes the place of the earlier one: the
 * environment of the submission comes first, then the contract's, then the job's own.
 */
#include "job/contract.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/hp.h"
#include "job/quote.h"

static enum rc make_dir(const char *ml, const char *sub, struct err *err)
{
    char *path = fs_join(ml, sub);
    enum rc rc = fs_mkdirs(path, 0755, err);
    mem_free(path);
    return rc;
}

static enum rc write_file(const char *ml, const char *sub, const char *text, size_t n,
                          struct err *err)
{
    char *path = fs_join(ml, sub);
    enum rc rc = job_file_put(path, text, n, 0644, err);
    mem_free(path);
    return rc;
}

static enum rc make_link(const char *target, const char *path, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rmdir(path); /* an empty place of another view */
    else
        unlink(path);
    if (symlink(target, path) < 0)
        return err_sys(err, errno, "cannot link '%s'", path);
    return RC_OK;
}

/* The place of one channel in the tree. */
static enum rc stage_channel(const char *ml, const struct job_channel *c, bool links,
                             struct err *err)
{
    char *dir = fs_join(ml, c->mount);
    enum rc rc = RC_OK;
    if (c->path && links && !c->is_file) {
        rc = make_link(c->path, dir, err);
        mem_free(dir);
        return rc;
    }
    struct stat st;
    if (lstat(dir, &st) == 0 && S_ISLNK(st.st_mode))
        unlink(dir);
    rc = fs_mkdirs(dir, 0755, err);
    if (!rc && c->is_file) {
        char *base = fs_basename(c->path), *file = fs_join(dir, base);
        if (links)
            rc = make_link(c->path, file, err);
        else
            rc = job_file_put(file, "", 0, 0644, err);
        mem_free(base);
        mem_free(file);
    }
    mem_free(dir);
    return rc;
}

static enum rc write_config(const char *ml, const struct job_spec *s, struct err *err)
{
    struct buf b;
    buf_init(&b, 64 << 20);
    job_hp_json(s->hp, s->n_hp, &b);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = write_file(ml, "input/config/hyperparameters.json", buf_str(&b), b.n, err);
    buf_clear(&b);
    job_hp_args_json(s->hp, s->n_hp, &b);
    if (!rc)
        rc = write_file(ml, "input/config/user_args.json", buf_str(&b), b.n, err);
    buf_clear(&b);
    if (s->shell)
        buf_puts(&b, s->shell);
    for (size_t i = 0; s->argv && s->argv[i]; i++) {
        buf_puts(&b, i ? " " : "");
        job_quote_shell(str_c(s->argv[i]), &b);
    }
    if (!rc)
        rc = write_file(ml, "input/config/execution/command.sh", buf_str(&b), b.n, err);
    buf_release(&b);
    return rc;
}

enum rc job_contract_stage(const char *ml, const struct job_spec *s,
                           const struct job_channels *c, bool links, struct err *err)
{
    static const char *const dirs[] = {"usercode", "input/config/execution", "input/data",
                                       "output/output_parameters"};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(dirs) && !rc; i++)
        rc = make_dir(ml, dirs[i], err);
    for (size_t i = 0; i < c->list.n && !rc; i++)
        if (c->list.at[i].kind != CHANNEL_DATASET)
            rc = stage_channel(ml, &c->list.at[i], links, err);
    if (!rc) {
        char *logs = fs_join(ml, "output/logs");
        rc = make_link("tensorboard", logs, err);
        mem_free(logs);
    }
    return rc ? rc : write_config(ml, s, err);
}

void job_contract_mounts(const char *ml, const struct job_channels *c,
                         struct job_contract_mounts *out)
{
    for (size_t i = 0; i < c->list.n; i++) {
        const struct job_channel *ch = &c->list.at[i];
        if (!ch->path)
            continue;
        struct job_contract_mount m = {.from = ch->path,
                                       .to = ch->mount,
                                       .read_only = ch->kind == CHANNEL_INPUT ||
                                                    ch->uri || ch->read_only,
                                       .is_file = ch->is_file};
        if (ch->is_file) {
            char *base = fs_basename(ch->path);
            m.to = arena_printf(&out->arena, "/ml/%s/%s", ch->mount, base);
            mem_free(base);
        } else if (ch->kind != CHANNEL_DATASET) {
            m.to = arena_printf(&out->arena, "/ml/%s", ch->mount);
        }
        VEC_PUSH(&out->list, m);
    }
}

void job_contract_mounts_release(struct job_contract_mounts *m)
{
    VEC_RELEASE(&m->list);
    arena_release(&m->arena);
    *m = (struct job_contract_mounts){0};
}

static size_t find(const struct job_contract_env *e, const char *name, size_t n)
{
    size_t i = 0;
    for (; i < e->list.n; i++)
        if (e->list.at[i] && strncmp(e->list.at[i], name, n) == 0 &&
            e->list.at[i][n] == '=')
            break;
    return i;
}

void job_contract_env_put(struct job_contract_env *e, const char *name, const char *value)
{
    const char *entry = arena_printf(&e->arena, "%s=%s", name, value);
    size_t i = find(e, name, strlen(name));
    if (i < e->list.n)
        e->list.at[i] = entry;
    else
        VEC_PUSH(&e->list, entry);
}

const char *job_contract_env_get(const struct job_contract_env *e, const char *name)
{
    size_t i = find(e, name, strlen(name));
    return i < e->list.n ? e->list.at[i] + strlen(name) + 1 : NULL;
}

const char *const *job_contract_env_list(struct job_contract_env *e)
{
    VEC_RESERVE(&e->list);
    e->list.at[e->list.n] = NULL;
    return e->list.at;
}

void job_contract_env_release(struct job_contract_env *e)
{
    VEC_RELEASE(&e->list);
    VEC_RELEASE(&e->warnings);
    arena_release(&e->arena);
    *e = (struct job_contract_env){0};
}

static void put_int(struct job_contract_env *e, const char *name, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%jd", (intmax_t)v);
    job_contract_env_put(e, name, text);
}

static void warn(struct job_contract_env *e, const char *text)
{
    VEC_PUSH(&e->warnings, text);
}

/* PREFIX and the mangled name. */
static void put_mangled(struct job_contract_env *e, const char *prefix, const char *name,
                        const char *value)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_puts(&b, prefix);
    job_quote_mangle(str_c(name), &b);
    if (job_contract_env_get(e, buf_str(&b)))
        warn(e, arena_printf(&e->arena, "two names become the variable %s; '%s' counts",
                             buf_str(&b), name));
    job_contract_env_put(e, buf_str(&b), value);
    buf_release(&b);
}

static void put_bounded(struct job_contract_env *e, const char *name, struct buf *value)
{
    if (value->n <= CONTRACT_VARIABLE_MAX)
        job_contract_env_put(e, name, buf_str(value));
    else
        warn(e, arena_printf(&e->arena,
                             "%s is longer than %d KiB and not set; the files in "
                             "PAI_CONFIG_DIR hold the values",
                             name, CONTRACT_VARIABLE_MAX >> 10));
    buf_clear(value);
}

static bool mentions_args(const struct job_spec *s)
{
    return s->shell && strstr(s->shell, "$PAI_USER_ARGS") && !strstr(s->shell, "eval");
}

static void put_hps(struct job_contract_env *e, const struct job_spec *s,
                    const char *root)
{
    struct buf b;
    buf_init(&b, 64 << 20);
    for (size_t i = 0; i < s->n_hp; i++) {
        put_mangled(e, "PAI_HPS_", s->hp[i].name, s->hp[i].value);
        if (!job_quote_is_plain(str_c(s->hp[i].value)) && mentions_args(s))
            warn(e,
                 arena_printf(&e->arena,
                              "hyper-parameter '%s' needs quotes, which a shell does not "
                              "undo in a bare $PAI_USER_ARGS; use eval, or PAI_HPS_*",
                              s->hp[i].name));
    }
    job_hp_json(s->hp, s->n_hp, &b);
    put_bounded(e, "PAI_HPS", &b);
    job_hp_args(s->hp, s->n_hp, &b);
    put_bounded(e, "PAI_USER_ARGS", &b);
    buf_printf(&b, "%s/input/config/user_args.json", root);
    put_bounded(e, "PAI_USER_ARGS_FILE", &b);
    buf_printf(&b, "%s/input/config/", root);
    put_bounded(e, "PAI_CONFIG_DIR", &b);
    buf_release(&b);
}

/* The other name of the same channel: a link in the tree. */
static void put_logs(struct job_contract_env *e, const char *root)
{
    char *path = mem_printf("%s/output/logs/", root);
    job_contract_env_put(e, "PAI_OUTPUT_LOGS", path);
    mem_free(path);
}

static void put_channels(struct job_contract_env *e, const struct job_channels *c,
                         const char *root)
{
    for (size_t i = 0; i < c->list.n; i++) {
        const struct job_channel *ch = &c->list.at[i];
        char *path = NULL;
        if (ch->kind == CHANNEL_DATASET)
            continue;
        if (ch->is_file) {
            char *base = fs_basename(ch->path);
            path = mem_printf("%s/%s/%s", root, ch->mount, base);
            mem_free(base);
        } else {
            path = mem_printf("%s/%s/", root, ch->mount);
        }
        put_mangled(e, ch->kind == CHANNEL_INPUT ? "PAI_INPUT_" : "PAI_OUTPUT_", ch->name,
                    path);
        if (ch->kind == CHANNEL_OUTPUT && strcmp(ch->name, "tensorboard") == 0)
            put_logs(e, root);
        mem_free(path);
    }
}

/* {"cluster": {"worker": ["host:port", ...]}, ...}: every worker has a port of its own.
 * An evaluator looks on from outside.
 */
static void put_tf_config(struct job_contract_env *e, const struct job_spec *s,
                          const struct job_contract_worker *w)
{
    struct buf b;
    int64_t index, worker = 0, port = w->port;
    bool any = false;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "{\"cluster\": {");
    for (size_t i = 0; i < s->n_roles; i++) {
        const struct job_spec_role *r = &s->roles[i];
        bool inside = strcmp(r->name, "evaluator") != 0;
        if (inside)
            buf_printf(&b, "%s\"%s\": [", any ? ", " : "", r->name);
        for (int64_t k = 0; k < r->count; k++, port++, worker++)
            if (inside)
                buf_printf(&b, "%s\"%s:%jd\"", k ? ", " : "", w->hosts[worker],
                           (intmax_t)port);
        buf_puts(&b, inside ? "]" : "");
        any |= inside;
    }
    const struct job_spec_role *own = job_spec_role_of(s, w->index, &index);
    buf_printf(&b,
               "}, \"task\": {\"type\": \"%s\", \"index\": %jd}, \"environment\": "
               "\"cloud\"}",
               own->name, (intmax_t)index);
    put_bounded(e, "TF_CONFIG", &b);
    buf_release(&b);
}

static void put_distributed(struct job_contract_env *e, const struct job_spec *s,
                            const struct job_contract_worker *w)
{
    int64_t in_role;
    const struct job_spec_role *role = job_spec_role_of(s, w->index, &in_role);
    job_contract_env_put(e, "MASTER_ADDR", w->hosts[0]);
    put_int(e, "MASTER_PORT", w->port);
    put_int(e, "WORLD_SIZE", w->count); /* nodes, as DLC means it */
    put_int(e, "RANK", w->index);
    put_int(e, "NNODES", w->count);
    put_int(e, "NODE_RANK", w->index);
    put_int(e, "NPROC_PER_NODE", role->nproc);
    job_contract_env_put(e, "TRAINYARD_ROLE", role->name);
    put_int(e, "TRAINYARD_ROLE_INDEX", in_role);
    if (strcmp(s->s->job_type, "TFJob") == 0)
        put_tf_config(e, s, w);
    if (strcmp(s->s->job_type, "XGBoostJob") == 0) {
        job_contract_env_put(e, "DMLC_TRACKER_URI", w->hosts[0]);
        put_int(e, "DMLC_TRACKER_PORT", w->port);
        put_int(e, "DMLC_TASK_ID", w->index);
        put_int(e, "DMLC_NUM_WORKER", w->count);
    }
    if (w->gpus) {
        job_contract_env_put(e, "CUDA_DEVICE_ORDER",
                             "PCI_BUS_ID"); /* as they are counted */
        job_contract_env_put(e, "CUDA_VISIBLE_DEVICES", w->gpus);
    }
}

static void put_array(struct job_contract_env *e, const struct job_spec *s)
{
    struct jobspec_array_element a;
    if (!s->s->has_array_element ||
        !jobspec_array_element_read(str_c(s->s->array_element), &a))
        return;
    job_contract_env_put(e, "TRAINYARD_ARRAY_ID", a.id);
    put_int(e, "TRAINYARD_ARRAY_INDEX", a.index);
    put_int(e, "TRAINYARD_ARRAY_COUNT", a.count);
}

void job_contract_env_fill(struct job_contract_env *e, const struct job_spec *s,
                           const struct job_channels *c,
                           const struct job_contract_worker *w)
{
    char *work = mem_printf("%s/", w->work);
    put_hps(e, s, w->root);
    put_channels(e, c, w->root);
    job_contract_env_put(e, "PAI_WORKING_DIR", work);
    mem_free(work);
    if (job_channels_tables(c)) {
        char *key = mem_printf("%s/input/credential/odps.json", w->root);
        job_contract_env_put(e, "PAI_ODPS_CREDENTIAL", key);
        mem_free(key);
    }
    put_distributed(e, s, w);
    job_contract_env_put(e, "TRAINYARD_JOB_ID", w->job);
    job_contract_env_put(e, "DLC_JOB_ID", w->job);
    for (int64_t i = 0; i < s->s->n_extra; i++) /* the SDK finds out by it where it is */
        if (strcmp(s->s->extra[i].key, "workspace_id") == 0)
            job_contract_env_put(e, "PAI_WORKSPACE_ID", s->s->extra[i].value);
    put_array(e, s);
    put_int(e, "TRAINYARD_ATTEMPT", w->attempt);
    put_int(e, "TRAINYARD_WORKER", w->index);
    put_int(e, "TRAINYARD_RESTART_COUNT", w->restarts);
    job_contract_env_put(e, "PYTHONUNBUFFERED", "1");
    for (int64_t i = 0; i < s->s->n_env; i++)
        job_contract_env_put(e, s->s->env[i].key, s->s->env[i].value);
}
