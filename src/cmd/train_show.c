/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen of a training run on stderr: callbacks of the trainer turn each event into
 * a block or a line, in one of three forms. On a terminal a bottom line is drawn over
 * several times a second and all else is printed above it; elsewhere there are plain
 * lines, at most one of progress per second; with --log json there is one object per
 * line, and none is left out. Inside of a job each evaluation is also told as a
 * `::trainyard` line, from which the job takes its metrics.
 */
#include "cmd/train_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "comm/comm.h"

#define BY_HOST_MAX 256 /* ops that are looked at */

#define LIVE_NS (CLOCK_SECOND / 10)
#define WIDTH_DEFAULT 80
#define LINE_MAX_BYTES ((size_t)1 << 20)

const char *train_size_text(double v, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t u = 0;
    for (; v >= 1024 && u + 1 < ARRAY_LEN(units); u++)
        v /= 1024;
    snprintf(out, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return out;
}

const char *train_count_text(uint64_t n, char out[32])
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, n);
    size_t len = strlen(digits), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

void train_show_init(struct train_show *s, bool json)
{
    const char *term = getenv("TERM");
    *s = (struct train_show){.json = json, .in_job = getenv("TRAINYARD_JOB_ID") != NULL};
    s->live = !json && isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void train_show_clear(struct train_show *s)
{
    if (s->line)
        fputs("\r\033[K", stderr);
    s->line = false;
}

/* A line that stays; ends `b`. */
static void train_show_put(struct train_show *s, struct buf *b)
{
    train_show_clear(s);
    buf_putc(b, '\n');
    fwrite(buf_str(b), 1, b->n, stderr);
    buf_release(b);
}

static int terminal_width(void)
{
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col
                                                                     : WIDTH_DEFAULT;
}

/* The bottom line, cut to the width of the terminal; ends `b`. */
static void put_live(struct train_show *s, struct buf *b)
{
    int width = terminal_width() - 1;
    fprintf(stderr, "\r\033[K%.*s", width > 0 ? width : 1, buf_str(b));
    s->line = true;
    buf_release(b);
}

static void put_json_lines(struct buf *b, const struct train_score_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, ", ");
        buf_json_str(b, lines[i].name, strlen(lines[i].name));
        if (lines[i].defined && isfinite(lines[i].value))
            buf_printf(b, ": %.6f", lines[i].value);
        else
            buf_puts(b, ": null");
    }
}

static void put_text_lines(struct buf *b, const struct train_score_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].defined) /* averages have no value at first */
            buf_printf(b, "  %s %.6f", lines[i].name, lines[i].value);
}

static size_t state_bytes(const struct train_session *s)
{
    size_t bytes = 0;
    for (int i = 0; i < lookup_n_tables(s->model->lookup); i++) {
        struct lookup_memory memory;
        lookup_memory(s->model->lookup, i, &memory);
        bytes += memory.state;
    }
    return bytes;
}

static void start_json(const struct train_start *x, struct buf *b)
{
    const struct train_session *s = x->session;
    size_t tables, dense, activations;
    train_session_bytes(s, &tables, &dense, &activations);
    buf_printf(
        b,
        "{\"event\": \"start\", \"model\": \"%s\", \"features\": %zu, \"tables\": "
        "%d, \"table_bytes\": %zu, \"dense_bytes\": %zu, \"rows\": %jd, \"files\": "
        "%zu, \"steps\": %ju, \"step\": %ju, \"threads\": %d, \"seed\": %ju, "
        "\"model_dir\": ",
        s->model->ops->name, feature_plan_count(s->plan),
        lookup_n_tables(s->model->lookup), tables, dense, (intmax_t)x->rows, x->files,
        (uintmax_t)x->total_steps, (uintmax_t)s->step, pool_threads(s->options.pool),
        (uintmax_t)s->options.seed);
    buf_json_str(b, x->model_dir, strlen(x->model_dir));
    if (x->resumed_from) {
        buf_puts(b, ", \"resumed_from\": ");
        buf_json_str(b, x->resumed_from, strlen(x->resumed_from));
    }
    buf_putc(b, '}');
}

/* Ops without an implementation on the device: each is named once. */
static void put_by_host(struct buf *b, const struct graph *g)
{
    const char *names[BY_HOST_MAX];
    size_t n = graph_by_host(g, names, BY_HOST_MAX), shown = 0;
    if (n == 0)
        return;
    buf_printf(b, "on the CPU  %zu of %zu ops:", n, graph_n_ops(g));
    for (size_t i = 0; i < n && i < BY_HOST_MAX; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= strcmp(names[k], names[i]) == 0;
        if (!again)
            buf_printf(b, "%s %s", shown++ ? "," : "", names[i]);
    }
    buf_puts(b, "\n");
}

/* Tables that the device does not keep, with why. */
static void put_tables_by_host(struct buf *b, const struct lookup *l)
{
    int n = 0, all = lookup_n_tables(l);
    for (int i = 0; i < all; i++)
        n += lookup_by_host(l, i) != NULL;
    if (n == 0)
        return;
    buf_printf(b, "on the CPU  %d of %d tables:", n, all);
    for (int i = 0, shown = 0; i < all && shown < BY_HOST_MAX; i++)
        if (lookup_by_host(l, i))
            buf_printf(b, "%s '%s' (%s)", shown++ ? "," : "", lookup_table(l, i)->name,
                       lookup_by_host(l, i));
    buf_puts(b, n > BY_HOST_MAX ? ", ...\n" : "\n");
}

static void put_device(struct buf *b, const struct train_session *s)
{
    const struct device *d = s->options.device;
    int threads = pool_threads(s->options.pool);
    buf_printf(b, "device      %s (%s), %d thread%s; seed %ju\n",
               d ? d->ops->name : "cpu",
               d && d->ops->about ? d->ops->about(d) : cpu_level_name(cpu_level()),
               threads, threads == 1 ? "" : "s", (uintmax_t)s->options.seed);
    put_by_host(b, s->model->graph);
    put_tables_by_host(b, s->model->lookup);
}

static void start_model(const struct train_session *s, struct buf *b)
{
    size_t tables, dense, activations, n, ids = 0, sequences = 0;
    size_t all = feature_plan_count(s->plan);
    uint64_t rows = 0, params = 0;
    char t[4][32];
    train_session_bytes(s, &tables, &dense, &activations);
    for (size_t i = 0; i < all; i++) {
        const struct feature_info *f = feature_plan_info(s->plan, i);
        sequences += f->sequence;
        ids += f->sparse && !f->sequence;
    }
    for (int i = 0; i < lookup_n_tables(s->model->lookup); i++)
        rows += (uint64_t)lookup_table(s->model->lookup, i)->rows;
    struct param *const *p = graph_params(s->model->graph, &n);
    for (size_t i = 0; i < n; i++)
        params += p[i]->trainable ? (uint64_t)p[i]->n : 0;
    size_t state = state_bytes(s);
    buf_printf(b, "model       %s, %s dense parameters in %zu tensors\n",
               s->model->ops->name, train_count_text(params, t[0]), n);
    buf_printf(b, "features    %zu: %zu of ids, %zu of numbers, %zu sequences\n", all,
               ids, all - ids - sequences, sequences);
    buf_printf(b, "tables      %d with %s rows: up to %s and %s of optimizer state%s\n",
               lookup_n_tables(s->model->lookup), train_count_text(rows, t[1]),
               train_size_text((double)(tables - state), t[2]),
               train_size_text((double)state, t[3]),
               comm_world(s->options.comm) > 1 ? " on this rank" : "");
}

static void start_text(const struct train_start *x, const char *eval_input, struct buf *b)
{
    const struct train_session *s = x->session;
    char t[2][32];
    start_model(s, b);
    buf_puts(b, "data        ");
    if (x->rows >= 0)
        buf_printf(b, "%s rows in ", train_count_text((uint64_t)x->rows, t[0]));
    buf_printf(b, "%zu file%s, batches of ", x->files, x->files == 1 ? "" : "s");
    if (s->shards.total > 1)
        buf_printf(b, "%d x ", s->shards.total);
    buf_printf(b, "%u", s->conf->data_config->batch_size);
    if (x->total_steps)
        buf_printf(b, ": %s step%s", train_count_text(x->total_steps, t[1]),
                   x->total_steps == 1 ? "" : "s");
    buf_printf(b, "\nevaluation  %s\n", eval_input[0] ? eval_input : "none");
    put_device(b, s);
    if (s->shards.total > 1)
        buf_printf(b, "ranks       %d of %d thread%s, %d shards of a batch\n",
                   comm_world(s->options.comm), pool_threads(s->options.pool),
                   pool_threads(s->options.pool) == 1 ? "" : "s", s->shards.total);
    if (x->memory_expected > 0)
        buf_printf(b, "memory      %s expected, %s may be used\n",
                   train_size_text((double)x->memory_expected, t[0]),
                   train_size_text((double)x->memory_allowed, t[1]));
    buf_printf(b, "model_dir   %s", x->model_dir);
    if (x->resumed_from)
        buf_printf(b,
                   "\n"
                   "resumed     from %s, after step %ju",
                   x->resumed_from, (uintmax_t)s->step - 1);
    if (x->started_from)
        buf_printf(b, "\nstarted     from %zu tensors of %s", x->n_started,
                   x->started_from);
}

static void on_start(void *arg, const struct train_start *x)
{
    struct train_show *s = arg;
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    s->model = x->session->model->ops->name;
    s->eval_input = x->session->conf->eval_input_path;
    s->curves = x->session->conf->train_config->use_tensorboard;
    if (s->json)
        start_json(x, &b);
    else
        start_text(x, s->eval_input, &b);
    train_show_put(s, &b);
}

/* Memory of this process that is in use; 0 when it cannot be told. */
static double resident_bytes(void)
{
    char *text = NULL;
    size_t n;
    double pages = 0;
    if (fs_read("/proc/self/statm", 4096, &text, &n, NULL) == RC_OK) {
        struct str rest = str_c(text), part;
        if (!(str_split(&rest, ' ', &part) && str_split(&rest, ' ', &part) &&
              str_to_f64(part, &pages)))
            pages = 0;
    }
    mem_free(text);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

static void progress_json(const struct train_progress *p, struct buf *b)
{
    buf_printf(b,
               "{\"event\": \"progress\", \"step\": %ju, \"epoch\": %ju, \"rows\": %ju, "
               "\"loss\": %.6f, \"rows_per_s\": %.0f, \"wait\": %.4f",
               (uintmax_t)p->step, (uintmax_t)p->epoch, (uintmax_t)p->rows, p->loss,
               p->rows_per_s, p->wait);
    if (p->skew.ranks)
        buf_printf(b, ", \"comm\": %.4f, \"slowest_rank\": %d, \"skew\": %.4f",
                   p->skew.comm, p->skew.slowest, p->skew.skew);
    if (p->skew.ranks)
        buf_printf(b, ", \"sent_bytes\": %.0f, \"least_bytes\": %.0f", p->sent, p->least);
    put_json_lines(b, p->lines, p->n);
    buf_putc(b, '}');
}

/* Of several ranks: time in calls among them; the slowest, and how much busier it is. */
static void put_skew(const struct train_skew_words *w, struct buf *b)
{
    if (w->ranks)
        buf_printf(b, "  comm %.0f%%  slowest rank %d by %.0f%%", w->comm * 100,
                   w->slowest, w->skew * 100);
}

/* The short form, most important first: it may be cut on the right. */
static void progress_live(const struct train_progress *p, struct buf *b)
{
    char t[32], left[CLOCK_TEXT_SIZE];
    if (p->total_steps)
        buf_printf(b, "%3.0f%%  step %ju/%ju",
                   (double)(p->step + 1) * 100 / (double)p->total_steps,
                   (uintmax_t)p->step + 1, (uintmax_t)p->total_steps);
    else
        buf_printf(b, "step %ju", (uintmax_t)p->step + 1);
    buf_printf(b, "  rows %s  loss %.4f", train_count_text(p->rows, t), p->loss);
    for (size_t i = 0; i < p->n && i < 2; i++)
        if (p->lines[i].defined)
            buf_printf(b, "  %s %.4f", p->lines[i].name, p->lines[i].value);
    buf_printf(b, "  %s rows/s  wait %.0f%%",
               train_count_text((uint64_t)p->rows_per_s, t), p->wait * 100);
    put_skew(&p->skew, b);
    if (p->left > 0) {
        clock_duration((int64_t)(p->left * 1e9), left);
        buf_printf(b, "  left %s", left);
    }
    buf_printf(b, "  mem %s", train_size_text(resident_bytes(), t));
}

static void progress_text(const struct train_progress *p, struct buf *b)
{
    char left[CLOCK_TEXT_SIZE], t[32];
    buf_printf(b, "step %ju  rows %ju  loss %.6f", (uintmax_t)p->step, (uintmax_t)p->rows,
               p->loss);
    put_text_lines(b, p->lines, p->n);
    buf_printf(b, "  %.0f rows/s  wait %.1f%%", p->rows_per_s, p->wait * 100);
    put_skew(&p->skew, b);
    if (p->skew.ranks) {
        buf_printf(b, "  sent %s a step", train_size_text(p->sent, t));
        buf_printf(b, " of at least %s", train_size_text(p->least, t));
    }
    buf_printf(b, "  mem %s", train_size_text(resident_bytes(), t));
    if (p->left > 0) {
        clock_duration((int64_t)(p->left * 1e9), left);
        buf_printf(b, "  left %s", left);
    }
}

static void on_progress(void *arg, const struct train_progress *p)
{
    struct train_show *s = arg;
    int64_t now = clock_mono_ns();
    struct buf b;
    if (!s->live && !p->due)
        return;
    /* Of plain lines that would come thick and fast some are left out, as upstream. */
    if (!s->live && !s->json && s->printed_ns && now - s->printed_ns < CLOCK_SECOND)
        return;
    s->printed_ns = now;
    buf_init(&b, LINE_MAX_BYTES);
    if (s->json)
        progress_json(p, &b);
    else if (s->live)
        progress_live(p, &b);
    else
        progress_text(p, &b);
    if (s->live)
        put_live(s, &b);
    else
        train_show_put(s, &b);
}

static void on_saved(void *arg, int64_t step, const char *dir)
{
    struct train_show *s = arg;
    struct buf b;
    if (s->live)
        return; /* the table of evaluations and the closing block say it */
    buf_init(&b, LINE_MAX_BYTES);
    if (s->json) {
        buf_printf(
            &b, "{\"event\": \"checkpoint\", \"step\": %jd, \"path\": ", (intmax_t)step);
        buf_json_str(&b, dir, strlen(dir));
        buf_putc(&b, '}');
    } else {
        buf_printf(&b, "checkpoint %s", dir);
    }
    train_show_put(s, &b);
}

static void on_evaluating(void *arg, int64_t step, int64_t rows)
{
    struct train_show *s = arg;
    struct buf b;
    char t[32];
    if (!s->live)
        return;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "evaluating step %jd: %s rows", (intmax_t)step,
               train_count_text((uint64_t)rows, t));
    put_live(s, &b);
}

static int column_width(const char *name)
{
    size_t n = strlen(name);
    return n < 9 ? 9 : (int)n;
}

/* Whether column `i` is in the table of evaluations: the metric that decides always is, the
 * others as far as the terminal is wide. What is left stands below each row.
 */
static bool in_table(const struct train_evaluation *e, int limit, size_t i)
{
    int width = (int)strlen("evaluation  ") + 2 * 9 + 2;
    const char *metric = e->metric ? e->metric : "";
    if (e->metric)
        width += 2 * (2 + column_width(metric)) + (int)strlen(" against the best");
    for (size_t k = 0; k <= i; k++) {
        const char *name = e->lines[k].name;
        int more = strcmp(name, metric) == 0 ? 0 : 2 + column_width(name);
        bool fits = limit <= 0 || !more || width + more <= limit;
        if (k == i)
            return fits;
        width += fits ? more : 0;
    }
    return false;
}

static void evaluation_head(const struct train_evaluation *e, int limit, struct buf *b)
{
    buf_printf(b, "evaluation  %9s  %9s", "step", "rows");
    for (size_t i = 0; i < e->n; i++)
        if (in_table(e, limit, i))
            buf_printf(b, "  %*s", column_width(e->lines[i].name), e->lines[i].name);
    if (e->metric)
        buf_printf(b, "  %s against the best", e->metric);
    buf_putc(b, '\n');
}

static void evaluation_value(const struct train_score_line *l, int width, struct buf *b)
{
    if (l->defined)
        buf_printf(b, "  %*.6f", width, l->value);
    else
        buf_printf(b, "  %*s", width, "undefined");
}

/* What the table has no room for. */
static void evaluation_rest(const struct train_evaluation *e, int limit, struct buf *b)
{
    int width = limit; /* so that the first one begins a line */
    for (size_t i = 0; i < e->n; i++) {
        const struct train_score_line *l = &e->lines[i];
        int more = 2 + (int)strlen(l->name) + 2 + 9;
        if (in_table(e, limit, i))
            continue;
        if (width + more > limit) {
            buf_puts(b, "\n          ");
            width = 10;
        }
        buf_printf(b, "  %s", l->name);
        evaluation_value(l, 0, b);
        width += more;
    }
}

static void evaluation_row(const struct train_evaluation *e, int limit, struct buf *b)
{
    buf_printf(b, "            %9jd  %9jd", (intmax_t)e->step, (intmax_t)e->rows);
    for (size_t i = 0; i < e->n; i++)
        if (in_table(e, limit, i))
            evaluation_value(&e->lines[i], column_width(e->lines[i].name), b);
    if (e->metric && e->has_best)
        buf_printf(b, "  %+.6f%s", e->change, e->better ? "  best" : "");
    else if (e->metric)
        buf_puts(b, "  first");
    evaluation_rest(e, limit, b);
    for (size_t i = 0; i < e->n; i++)
        if (e->lines[i].why)
            buf_printf(b, "\n            %s%s: %s", e->lines[i].name,
                       e->lines[i].defined ? "" : " is undefined", e->lines[i].why);
}

/* A terminal that changed its width gets a head of its own for it. */
static void evaluation_text(struct train_show *s, const struct train_evaluation *e,
                            struct buf *b)
{
    int limit = s->live ? terminal_width() - 1 : 0;
    if (!s->headed || limit != s->table_width)
        evaluation_head(e, limit, b);
    s->headed = true;
    s->table_width = limit;
    evaluation_row(e, limit, b);
}

/* For the job that runs us, and the tuner behind it: the line that jobs take metrics
 * from. */
static void tell_job(struct train_show *s, const struct train_evaluation *e)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "::trainyard step=%jd", (intmax_t)e->step);
    for (size_t i = 0; i < e->n; i++)
        if (e->lines[i].defined && isfinite(e->lines[i].value))
            buf_printf(&b, " %s=%.6f", e->lines[i].name, e->lines[i].value);
    train_show_put(s, &b);
}

static void on_evaluated(void *arg, const struct train_evaluation *e)
{
    struct train_show *s = arg;
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    if (s->json) {
        buf_printf(
            &b,
            "{\"event\": \"evaluation\", \"step\": %jd, \"rows\": %jd, \"seconds\": "
            "%.3f, \"best_step\": %jd",
            (intmax_t)e->step, (intmax_t)e->rows, e->seconds, (intmax_t)e->best_step);
        put_json_lines(&b, e->lines, e->n);
        buf_putc(&b, '}');
    } else {
        evaluation_text(s, e, &b);
    }
    train_show_put(s, &b);
    if (s->in_job)
        tell_job(s, e);
}

void train_show_note(struct train_show *s, const char *text)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    if (s->json) {
        buf_puts(&b, "{\"event\": \"note\", \"text\": ");
        buf_json_str(&b, text, strlen(text));
        buf_putc(&b, '}');
    } else {
        buf_printf(&b, "note: %s", text);
    }
    train_show_put(s, &b);
}

static void on_note(void *arg, const char *text)
{
    train_show_note(arg, text);
}

void train_show_watch(struct train_show *s, struct train_watch *w)
{
    w->arg = s;
    w->live_ns = s->live ? LIVE_NS : 0;
    w->start = on_start;
    w->progress = on_progress;
    w->saved = on_saved;
    w->evaluating = on_evaluating;
    w->evaluated = on_evaluated;
    w->note = on_note;
}

static const char *end_name(enum train_end end)
{
    static const char *const names[] = {[TRAIN_DONE] = "done",
                                        [TRAIN_STOPPED] = "stopped",
                                        [TRAIN_EARLY] = "stopped early"};
    return names[end];
}

static void end_json(const struct train_result *r, struct buf *b)
{
    buf_printf(b,
               "{\"event\": \"end\", \"how\": \"%s\", \"steps\": %ju, \"rows\": %ju, "
               "\"seconds\": %.3f, \"wait\": %.4f, \"stopped\": %s, \"checkpoint\": ",
               end_name(r->end), (uintmax_t)r->steps, (uintmax_t)r->rows, r->seconds,
               r->wait, r->end == TRAIN_STOPPED ? "true" : "false");
    buf_json_str(b, r->checkpoint ? r->checkpoint : "",
                 r->checkpoint ? strlen(r->checkpoint) : 0);
    if (r->metric[0]) {
        buf_puts(b, ", \"metric\": ");
        buf_json_str(b, r->metric, strlen(r->metric));
        buf_printf(b, ", \"best\": %.6f, \"best_step\": %jd", r->best,
                   (intmax_t)r->best_step);
    }
    buf_putc(b, '}');
}

/* What to type next. */
static void end_next(const struct train_result *r, const char *model_dir, struct buf *b)
{
    char *config = fs_join(model_dir, "pipeline.config"),
         *to = fs_join(model_dir, "export");
    buf_puts(b, "\nnext        ");
    if (r->end == TRAIN_STOPPED)
        buf_puts(b, "run the same command with --continue to resume");
    else
        cmd_put_words(b, "trainyard", "export", config, "--export-dir", to, NULL);
    mem_free(config);
    mem_free(to);
}

static void end_text(const struct train_show *s, const struct train_result *r,
                     const char *model_dir, struct buf *b)
{
    char took[CLOCK_TEXT_SIZE], t[32];
    clock_duration((int64_t)(r->seconds * 1e9), took);
    buf_printf(b, "\n%-11s %s after %ju step%s, %s rows, %ju pass%s over the data, %s",
               end_name(r->end), s->model ? s->model : "", (uintmax_t)r->steps,
               r->steps == 1 ? "" : "s", train_count_text(r->rows, t),
               (uintmax_t)r->epochs, r->epochs == 1 ? "" : "es", took);
    buf_printf(
        b, "\nspeed       %s rows/s, %.1f%% of the time without data",
        train_count_text((uint64_t)(r->busy > 0 ? (double)r->new_rows / r->busy : 0), t),
        r->wait * 100);
    if (r->metric[0])
        buf_printf(b, "\nbest        %s %.6f at step %jd%s", r->metric, r->best,
                   (intmax_t)r->best_step,
                   r->takes_best ? ": kept, and what export and predict take" : "");
    if (r->checkpoint)
        buf_printf(b, "\ncheckpoint  %s", r->checkpoint);
    if (s->headed)
        buf_printf(b, "\nresults     %s/train_eval_result_v2.txt", model_dir);
    if (s->curves) {
        buf_puts(b, "\ncurves      ");
        cmd_put_words(b, "tensorboard", "--logdir", model_dir, NULL);
    }
    end_next(r, model_dir, b);
}

void train_show_end(struct train_show *s, const struct train_result *r,
                    const char *model_dir)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    if (s->json)
        end_json(r, &b);
    else
        end_text(s, r, model_dir, &b);
    train_show_put(s, &b);
}

void train_show_failure(enum rc rc, struct err *err)
{
    const struct code_info *info = code_info(err_code_of(err, rc));
    struct buf b;
    if (!err->msg[0])
        return;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "{\"event\": \"error\", \"code\": \"%s\", \"message\": ",
               info ? info->id : "E0002");
    buf_json_str(&b, err->msg, strlen(err->msg));
    buf_puts(&b, "}\n");
    fwrite(buf_str(&b), 1, b.n, stderr);
    buf_release(&b);
    err->msg[0] = '\0';
}
