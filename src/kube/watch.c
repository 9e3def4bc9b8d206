/* SPDX-License-Identifier: Apache-2.0 */
/* The version of every object and bookmark is kept, so that a stream that breaks costs
 * nothing: the next one goes on behind it. The server ends streams itself every few minutes.
 * A line is one event, however long; a line that is none means that somebody between us and
 * the server answers, and the stream is given up. Pauses between failures grow and are
 * partly random.
 */
#include "kube/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "text/json.h"

#define SECOND_NS INT64_C(1000000000)
#define PAUSE_FIRST_NS SECOND_NS
#define PAUSE_MAX_NS (30 * SECOND_NS)
#define STREAM_S 290 /* the server ends it then */
#define IDLE_S 330   /* bookmarks come every minute or so */
#define PAGE 500
#define PAGES_MAX 10000

enum rc kube_event_read(const char *line, size_t n, struct doc *d, enum kube_event *type,
                        const struct node **object, struct err *err)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK",
                                        "ERROR"};
    enum rc rc = json_read("a line of the watch", line, n, d, err);
    const char *name = rc ? NULL : node_get_text(d->root, "type", "");
    const struct node *o = rc ? NULL : node_get_map(d->root, "object");
    for (size_t i = 0; !rc && o && i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *type = (enum kube_event)i;
            *object = o;
            return RC_OK;
        }
    return rc ? rc : err_set(err, RC_FORMAT, "a line of the watch is no event");
}

static void close_stream(struct kube_watch *w)
{
    io_http_stream_close(w->stream);
    w->stream = NULL;
}

static void forget_version(struct kube_watch *w)
{
    mem_free(w->version);
    w->version = NULL;
}

static void pause_it(struct kube_watch *w)
{
    struct rng rng;
    int64_t most = PAUSE_FIRST_NS;
    for (int i = 0; i < w->failures && most < PAUSE_MAX_NS; i++)
        most *= 2;
    most = most < PAUSE_MAX_NS ? most : PAUSE_MAX_NS;
    w->failures++;
    rng_init(&rng, (uint64_t)clock_wall_ns(), (uint64_t)(uintptr_t)w, 0, 0);
    w->again =
        clock_mono_ns() + most / 2 + (int64_t)rng_below(&rng, (uint64_t)(most / 2 + 1));
}

static void fail(struct kube_watch *w, const char *why)
{
    close_stream(w);
    snprintf(w->why, sizeof(w->why), "%s", why);
    pause_it(w);
}

static void keep_version(struct kube_watch *w, const struct node *object)
{
    const char *v =
        node_get_text(node_get_map(object, "metadata"), "resourceVersion", NULL);
    if (!v || !*v)
        return;
    mem_free(w->version);
    w->version = mem_strdup(v);
}

static char *escaped(const char *text)
{
    struct buf b;
    buf_init(&b, 4096);
    io_http_escape(&b, str_c(text), false);
    return buf_take(&b);
}

static void tell_page(struct kube_watch *w, const struct node *list)
{
    const struct node *items = node_get_list(list, "items");
    for (size_t i = 0; items && i < items->list.n; i++)
        w->user.change(w->user.arg, KUBE_ADDED, items->list.at[i]);
}

/* One page; *more: how to get the next, "" behind the last. */
static enum rc list_page(struct kube_watch *w, char **more, struct err *err)
{
    char *mark = escaped(*more);
    char *path =
        mem_printf("%s?limit=%d%s%s%s%s", w->path, PAGE, *mark ? "&continue=" : "", mark,
                   *w->query ? "&" : "", w->query);
    struct kube_call q = {.method = "GET", .path = path};
    struct kube_reply r;
    enum rc rc = kube_client_call(w->client, &q, &r, err);
    w->absent = r.status == 404;
    if (!rc && !node_get_list(r.object, "items"))
        rc = err_set(err, RC_CANCELED, "the API server's list has no items");
    if (!rc) {
        tell_page(w, r.object);
        keep_version(w, r.object);
        mem_free(*more);
        *more =
            mem_strdup(node_get_text(node_get_map(r.object, "metadata"), "continue", ""));
    }
    kube_reply_release(&r);
    mem_free(path);
    mem_free(mark);
    return rc;
}

static void list_all(struct kube_watch *w)
{
    struct err err = {0};
    char *more = mem_strdup("");
    enum rc rc;
    int pages = 0;
    w->user.relist(w->user.arg);
    do
        rc = list_page(w, &more, &err);
    while (!rc && *more && ++pages < PAGES_MAX);
    mem_free(more);
    if (rc) {
        forget_version(w);
        fail(w, err.msg);
        return;
    }
    w->failures = 0;
    w->why[0] = '\0';
    w->user.listed(w->user.arg);
}

static void open_stream(struct kube_watch *w)
{
    struct err err = {0};
    char *version = escaped(w->version);
    char *path = mem_printf("%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d"
                            "&resourceVersion=%s%s%s",
                            w->path, STREAM_S, version, *w->query ? "&" : "", w->query);
    if (kube_client_stream(w->client, w->set, path, IDLE_S, &w->stream, &err)) {
        w->stream = NULL;
        fail(w, err.msg);
    }
    mem_free(path);
    mem_free(version);
}

/* The server's own end of a watch: 410, most often. */
static void take_error(struct kube_watch *w, const struct node *status)
{
    int64_t code = node_get_int(status, "code", 0);
    char *said = mem_strdup(node_get_text(status, "message", "the watch failed"));
    close_stream(w);
    if (code == 410) {
        forget_version(w);
        w->again = 0;
    } else {
        fail(w, said);
    }
    mem_free(said);
}

static void take_line(struct kube_watch *w, const char *line, size_t n)
{
    struct doc d = {0};
    struct err err = {0};
    enum kube_event type = KUBE_ERROR;
    const struct node *object = NULL;
    if (kube_event_read(line, n, &d, &type, &object, &err)) {
        fail(w, err.msg);
    } else if (type == KUBE_ERROR) {
        take_error(w, object);
    } else {
        w->failures = 0;
        w->why[0] = '\0';
        if (type != KUBE_BOOKMARK)
            w->user.change(w->user.arg, type, object);
        keep_version(w, object);
    }
    doc_release(&d);
}

static void take_lines(struct kube_watch *w)
{
    size_t used = 0;
    while (w->stream) {
        const char *from = w->stream->body.p + used;
        size_t n = w->stream->body.n - used;
        const char *end = n ? memchr(from, '\n', n) : NULL;
        if (!end)
            break;
        size_t length = (size_t)(end - from);
        used += length + 1;
        if (length)
            take_line(w, from, length);
    }
    if (w->stream && used)
        io_http_stream_eat(w->stream, used);
}

static void take_refusal(struct kube_watch *w)
{
    struct io_http_stream *s = w->stream;
    struct buf b;
    buf_init(&b, ERR_MSG_SIZE);
    kube_status_words(s->status, buf_str(&s->body), s->body.n, &b);
    if (s->status == 401)
        kube_client_forget(w->client);
    if (s->status == 410)
        forget_version(w);
    fail(w, buf_str(&b));
    buf_release(&b);
}

static void take_end(struct kube_watch *w)
{
    struct io_http_stream *s = w->stream;
    if (s->status && s->status / 100 != 2) {
        take_refusal(w);
    } else if (s->why[0] && !s->status) {
        char why[sizeof(s->why)];
        memcpy(why, s->why, sizeof(why));
        fail(w, why);
    } else { /* cut, or its time was over: on from the last version */
        close_stream(w);
        w->again = clock_mono_ns() + PAUSE_FIRST_NS / 4;
    }
}

void kube_watch_step(struct kube_watch *w)
{
    if (w->stream) {
        if (w->stream->status / 100 == 2)
            take_lines(w);
        if (w->stream && w->stream->over)
            take_end(w);
    }
    if (w->stream || clock_mono_ns() < w->again)
        return;
    if (!w->version)
        list_all(w);
    if (w->version && !w->stream && clock_mono_ns() >= w->again)
        open_stream(w);
}

void kube_watch_release(struct kube_watch *w)
{
    close_stream(w);
    forget_version(w);
}
