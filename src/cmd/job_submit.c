/* SPDX-License-Identifier: Apache-2.0 */
/* `job submit` and `job run`: the same flags, once in the background, once in the
 * foreground.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/job_flags.h"
#include "cmd/server_isolate.h"
#include "job/submit.h"
#include "text/json.h"

struct submit_conf {
    struct job_where where;
    struct job_flags flags;
    const char *format;
    bool isolate, json, wait;
};

static const struct opt opts[] = {
    JOB_FLAGS_OPTS(struct submit_conf),
    {OPT_TEXT(struct submit_conf, flags.client_token, NULL,
              "submit at most one job per token"),
     .meta = "T"},
    {OPT_BOOL(
        struct submit_conf, isolate, "false",
        "keep the job away from your files and processes, as a server does; without "
        "--source it starts in an empty directory")},
    {OPT_HEADING("Answer")},
    {OPT_BOOL(struct submit_conf, json, "false", "print one JSON object")},
    {OPT_BOOL(struct submit_conf, wait, "false",
              "wait for the job to end and return its exit status")},
    {OPT_CHOICE(struct submit_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    {OPT_LIST(struct submit_conf, flags.extra, "flag of another tool"), .hidden = true},
    JOB_WHERE_OPTS(struct submit_conf),
    JOB_SERVER_OPT(struct submit_conf),
    {0},
};

/* The jobs that were made: one, or those of an array. */
struct submitted {
    struct job_submit_result r; /* of the last */
    char array[JOB_ID_SIZE];    /* "" for none */
    struct job_ids ids;
};

/* --after takes beginnings of ids and arrays; the specification has whole ids. */
static enum rc pick_after(const struct cmd_place *p, struct job_spec *spec,
                          const char *field, const char *const *texts, int64_t n,
                          struct err *err)
{
    static const struct span nowhere;
    struct arena *a = &spec->conf.doc.arena;
    struct job_ids ids = {.list = {0}};
    if (!n)
        return RC_OK;
    enum rc rc = job_pick_all(p, texts, (size_t)n, &ids, err);
    struct node *list = node_create(a, NODE_LIST, nowhere);
    for (size_t i = 0; i < ids.list.n && !rc; i++)
        node_push(a, list,
                  node_str(a, ids.list.at[i].text, strlen(ids.list.at[i].text), nowhere));
    if (!rc)
        node_put(a, spec->conf.doc.root, field, list);
    job_ids_release(&ids);
    return rc ? err_wrap(err, rc, "'%s'", field) : RC_OK;
}

static enum rc resolve_after(const struct cmd_place *p, struct job_spec *spec,
                             struct err *err)
{
    if (!spec->s->n_after && !spec->s->n_after_ok)
        return RC_OK;
    enum rc rc = pick_after(p, spec, "after", spec->s->after, spec->s->n_after, err);
    if (!rc)
        rc = pick_after(p, spec, "after_ok", spec->s->after_ok, spec->s->n_after_ok, err);
    return rc ? rc : job_spec_again(spec, err);
}

static void put_label(struct job_spec *s, const char *name, const char *value)
{
    static const struct span nowhere;
    struct arena *a = &s->conf.doc.arena;
    struct node *map = node_find(s->conf.doc.root, "label");
    if (!map || map->kind != NODE_MAP) {
        map = node_create(a, NODE_MAP, nowhere);
        node_put(a, s->conf.doc.root, "label", map);
    }
    node_put(a, map, name, node_str(a, value, strlen(value), nowhere));
}

/* The i-th job of an array, from the text of the specification. */
static enum rc make_element(const char *text, const char *id,
                            const struct jobspec_array *all, size_t i,
                            struct job_spec *out, struct err *err)
{
    enum rc rc = job_spec_from_json(text, out, err);
    if (rc)
        return rc;
    char *element = mem_printf("%s,%jd,%zu,%jd", id, (intmax_t)all->at[i], all->n,
                               (intmax_t)all->limit);
    job_spec_put(out, "array_element", element);
    mem_free(element);
    if (out->s->has_client_token) {
        char *token = mem_printf("%s.%jd", out->s->client_token, (intmax_t)all->at[i]);
        job_spec_put(out, "client_token", token);
        mem_free(token);
    }
    if (out->s->has_name) {
        char *name = mem_printf("%s-%jd", out->s->name, (intmax_t)all->at[i]);
        job_spec_put(out, "name", name);
        mem_free(name);
    }
    put_label(out, "array", id);
    node_remove(out->conf.doc.root, "array");
    return job_spec_again(out, err);
}

static enum rc submit_one(const struct cmd_place *p, struct job_spec *spec,
                          const char *cwd, struct submitted *out, struct err *err)
{
    struct job_id id;
    enum rc rc = p->ops->submit(p, spec, cwd, &out->r, err);
    if (rc)
        return rc;
    snprintf(id.text, sizeof(id.text), "%s", out->r.id);
    VEC_PUSH(&out->ids.list, id);
    return RC_OK;
}

static char *print_spec(const struct job_spec *spec)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    job_spec_print(spec, &text);
    char *copy = mem_strdup(buf_str(&text));
    buf_release(&text);
    return copy;
}

/* The code is copied once: the others have the first one's. */
static enum rc submit_array(const struct cmd_place *p, struct job_spec *spec,
                            const char *cwd, struct submitted *out, struct err *err)
{
    struct jobspec_array all;
    enum rc rc = job_id_new(out->array, err);
    if (rc || !jobspec_array_read(str_c(spec->s->array), &all))
        return rc ? rc : err_set(err, RC_INVAL, "'array' is malformed");
    out->array[1] = 'a';
    char *text = print_spec(spec);
    for (size_t i = 0; i < all.n && !rc; i++) {
        struct job_spec one = {0};
        rc = make_element(text, out->array, &all, i, &one, err);
        if (!rc)
            rc = submit_one(p, &one, cwd, out, err);
        job_spec_release(&one);
        if (!rc && i == 0 && out->r.copied) {
            char *source = mem_printf(SNAPSHOT_PREFIX "%s", out->r.snapshot.id);
            job_spec_put(spec, "source", source);
            mem_free(source);
            mem_free(text);
            text = print_spec(spec);
        }
        if (rc && i)
            err_wrap(err, rc, "after %zu of %zu jobs of array %s", i, all.n, out->array);
    }
    mem_free(text);
    mem_free(all.at);
    return rc;
}

/* The current directory is not in the view of an isolated job. */
static enum rc start_empty(const struct cmd_place *p, struct job_spec *s, struct err *err)
{
    char *empty = fs_join(p->p.dir, "empty");
    enum rc rc = fs_mkdirs(empty, 0700, err);
    if (!rc) {
        job_spec_put(s, "source", empty);
        rc = job_spec_again(s, err);
    }
    mem_free(empty);
    return rc;
}

static enum rc submit_job(const struct submit_conf *c, const struct opt_args *args,
                          const struct cmd_place *p, struct submitted *out,
                          struct err *err)
{
    struct job_spec spec = {0};
    char cwd[4096];
    enum rc rc = job_flags_load(opts, c, args, 0, &spec, err);
    if (!rc && !getcwd(cwd, sizeof(cwd)))
        rc = err_set(err, RC_IO, "the current directory is gone");
    if (!rc && c->isolate && !spec.s->has_source)
        rc = start_empty(p, &spec, err);
    if (!rc)
        rc = resolve_after(p, &spec, err);
    if (!rc)
        rc = spec.s->has_array ? submit_array(p, &spec, cwd, out, err)
                               : submit_one(p, &spec, cwd, out, err);
    job_spec_release(&spec);
    return rc;
}

static enum rc show_answer(const struct submit_conf *c, const struct cmd_place *p,
                           const struct job_submit_result *r, struct err *err)
{
    struct store_jobs jobs = {0};
    struct buf b;
    enum rc rc = p->ops->get(p, r->id, &jobs, err);
    if (rc)
        return rc;
    buf_init(&b, CMD_TEXT_MAX);
    if (strcmp(c->format, "dlc") == 0)
        rc = job_dlc_json(p, &jobs.at[0], &b, err);
    else if (c->json)
        rc = job_json(p, &jobs.at[0], false, false, &b, err);
    else
        buf_puts(&b, r->id);
    buf_putc(&b, '\n');
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    store_jobs_release(&jobs);
    return rc;
}

static void say_what_happened(const struct job_submit_result *r)
{
    if (r->existed)
        fprintf(stderr,
                "the token is already used by job %s\n"
                "",
                r->id);
    else if (r->copied)
        fprintf(stderr, "copied %jd files, %jd bytes\n", (intmax_t)r->snapshot.files,
                (intmax_t)r->snapshot.bytes);
}

static enum rc end_of(const struct cmd_place *p, const char *id, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = p->ops->get(p, id, &jobs, err);
    if (!rc)
        rc = job_end_status(&jobs.at[0], err);
    store_jobs_release(&jobs);
    return rc;
}

struct stopper {
    const struct cmd_place *p;
    const char *id;
    int times;
};

static void stop_job(void *arg)
{
    struct stopper *s = arg;
    struct job_request_result r;
    struct err err = {0};
    fprintf(stderr, "%s\n",
            s->times ? "stopping at once" : "stopping; press Ctrl-C again to kill it");
    if (s->p->ops->ask(s->p, s->id, s->times > 0 ? JOB_ASK_KILL : JOB_ASK_STOP, &r, &err))
        fprintf(stderr, "%s\n", err.msg);
    s->times++;
}

static enum rc show_array(const struct submit_conf *c, const struct submitted *s,
                          struct err *err)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    if (!c->json)
        buf_printf(&b, "%s\n", s->array);
    else
        buf_printf(&b, "{\"array\": \"%s\", \"jobs\": [", s->array);
    for (size_t i = 0; c->json && i < s->ids.list.n; i++)
        buf_printf(&b, "%s\"%s\"", i ? ", " : "", s->ids.list.at[i].text);
    buf_puts(&b, c->json ? "]}\n" : "");
    enum rc rc = cmd_print(&b, err);
    buf_release(&b);
    return rc;
}

static enum rc answer_and_wait(const struct submit_conf *c, const struct cmd_place *p,
                               const struct submitted *s, struct err *err)
{
    enum rc rc = s->array[0] ? show_array(c, s, err) : show_answer(c, p, &s->r, err);
    for (size_t i = 0; i < s->ids.list.n && c->wait && !rc; i++)
        rc = job_wait(p, s->ids.list.at[i].text, 0, err);
    for (size_t i = 0; i < s->ids.list.n && c->wait && !rc; i++)
        rc = end_of(p, s->ids.list.at[i].text, err);
    return rc;
}

static enum rc run_foreground(const struct submit_conf *c, const struct cmd_place *p,
                              const struct submitted *s, struct err *err)
{
    const struct job_submit_result *r = &s->r;
    if (s->array[0])
        return answer_and_wait(c, p, s, err);
    sigset_t set;
    struct stopper stopper = {.p = p, .id = r->id};
    struct job_follow f = {.worker = JOB_FOLLOW_ALL,
                           .raw = true,
                           .program = true,
                           .tail = -1,
                           .follow = true,
                           .on_interrupt = stop_job,
                           .arg = &stopper};
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    f.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    fprintf(stderr, "job %s\n", r->id);
    enum rc rc = job_follow_run(p, r->id, &f, err);
    if (f.signals >= 0)
        close(f.signals);
    if (!rc && c->json)
        rc = show_answer(c, p, r, err);
    return rc ? rc : end_of(p, r->id, err);
}

/* What is done about a job that was taken. */
typedef enum rc taken_fn(const struct submit_conf *c, const struct cmd_place *p,
                         const struct submitted *s, struct err *err);

/* One's own job under the conditions of a stranger's. */
static enum rc isolate_own_job(struct cmd_place *p, struct server_isolate *s,
                               struct err *err)
{
    const struct server_isolate_conf conf = {.job_uids = SERVER_ISOLATE_UIDS,
                                             .job_processes = ISOLATION_PROCESSES,
                                             .job_network = "host"};
    if (!p->ops->here)
        return err_coded(err, RC_INVAL, E3205,
                         "--isolate is for jobs of this machine; a server isolates all");
    enum rc rc = server_isolate_find(p->p.dir, &conf, s, err);
    if (!rc && (!s->on || s->images_only))
        rc = err_coded(err, RC_UNSUPPORTED, E3205, "--isolate: %.200s",
                       s->found.why_not[0] ? s->found.why_not : "not possible here");
    if (!rc)
        p->p.isolation = &s->jobs;
    return rc;
}

static enum rc submit_and(const void *conf, const struct opt_args *args, taken_fn *then,
                          struct err *err)
{
    const struct submit_conf *c = conf;
    struct cmd_place p;
    struct submitted s = {.array = ""};
    struct server_isolate isolate = {.on = false};
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    if (c->isolate)
        rc = isolate_own_job(&p, &isolate, err);
    if (!rc)
        rc = submit_job(c, args, &p, &s, err);
    if (!rc) {
        say_what_happened(&s.r);
        rc = then(c, &p, &s, err);
    }
    job_ids_release(&s.ids);
    server_isolate_release(&isolate);
    cmd_place_close(&p);
    return rc;
}

static enum rc job_submit_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    return submit_and(conf, args, answer_and_wait, err);
}

static enum rc job_run_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    return submit_and(conf, args, run_foreground, err);
}

static const struct cmd_example submit_examples[] = {
    {"submit a command", "trainyard job submit --source src -- python3 train.py"},
    {"four workers with data and hyperparameters",
     "trainyard job submit --workers 4 --input train=data/ --hp lr=0.01 -- ./train.sh"},
    {"from a file", "trainyard job submit job.yaml"},
    {"ten seeds, four at a time; then a summary",
     "trainyard job submit --array 10%4 -- 'python3 train.py --seed $TRAINYARD_ARRAY_INDEX'"},
    {"after another job has succeeded",
     "trainyard job submit --after-ok jb-0123456789ab -- python3 evaluate.py"},
    {0},
};

static const struct cmd_example run_examples[] = {
    {"run a command in the foreground", "trainyard job run -- python3 train.py"},
    {"with a time limit and two restarts",
     "trainyard job run --timeout 2h --retries 2 -- python3 train.py"},
    {0},
};

#define ABOUT                                                                            \
    "A COMMAND of one word is run by /bin/sh, of several words without a shell. FILE "   \
    "is a job file in YAML or JSON; its keys are the names of the flags, and flags "     \
    "override it. The program finds its inputs, outputs and hyperparameters in /ml and " \
    "in PAI_* variables; see docs/jobs.md."

const struct cmd cmd_job_submit = {
    .name = "job submit",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "submit a job to the queue",
    .description = ABOUT
    "\n"
    "\n"
    "Prints the job's id, or that of an array, which stop, wait, why and "
    "--after take for all its jobs. With --wait the exit status is that of the job: 0 "
    "if it succeeded, its own exit status if it failed, 3 if it was stopped.",
    .examples = submit_examples,
    .opts = opts,
    .conf_size = sizeof(struct submit_conf),
    .min_args = 0,
    .max_args = CMD_ANY,
    .run = job_submit_command,
};

const struct cmd cmd_job_run = {
    .name = "job run",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "run a job and show its log",
    .description =
        ABOUT "\n"
              "\n"
              "The job goes through the queue like any other and keeps running when "
              "the terminal closes. Ctrl-C stops it; a second Ctrl-C kills it. The "
              "exit status is that of the command.",
    .examples = run_examples,
    .opts = opts,
    .conf_size = sizeof(struct submit_conf),
    .min_args = 0,
    .max_args = CMD_ANY,
    .run = job_run_command,
};
