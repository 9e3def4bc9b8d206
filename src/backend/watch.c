/* SPDX-License-Identifier: Apache-2.0 */
/* Logs are files that workers' shims or their backend (logs()) append to; here they are
 * read behind them. A metric's place
 * is its offset in the log, so a supervisor that starts over adds nothing twice.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/call.h"
#include "backend/sup_private.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/log_read.h"

#define BLOCK 65536
#define ROUND_MAX (4 << 20) /* bytes of one worker per look */
#define PROGRESS_NS (1 * INT64_C(1000000000))
#define FETCH_ROUNDS 4
#define LAST_FETCH_NS (10 * INT64_C(1000000000)) /* of a log whose worker has ended */
#define POINTS_MAX 100000 /* kept while the store does not answer */

struct finding {
    struct sup_worker *w;
    int64_t at;
};

static void push_point(struct sup *s, const struct store_point *from)
{
    struct store_point p = *from;
    p.name = arena_strdup(&s->points_arena, from->name);
    VEC_PUSH(&s->points, p);
}

/* Said once for each time that fewer are kept. */
static bool keep_value(struct sup *s, const struct store_point *p)
{
    int64_t before = backend_thin_stride(&s->thin);
    bool keep = backend_thin_keep(&s->thin, p);
    int64_t now = backend_thin_stride(&s->thin);
    if (now != before) {
        char text[160];
        snprintf(text, sizeof(text),
                 "%jd metric values are kept; from here on those of one line in %jd, and "
                 "the last",
                 (intmax_t)s->thin.kept, (intmax_t)now);
        sup_warn(s, text);
    }
    return keep;
}

static void on_value(void *arg, const char *name, double v, int64_t step)
{
    const struct finding *f = arg;
    struct sup *s = f->w->sup;
    if (s->points.n >= POINTS_MAX)
        watch_write(s); /* a burst: not all of it waits for the next look */
    if (s->points.n >= POINTS_MAX)
        return;
    struct store_point p = {.name = name,
                            .attempt = s->rec.now.attempt,
                            .worker = f->w->b.index,
                            .at = f->at,
                            .time = clock_wall_ns(),
                            .step = step,
                            .value = v};
    if (keep_value(s, &p))
        push_point(s, &p);
}

static void on_progress(void *arg, double percent, int64_t eta_s, int64_t step)
{
    const struct finding *f = arg;
    struct sup *s = f->w->sup;
    int64_t now = clock_mono_ns();
    if (step > s->last_step) {
        s->last_step = step;
        s->last_sign = now;
    }
    /* The first worker speaks for all; of many lines only some are recorded, but the last
     * one always is. What an earlier supervisor recorded is not recorded again.
     */
    if (f->w->b.index != 0 || f->at <= s->rec.now.progress_line)
        return;
    if (s->progress_at && now - s->progress_at < PROGRESS_NS && percent < 100)
        return;
    s->progress_at = now;
    struct buf b;
    buf_init(&b, 256);
    buf_putc(&b, '{');
    if (percent >= 0)
        buf_printf(&b, "\"percent\": %.2f", percent);
    if (eta_s >= 0)
        buf_printf(&b, "%s\"eta_s\": %jd", b.n > 1 ? ", " : "", (intmax_t)eta_s);
    if (step >= 0)
        buf_printf(&b, "%s\"step\": %jd", b.n > 1 ? ", " : "", (intmax_t)step);
    buf_printf(&b, "%s\"line\": %jd}", b.n > 1 ? ", " : "", (intmax_t)f->at);
    struct job_record_note note = {.worker = f->w->b.index, .data = buf_str(&b)};
    enum rc rc = job_record_add(&s->rec, EV_Progress, &note, NULL);
    (void)rc; /* can always follow */
    buf_release(&b);
}

static void take_line(struct sup_worker *w)
{
    struct finding f = {.w = w, .at = w->line_at};
    struct job_metric_sink sink = {.arg = &f, .value = on_value, .progress = on_progress};
    if (w->line.n)
        job_metric_line(w->sup->metrics, str_of(buf_str(&w->line), w->line.n), &sink);
    buf_clear(&w->line);
}

static void take_block(struct sup_worker *w, const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char *end = memchr(p + i, '\n', n - i);
        size_t part = end ? (size_t)(end - (p + i)) : n - i;
        size_t room = w->line.n < METRIC_LINE_MAX ? METRIC_LINE_MAX - w->line.n : 0;
        if (!w->line.n)
            w->line_at = w->log_size + (int64_t)i;
        buf_add(&w->line, p + i, part < room ? part : room);
        i += part;
        if (end) {
            take_line(w);
            i++;
        }
    }
    w->log_size += (int64_t)n;
}

static void read_log(struct sup_worker *w, bool end)
{
    char block[BLOCK];
    int fd = open(w->log, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    bool stepped = w->sup->last_step >= 0;
    for (size_t total = 0; total < ROUND_MAX;) {
        int64_t gap = 0;
        ssize_t n = job_log_read(fd, block, sizeof(block), &w->log_size, &gap);
        if (n <= 0)
            break;
        if (gap)
            buf_clear(&w->line); /* its end was dropped */
        take_block(w, block, (size_t)n);
        total += (size_t)n;
        if (!stepped)
            w->sup->last_sign = clock_mono_ns();
    }
    if (end)
        take_line(w);
    close(fd);
}

/* Where workers do not write here themselves, their backend brings it. */
static void fetch_log(struct sup *s, struct sup_worker *w, bool end)
{
    int round = 0;
    if (!s->job.ops->logs || (!w->alive && !w->over))
        return;
    if (!w->sink.path && backend_log_open(&w->sink, w->log, sup_masks(s)))
        return;
    int64_t until = clock_mono_ns() + LAST_FETCH_NS;
    bool more = true;
    while (more && (end ? clock_mono_ns() < until : round++ < FETCH_ROUNDS))
        more = backend_call_logs(&s->job, &w->b, &w->sink);
    if (end && more)
        s->job.warn(&s->job, "a log did not end with its worker; the rest is left out");
    backend_log_rest(&w->sink);
    if (end)
        backend_log_close(&w->sink);
}

void watch_logs(struct sup *s, bool end)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].log) {
            fetch_log(s, &s->workers[i], end);
            read_log(&s->workers[i], end);
        }
    struct store_point p;
    while (end && backend_thin_rest(&s->thin, &p))
        push_point(s, &p);
}

void watch_write(struct sup *s)
{
    if (!s->points.n)
        return;
    if (store_points_add(s->p->store, s->id, s->points.at, s->points.n, NULL))
        return; /* kept for the next time */
    s->points.n = 0;
    arena_reset(&s->points_arena);
}

static void note_use(struct sup_worker *w, const char *name, double value)
{
    struct finding f = {.w = w, .at = clock_wall_ns() / 1000000};
    on_value(&f, name, value, -1);
}

/* Numbered as the worker sees them: its first is 0. */
static void note_gpus(struct sup *s, struct sup_worker *w)
{
    struct arena a = {0};
    const char *own = launch_gpus(s, w->b.index, &a);
    struct str rest = str_c(own ? own : ""), part;
    struct backend_gpu_use use;
    for (int64_t i = 0, gpu; rest.n && str_split(&rest, ',', &part); i++) {
        if (!str_to_i64(part, &gpu) || !backend_gpus_use(s->gpus, gpu, &use))
            continue;
        note_use(w, arena_printf(&a, "sys/gpu%jd_percent", (intmax_t)i), use.percent);
        note_use(w, arena_printf(&a, "sys/gpu%jd_bytes", (intmax_t)i), (double)use.bytes);
    }
    arena_release(&a);
}

static bool has_gpus(struct sup *s)
{
    if (s->spec.total_gpu && !s->gpus_asked) {
        s->gpus_asked = true;
        s->gpus = backend_gpus_open();
    }
    return s->gpus != NULL;
}

static void note_sample(struct sup *s, struct sup_worker *w,
                        const struct backend_usage *use)
{
    w->rss = use->rss;
    note_use(w, "sys/rss_bytes", (double)use->rss);
    note_use(w, "sys/cpu_s", use->cpu_s);
    if (has_gpus(s))
        note_gpus(s, w);
}

/* The last value of a name is one worker's; `job top` wants all together. */
static void note_total(struct sup *s, const struct backend_usage *use, size_t n)
{
    struct backend_usage all = {.rss = 0};
    for (size_t i = 0; i < n; i++) {
        all.rss += use[i].rss;
        all.cpu_s += use[i].cpu_s;
    }
    note_use(&s->workers[0], "sys/job_rss_bytes", (double)all.rss);
    note_use(&s->workers[0], "sys/job_cpu_s", all.cpu_s);
}

void watch_use(struct sup *s)
{
    size_t n = 0;
    if (!s->job.ops->usage)
        return;
    struct backend_worker **b = mem_calloc((size_t)s->n_workers, sizeof(*b));
    struct backend_usage *use = mem_calloc((size_t)s->n_workers, sizeof(*use));
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            b[n++] = &s->workers[i].b;
    backend_call_usage(&s->job, b, n, use);
    for (size_t i = 0; i < n; i++)
        note_sample(s, &s->workers[b[i]->index], &use[i]);
    if (s->n_workers > 1)
        note_total(s, use, n);
    mem_free(use);
    mem_free(b);
}

static const struct sup_worker *over_memory(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        const struct sup_worker *w = &s->workers[i];
        if (w->alive && !w->b.limited && w->b.role->memory && w->rss > w->b.role->memory)
            return w;
    }
    return NULL;
}

static int64_t look_at_disk(struct sup *s)
{
    int64_t *pids = mem_calloc((size_t)s->n_workers, sizeof(*pids));
    for (int64_t i = 0; i < s->n_workers; i++)
        pids[i] = s->workers[i].alive ? s->workers[i].b.pid : 0;
    int64_t used = backend_disk_look(&s->disk, s->dir, pids, (size_t)s->n_workers);
    mem_free(pids);
    return used;
}

static bool over_disk(struct sup *s, char *text, size_t size)
{
    int64_t most = s->job.isolation ? s->job.isolation->disk_bytes : 0;
    int64_t used = most ? look_at_disk(s) : -1;
    if (used <= most)
        return false;
    if (used >= DISK_BEYOND) {
        snprintf(text, size,
                 "the job has more nested directories than can be measured, so "
                 "--job-disk cannot hold");
        return true;
    }
    snprintf(text, size, "the job wrote %jd MiB, more than the %jd MiB of --job-disk",
             (intmax_t)(used >> 20), (intmax_t)(most >> 20));
    return true;
}

void watch_limits(struct sup *s)
{
    const struct job_status *st = &s->rec.now;
    char text[200];
    if (s->phase == PHASE_STARTING && s->spec.queue_timeout_s > 0 &&
        clock_wall_ns() - st->queued > (int64_t)(s->spec.queue_timeout_s * 1e9)) {
        attempt_stop(s, WHY_QueueTimeout, false,
                     "waited longer for resources than allowed");
        return;
    }
    if (s->phase != PHASE_RUNNING || s->suspended)
        return;
    if (over_disk(s, text, sizeof(text))) {
        attempt_stop(s, WHY_QuotaExceeded, true, text);
        return;
    }
    if (s->spec.timeout_s > 0 && st->started &&
        clock_wall_ns() - st->started - st->paused > (int64_t)(s->spec.timeout_s * 1e9)) {
        snprintf(text, sizeof(text), "ran longer than %g s", s->spec.timeout_s);
        attempt_stop(s, WHY_Timeout, false, text);
        return;
    }
    const struct sup_worker *big = over_memory(s);
    if (big) {
        snprintf(text, sizeof(text), "worker %jd had more than %jd MiB of memory",
                 (intmax_t)big->b.index, (intmax_t)(big->b.role->memory >> 20));
        attempt_stop(s, WHY_OutOfMemory, true, text);
        return;
    }
    if (s->spec.hang_s > 0 &&
        clock_mono_ns() - s->last_sign > (int64_t)(s->spec.hang_s * 1e9)) {
        snprintf(text, sizeof(text), "%s for %g s",
                 s->last_step >= 0 ? "no step was made" : "nothing was written",
                 s->spec.hang_s);
        struct job_record_note note = {.reason = WHY_Hang, .worker = -1, .message = text};
        enum rc rc = job_record_add(&s->rec, EV_HangDetected, &note, NULL);
        (void)rc; /* can always follow */
        attempt_stop(s, WHY_Hang, false, text);
    }
}
