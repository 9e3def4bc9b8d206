/* SPDX-License-Identifier: Apache-2.0 */
/* How an experiment stands, for people: once, or while it runs. Watching reads the folder
 * anew every second and never speaks to the process that runs the experiment. Whether
 * that process lives is asked first: what it wrote until then is in the folder that is
 * read next, so the last picture is complete. A terminal is drawn over; elsewhere there
 * is a line for each change.
 */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/stop_signals.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"
#include "job/quote.h"
#include "job/status.h"

#define BAR 30
#define RUNNING_SHOWN 12

/* `s`, cut to `n` columns with dots where it was longer; 0: whole. */
static void put_cut(struct buf *b, struct str s, size_t n)
{
    if (n == 0 || s.n <= n) {
        buf_add(b, s.p, s.n);
        return;
    }
    size_t keep = n > 3 ? n - 3 : 0;
    while (keep > 0 && ((unsigned char)s.p[keep] & 0xc0) == 0x80)
        keep--; /* not inside a character */
    buf_add(b, s.p, keep);
    buf_puts(b, n > 3 ? "..." : "");
}

static size_t tune_watch_room(size_t width, size_t used)
{
    return width == 0 ? 0 : width > used + 8 ? width - used : 8;
}

static int64_t spent_now(const struct experiment *e, bool alive)
{
    int64_t more = alive && e->status_at ? clock_wall_ns() / 1000000 - e->status_at : 0;
    return e->spent_ms + (more > 0 ? more : 0);
}

/* Milliseconds until a limit is reached, at the pace so far; -1: nobody knows. */
static int64_t time_left(const struct experiment *e, int64_t spent, int64_t ended)
{
    double left = INFINITY;
    if (e->limits.trials > 0 && ended > 0)
        left = (double)(e->limits.trials - ended) * (double)spent / (double)ended;
    if (e->limits.seconds > 0)
        left = fmin(left, (double)(e->limits.seconds * 1000 - spent));
    return isfinite(left) ? (int64_t)fmax(left, 0) : -1;
}

static void show_progress(const struct experiment *e, bool alive, struct buf *b)
{
    int64_t n[TRIAL_STATUSES] = {0}, ended = 0, spent = spent_now(e, alive);
    char took[CLOCK_TEXT_SIZE], text[CLOCK_TEXT_SIZE];
    for (size_t i = 0; i < e->trials.n; i++) {
        n[e->trials.at[i].status]++;
        ended += trial_status_ended(e->trials.at[i].status);
    }
    double share = e->limits.trials > 0 ? (double)ended / (double)e->limits.trials : 0;
    if (e->limits.seconds > 0)
        share = fmax(share, (double)spent / (double)(e->limits.seconds * 1000));
    if (e->limits.trials > 0 || e->limits.seconds > 0) {
        int full = (int)(fmin(share, 1) * BAR);
        buf_puts(b, "progress    [");
        for (int i = 0; i < BAR; i++)
            buf_putc(b, i < full ? '#' : '.');
        buf_printf(b, "] %d%%\n", (int)(fmin(share, 1) * 100));
    }
    buf_printf(b, "trials      %jd", (intmax_t)ended);
    if (e->limits.trials > 0)
        buf_printf(b, " of %jd", (intmax_t)e->limits.trials);
    buf_puts(b, " ended");
    for (int i = 0; i < TRIAL_STATUSES; i++)
        if (n[i])
            buf_printf(b, ", %jd %s", (intmax_t)n[i],
                       trial_status_name((enum trial_status)i));
    clock_duration(spent * 1000000, took);
    buf_printf(b, "\ntime        %s", took);
    int64_t left = time_left(e, spent, ended);
    if (alive && left >= 0) {
        clock_duration(left * 1000000, text);
        buf_printf(b, ", about %s left", text);
    }
    buf_puts(b, "\n");
}

static void show_best(const struct experiment *e, size_t width, struct buf *b)
{
    const struct exp_trial *t = &e->trials.at[e->best];
    int64_t front = 0;
    char value[32];
    str_from_f64(t->final, value);
    buf_printf(b, "best        trial %jd: %s%s\n            ", (intmax_t)e->best, value,
               t->violation > 0 ? " (breaks a constraint)" : "");
    put_cut(b, str_c(t->params), tune_watch_room(width, 12));
    buf_puts(b, "\n");
    if (experiment_objectives(e) == 1)
        return;
    for (size_t i = 0; i < e->trials.n; i++)
        front += experiment_in_front(e, &e->trials.at[i]);
    buf_printf(b,
               "front       %jd Pareto-optimal trials; `trainyard tune best` lists "
               "them\n"
               "",
               (intmax_t)front);
}

static void show_running(const struct experiment *e, size_t width, struct buf *b)
{
    int64_t shown = 0, now = clock_wall_ns() / 1000000;
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        char value[32] = "nothing yet", took[CLOCK_TEXT_SIZE];
        if (t->status != TS_RUNNING)
            continue;
        if (shown++ == RUNNING_SHOWN)
            buf_puts(b, "            ...\n");
        if (shown > RUNNING_SHOWN)
            continue;
        if (t->results.n)
            str_from_f64(t->results.at[t->results.n - 1].value, value);
        clock_duration((now > t->started ? now - t->started : 0) * 1000000, took);
        size_t before = b->n;
        buf_printf(b, "running     trial %jd, step %zu: %s, %s  ", (intmax_t)t->number,
                   t->results.n, value, took);
        put_cut(b, str_c(t->params), tune_watch_room(width, b->n - before));
        buf_puts(b, "\n");
    }
}

/* It runs, but none of its trials starts. */
static void show_held(const struct tune_at *at, struct buf *b)
{
    struct doc doc = {0};
    const struct node *root = at->answer ? job_json_open(at->answer, &doc) : NULL;
    const char *held = node_get_text(root, "held", "");
    if (*held)
        buf_printf(b, "held        no trial starts: %s\n", held);
    if (doc.src)
        doc_release(&doc);
}

void tune_show(const struct experiment *e, const struct tune_at *at, size_t width,
               struct buf *b)
{
    enum exp_status now = exp_status_now(e->status, at->alive);
    const char *tuner = e->set.tuner_class ? e->set.tuner_class : e->set.tuner;
    const char *assessor =
        e->set.assessor_class ? e->set.assessor_class : e->set.assessor;
    buf_printf(b, "experiment  %s%s", e->set.id, e->set.name[0] ? "  " : "");
    job_quote_terminal(str_c(e->set.name), b);
    buf_printf(b, "\nstatus      %s%s\ntuner       %s, seed %ju%s%s\n",
               exp_status_name(now),
               now == EXP_INTERRUPTED
                   ? ": what ran it is gone; `trainyard tune resume` continues it"
               : !at->alive         ? ""
               : tune_at_served(at) ? ", the server runs it"
                                    : ", a process runs it",
               tuner, (uintmax_t)experiment_seed(e), assessor ? "; assessor " : "",
               assessor ? assessor : "");
    show_progress(e, at->alive, b);
    show_held(at, b);
    if (e->error[0])
        buf_printf(b, "error       %s\n", e->error);
    if (e->best >= 0)
        show_best(e, width, b);
    show_running(e, width, b);
    if (tune_at_served(at))
        buf_printf(b, "owner       %s\nserver      %s\n", e->set.owner,
                   at->server.remote.url);
    else
        buf_printf(b, "folder      %s\n", e->dir);
}

static size_t tune_watch_columns(FILE *to)
{
    struct winsize w = {0};
    if (ioctl(fileno(to), TIOCGWINSZ, &w) != 0 || w.ws_col < 20)
        return 80;
    return w.ws_col;
}

/* Each line over the old one, which may have been longer; then nothing below. */
static void tune_watch_draw(FILE *to, const struct buf *text, size_t width)
{
    struct buf b;
    struct str rest = str_of(text->p, text->n), line;
    buf_init(&b, CMD_TEXT_MAX);
    buf_puts(&b, "\033[H");
    while (rest.n && str_split(&rest, '\n', &line)) {
        put_cut(&b, line, width);
        buf_puts(&b, "\033[K\n");
    }
    buf_puts(&b, "\033[J");
    fputs(buf_str(&b), to);
    fflush(to);
    buf_release(&b);
}

/* What changed, on one line. */
static void tune_watch_say(FILE *to, const struct experiment *e, struct buf *last)
{
    struct buf b;
    int64_t ended = 0;
    buf_init(&b, CMD_TEXT_MAX);
    for (size_t i = 0; i < e->trials.n; i++)
        ended += trial_status_ended(e->trials.at[i].status);
    buf_printf(&b, "%s: %jd", exp_status_name(e->status), (intmax_t)ended);
    if (e->limits.trials > 0)
        buf_printf(&b, " of %jd", (intmax_t)e->limits.trials);
    buf_printf(&b, " trials, %jd running", (intmax_t)experiment_live(e));
    if (e->best >= 0) {
        char value[32];
        str_from_f64(e->trials.at[e->best].final, value);
        buf_printf(&b, ", best %s (trial %jd)", value, (intmax_t)e->best);
    }
    if (strcmp(buf_str(&b), buf_str(last)) != 0)
        fprintf(to, "%s\n", buf_str(&b));
    fflush(to);
    buf_release(last);
    *last = b;
}

/* A second, or until a signal asks to end. */
static enum rc tune_watch_pause(const struct tune_at *at, int signals, struct err *err)
{
    struct pollfd p = {.fd = signals, .events = POLLIN};
    if (poll(&p, 1, 1000) > 0 && stop_signals_came(signals))
        return err_set(err, RC_CANCELED,
                       "stopped watching; the server goes on with experiment %s", at->id);
    return RC_OK;
}

enum rc tune_watch(struct tune_at *at, FILE *to, struct err *err)
{
    bool terminal = isatty(fileno(to)), alive = true, away = false;
    int64_t lost = 0;
    /* what was fetched from a server is removed at the end */
    int signals = tune_at_served(at) ? stop_signals_watch() : -1;
    struct buf last;
    enum rc rc = RC_OK;
    buf_init(&last, CMD_TEXT_MAX);
    if (terminal)
        fputs("\033[2J", to);
    while (!rc && alive) {
        struct experiment *e = NULL;
        struct buf b;
        rc = tune_at_refresh(at, err); /* first: what it wrote until then is read below */
        away = job_wait_for_server(rc, err, &lost);
        alive = away || at->alive;
        if (!rc)
            rc = tune_at_experiment(at, &e, err);
        buf_init(&b, CMD_TEXT_MAX);
        if (!rc && terminal) {
            tune_show(e, at, tune_watch_columns(to), &b);
            tune_watch_draw(to, &b, tune_watch_columns(to));
        } else if (!rc) {
            tune_watch_say(to, e, &last);
        }
        buf_release(&b);
        experiment_close(e);
        if (away)
            rc = RC_OK;
        if (!rc && alive)
            rc = tune_watch_pause(at, signals, err);
    }
    if (signals >= 0)
        close(signals);
    buf_release(&last);
    return rc;
}
