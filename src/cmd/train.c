/* SPDX-License-Identifier: Apache-2.0 */
/* Progress goes to stderr: one line per report, in words or as JSON. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "train/trainer.h"

struct train_conf {
    const char *train_input, *eval_input, *model_dir, *fine_tune, *edit_config_json, *log;
    struct opt_list set;
    int64_t threads, seed;
    bool resume;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct train_conf, train_input, NULL, "in place of train_input_path"),
     .meta = "PATH", .alias = "train-input-path"},
    {OPT_TEXT(struct train_conf, eval_input, NULL, "in place of eval_input_path"),
     .meta = "PATH", .alias = "eval-input-path"},
    {OPT_TEXT(struct train_conf, model_dir, NULL, "in place of model_dir"),
     .meta = "DIR"},
    {OPT_BOOL(struct train_conf, resume, "false",
              "go on from the latest checkpoint of model_dir, if there is one"),
     .flag = "continue", .alias = "continue-train"},
    {OPT_TEXT(struct train_conf, fine_tune, NULL,
              "start from the weights of this checkpoint"),
     .meta = "CKPT", .alias = "fine-tune-checkpoint"},
    {OPT_LIST(struct train_conf, set, "change a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct train_conf, edit_config_json, NULL,
              "change several: an object of paths and values"),
     .meta = "JSON"},
    {OPT_INT(struct train_conf, threads, "0", 0, POOL_THREADS_MAX,
             "threads; 0: one per processor. Results are the same for any number")},
    {OPT_INT(struct train_conf, seed, "1", 0, INT64_MAX, "of all random numbers")},
    {OPT_CHOICE(struct train_conf, log, "text", "text|json",
                "form of the progress lines")},
    {0},
};

/* What is shown, and the signals that end a run. */
struct show {
    bool json;
    int signals; /* fd, or -1 */
    double best;
    bool has_best;
};

static void put_lines(struct buf *b, const struct score_line *lines, size_t n, bool json)
{
    char text[32];
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%.6f", lines[i].value);
        if (json) {
            buf_puts(b, ", ");
            buf_json_str(b, lines[i].name, strlen(lines[i].name));
            buf_printf(b, ": %s",
                       lines[i].defined && isfinite(lines[i].value) ? text : "null");
        } else {
            buf_printf(b, "  %s %s", lines[i].name,
                       lines[i].defined ? text : "undefined");
        }
    }
}

static void put(struct buf *b)
{
    buf_putc(b, '\n');
    fwrite(buf_str(b), 1, b->n, stderr);
    buf_release(b);
}

static const char *size_text(size_t bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;
    for (; v >= 1024 && u + 1 < ARRAY_LEN(units); u++)
        v /= 1024;
    snprintf(out, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return out;
}

static void on_start(void *arg, const struct session *s, int64_t rows, size_t files,
                     const char *resumed_from)
{
    const struct show *w = arg;
    size_t tables, dense, activations, n;
    char a[32], c[32];
    struct buf b;
    buf_init(&b, 1 << 16);
    session_bytes(s, &tables, &dense, &activations);
    graph_params(s->model->graph, &n);
    if (w->json)
        buf_printf(
            &b,
            "{\"event\": \"start\", \"model\": \"%s\", \"features\": %zu, \"tables\": %d, "
            "\"table_bytes\": %zu, \"dense_bytes\": %zu, \"rows\": %jd, \"files\": %zu, "
            "\"step\": %ju, \"seed\": %ju}",
            s->model->ops->name, feature_plan_count(s->plan),
            embed_n_tables(s->model->embed), tables, dense, (intmax_t)rows, files,
            (uintmax_t)s->step, (uintmax_t)s->options.seed);
    else
        buf_printf(
            &b,
            "model %s: %zu features, %d tables (up to %s), %s of dense parameters\n"
            "data: %jd rows in %zu file%s; %d thread%s, seed %ju",
            s->model->ops->name, feature_plan_count(s->plan),
            embed_n_tables(s->model->embed), size_text(tables, a), size_text(dense, c),
            (intmax_t)rows, files, files == 1 ? "" : "s", pool_threads(s->options.pool),
            pool_threads(s->options.pool) == 1 ? "" : "s", (uintmax_t)s->options.seed);
    if (resumed_from && !w->json)
        buf_printf(&b, "\nresumed from %s behind step %ju", resumed_from,
                   (uintmax_t)s->step - 1);
    put(&b);
}

static void on_progress(void *arg, const struct session *s, double loss,
                        double rows_per_s, double wait, const struct score_line *lines,
                        size_t n)
{
    const struct show *w = arg;
    struct buf b;
    buf_init(&b, 1 << 16);
    if (w->json)
        buf_printf(
            &b,
            "{\"event\": \"progress\", \"step\": %ju, \"epoch\": %ju, \"rows\": %ju, "
            "\"loss\": %.6f, \"rows_per_s\": %.0f, \"wait\": %.4f",
            (uintmax_t)s->step - 1, (uintmax_t)s->epoch, (uintmax_t)s->rows, loss,
            rows_per_s, wait);
    else
        buf_printf(&b, "step %ju  rows %ju  loss %.6f", (uintmax_t)s->step - 1,
                   (uintmax_t)s->rows, loss);
    put_lines(&b, lines, n, w->json);
    if (w->json)
        buf_putc(&b, '}');
    else
        buf_printf(&b, "  %.0f rows/s  wait %.1f%%", rows_per_s, wait * 100);
    put(&b);
}

static void on_saved(void *arg, int64_t step, const char *dir)
{
    const struct show *w = arg;
    struct buf b;
    buf_init(&b, 1 << 16);
    if (w->json) {
        buf_printf(
            &b, "{\"event\": \"checkpoint\", \"step\": %jd, \"path\": ", (intmax_t)step);
        buf_json_str(&b, dir, strlen(dir));
        buf_putc(&b, '}');
    } else {
        buf_printf(&b, "checkpoint %s", dir);
    }
    put(&b);
}

static void on_evaluated(void *arg, int64_t step, const struct score_line *lines,
                         size_t n, int64_t rows)
{
    const struct show *w = arg;
    struct buf b;
    buf_init(&b, 1 << 16);
    if (w->json)
        buf_printf(&b, "{\"event\": \"evaluation\", \"step\": %jd, \"rows\": %jd",
                   (intmax_t)step, (intmax_t)rows);
    else
        buf_printf(&b, "evaluation at step %jd, %jd rows:", (intmax_t)step,
                   (intmax_t)rows);
    put_lines(&b, lines, n, w->json);
    if (w->json)
        buf_putc(&b, '}');
    put(&b);
}

static void on_note(void *arg, const char *text)
{
    fprintf(stderr, "note: %s\n", text);
}

/* SIGTERM or SIGINT: true once; a second one ends the program at once. */
static bool on_stop(void *arg)
{
    const struct show *w = arg;
    struct signalfd_siginfo info;
    if (w->signals < 0 || read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    fprintf(stderr, "stopping: a checkpoint is being written; again to stop at once\n");
    return true;
}

static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void show_result(const struct train_conf *c, const struct train_result *r,
                        const char *model_dir)
{
    char took[CLOCK_TEXT_SIZE];
    clock_duration((int64_t)(r->seconds * 1e9), took);
    if (strcmp(c->log, "json") == 0) {
        fprintf(stderr,
                "{\"event\": \"end\", \"steps\": %ju, \"rows\": %ju, \"seconds\": %.3f, "
                "\"stopped\": %s}\n",
                (uintmax_t)r->steps, (uintmax_t)r->rows, r->seconds,
                r->stopped ? "true" : "false");
        return;
    }
    fprintf(stderr, "%s after %ju steps, %ju rows, %s; everything is in %s\n",
            r->stopped ? "stopped" : "done", (uintmax_t)r->steps, (uintmax_t)r->rows,
            took, model_dir);
    if (r->stopped)
        fprintf(stderr, "the same command with --continue goes on from here\n");
}

static enum rc run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct train_conf *c = conf;
    struct conf config = {0};
    struct diags diags = {0};
    struct train_result result = {0};
    const struct config_override overrides[] = {
        {"--train-input", "train_input_path", c->train_input},
        {"--eval-input", "eval_input_path", c->eval_input},
        {"--model-dir", "model_dir", c->model_dir}};
    struct show show = {.json = strcmp(c->log, "json") == 0, .signals = -1};
    const char *farm = getenv("USE_FARM_HASH_TO_BUCKETIZE");
    enum rc rc = config_open(args->at[0], overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &config, &diags, err);
    if (!rc) {
        show.signals = watch_signals();
        struct train_options o = {.conf = &config,
                                  .threads = (int)c->threads,
                                  .seed = (uint64_t)c->seed,
                                  .resume = c->resume,
                                  .fine_tune = c->fine_tune,
                                  .farm_hash = farm && strcmp(farm, "true") == 0,
                                  .watch = {.arg = &show,
                                            .start = on_start,
                                            .progress = on_progress,
                                            .saved = on_saved,
                                            .evaluated = on_evaluated,
                                            .note = on_note,
                                            .stop = on_stop}};
        rc = train_run(&o, &result, &diags, err);
        config_show(&diags);
    }
    if (!rc)
        show_result(c, &result,
                    ((const struct pc_EasyRecConfig *)config.data)->model_dir);
    if (show.signals >= 0)
        close(show.signals);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static const struct cmd_example examples[] = {
    {"as the config says", "trainyard train pipeline.config"},
    {"other data, another place for the result",
     "trainyard train pipeline.config --train-input 'data/*.parquet' --model-dir run1"},
    {"go on after a stop, exactly where it was",
     "trainyard train pipeline.config --continue"},
    {0},
};

const struct cmd cmd_train = {
    .name = "train",
    .args = "CONFIG",
    .summary = "train the model that a pipeline.config describes",
    .description =
        "Reads the data, trains, saves checkpoints and evaluates after each of them, as the "
        "config says. Results depend on the config, the data and the seed alone: not on the "
        "number of threads, and not on where a run was stopped and continued.\n\nSIGTERM or "
        "Ctrl-C saves a checkpoint and ends the run; a second one ends it at once.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct train_conf),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
