/* SPDX-License-Identifier: Apache-2.0 */
/* A line per object, whose first letter says which: fields with tabs between them, texts last.
 * A line that is not understood makes the whole text none, for half a truth is worse.
 */
#include "backend/pods_news.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 16

void pods_news_release(struct pods_news *n)
{
    VEC_RELEASE(&n->pods);
    VEC_RELEASE(&n->jobs);
    VEC_RELEASE(&n->events);
}

static void put_text(struct buf *out, const char *text)
{
    buf_putc(out, '\t');
    for (; *text; text++)
        buf_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_number(struct buf *out, int64_t v)
{
    buf_printf(out, "\t%jd", (intmax_t)v);
}

static void put_pod(struct buf *out, const struct pods_pod *p)
{
    buf_putc(out, 'P');
    put_text(out, p->owner);
    put_number(out, p->worker);
    put_text(out, p->name);
    put_text(out, p->uid);
    put_text(out, p->node);
    put_number(out, p->state);
    put_number(out, p->placed | p->deleting << 1 | p->hopeless << 2);
    put_number(out, p->code);
    put_number(out, p->ended);
    put_text(out, job_reason_name(p->why));
    put_text(out, p->text);
    buf_putc(out, '\n');
}

void pods_news_print(const struct pods_news *n, struct buf *out)
{
    for (size_t i = 0; i < n->jobs.n; i++) {
        const struct pods_job *j = &n->jobs.at[i];
        buf_putc(out, 'J');
        put_number(out, j->kind);
        put_text(out, j->name);
        put_text(out, j->uid);
        put_number(out, j->gone);
        put_number(out, j->over);
        put_text(out, j->text);
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < n->pods.n; i++)
        put_pod(out, &n->pods.at[i]);
    for (size_t i = 0; i < n->events.n; i++) {
        buf_putc(out, 'E');
        put_text(out, n->events.at[i].object);
        put_text(out, n->events.at[i].text);
        buf_putc(out, '\n');
    }
}

static bool number(struct str s, int64_t least, int64_t most, int64_t *out)
{
    return str_to_i64(s, out) && *out >= least && *out <= most;
}

static void take(char *out, size_t size, struct str s)
{
    snprintf(out, size, "%.*s", (int)(s.n < size ? s.n : size - 1), s.p);
}

static bool parse_pod(const struct str *f, size_t n, struct pods_news *out)
{
    struct pods_pod p = {.code = -1};
    int64_t state, flags, code;
    char reason[64];
    if (n != 12 || !number(f[2], -1, INT64_MAX, &p.worker) ||
        !number(f[6], 0, PODS_GONE, &state) || !number(f[7], 0, 7, &flags) ||
        !number(f[8], -1, 255, &code) || !number(f[9], INT64_MIN, INT64_MAX, &p.ended))
        return false;
    take(p.owner, sizeof(p.owner), f[1]);
    take(p.name, sizeof(p.name), f[3]);
    take(p.uid, sizeof(p.uid), f[4]);
    take(p.node, sizeof(p.node), f[5]);
    take(reason, sizeof(reason), f[10]);
    take(p.text, sizeof(p.text), f[11]);
    p.state = (enum pods_state)state;
    p.placed = flags & 1;
    p.deleting = flags >> 1 & 1;
    p.hopeless = flags >> 2 & 1;
    p.code = (int)code;
    if (*reason && !job_reason_find(reason, &p.why))
        return false;
    VEC_PUSH(&out->pods, p);
    return true;
}

static bool parse_job(const struct str *f, size_t n, struct pods_news *out)
{
    struct pods_job j = {.gone = false};
    int64_t gone, over;
    if (n != 7 || !number(f[1], 0, 1000, &j.kind) || !number(f[4], 0, 1, &gone) ||
        !number(f[5], 0, 1, &over))
        return false;
    take(j.name, sizeof(j.name), f[2]);
    take(j.uid, sizeof(j.uid), f[3]);
    take(j.text, sizeof(j.text), f[6]);
    j.gone = gone;
    j.over = over;
    VEC_PUSH(&out->jobs, j);
    return true;
}

static bool parse_line(struct str line, struct pods_news *out)
{
    struct str f[FIELDS_MAX], part;
    size_t n = 0;
    while (n < FIELDS_MAX && str_split(&line, '\t', &part))
        f[n++] = part;
    if (n && str_is(f[0], "P"))
        return parse_pod(f, n, out);
    if (n && str_is(f[0], "J"))
        return parse_job(f, n, out);
    if (n != 3 || !str_is(f[0], "E"))
        return false;
    struct pods_event e;
    take(e.object, sizeof(e.object), f[1]);
    take(e.text, sizeof(e.text), f[2]);
    VEC_PUSH(&out->events, e);
    return true;
}

enum rc pods_news_parse(const char *text, size_t size, struct pods_news *out,
                        struct err *err)
{
    struct str rest = str_of(text, size), line;
    *out = (struct pods_news){.pods = {0}};
    while (rest.n && str_split(&rest, '\n', &line))
        if (!parse_line(line, out))
            return err_set(err, RC_FORMAT, "'%.*s' tells nothing of pods",
                           line.n < 60 ? (int)line.n : 60, line.p);
    return RC_OK;
}

const struct pods_pod *pods_news_pod(const struct pods_news *n, const char *owner,
                                     int64_t worker)
{
    for (size_t i = n->pods.n; i-- > 0;)
        if (n->pods.at[i].worker == worker && strcmp(n->pods.at[i].owner, owner) == 0)
            return &n->pods.at[i];
    return NULL;
}

const struct pods_job *pods_news_job(const struct pods_news *n, const char *name)
{
    for (size_t i = n->jobs.n; i-- > 0;)
        if (strcmp(n->jobs.at[i].name, name) == 0)
            return &n->jobs.at[i];
    return NULL;
}

const char *pods_news_event(const struct pods_news *n, const char *object)
{
    for (size_t i = n->events.n; i-- > 0;)
        if (str_starts(n->events.at[i].object, object))
            return n->events.at[i].text;
    return "";
}
