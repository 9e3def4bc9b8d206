/* SPDX-License-Identifier: Apache-2.0 */
/* tune get, trials, best, view, list: read-only looks at experiments. Each opens the
 * folder, which reads its log, prints a text or has tune/report.c write the JSON, and
 * closes it; no process that runs the experiment is asked, only whether there is one.
 * Trials are ranked best first; --as gives the shapes of NNI's REST interface.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"
#include "job/quote.h"
#include "text/json.h"
#include "tune/manager.h"
#include "tune/report.h"

struct show_conf {
    struct job_where where;
    const char *dir, *as;
    int64_t head, tail;
    double every;
    bool json, watch, nni;
};

#define DIR_OPT                                                                      \
    {                                                                                \
        OPT_TEXT(struct show_conf, dir, NULL, "experiment directory"), .meta = "DIR" \
    }
#define SERVER_OPT TUNE_SERVER_OPT(struct show_conf)
#define JSON_OPT                                                \
    {                                                           \
        OPT_BOOL(struct show_conf, json, "false", "print JSON") \
    }

static enum rc open_one(const struct show_conf *o, const struct opt_args *args,
                        struct tune_at *at, struct experiment **e, struct err *err)
{
    enum rc rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, at, err);
    return rc ? rc : tune_at_experiment(at, e, err);
}

/* Of a server's experiment, what the server says. */
static void put_json(const struct tune_at *at, const struct experiment *e, struct buf *b)
{
    if (at->answer)
        buf_puts(b, at->answer);
    else
        tune_report_experiment(e, at->alive, NULL, b);
}

/* A shape of NNI's REST interface by the name that --as has for it. */
static bool as_nni(const struct experiment *e, bool alive, const char *as, struct buf *b)
{
    if (strcmp(as, "config") == 0) {
        tune_report_nni_config(e, b);
        return true;
    }
    return tune_report_nni_path(e, alive, as, "", b);
}

static enum rc tune_get_command(const void *conf, const struct opt_args *args,
                                struct err *err)
{
    const struct show_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &at, &e, err);
    if (!rc && o->watch) {
        rc = tune_watch(&at, stdout, err);
    } else if (!rc) {
        if (o->as && !as_nni(e, at.alive, o->as, &b))
            rc = err_coded(err, RC_NOTFOUND, E4008,
                           "experiment %s has no '%s'; --as takes config or a path such "
                           "as /trial-jobs",
                           e->set.id, o->as);
        else if (o->as)
            buf_putc(&b, '\n');
        else if (o->json)
            put_json(&at, e, &b);
        else
            tune_show(e, &at, 0, &b);
        if (!rc)
            rc = cmd_print(&b, err);
    }
    buf_release(&b);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static const struct opt get_opts[] = {
    DIR_OPT,
    SERVER_OPT,
    JSON_OPT,
    {OPT_BOOL(struct show_conf, watch, "false",
              "refresh every second until the experiment ends")},
    {OPT_TEXT(
         struct show_conf, as, NULL,
         "print it as NNI does: `config`, or the answer to a path of its REST API such "
         "as /trial-jobs"),
     .meta = "WHAT"},
    {0},
};

static const struct cmd_example get_examples[] = {
    {"watch it until it ends", "trainyard tune get --watch"},
    {0},
};

const struct cmd cmd_tune_get = {
    .name = "tune get",
    .args = "[ID]",
    .summary = "show the status of an experiment",
    .examples = get_examples,
    .opts = get_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = tune_get_command,
};

static void trials_text(const struct experiment *e, const int64_t *order, int64_t n,
                        struct buf *b)
{
    buf_printf(b, "%6s  %-5s  %-13s  %-12s  %8s  %s\n", "trial", "id", "status", "value",
               "took", "parameters");
    for (int64_t i = 0; i < n; i++) {
        const struct exp_trial *t = &e->trials.at[order[i]];
        char value[32] = "-", took[CLOCK_TEXT_SIZE] = "-";
        if (t->has_final)
            str_from_f64(t->final, value);
        if (t->ended && t->started)
            clock_duration((t->ended - t->started) * 1000000, took);
        buf_printf(b, "%6jd  %-5s  %-13s  %-12s  %8s  %s\n", (intmax_t)t->number, t->id,
                   trial_status_name(t->status), value, took, t->params);
    }
}

/* As `nnictl trial ls` prints them. */
static void trials_nni(const struct experiment *e, const int64_t *order, int64_t n,
                       struct buf *b)
{
    buf_puts(b, "[");
    for (int64_t i = 0; i < n; i++) {
        buf_puts(b, i ? ",\n " : "");
        if (!tune_report_nni_trial(e, e->trials.at[order[i]].id, b))
            continue;
    }
    buf_puts(b, "]\n");
}

static enum rc tune_trials_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct show_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &at, &e, err);
    if (!rc) {
        int64_t *order = tune_report_ranking(e), n = (int64_t)e->trials.n;
        const int64_t *from = order;
        n = o->head > 0 && o->head < n ? o->head : n;
        if (o->tail > 0 && o->tail < n) {
            from += n - o->tail;
            n = o->tail;
        }
        if (o->nni)
            trials_nni(e, from, n, &b);
        else if (o->json)
            tune_report_trials(e, from, n, &b);
        else
            trials_text(e, from, n, &b);
        mem_free(order);
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static const struct opt trials_opts[] = {
    DIR_OPT,
    SERVER_OPT,
    JSON_OPT,
    {OPT_INT(struct show_conf, head, "0", 0, INT64_MAX, "only the first N; 0: all")},
    {OPT_INT(struct show_conf, tail, "0", 0, INT64_MAX, "only the last N; 0: all")},
    {OPT_BOOL(struct show_conf, nni, "false",
              "print JSON in the form of NNI's REST API, as `nnictl trial ls` does")},
    {0},
};

static const struct cmd_example trials_examples[] = {
    {"the ten best", "trainyard tune trials --head 10"},
    {0},
};

const struct cmd cmd_tune_trials = {
    .name = "tune trials",
    .args = "[ID]",
    .summary = "list the trials of an experiment, best first",
    .examples = trials_examples,
    .opts = trials_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = tune_trials_command,
};

/* With several objectives, those that nothing beats, a line each. */
static void best_text(const struct experiment *e, struct buf *b)
{
    char value[32];
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        bool one = experiment_objectives(e) == 1;
        if (one ? t->number != e->best : !experiment_in_front(e, t))
            continue;
        buf_printf(b, "trial %jd:", (intmax_t)t->number);
        for (int64_t k = 0; k < experiment_objectives(e); k++) {
            str_from_f64(t->values[k], value);
            buf_printf(b, " %s%s%s",
                       e->set.objectives.n ? e->set.objectives.at[k].metric : "",
                       e->set.objectives.n ? " " : "", value);
        }
        buf_printf(b, "%s\n%s\n", t->violation > 0 ? " (breaks a constraint)" : "",
                   t->params);
    }
}

static enum rc tune_best_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct show_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &at, &e, err);
    if (!rc && e->best < 0)
        rc = err_coded(err, RC_NOTFOUND, E4008,
                       "no trial of experiment %s has a result yet", e->set.id);
    if (!rc && o->json && tune_report_best(e, &b))
        buf_putc(&b, '\n');
    else if (!rc)
        best_text(e, &b);
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static const struct opt best_opts[] = {DIR_OPT, SERVER_OPT, JSON_OPT, {0}};

static const struct cmd_example best_examples[] = {
    {"for a script", "trainyard tune best --json"},
    {0},
};

const struct cmd cmd_tune_best = {
    .name = "tune best",
    .args = "[ID]",
    .summary = "show the best trial so far",
    .examples = best_examples,
    .opts = best_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = tune_best_command,
};

/* Everything at a glance, and nothing is changed: also of an experiment that is over. */
static enum rc tune_view_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct show_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &at, &e, err);
    if (!rc) {
        int64_t *order = tune_report_ranking(e), n = (int64_t)e->trials.n;
        tune_show(e, &at, 0, &b);
        buf_putc(&b, '\n');
        trials_text(e, order, o->head > 0 && o->head < n ? o->head : n, &b);
        mem_free(order);
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static const struct opt view_opts[] = {
    DIR_OPT,
    SERVER_OPT,
    {OPT_INT(struct show_conf, head, "20", 0, INT64_MAX,
             "number of trials to show; 0: all")},
    {0},
};

static const struct cmd_example view_examples[] = {
    {"an experiment in another directory", "trainyard tune view --dir results/exp7"},
    {0},
};

const struct cmd cmd_tune_view = {
    .name = "tune view",
    .args = "[ID]",
    .summary = "show an experiment and its best trials, read-only",
    .examples = view_examples,
    .opts = view_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = tune_view_command,
};

static void list_one(const struct experiment *e, bool alive, bool json, struct buf *b)
{
    char best[32] = "-";
    if (json) {
        tune_report_experiment(e, alive, NULL, b);
        return;
    }
    if (e->best >= 0)
        str_from_f64(e->trials.at[e->best].final, best);
    buf_printf(b, "%-10s  %-20s  %7zu  %-12s  ", e->set.id,
               exp_status_name(exp_status_now(e->status, alive)), e->trials.n, best);
    job_quote_terminal(str_c(e->set.name), b);
    buf_putc(b, '\n');
}

static void list_head(const struct show_conf *o, struct buf *b)
{
    if (o->json)
        buf_puts(b, "[");
    else
        buf_printf(b, "%-10s  %-20s  %7s  %-12s  %s\n", "id", "status", "trials", "best",
                   "name");
}

static enum rc list_here(const struct show_conf *o, struct buf *b, struct err *err)
{
    char *home = o->dir ? mem_strdup(o->dir) : tune_home();
    struct fs_names names = {0};
    bool first = true;
    enum rc rc = fs_is_dir(home) ? fs_list(home, &names, err) : RC_OK;
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *dir = fs_join(home, names.at[i]), *file = fs_join(dir, "experiment.json");
        struct experiment *e = NULL;
        if (names.at[i][0] != '_' && fs_exists(file) &&
            experiment_open(dir, &e, NULL) == RC_OK) {
            buf_puts(b, o->json && !first ? ", " : "");
            list_one(e, tune_manager_alive(dir), o->json, b);
            first = false;
        }
        experiment_close(e);
        mem_free(file);
        mem_free(dir);
    }
    fs_names_release(&names);
    mem_free(home);
    return rc;
}

struct listing {
    struct buf *b;
    bool json;
    int64_t n;
};

static enum rc list_served(void *arg, const struct node *x, struct err *err)
{
    struct listing *l = arg;
    const struct node *trials = node_find(x, "trials"), *best = node_find(x, "best");
    const struct node *value = node_find(best, "value");
    char text[32] = "-";
    double v;
    int64_t n = 0;
    if (l->json) {
        buf_puts(l->b, l->n++ ? ", " : "");
        json_print(x, 0, l->b);
        return RC_OK;
    }
    for (size_t i = 0; trials && trials->kind == NODE_MAP && i < trials->map.n; i++) {
        int64_t one = 0;
        if (node_i64(trials->map.at[i].value, &one))
            n += one;
    }
    if (value && node_number(value, &v))
        str_from_f64(v, text);
    const char *server = node_get_text(x, "server", "");
    const char *held = node_get_text(x, "held", "");
    buf_printf(l->b, "%-10s  %-20s  %7jd  %-12s  ", node_get_text(x, "id", ""),
               node_get_text(x, "status", ""), (intmax_t)n, text);
    job_quote_terminal(str_c(node_get_text(x, "name", "")), l->b);
    buf_printf(l->b, "  (%s)%s%s%s%s\n", node_get_text(x, "owner", ""),
               *server ? " at " : "", server, *held ? ", held: " : "", held);
    return RC_OK;
}

/* One picture of the list. */
static enum rc list_once(const struct show_conf *o, const struct cmd_place *server,
                         struct err *err)
{
    struct buf b;
    enum rc rc = RC_OK;
    buf_init(&b, CMD_TEXT_MAX);
    if (o->every > 0 && isatty(STDOUT_FILENO))
        buf_puts(&b, "\033[H\033[2J");
    list_head(o, &b);
    if (server->remote.url)
        rc = tune_at_each(server, list_served,
                          &(struct listing){.b = &b, .json = o->json}, err);
    else
        rc = list_here(o, &b, err);
    buf_puts(&b, o->json ? "]\n" : "");
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    return rc;
}

/* With --watch again and again, until somebody interrupts it; once where nobody looks. */
static enum rc tune_list_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct show_conf *o = conf;
    struct cmd_place server;
    enum rc rc = tune_at_server(&o->where, o->dir, &server, err);
    if (!rc)
        rc = list_once(o, &server, err);
    while (!rc && o->every > 0 && isatty(STDOUT_FILENO)) {
        struct timespec pause = {.tv_sec = (time_t)o->every};
        nanosleep(&pause, NULL);
        rc = list_once(o, &server, err);
    }
    cmd_place_close(&server);
    return rc;
}

static const struct opt list_opts[] = {
    {OPT_TEXT(struct show_conf, dir, NULL, "directory that holds the experiments"),
     .meta = "DIR"},
    {OPT_DURATION(
         struct show_conf, every, "0", 0, 86400,
         "on a terminal, show the list again at this interval until interrupted"),
     .flag = "watch"},
    SERVER_OPT,
    JSON_OPT,
    {0},
};

static const struct cmd_example list_examples[] = {
    {"for a script", "trainyard tune list --json"},
    {0},
};

const struct cmd cmd_tune_list = {
    .name = "tune list",
    .summary = "list experiments",
    .examples = list_examples,
    .opts = list_opts,
    .conf_size = sizeof(struct show_conf),
    .run = tune_list_command,
};
