/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/slurm_words.h"

#include <string.h>

#define MESSAGE_MAX 300

static const struct slurm_state states[] = {
#define STATE(name, phase, why, words) {#name, SLURM_##phase, WHY_##why, words},
#include "backend/slurm_states.def"
#undef STATE
};

static const struct {
    const char *name;
    bool never;
    const char *words;
} reasons[] = {
#define PENDING(name, never, words) {name, never, words},
#include "backend/slurm_reasons.def"
#undef PENDING
};

const struct slurm_state *slurm_state_find(struct str name)
{
    static const struct slurm_state other = {"", SLURM_RUNNING, WHY_None,
                                             "is in a state that is not known here"};
    struct str rest = str_trim(name), word = rest;
    if (!str_split(&rest, ' ', &word))
        return &other;
    if (word.n && word.p[word.n - 1] == '+') /* sacct cuts long ones */
        word.n--;
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_is(word, states[i].name))
            return &states[i];
    return &other;
}

static size_t reason_of(const char *reason)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(reasons) && !str_starts(reason, reasons[i].name))
        i++;
    return i;
}

void slurm_reason_put(const char *reason, struct buf *out)
{
    buf_printf(out, "%s: %s", *reason ? reason : "no reason",
               reasons[reason_of(reason)].words);
}

bool slurm_reason_never(const char *reason)
{
    return reasons[reason_of(reason)].never;
}

enum slurm_failure slurm_failure_of(const char *said)
{
    static const struct {
        const char *part;
        enum slurm_failure what;
    } known[] = {
        {"connect failure", SLURM_UNSENT},
        {"Connection refused", SLURM_UNSENT},
        {"MaxSubmit", SLURM_UNSENT}, /* so many jobs at a time: later */
        {"Munge encode failed", SLURM_UNSENT},
        {"Unable to contact slurm controller", SLURM_AWAY},
        {"Unable to contact slurm", SLURM_AWAY},
        {"Socket timed out", SLURM_AWAY},
        {"Zero Bytes were transmitted", SLURM_AWAY},
        {"authentication", SLURM_AWAY},
        {"temporarily unable", SLURM_AWAY},
        {"temporarily unavailable", SLURM_AWAY},
        {"backup controller", SLURM_AWAY},
        {"in standby mode", SLURM_AWAY},
        {"Transport endpoint", SLURM_AWAY},
        {"I/O error", SLURM_AWAY},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strstr(said, known[i].part))
            return known[i].what;
    return SLURM_REFUSED;
}

/* Behind "sbatch: " and "error: ". */
static struct str bare(struct str line)
{
    static const char *const marks[] = {
        "sbatch: ", "squeue: ", "scancel: ", "srun: ", "error: "};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t n = strlen(marks[i]);
        if (line.n > n && memcmp(line.p, marks[i], n) == 0)
            line = str_of(line.p + n, line.n - n);
    }
    return line;
}

void slurm_message_put(const char *said, struct buf *out)
{
    struct str rest = str_c(said), line, best = {0};
    bool is_error = false;
    while (rest.n && str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        bool error = line.n > 0 && strstr(line.p, "error: ") &&
                     (size_t)(strstr(line.p, "error: ") - line.p) < line.n;
        if (line.n && (error || !is_error)) {
            best = line; /* the last error says what came of all */
            is_error = error;
        }
    }
    best = bare(best);
    if (!best.n)
        buf_puts(out, "no message");
    buf_add(out, best.p ? best.p : "", best.n < MESSAGE_MAX ? best.n : MESSAGE_MAX);
}
