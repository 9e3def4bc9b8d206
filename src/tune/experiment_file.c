/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.json and log.jsonl: made, and read back. The settings are written once, when
 * the experiment is made; opening it reads them, makes the built-in tuner and assessor,
 * and applies the log line by line. The settings point into the parsed document, which
 * stays until the experiment is closed. Python classes are not started here: who only
 * looks needs none. A last line without its end is no error: it may be half written right
 * now by a manager, while this process only looks.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fs.h"
#include "text/json.h"
#include "tune/experiment_private.h"

#define SETTINGS_MAX ((size_t)64 << 20)
#define LOG_MAX ((size_t)4 << 30)

static void put_text(struct buf *b, const char *key, const char *v)
{
    buf_printf(b, " \"%s\": ", key);
    if (v)
        buf_json_str(b, v, strlen(v));
    else
        buf_puts(b, "null");
    buf_puts(b, ",\n");
}

static void put_int(struct buf *b, const char *key, int64_t v)
{
    buf_printf(b, " \"%s\": %jd,\n", key, (intmax_t)v);
}

static void put_node(struct buf *b, const char *key, const struct node *v)
{
    buf_printf(b, " \"%s\": ", key);
    if (v)
        json_print(v, 0, b);
    else
        buf_puts(b, "null");
    buf_puts(b, ",\n");
}

void experiment_settings_print(const struct exp_settings *s, struct buf *b)
{
    buf_puts(b, "{\n");
    put_text(b, "id", s->id);
    put_text(b, "name", s->name);
    put_text(b, "config", s->config);
    put_text(b, "command", s->command);
    put_text(b, "code_dir", s->code_dir);
    if (s->project && *s->project)
        put_text(b, "project", s->project);
    if (s->owner && *s->owner) {
        put_text(b, "owner", s->owner);
        put_text(b, "source", s->source);
    }
    put_int(b, "gpu", s->gpu);
    put_node(b, "job", s->job);
    put_text(b, "tuner", s->tuner);
    put_text(b, "tuner_class", s->tuner_class);
    put_text(b, "tuner_dir", s->tuner_dir);
    put_text(b, "python", s->python);
    put_node(b, "tuner_args", s->tuner_args);
    put_text(b, "assessor", s->assessor);
    put_text(b, "assessor_class", s->assessor_class);
    put_text(b, "assessor_dir", s->assessor_dir);
    put_node(b, "assessor_args", s->assessor_args);
    put_int(b, "seed", (int64_t)s->seed);
    put_int(b, "created", s->created);
    put_int(b, "concurrency", s->limits.concurrency);
    put_int(b, "trials", s->limits.trials);
    put_int(b, "seconds", s->limits.seconds);
    put_int(b, "trial_seconds", s->limits.trial_seconds);
    tune_objectives_print(&s->objectives, b);
    put_node(b, "space", s->space);
    buf_puts(b, " \"version\": 1\n}\n");
}

void experiment_new_id(char out[EXP_ID_SIZE])
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char r[8];
    if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r)) {
        int64_t t = clock_wall_ns();
        memcpy(r, &t, sizeof(r));
    }
    for (size_t i = 0; i < sizeof(r); i++)
        out[i] = chars[r[i] % 36];
    out[sizeof(r)] = '\0';
}

enum rc experiment_create(const char *dir, const struct exp_settings *set,
                          struct err *err)
{
    char *path = fs_join(dir, "experiment.json"), *trials = fs_join(dir, "trials");
    struct buf b;
    buf_init(&b, SETTINGS_MAX);
    enum rc rc = RC_OK;
    if (fs_exists(path))
        rc = err_coded(err, RC_INVAL, E4004, "'%s' already contains an experiment", dir);
    if (!rc)
        rc = fs_mkdirs(trials, 0755, err);
    if (!rc) {
        experiment_settings_print(set, &b);
        rc = buf_check(&b, err);
    }
    if (!rc)
        rc = fs_write(path, b.p, b.n, 0600, err);
    buf_release(&b);
    mem_free(path);
    mem_free(trials);
    return rc;
}

enum rc experiment_settings_read(const struct node *n, struct exp_settings *s,
                                 struct err *err)
{
    const char *id = node_get_text(n, "id", NULL);
    *s = (struct exp_settings){
        .name = node_get_text(n, "name", NULL),
        .config = node_get_text(n, "config", NULL),
        .command = node_get_text(n, "command", NULL),
        .code_dir = node_get_text(n, "code_dir", NULL),
        .owner = node_get_text(n, "owner", ""),
        .project = node_get_text(n, "project", ""),
        .source = node_get_text(n, "source", ""),
        .gpu = node_get_int(n, "gpu", 0),
        .job = node_get_map(n, "job"),
        .tuner = node_get_text(n, "tuner", NULL),
        .tuner_class = node_get_text(n, "tuner_class", NULL),
        .tuner_dir = node_get_text(n, "tuner_dir", ""),
        .assessor_class = node_get_text(n, "assessor_class", NULL),
        .assessor_dir = node_get_text(n, "assessor_dir", ""),
        .python = node_get_text(n, "python", "python3"),
        .tuner_args = node_get_map(n, "tuner_args"),
        .assessor = node_get_text(n, "assessor", NULL),
        .assessor_args = node_get_map(n, "assessor_args"),
        .space = node_get_map(n, "space"),
        .seed = (uint64_t)node_get_int(n, "seed", 0),
        .created = node_get_int(n, "created", 0),
        .limits = {node_get_int(n, "concurrency", 0), node_get_int(n, "trials", 0),
                   node_get_int(n, "seconds", 0), node_get_int(n, "trial_seconds", 0)},
    };
    if (!id || strlen(id) >= EXP_ID_SIZE || !s->command || !s->code_dir ||
        (!s->tuner && !s->tuner_class) || !s->space || s->limits.concurrency < 1)
        return err_coded(err, RC_FORMAT, E4005,
                         "experiment.json lacks id, command, code_dir, tuner, space or "
                         "concurrency");
    memcpy(s->id, id, strlen(id) + 1);
    s->name = s->name ? s->name : "";
    s->config = s->config ? s->config : "";
    tune_objectives_from(n, &s->objectives);
    return RC_OK;
}

static enum rc open_settings(struct experiment *e, struct err *err)
{
    char *path = fs_join(e->dir, "experiment.json");
    struct diags diags = {0};
    enum rc rc = source_open(path, &e->doc.src, err);
    if (rc == RC_NOTFOUND)
        rc = err_coded(err, RC_NOTFOUND, E4005, "there is no experiment in '%s'", e->dir);
    if (!rc && json_parse(&e->doc, &diags))
        rc = err_coded(err, RC_FORMAT, E4005, "'%s' is not JSON: %s", path,
                       diags.list.n ? diags.list.at[0].msg : "");
    if (!rc)
        rc = experiment_settings_read(e->doc.root, &e->set, err);
    e->space_tree = e->set.space;
    if (!rc && !e->set.tuner_class &&
        nni_space_build(e->set.space, &e->arena, &diags, &e->space))
        rc = err_coded(err, RC_FORMAT, E4005, "'%s': %s", path,
                       diags.list.n ? diags.list.at[0].msg : "no search space");
    diags_release(&diags);
    mem_free(path);
    return rc;
}

enum rc experiment_peek(const char *dir, struct exp_peek *out, struct err *err)
{
    char *path = fs_join(dir, "experiment.json");
    struct doc d = {0};
    struct diags diags = {0};
    enum rc rc = source_open(path, &d.src, err);
    if (!rc)
        rc = json_parse(&d, &diags);
    const char *found = rc ? NULL : node_get_text(d.root, "id", NULL);
    if (rc || !found || strlen(found) >= EXP_ID_SIZE)
        rc = err_coded(err, rc == RC_NOTFOUND ? rc : RC_FORMAT, E4005,
                       "there is no experiment in '%s'", dir);
    if (!rc) {
        *out = (struct exp_peek){.created = node_get_int(d.root, "created", 0)};
        snprintf(out->id, sizeof(out->id), "%s", found);
        snprintf(out->owner, sizeof(out->owner), "%s",
                 node_get_text(d.root, "owner", ""));
        snprintf(out->project, sizeof(out->project), "%s",
                 node_get_text(d.root, "project", ""));
        snprintf(out->source, sizeof(out->source), "%s",
                 node_get_text(d.root, "source", ""));
    }
    diags_release(&diags);
    doc_release(&d);
    mem_free(path);
    return rc;
}

enum rc experiment_make_tuner(struct experiment *e, struct err *err)
{
    char *checkpoint = fs_join(e->dir, "checkpoint");
    bool maximize[TUNE_OBJECTIVES_MAX];
    for (int64_t i = 0; i < e->set.objectives.n; i++)
        maximize[i] = e->set.objectives.at[i].maximize;
    struct tuner_conf conf = {.name = e->set.tuner,
                              .args = e->set.tuner_args,
                              .space = &e->space,
                              .seed = e->set.seed,
                              .asked = (int64_t)e->trials.n,
                              .checkpoint_dir = checkpoint,
                              .n_objectives = e->set.objectives.n,
                              .maximize = maximize};
    enum rc rc = tuner_create(&conf, &e->tuner, err);
    mem_free(checkpoint);
    return rc;
}

static enum rc open_algorithms(struct experiment *e, struct err *err)
{
    enum rc rc = e->set.tuner_class ? RC_OK : experiment_make_tuner(e, err);
    if (!rc && e->set.assessor && !e->set.assessor_class)
        rc = assessor_create(&(struct assessor_conf){.name = e->set.assessor,
                                                     .args = e->set.assessor_args,
                                                     .experiment = e->set.id},
                             &e->assessor, err);
    return rc;
}

static enum rc read_line(struct experiment *e, const char *line, size_t n,
                         experiment_log_fn *fn, struct err *err)
{
    struct doc d = {0};
    struct err why = {0};
    enum rc rc = json_read("it", line, n, &d, &why);
    if (rc)
        rc = err_coded(err, RC_FORMAT, E4005, "%s", why.msg);
    if (!rc)
        rc = fn(e, d.root, err);
    doc_release(&d);
    return rc;
}

/* Lines that end; a tail without its end was being written when the machine stopped, or
 * is being written now by the manager, while somebody else only looks. Who adds the next
 * line cuts it off.
 */
enum rc experiment_each(struct experiment *e, experiment_log_fn *fn, struct err *err)
{
    char *path = fs_join(e->dir, "log.jsonl"), *data = NULL;
    size_t n = 0, at = 0;
    int64_t line = 1;
    struct err own = {0};
    enum rc rc = RC_OK;
    err = err ? err : &own;
    if (fs_exists(path))
        rc = fs_read(path, LOG_MAX, &data, &n, err);
    while (!rc && at < n) {
        const char *end = memchr(data + at, '\n', n - at);
        if (!end)
            break;
        rc = read_line(e, data + at, (size_t)(end - data) - at, fn, err);
        if (rc)
            err_wrap(err, rc, "'%s', line %jd", path, (intmax_t)line);
        at = (size_t)(end - data) + 1;
        line++;
    }
    e->torn_at = !rc && at < n ? (int64_t)at : -1;
    mem_free(data);
    mem_free(path);
    return rc;
}

enum rc experiment_open(const char *dir, struct experiment **out, struct err *err)
{
    struct experiment *e = mem_calloc(1, sizeof(*e));
    e->dir = mem_strdup(dir);
    e->best = e->torn_at = -1;
    e->error = "";
    enum rc rc = open_settings(e, err);
    if (!rc)
        rc = open_algorithms(e, err);
    e->limits = e->set.limits;
    if (!rc)
        rc = experiment_each(e, experiment_apply, err);
    if (rc) {
        experiment_close(e);
        return rc;
    }
    *out = e;
    return RC_OK;
}

void experiment_close(struct experiment *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->trials.n; i++)
        VEC_RELEASE(&e->trials.at[i].results);
    VEC_RELEASE(&e->trials);
    tuner_destroy(e->tuner);
    assessor_destroy(e->assessor);
    tune_custom_stop(e->custom_tuner);
    tune_custom_stop(e->custom_assessor);
    doc_release(&e->doc);
    arena_release(&e->arena);
    mem_free(e->dir);
    mem_free(e);
}
