/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.json and log.jsonl: made, and read back. */
#include <string.h>
#include <unistd.h>

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

static void print_settings(const struct exp_settings *s, struct buf *b)
{
    buf_puts(b, "{\n");
    put_text(b, "id", s->id);
    put_text(b, "name", s->name);
    put_text(b, "config", s->config);
    put_text(b, "command", s->command);
    put_text(b, "code_dir", s->code_dir);
    put_int(b, "gpu", s->gpu);
    put_text(b, "backend", s->backend);
    put_text(b, "image", s->image);
    put_text(b, "tuner", s->tuner);
    put_node(b, "tuner_args", s->tuner_args);
    put_text(b, "assessor", s->assessor);
    put_node(b, "assessor_args", s->assessor_args);
    put_int(b, "seed", (int64_t)s->seed);
    put_int(b, "created", s->created);
    put_int(b, "concurrency", s->limits.concurrency);
    put_int(b, "trials", s->limits.trials);
    put_int(b, "seconds", s->limits.seconds);
    put_int(b, "trial_seconds", s->limits.trial_seconds);
    put_node(b, "space", s->space);
    buf_puts(b, " \"version\": 1\n}\n");
}

enum rc experiment_create(const char *dir, const struct exp_settings *set,
                          struct err *err)
{
    char *path = fs_join(dir, "experiment.json"), *trials = fs_join(dir, "trials");
    struct buf b;
    buf_init(&b, SETTINGS_MAX);
    enum rc rc = RC_OK;
    if (fs_exists(path))
        rc = err_coded(err, RC_INVAL, E4004, "there is an experiment in '%s' already",
                       dir);
    if (!rc)
        rc = fs_mkdirs(trials, 0755, err);
    if (!rc) {
        print_settings(set, &b);
        rc = buf_check(&b, err);
    }
    if (!rc)
        rc = fs_write(path, b.p, b.n, 0600, err);
    buf_release(&b);
    mem_free(path);
    mem_free(trials);
    return rc;
}

static const char *text_of(const struct node *n, const char *key)
{
    const struct node *v = node_find(n, key);
    return v && v->kind == NODE_STR ? v->text.p : NULL;
}

static int64_t int_of(const struct node *n, const char *key)
{
    const struct node *found = node_find(n, key);
    int64_t v = 0;
    return found && node_i64(found, &v) ? v : 0;
}

static const struct node *map_of(const struct node *n, const char *key)
{
    const struct node *v = node_find(n, key);
    return v && v->kind == NODE_MAP ? v : NULL;
}

static enum rc read_settings(const struct node *n, struct exp_settings *s,
                             struct err *err)
{
    const char *id = text_of(n, "id");
    *s = (struct exp_settings){
        .name = text_of(n, "name"),
        .config = text_of(n, "config"),
        .command = text_of(n, "command"),
        .code_dir = text_of(n, "code_dir"),
        .gpu = int_of(n, "gpu"),
        .backend = text_of(n, "backend"),
        .image = text_of(n, "image"),
        .tuner = text_of(n, "tuner"),
        .tuner_args = map_of(n, "tuner_args"),
        .assessor = text_of(n, "assessor"),
        .assessor_args = map_of(n, "assessor_args"),
        .space = map_of(n, "space"),
        .seed = (uint64_t)int_of(n, "seed"),
        .created = int_of(n, "created"),
        .limits = {int_of(n, "concurrency"), int_of(n, "trials"), int_of(n, "seconds"),
                   int_of(n, "trial_seconds")},
    };
    if (!id || strlen(id) >= EXP_ID_SIZE || !s->command || !s->code_dir || !s->tuner ||
        !s->space || s->limits.concurrency < 1)
        return err_coded(err, RC_FORMAT, E4005,
                         "experiment.json lacks id, command, code_dir, tuner, space or "
                         "concurrency");
    memcpy(s->id, id, strlen(id) + 1);
    s->name = s->name ? s->name : "";
    s->config = s->config ? s->config : "";
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
        rc = read_settings(e->doc.root, &e->set, err);
    if (!rc && nni_space_build(e->set.space, &e->arena, &diags, &e->space))
        rc = err_coded(err, RC_FORMAT, E4005, "'%s': %s", path,
                       diags.list.n ? diags.list.at[0].msg : "no search space");
    diags_release(&diags);
    mem_free(path);
    return rc;
}

static enum rc open_algorithms(struct experiment *e, struct err *err)
{
    char *checkpoint = fs_join(e->dir, "checkpoint");
    struct tuner_conf conf = {.name = e->set.tuner,
                              .args = e->set.tuner_args,
                              .space = &e->space,
                              .seed = e->set.seed,
                              .checkpoint_dir = checkpoint};
    enum rc rc = tuner_create(&conf, &e->tuner, err);
    if (!rc && e->set.assessor)
        rc = assessor_create(&(struct assessor_conf){.name = e->set.assessor,
                                                     .args = e->set.assessor_args,
                                                     .experiment = e->set.id},
                             &e->assessor, err);
    mem_free(checkpoint);
    return rc;
}

static enum rc apply_line(struct experiment *e, const char *line, size_t n,
                          struct err *err)
{
    struct doc d = {0};
    struct diags diags = {0};
    enum rc rc = source_from("log.jsonl", line, n, &d.src, err);
    if (!rc && json_parse(&d, &diags))
        rc = err_coded(err, RC_FORMAT, E4005, "not JSON: %s",
                       diags.list.n ? diags.list.at[0].msg : "");
    if (!rc)
        rc = experiment_apply(e, d.root, err);
    diags_release(&diags);
    doc_release(&d);
    return rc;
}

/* Lines that end; a tail without its end was being written when the machine stopped, and
 * is cut off so that what is added next starts a line of its own.
 */
static enum rc read_log(struct experiment *e, struct err *err)
{
    char *path = fs_join(e->dir, "log.jsonl"), *data = NULL;
    size_t n = 0, at = 0;
    int64_t line = 1;
    enum rc rc = RC_OK;
    if (fs_exists(path))
        rc = fs_read(path, LOG_MAX, &data, &n, err);
    while (!rc && at < n) {
        const char *end = memchr(data + at, '\n', n - at);
        if (!end)
            break;
        rc = apply_line(e, data + at, (size_t)(end - data) - at, err);
        if (rc)
            err_wrap(err, rc, "'%s', line %jd", path, (intmax_t)line);
        at = (size_t)(end - data) + 1;
        line++;
    }
    if (!rc && at < n && truncate(path, (off_t)at) != 0)
        rc = err_set(err, RC_IO, "'%s': cannot cut off an incomplete last line", path);
    mem_free(data);
    mem_free(path);
    return rc;
}

enum rc experiment_open(const char *dir, struct experiment **out, struct err *err)
{
    struct experiment *e = mem_calloc(1, sizeof(*e));
    e->dir = mem_strdup(dir);
    e->best = -1;
    e->error = "";
    enum rc rc = open_settings(e, err);
    if (!rc)
        rc = open_algorithms(e, err);
    e->limits = e->set.limits;
    if (!rc)
        rc = read_log(e, err);
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
    doc_release(&e->doc);
    arena_release(&e->arena);
    mem_free(e->dir);
    mem_free(e);
}
