/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/tune_common.h"
#include "text/json.h"
#include "tune/manager.h"

struct show_conf {
    const char *dir, *type, *file;
    int64_t head, trial;
    bool json, watch;
};

#define DIR_OPT                                                                          \
    {                                                                                    \
        OPT_TEXT(struct show_conf, dir, NULL, "folder of the experiment"), .meta = "DIR" \
    }
#define JSON_OPT                                                \
    {                                                           \
        OPT_BOOL(struct show_conf, json, "false", "print JSON") \
    }

static void put_number(struct buf *b, double v)
{
    char text[32];
    str_from_f64(v, text);
    buf_puts(b, isfinite(v) ? text : "null");
}

static void put_key(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, "\"%s\": ", key);
    buf_json_str(b, text, strlen(text));
}

static void trial_json(const struct exp_trial *t, struct buf *b)
{
    buf_printf(b, "{\"trial\": %jd, ", (intmax_t)t->number);
    put_key(b, "id", t->id);
    buf_puts(b, ", ");
    put_key(b, "status", trial_status_name(t->status));
    buf_puts(b, ", \"value\": ");
    if (t->has_final)
        put_number(b, t->final);
    else
        buf_puts(b, "null");
    buf_printf(b, ", \"parameters\": %s, \"parameter_id\": %s, ", t->params, t->param_id);
    put_key(b, "job", t->job);
    buf_printf(
        b, ", \"created\": %jd, \"started\": %jd, \"ended\": %jd, \"intermediate\": [",
        (intmax_t)t->created, (intmax_t)t->started, (intmax_t)t->ended);
    for (size_t i = 0; i < t->results.n; i++) {
        buf_puts(b, i ? ", " : "");
        put_number(b, t->results.at[i].value);
    }
    buf_puts(b, "], ");
    put_key(b, "message", t->message);
    buf_puts(b, "}");
}

static void counts_of(const struct experiment *e, int64_t n[TRIAL_STATUSES])
{
    memset(n, 0, sizeof(*n) * TRIAL_STATUSES);
    for (size_t i = 0; i < e->trials.n; i++)
        n[e->trials.at[i].status]++;
}

static void get_json(const struct experiment *e, bool alive, struct buf *b)
{
    int64_t n[TRIAL_STATUSES];
    counts_of(e, n);
    buf_puts(b, "{");
    put_key(b, "id", e->set.id);
    buf_puts(b, ", ");
    put_key(b, "name", e->set.name);
    buf_puts(b, ", ");
    put_key(b, "status", exp_status_name(e->status));
    buf_printf(b, ", \"managed\": %s, ", alive ? "true" : "false");
    put_key(b, "tuner", e->set.tuner);
    buf_printf(b, ", \"seed\": %ju, \"trials\": {", (uintmax_t)tuner_seed(e->tuner));
    for (int i = 0; i < TRIAL_STATUSES; i++)
        buf_printf(b, "%s\"%s\": %jd", i ? ", " : "",
                   trial_status_name((enum trial_status)i), (intmax_t)n[i]);
    buf_printf(b, "}, \"concurrency\": %jd, \"max_trials\": %jd, \"seconds\": %jd, ",
               (intmax_t)e->limits.concurrency, (intmax_t)e->limits.trials,
               (intmax_t)(e->spent_ms / 1000));
    put_key(b, "error", e->error);
    buf_puts(b, ", \"best\": ");
    if (e->best >= 0)
        trial_json(&e->trials.at[e->best], b);
    else
        buf_puts(b, "null");
    buf_puts(b, "}\n");
}

static void get_text(const struct experiment *e, bool alive, struct buf *b)
{
    int64_t n[TRIAL_STATUSES];
    counts_of(e, n);
    buf_printf(
        b, "experiment  %s%s%s\nstatus      %s%s\ntuner       %s, seed %ju%s%s\n",
        e->set.id, e->set.name[0] ? "  " : "", e->set.name, exp_status_name(e->status),
        alive ? ", a process runs it" : "", e->set.tuner, (uintmax_t)tuner_seed(e->tuner),
        e->set.assessor ? "; assessor " : "", e->set.assessor ? e->set.assessor : "");
    buf_printf(b, "trials      %zu", e->trials.n);
    if (e->limits.trials > 0)
        buf_printf(b, " of %jd", (intmax_t)e->limits.trials);
    for (int i = 0; i < TRIAL_STATUSES; i++)
        if (n[i])
            buf_printf(b, ", %jd %s", (intmax_t)n[i],
                       trial_status_name((enum trial_status)i));
    buf_puts(b, "\n");
    if (e->error[0])
        buf_printf(b, "error       %s\n", e->error);
    if (e->best >= 0) {
        char value[32];
        str_from_f64(e->trials.at[e->best].final, value);
        buf_printf(b, "best        trial %jd: %s\n            %s\n", (intmax_t)e->best,
                   value, e->trials.at[e->best].params);
    }
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        if (t->status != TS_RUNNING)
            continue;
        char value[32] = "nothing yet";
        if (t->results.n)
            str_from_f64(t->results.at[t->results.n - 1].value, value);
        buf_printf(b, "running     trial %jd, step %zu: %s\n", (intmax_t)t->number,
                   t->results.n, value);
    }
    buf_printf(b, "folder      %s\n", e->dir);
}

static enum rc open_one(const struct show_conf *o, const struct opt_args *args,
                        struct experiment **e, struct err *err)
{
    char *dir = NULL;
    enum rc rc = tune_dir(o->dir, args->n ? args->at[0] : NULL, &dir, err);
    if (!rc)
        rc = experiment_open(dir, e, err);
    mem_free(dir);
    return rc;
}

static enum rc get_once(const struct show_conf *o, const struct opt_args *args,
                        bool *over, struct err *err)
{
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &e, err);
    if (!rc) {
        bool alive = manager_alive(e->dir);
        (o->json ? get_json : get_text)(e, alive, &b);
        *over = !alive;
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    experiment_close(e);
    return rc;
}

static enum rc get_run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct show_conf *o = conf;
    bool over = false;
    enum rc rc = get_once(o, args, &over, err);
    while (!rc && o->watch && !over) {
        struct timespec second = {.tv_sec = 1};
        nanosleep(&second, NULL);
        printf("\033[H\033[2J");
        rc = get_once(o, args, &over, err);
        fflush(stdout);
    }
    return rc;
}

static const struct opt get_opts[] = {
    DIR_OPT,
    JSON_OPT,
    {OPT_BOOL(struct show_conf, watch, "false",
              "show it again every second until it is over")},
    {0},
};

static const struct cmd_example get_examples[] = {
    {"until it is over", "trainyard tune get --watch"},
    {0},
};

const struct cmd cmd_tune_get = {
    .name = "tune get",
    .args = "[ID]",
    .summary = "how an experiment stands",
    .examples = get_examples,
    .opts = get_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = get_run,
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

static enum rc trials_run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct show_conf *o = conf;
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &e, err);
    if (!rc) {
        int64_t *order = tune_ranking(e), n = (int64_t)e->trials.n;
        n = o->head > 0 && o->head < n ? o->head : n;
        if (o->json) {
            buf_puts(&b, "[");
            for (int64_t i = 0; i < n; i++) {
                buf_puts(&b, i ? ",\n " : "");
                trial_json(&e->trials.at[order[i]], &b);
            }
            buf_puts(&b, "]\n");
        } else {
            trials_text(e, order, n, &b);
        }
        mem_free(order);
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    experiment_close(e);
    return rc;
}

static const struct opt trials_opts[] = {
    DIR_OPT,
    JSON_OPT,
    {OPT_INT(struct show_conf, head, "0", 0, INT64_MAX, "only so many; 0: all")},
    {0},
};

static const struct cmd_example trials_examples[] = {
    {"the ten best", "trainyard tune trials --head 10"},
    {0},
};

const struct cmd cmd_tune_trials = {
    .name = "tune trials",
    .args = "[ID]",
    .summary = "the trials of an experiment, best first",
    .examples = trials_examples,
    .opts = trials_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = trials_run,
};

static enum rc best_run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct show_conf *o = conf;
    struct experiment *e = NULL;
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = open_one(o, args, &e, err);
    if (!rc && e->best < 0)
        rc = err_coded(err, RC_NOTFOUND, E4008,
                       "no trial of experiment %s has a result yet", e->set.id);
    if (!rc) {
        const struct exp_trial *t = &e->trials.at[e->best];
        char value[32];
        str_from_f64(t->final, value);
        if (o->json)
            buf_printf(
                &b,
                "{\"trial\": %jd, \"id\": \"%s\", \"value\": %s, \"parameters\": %s}\n",
                (intmax_t)t->number, t->id, value, t->params);
        else
            buf_printf(&b, "trial %jd: %s\n%s\n", (intmax_t)t->number, value, t->params);
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    experiment_close(e);
    return rc;
}

static const struct opt best_opts[] = {DIR_OPT, JSON_OPT, {0}};

static const struct cmd_example best_examples[] = {
    {"for a script", "trainyard tune best --json"},
    {0},
};

const struct cmd cmd_tune_best = {
    .name = "tune best",
    .args = "[ID]",
    .summary = "the best trial so far: its number, value and parameters",
    .examples = best_examples,
    .opts = best_opts,
    .conf_size = sizeof(struct show_conf),
    .max_args = 1,
    .run = best_run,
};

static enum rc list_run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct show_conf *o = conf;
    char *home = o->dir ? mem_strdup(o->dir) : tune_home();
    struct fs_names names = {0};
    struct buf b;
    bool first = true;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = fs_is_dir(home) ? fs_list(home, &names, err) : RC_OK;
    if (o->json)
        buf_puts(&b, "[");
    else
        buf_printf(&b, "%-10s  %-20s  %7s  %-12s  %s\n", "id", "status", "trials", "best",
                   "name");
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *dir = fs_join(home, names.at[i]), *file = fs_join(dir, "experiment.json");
        struct experiment *e = NULL;
        struct stat st;
        if (lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && fs_exists(file) &&
            experiment_open(dir, &e, NULL) == RC_OK) {
            char best[32] = "-";
            if (e->best >= 0)
                str_from_f64(e->trials.at[e->best].final, best);
            if (o->json) {
                buf_puts(&b, first ? "" : ", ");
                get_json(e, manager_alive(dir), &b);
            } else {
                buf_printf(&b, "%-10s  %-20s  %7zu  %-12s  %s\n", e->set.id,
                           exp_status_name(e->status), e->trials.n, best, e->set.name);
            }
            first = false;
        }
        experiment_close(e);
        mem_free(file);
        mem_free(dir);
    }
    buf_puts(&b, o->json ? "]\n" : "");
    if (!rc)
        rc = cmd_print(&b, err);
    fs_names_release(&names);
    buf_release(&b);
    mem_free(home);
    return rc;
}

static const struct opt list_opts[] = {
    {OPT_TEXT(struct show_conf, dir, NULL, "folder that holds the experiments' folders"),
     .meta = "DIR"},
    JSON_OPT,
    {0},
};

static const struct cmd_example list_examples[] = {
    {"for a script", "trainyard tune list --json"},
    {0},
};

const struct cmd cmd_tune_list = {
    .name = "tune list",
    .summary = "the experiments of this user",
    .examples = list_examples,
    .opts = list_opts,
    .conf_size = sizeof(struct show_conf),
    .run = list_run,
};
