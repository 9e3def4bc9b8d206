/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of a server's experiment lies in a temporary directory: experiment.json is
 * fetched once, log.jsonl from where the copy ends, so looking again costs what happened
 * since. Whether something runs the experiment is asked first: what was written until then
 * is in the log that is fetched next. An id is tried as it is; then the list is looked
 * through for those that begin with it.
 */
#include "cmd/tune_at.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_send.h"
#include "cmd/tune_common.h"
#include "job/status.h"
#include "text/json.h"
#include "tune/manager.h"

#define PAGE 100
#define ANSWER_MAX ((size_t)64 << 20)

enum rc tune_at_server(const struct job_where *w, const char *dir,
                       struct cmd_place *server, struct err *err)
{
    *server = (struct cmd_place){.ops = &job_ops_remote};
    return dir ? RC_OK : job_server(w, &server->remote, err);
}

bool tune_at_served(const struct tune_at *t)
{
    return t->server.remote.url != NULL;
}

static enum rc ask(const struct cmd_place *server, const char *method, const char *tail,
                   const char *body, struct doc *doc, struct io_http_reply *reply,
                   struct err *err)
{
    char *path = mem_printf("/api/v1/experiments%s", tail);
    struct remote_ask q = {.method = method,
                           .path = path,
                           .type = body ? "application/json" : NULL,
                           .body = body,
                           .n = body ? strlen(body) : 0,
                           .max = ANSWER_MAX};
    enum rc rc = remote_call(&server->remote, &q, doc, reply, err);
    mem_free(path);
    return rc;
}

enum rc tune_at_call(const struct cmd_place *server, const char *method, const char *tail,
                     const char *body, struct doc *doc, struct err *err)
{
    return ask(server, method, tail, body, doc, NULL, err);
}

/* Of several servers on one database, those that have experiments and do not answer. */
static void tell_silent(const struct node *answer)
{
    const struct node *l = node_find(answer, "unreachable");
    for (size_t i = 0; l && l->kind == NODE_LIST && i < l->list.n; i++)
        if (l->list.at[i]->kind == NODE_STR)
            fprintf(stderr, "warning: %s\n", l->list.at[i]->text.p);
}

enum rc tune_at_each(const struct cmd_place *server, tune_at_fn *fn, void *arg,
                     struct err *err)
{
    int64_t from = 0, next = 0;
    enum rc rc = RC_OK;
    do {
        struct doc doc = {0};
        char *tail = mem_printf("?limit=%d&offset=%jd", PAGE, (intmax_t)from);
        rc = tune_at_call(server, "GET", tail, NULL, &doc, err);
        const struct node *list = rc ? NULL : node_find(doc.root, "experiments");
        for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n && !rc;
             i++)
            rc = fn(arg, list->list.at[i], err);
        next = rc ? 0 : node_get_int(doc.root, "next", 0);
        if (!rc)
            tell_silent(doc.root);
        mem_free(tail);
        if (doc.src)
            doc_release(&doc);
        from = next;
    } while (!rc && next);
    return rc;
}

/* Experiments by the beginning of an id, or the newest of one's own. */
struct search {
    const char *id, *owner; /* one of them */
    size_t n_id;
    char found[EXP_ID_SIZE];
    int64_t n;
    struct buf several;
};

static enum rc look_at(void *arg, const struct node *x, struct err *err)
{
    struct search *s = arg;
    const char *id = node_get_text(x, "id", "");
    bool is = s->id ? strncmp(id, s->id, s->n_id) == 0
                    : strcmp(node_get_text(x, "owner", ""), s->owner) == 0;
    if (!is || (!s->id && s->n > 0))
        return RC_OK;
    buf_printf(&s->several, "%s%s", s->n++ ? ", " : "", id);
    snprintf(s->found, sizeof(s->found), "%s", id);
    return RC_OK;
}

static enum rc not_found(const struct tune_at *t, const struct search *s, struct err *err)
{
    const char *url = t->server.remote.url;
    if (!s->id)
        return err_coded(err, RC_NOTFOUND, E4008, "you have no experiment at %s yet",
                         url);
    if (s->n > 1)
        return err_coded(err, RC_NOTFOUND, E4008,
                         "'%s' is ambiguous; it matches the experiments %s", s->id,
                         buf_str(&s->several));
    return err_coded(err, RC_NOTFOUND, E4008, "there is no experiment '%s' at %s", s->id,
                     url);
}

static enum rc search_for(struct tune_at *t, const char *id, struct err *err)
{
    struct doc me = {0};
    struct search s = {.id = id, .n_id = id ? strcspn(id, "*") : 0, .owner = ""};
    struct remote_ask q = {.method = "GET", .path = "/api/v1/me"};
    enum rc rc = id ? RC_OK : remote_call(&t->server.remote, &q, &me, NULL, err);
    if (!id && !rc)
        s.owner = node_get_text(me.root, "name", "");
    buf_init(&s.several, CMD_TEXT_MAX);
    if (!rc)
        rc = tune_at_each(&t->server, look_at, &s, err);
    if (!rc && s.n != 1)
        rc = not_found(t, &s, err);
    if (!rc)
        memcpy(t->id, s.found, sizeof(t->id));
    buf_release(&s.several);
    if (me.src)
        doc_release(&me);
    return rc;
}

/* What the server says of it now. */
static enum rc take_answer(struct tune_at *t, const char *id, struct err *err)
{
    char *tail = mem_printf("/%s", id);
    struct io_http_reply reply = {0};
    struct doc doc = {0};
    enum rc rc = ask(&t->server, "GET", tail, NULL, &doc, &reply, err);
    if (!rc) {
        const struct node *managed = node_find(doc.root, "managed");
        mem_free(t->answer);
        t->answer = mem_strdup(buf_str(&reply.body));
        t->alive = managed && managed->kind == NODE_BOOL && managed->flag;
        snprintf(t->id, sizeof(t->id), "%s", node_get_text(doc.root, "id", ""));
    }
    io_http_reply_release(&reply);
    if (doc.src)
        doc_release(&doc);
    mem_free(tail);
    return rc;
}

static bool could_be_id(const char *id)
{
    return id && *id && strlen(id) < EXP_ID_SIZE && !strpbrk(id, "/*?#% ");
}

static enum rc find_one(struct tune_at *t, const char *id, struct err *err)
{
    enum rc rc = RC_NOTFOUND;
    if (could_be_id(id))
        rc = take_answer(t, id, err);
    if (rc != RC_NOTFOUND)
        return rc;
    rc = search_for(t, id, err);
    return rc ? rc : take_answer(t, t->id, err);
}

/* The settings, once. */
static enum rc copy_settings(const struct tune_at *t, struct err *err)
{
    char *tail = mem_printf("/%s/settings", t->id);
    char *path = fs_join(t->dir, "experiment.json");
    struct io_http_reply reply = {0};
    enum rc rc = ask(&t->server, "GET", tail, NULL, NULL, &reply, err);
    if (!rc)
        rc = fs_write(path, reply.body.p, reply.body.n, 0600, err);
    io_http_reply_release(&reply);
    mem_free(path);
    mem_free(tail);
    return rc;
}

static enum rc add_to(const char *path, const struct buf *b, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t n = fd < 0 ? -1 : write(fd, b->p, b->n);
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)b->n ? RC_OK : err_set(err, RC_IO, "cannot write '%s'", path);
}

static enum rc copy_log(struct tune_at *t, struct err *err)
{
    char *path = fs_join(t->dir, "log.jsonl");
    enum rc rc = RC_OK;
    for (bool more = true; more && !rc;) {
        char *tail = mem_printf("/%s/log?offset=%jd", t->id, (intmax_t)t->have);
        struct io_http_reply reply = {0};
        rc = ask(&t->server, "GET", tail, NULL, NULL, &reply, err);
        more = !rc && reply.body.n > 0;
        if (more)
            rc = add_to(path, &reply.body, err);
        t->have += more ? (int64_t)reply.body.n : 0;
        io_http_reply_release(&reply);
        mem_free(tail);
    }
    mem_free(path);
    return rc;
}

enum rc tune_at_experiment(const struct tune_at *t, struct experiment **out,
                           struct err *err)
{
    struct doc doc = {0};
    enum rc rc = experiment_open(t->dir, out, err);
    const struct node *root = rc || !t->answer ? NULL : job_json_open(t->answer, &doc);
    if (root) {
        mem_free((*out)->dir);
        (*out)->dir = mem_strdup(node_get_text(root, "dir", ""));
    }
    if (doc.src)
        doc_release(&doc);
    return rc;
}

/* Where a copy can be while a command runs: reading asks for no particular directory. */
static enum rc make_copy_dir(char **out, struct err *err)
{
    const char *const others[] = {env_get("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp",
                                  "/var/tmp", env_get("HOME")};
    enum rc rc = fs_temp_dir("trainyard-tune", out, err);
    for (size_t i = 0; rc && i < ARRAY_LEN(others); i++) {
        char *path = others[i] ? mem_printf("%s/trainyard-tune-XXXXXX", others[i]) : NULL;
        if (path && mkdtemp(path)) {
            *out = path;
            return RC_OK;
        }
        mem_free(path);
    }
    return rc;
}

enum rc tune_at_refresh(struct tune_at *t, struct err *err)
{
    if (!tune_at_served(t)) {
        t->alive = tune_manager_alive(t->dir);
        return RC_OK;
    }
    enum rc rc = take_answer(t, t->id, err);
    return rc ? rc : copy_log(t, err);
}

enum rc tune_at_open(const struct job_where *w, const char *dir, const char *id,
                     struct tune_at *out, struct err *err)
{
    struct tune_at t = {.dir = NULL};
    enum rc rc = tune_at_server(w, dir, &t.server, err);
    if (!rc && !tune_at_served(&t)) {
        rc = tune_dir(dir, id, &t.dir, err);
        t.alive = !rc && tune_manager_alive(t.dir);
    } else if (!rc) {
        rc = find_one(&t, id, err);
        if (!rc)
            rc = make_copy_dir(&t.dir, err);
        if (!rc)
            rc = copy_settings(&t, err);
        if (!rc)
            rc = copy_log(&t, err);
    }
    if (rc)
        tune_at_close(&t);
    else
        *out = t;
    return rc;
}

void tune_at_close(struct tune_at *t)
{
    if (t->dir && tune_at_served(t)) {
        enum rc gone = fs_remove_all(t->dir, NULL);
        (void)gone; /* what is left lies below /tmp */
    }
    cmd_place_close(&t->server);
    mem_free(t->answer);
    mem_free(t->dir);
    *t = (struct tune_at){.dir = NULL};
}

enum rc tune_at_create(const struct cmd_place *server, const struct exp_settings *s,
                       char id[EXP_ID_SIZE], struct err *err)
{
    struct job_snapshot code = {.files = 0};
    struct doc doc = {0};
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    if (s->tuner_class || s->assessor_class)
        return err_coded(err, RC_UNSUPPORTED, E4010,
                         "a server does not run custom tuners and assessors; use "
                         "--server local");
    enum rc rc = job_send_dir(server, s->code_dir, &code, err);
    if (!rc) {
        buf_puts(&body, "{\"settings\": ");
        experiment_settings_print(s, &body);
        buf_printf(&body, ", \"source\": \"" SNAPSHOT_PREFIX "%s\"", code.id);
        if (s->project) {
            buf_puts(&body, ", \"project\": ");
            buf_json_str(&body, s->project, strlen(s->project));
        }
        buf_puts(&body, "}");
        rc = buf_check(&body, err);
    }
    if (!rc)
        rc = tune_at_call(server, "POST", "", buf_str(&body), &doc, err);
    if (!rc)
        snprintf(id, EXP_ID_SIZE, "%s", node_get_text(doc.root, "id", ""));
    if (doc.src)
        doc_release(&doc);
    buf_release(&body);
    return rc;
}
