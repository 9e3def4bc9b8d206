/* SPDX-License-Identifier: Apache-2.0 */
/* As upstream: one step is left out, one warms up, ten are recorded. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "train/trainer_private.h"

#define STEPS_BEFORE 2
#define STEPS 10

enum row { ROW_STEPS = 1, ROW_TRAINER, ROW_READER };

void trainer_profile_begin(struct trainer *t)
{
    if (!t->tc->is_profiling)
        return;
    t->trace = train_trace_create();
    train_trace_name(t->trace, ROW_STEPS, "steps");
    train_trace_name(t->trace, ROW_TRAINER, "trainer");
    train_trace_name(t->trace, ROW_READER, "reader");
}

void trainer_profile_step(struct trainer *t, const struct train_fed *fed,
                          int64_t asked_ns, int64_t fed_ns)
{
    static const char *const parts[] = {[MARK_FED] = "embedding lookup",
                                        [MARK_FORWARD] = "forward",
                                        [MARK_BACKWARD] = "backward",
                                        [MARK_UPDATED] = "update"};
    const int64_t *marks = t->session->marks;
    uint64_t step = t->session->step - t->first_step;
    char name[32];
    if (!t->trace || step <= STEPS_BEFORE)
        return;
    int64_t now = clock_mono_ns();
    snprintf(name, sizeof(name), "step %ju", (uintmax_t)t->session->step - 1);
    train_trace_span(t->trace, ROW_STEPS, name, asked_ns, now);
    train_trace_span(t->trace, ROW_TRAINER, "wait for data", asked_ns, fed_ns);
    for (int i = MARK_FED; i < SESSION_MARKS; i++)
        train_trace_span(t->trace, ROW_TRAINER, parts[i], marks[i - 1], marks[i]);
    train_trace_span(t->trace, ROW_TRAINER, "metrics", marks[MARK_UPDATED], now);
    train_trace_span(t->trace, ROW_READER, "read", fed->begun_ns, fed->read_ns);
    train_trace_span(t->trace, ROW_READER, "features", fed->read_ns, fed->made_ns);
    if (step >= STEPS_BEFORE + STEPS)
        trainer_profile_end(t);
}

void trainer_profile_end(struct trainer *t)
{
    struct err err = {0};
    if (!t->trace)
        return;
    char *dir = fs_join(t->conf->model_dir, "train_eval_trace");
    char *name = mem_printf("trainyard_%jd.%jd.pt.trace.json", (intmax_t)getpid(),
                            (intmax_t)(clock_wall_ns() / 1000000));
    char *path = fs_join(dir, name);
    enum rc rc = fs_mkdirs(dir, 0755, &err);
    if (!rc)
        rc = train_trace_write(t->trace, path, &err);
    if (rc)
        trainer_note(t, "no trace: %s", err.msg);
    else
        trainer_note(t,
                     "trace of %d steps in %s; open it in ui.perfetto.dev or "
                     "chrome://tracing",
                     STEPS, path);
    train_trace_destroy(t->trace);
    t->trace = NULL;
    mem_free(path);
    mem_free(name);
    mem_free(dir);
}
