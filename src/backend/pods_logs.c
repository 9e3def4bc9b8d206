/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/pods_logs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/credential.h"

#define SECOND_NS INT64_C(1000000000)
#define AGAIN_NS (SECOND_NS / 2)

void pods_logs_release(struct pods_logs *l)
{
    io_http_stream_close(l->stream);
    l->stream = NULL;
}

int64_t pods_logs_time(struct str line, struct str *text)
{
    char word[64];
    struct str first;
    *text = line;
    if (!str_split(text, ' ', &first) || first.n >= sizeof(word))
        return 0;
    snprintf(word, sizeof(word), "%.*s", (int)first.n, first.p);
    return kube_time_read(word);
}

/* The server knows whole seconds alone: lines of the last one come again. */
static void open_stream(struct pods_logs *l, struct kube_client *c,
                        struct io_http_streams *set, const struct pods_logs_at *of,
                        bool ended, int64_t position)
{
    char since[64] = "";
    time_t s = (time_t)(position / SECOND_NS);
    struct tm t;
    if (position > 0 && gmtime_r(&s, &t))
        (void)strftime(since, sizeof(since), "&sinceTime=%Y-%m-%dT%H%%3A%M%%3A%SZ", &t);
    char *path = mem_printf("/api/v1/namespaces/%s/pods/%s/log?container=%s&follow=%s"
                            "&timestamps=true%s",
                            kube_client_config(c)->ns, of->pod, of->container,
                            ended ? "false" : "true", since);
    if (kube_client_stream(c, set, path, -1, &l->stream, NULL))
        l->stream = NULL;
    l->ended = ended;
    l->from = position;
    l->again = clock_mono_ns() + AGAIN_NS;
    mem_free(path);
}

/* One line, with its end; those that are known already are passed over. Two streams of a worker
 * are written by two threads of its node, so times may go back a little.
 */
static bool add_line(const struct pods_logs *l, struct backend_log *log, const char *p,
                     size_t n)
{
    struct str text;
    int64_t at = pods_logs_time(str_of(p, n), &text);
    if (!at || at <= l->from)
        return false;
    backend_log_add(log, 0, text.p, text.n, at > log->position ? at : log->position);
    return true;
}

static bool add_lines(struct pods_logs *l, struct backend_log *log)
{
    struct io_http_stream *s = l->stream;
    size_t used = 0;
    bool some = false;
    while (used < s->body.n) {
        const char *from = s->body.p + used;
        const char *end = memchr(from, '\n', s->body.n - used);
        if (!end && !s->over)
            break;
        size_t n = end ? (size_t)(end - from) + 1 : s->body.n - used;
        some = add_line(l, log, from, n) || some;
        used += n;
    }
    if (used)
        io_http_stream_eat(s, used);
    return some;
}

static void take_end(struct pods_logs *l, struct kube_client *c)
{
    struct io_http_stream *s = l->stream;
    if (s->status == 401)
        kube_client_forget(c);
    /* 400: its container never ran; 404: nobody has its output any more */
    bool none = l->ended && (s->status == 400 || s->status == 404);
    l->whole = none || (l->ended && s->status == 200 && !s->why[0]);
    l->again = clock_mono_ns() + (s->status == 200 ? 0 : AGAIN_NS);
    pods_logs_release(l);
}

bool pods_logs_read(struct pods_logs *l, struct kube_client *c,
                    struct io_http_streams *set, const struct pods_logs_at *of,
                    bool ended, struct backend_log *log)
{
    bool some = false;
    if (l->whole)
        return false;
    if (!l->stream && clock_mono_ns() >= l->again)
        open_stream(l, c, set, of, ended, log->position);
    io_http_streams_work(set, 0);
    if (l->stream && l->stream->status == 200)
        some = add_lines(l, log);
    if (l->stream && l->stream->over)
        take_end(l, c);
    return some;
}
