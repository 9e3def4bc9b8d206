/* SPDX-License-Identifier: Apache-2.0 */
/* A tuner, assessor or advisor in Python, as a child process. Its program is written into
 * the experiment's folder and started with pipes for stdin and stdout; stderr is added to
 * custom.log, whose last line becomes the message when the process ends. exchange()
 * writes one line of JSON and blocks until a line comes back; an answer with "error" is
 * an error. Trials that an advisor wants ended may come with any answer, so they are kept
 * in a list until the manager takes them.
 */
#include "tune/custom.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "text/json.h"
#include "text/nni/registered.h"
#include "tune/custom_text.h"

#define LINE_MAX_BYTES ((size_t)64 << 20)
#define SAID_BYTES 600 /* of custom.log, when the process is gone */

struct tune_custom {
    struct proc *proc;
    const char *name; /* for messages */
    char *log;
    struct buf in; /* read, beyond the last answer */
    VEC(char *) kills;
    struct arena arena;
};

static void custom_begin(struct buf *b, const char *what)
{
    buf_init(b, LINE_MAX_BYTES);
    buf_printf(b, "{\"do\": \"%s\"", what);
}

static void put_text(struct buf *b, const char *key, const char *v)
{
    buf_printf(b, ", \"%s\": ", key);
    buf_json_str(b, v, strlen(v));
}

static void put_node(struct buf *b, const char *key, const struct node *v)
{
    buf_printf(b, ", \"%s\": ", key);
    if (v)
        json_print(v, 0, b);
    else
        buf_puts(b, "{}");
}

static void put_trial(struct buf *b, const struct tune_custom_trial *t)
{
    put_text(b, "trial", t->id);
    buf_printf(b, ", \"id\": %s, \"params\": %s", t->param_id, t->params);
}

/* What the process said last, on one line. */
static enum rc died(struct tune_custom *c, struct err *err)
{
    char *data = NULL;
    size_t n = 0;
    struct str s = {0};
    if (fs_read(c->log, LINE_MAX_BYTES, &data, &n, NULL) == RC_OK) {
        s = str_trim(str_of(data, n));
        const char *line = s.n ? memrchr(s.p, '\n', s.n) : NULL;
        if (line)
            s = str_of(line + 1, (size_t)(s.p + s.n - line) - 1);
    }
    enum rc rc = err_coded(err, RC_INVAL, E4011, "%s ended: %.*s", c->name,
                           (int)(s.n < SAID_BYTES ? s.n : SAID_BYTES), s.n ? s.p : "");
    mem_free(data);
    return rc;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* One line of the answer stream into `line`. */
static bool read_line(struct tune_custom *c, struct buf *line)
{
    int fd = proc_pipe(c->proc, 1);
    for (;;) {
        const char *end = c->in.n ? memchr(c->in.p, '\n', c->in.n) : NULL;
        if (end) {
            size_t n = (size_t)(end - c->in.p);
            struct buf rest;
            buf_init(&rest, LINE_MAX_BYTES);
            buf_add(line, c->in.p, n);
            buf_add(&rest, end + 1, c->in.n - n - 1);
            buf_release(&c->in);
            c->in = rest;
            return true;
        }
        char chunk[4096];
        ssize_t k = read(fd, chunk, sizeof(chunk));
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        buf_add(&c->in, chunk, (size_t)k);
        if (buf_check(&c->in, NULL))
            return false;
    }
}

static void note_kills(struct tune_custom *c, const struct node *answer)
{
    const struct node *list = node_get_list(answer, "kill");
    for (size_t i = 0; list && i < list->list.n; i++)
        if (list->list.at[i]->kind == NODE_STR)
            VEC_PUSH(&c->kills, mem_strdup(list->list.at[i]->text.p));
}

/* Sends `b`, which it releases, and reads the answer into `d`, to doc_release(). */
static enum rc exchange(struct tune_custom *c, struct buf *b, struct doc *d,
                        struct err *err)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    *d = (struct doc){0};
    buf_puts(b, "}\n");
    enum rc rc = buf_check(b, err);
    if (!rc && (!write_all(proc_pipe(c->proc, 0), b->p, b->n) || !read_line(c, &line)))
        rc = died(c, err);
    if (!rc)
        rc = json_read("the answer", buf_str(&line), line.n, d, err);
    const char *error = rc ? NULL : node_get_text(d->root, "error", NULL);
    if (error)
        rc = err_coded(err, RC_INVAL, E4011, "%s failed: %s", c->name, error);
    if (!rc)
        note_kills(c, d->root);
    buf_release(&line);
    buf_release(b);
    return rc;
}

static enum rc custom_say(struct tune_custom *c, struct buf *b, struct err *err)
{
    struct doc d;
    enum rc rc = exchange(c, b, &d, err);
    doc_release(&d);
    return rc;
}

static enum rc launch(struct tune_custom *c, const struct tune_custom_conf *conf,
                      struct err *err)
{
    char *program = fs_join(conf->dir, "algorithm.py");
    const char *argv[] = {conf->python, "-u", program, NULL};
    struct proc_spec spec = {.argv = argv,
                             .cwd = conf->dir,
                             .in = {.kind = PROC_PIPE},
                             .out = {.kind = PROC_PIPE},
                             .err = {.kind = PROC_APPEND, .path = c->log}};
    enum rc rc = fs_write(program, tune_custom_text, strlen(tune_custom_text), 0644, err);
    if (!rc && proc_start(&spec, &c->proc, err))
        rc = err_coded(err, RC_INVAL, E4011,
                       "%s needs the interpreter '%s': no such "
                       "program; --python names another",
                       c->name, conf->python);
    mem_free(program);
    return rc;
}

/* A registered class may have one that checks its arguments. */
static void put_validator(struct buf *b, const struct tune_custom_conf *conf)
{
    struct nni_register r;
    if (nni_register_read(&r, NULL))
        return;
    for (size_t i = 0; i < r.list.n; i++)
        if (strcmp(r.list.at[i].class_name, conf->class_name) == 0 &&
            strcmp(r.list.at[i].dir, conf->class_dir) == 0 && *r.list.at[i].validator)
            put_text(b, "validator", r.list.at[i].validator);
    nni_register_release(&r);
}

enum rc tune_custom_start(const struct tune_custom_conf *conf, struct tune_custom **out,
                          struct err *err)
{
    struct tune_custom *c = mem_calloc(1, sizeof(*c));
    struct buf b;
    c->log = fs_join(conf->dir, "custom.log");
    c->name = arena_printf(&c->arena, "the %s %s", conf->role, conf->class_name);
    buf_init(&c->in, LINE_MAX_BYTES);
    enum rc rc = launch(c, conf, err);
    if (!rc) {
        custom_begin(&b, "start");
        put_text(&b, "role", conf->role);
        put_text(&b, "class", conf->class_name);
        put_text(&b, "dir", conf->class_dir);
        put_validator(&b, conf);
        put_node(&b, "args", conf->args);
        put_node(&b, "space", conf->space);
        rc = custom_say(c, &b, err);
    }
    if (rc) {
        tune_custom_stop(c);
        return rc;
    }
    *out = c;
    return RC_OK;
}

enum rc tune_custom_check(const char *python, const char *class_name,
                          const char *validator, const char *dir, struct err *err)
{
    struct tune_custom_conf conf = {.python = python, .class_name = class_name};
    struct tune_custom *c = mem_calloc(1, sizeof(*c));
    struct buf b;
    char *own = NULL;
    enum rc rc = fs_temp_dir("trainyard-class", &own, err);
    conf.dir = own;
    c->log = fs_join(own ? own : "", "custom.log");
    c->name = arena_printf(&c->arena, "the class %s", class_name);
    buf_init(&c->in, LINE_MAX_BYTES);
    if (!rc)
        rc = launch(c, &conf, err);
    if (!rc) {
        custom_begin(&b, "check");
        put_text(&b, "dir", dir);
        put_text(&b, "class", class_name);
        if (*validator)
            put_text(&b, "validator", validator);
        rc = custom_say(c, &b, err);
    }
    tune_custom_stop(c);
    enum rc gone = own ? fs_remove_all(own, NULL) : RC_OK;
    (void)gone; /* it is in a directory for such files */
    mem_free(own);
    return rc;
}

void tune_custom_stop(struct tune_custom *c)
{
    if (!c)
        return;
    proc_destroy(c->proc);
    for (size_t i = 0; i < c->kills.n; i++)
        mem_free(c->kills.at[i]);
    VEC_RELEASE(&c->kills);
    buf_release(&c->in);
    mem_free(c->log);
    arena_release(&c->arena);
    mem_free(c);
}

enum rc tune_custom_ask(struct tune_custom *c, bool *given, struct buf *param_id,
                        struct buf *params, struct err *err)
{
    struct doc d;
    struct buf b;
    custom_begin(&b, "ask");
    enum rc rc = exchange(c, &b, &d, err);
    if (!rc) {
        const struct node *id = node_find(d.root, "id"), *p = node_find(d.root, "params");
        *given = id && p;
        if (*given) {
            json_print(id, 0, param_id);
            json_print(p, 0, params);
        }
    }
    doc_release(&d);
    return rc;
}

enum rc tune_custom_tell(struct tune_custom *c, const struct tune_custom_trial *t,
                         const char *json, struct err *err)
{
    struct buf b;
    custom_begin(&b, "tell");
    put_trial(&b, t);
    put_text(&b, "value", json);
    return custom_say(c, &b, err);
}

enum rc tune_custom_report(struct tune_custom *c, const struct tune_custom_trial *t,
                           int64_t step, const char *json, bool *stop, struct err *err)
{
    struct doc d;
    struct buf b;
    custom_begin(&b, "report");
    put_trial(&b, t);
    buf_printf(&b, ", \"step\": %" PRId64, step);
    put_text(&b, "value", json);
    enum rc rc = exchange(c, &b, &d, err);
    *stop = !rc && node_get_bool(d.root, "stop", false);
    doc_release(&d);
    return rc;
}

enum rc tune_custom_end(struct tune_custom *c, const struct tune_custom_trial *t, bool ok,
                        const char *status, struct err *err)
{
    struct buf b;
    custom_begin(&b, "end");
    put_trial(&b, t);
    buf_printf(&b, ", \"ok\": %s", ok ? "true" : "false");
    put_text(&b, "status", status);
    return custom_say(c, &b, err);
}

enum rc tune_custom_space(struct tune_custom *c, const struct node *space,
                          struct err *err)
{
    struct buf b;
    custom_begin(&b, "space");
    put_node(&b, "space", space);
    return custom_say(c, &b, err);
}

char *tune_custom_take_kill(struct tune_custom *c)
{
    if (c->kills.n == 0)
        return NULL;
    char *id = c->kills.at[0];
    memmove(c->kills.at, c->kills.at + 1, --c->kills.n * sizeof(*c->kills.at));
    return id;
}
