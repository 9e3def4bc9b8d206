/* SPDX-License-Identifier: Apache-2.0 */
#include "team/schedule_json.h"

#include <string.h>

#include "base/clock.h"
#include "team/schedule.h"

#define LATE_NS (60 * CLOCK_SECOND)

static void put_text(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, ", \"%s\": ", key);
    buf_json_str(out, value, strlen(value));
}

static void put_time(struct buf *out, const char *key, int64_t ns)
{
    char text[CLOCK_TEXT_SIZE];
    if (!ns)
        return;
    clock_rfc3339(ns, text);
    put_text(out, key, text);
}

struct str team_schedule_outcome(const struct store_run_row *r, const char **message)
{
    size_t n = strcspn(r->outcome, ":");
    *message = r->outcome[n] ? r->outcome + n + 1 : "";
    while (**message == ' ')
        (*message)++;
    return str_of(r->outcome, n);
}

void team_schedule_run_json(const struct store_run_row *r, struct buf *out)
{
    const char *message;
    struct str word = team_schedule_outcome(r, &message);
    buf_puts(out, "{\"outcome\": ");
    buf_json_str(out, word.p, word.n);
    put_time(out, "planned", r->planned);
    put_time(out, "fired", r->fired);
    if (*r->job)
        put_text(out, "job", r->job);
    if (*message)
        put_text(out, "message", message);
    buf_putc(out, '}');
}

bool team_schedule_late(const struct store_schedule *x)
{
    return *x->node && !x->paused && !(x->stopped && *x->stopped) && x->next &&
           x->next < clock_wall_ns() - LATE_NS;
}

void team_schedule_json(const struct store_schedule *x, const struct store_run_rows *runs,
                        struct buf *out)
{
    struct team_schedule_policy p = {0};
    struct buf word;
    if (team_schedule_policy_parse(x->catch_up, &p, NULL))
        p.limit = 0; /* a row of a later version: its words are unknown here */
    buf_init(&word, 100);
    team_schedule_catch_up_print(&p, &word);
    buf_puts(out, "{\"name\": ");
    buf_json_str(out, x->name, strlen(x->name));
    put_text(out, "owner", x->owner);
    put_text(out, "project", x->project);
    put_text(out, "cron", x->cron);
    put_text(out, "zone", x->zone);
    put_text(out, "catch_up", buf_str(&word));
    put_text(out, "overlap", team_schedule_overlap_name(p.overlap));
    buf_release(&word);
    bool stopped = x->stopped && *x->stopped;
    buf_printf(out, ", \"paused\": %s", x->paused || stopped ? "true" : "false");
    if (stopped)
        put_text(out, "stopped", x->stopped);
    if (*x->node)
        put_text(out, "node", x->node);
    if (team_schedule_late(x))
        put_text(out, "late", "its server, which has its files, is away");
    put_time(out, "created", x->created);
    if (!x->paused && !stopped)
        put_time(out, "next", x->next);
    buf_printf(out, ", \"params\": %s, \"job\": %s", *x->params ? x->params : "{}",
               x->spec);
    if (runs) {
        buf_puts(out, ", \"runs\": [");
        for (size_t i = 0; i < runs->n; i++) {
            buf_puts(out, i ? ", " : "");
            team_schedule_run_json(&runs->at[i], out);
        }
        buf_putc(out, ']');
    }
    buf_putc(out, '}');
}
