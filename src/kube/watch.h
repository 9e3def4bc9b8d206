/* SPDX-License-Identifier: Apache-2.0 */
/* kube/watch.h - all objects of one kind, and every change of them: one list, then one watch
 * that goes on from where it broke, then a list again only where the server has forgotten
 * what happened since (410).
 */
#ifndef KUBE_WATCH_H
#define KUBE_WATCH_H

#include "kube/client.h"

enum kube_event { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED, KUBE_BOOKMARK, KUBE_ERROR };

/* One line of a watch. `d` is filled, to doc_release() in any case. RC_FORMAT: no event. */
enum rc kube_event_read(const char *line, size_t n, struct doc *d, enum kube_event *type,
                        const struct node **object, struct err *err) MUST_CHECK;

struct kube_watch_user {
    /* A new list begins: what is not told before `listed` is no more. */
    void (*relist)(void *arg);
    /* ADDED, MODIFIED or DELETED. Borrowed. */
    void (*change)(void *arg, enum kube_event type, const struct node *object);
    void (*listed)(void *arg);
    void *arg;
};

struct kube_watch {
    const char *path;  /* of the kind, "/api/v1/namespaces/x/pods"; borrowed */
    const char *query; /* "labelSelector=..." or ""; borrowed */
    struct kube_watch_user user;
    /* Its own: */
    struct kube_client *client;
    struct io_http_streams *set;
    struct io_http_stream *stream; /* NULL: none is open */
    char *version;                 /* owned: where to go on; NULL: list first */
    int64_t again;                 /* monotonic ns: not before */
    int failures;                  /* in a row */
    bool absent;                   /* the server does not have this kind */
    char why[ERR_MSG_SIZE];        /* what is wrong now; "": nothing */
};

/* One step: lists (and waits for the answer), opens a stream, or reads what came. */
void kube_watch_step(struct kube_watch *w);
void kube_watch_release(struct kube_watch *w);

#endif
