/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_news.h - what the watcher (pods_watcher.h) tells the supervisors: a file for
 * each job in a directory that all of them share, written anew at every change.
 */
#ifndef BACKEND_PODS_NEWS_H
#define BACKEND_PODS_NEWS_H

#include "backend/pods_words.h"
#include "base/str.h"
#include "base/vec.h"

/* An object of ours that has pods. */
struct pods_job {
    int64_t kind; /* its row in pods_kinds.def */
    char name[PODS_NAME_SIZE], uid[64];
    bool gone, over;
    bool stale; /* as of a pod */
    char text[PODS_TEXT_SIZE];
};
/* The last warning about an object. */
struct pods_event {
    char object[PODS_NAME_SIZE];
    char text[PODS_TEXT_SIZE];
};

struct pods_news {
    VEC(struct pods_pod) pods;
    VEC(struct pods_job) jobs;
    VEC(struct pods_event) events;
};

void pods_news_release(struct pods_news *n);
void pods_news_print(const struct pods_news *n, struct buf *out);
/* RC_FORMAT: it is not such a text. `out` is filled as far as it goes, to be released. */
enum rc pods_news_parse(const char *text, size_t size, struct pods_news *out,
                        struct err *err) MUST_CHECK;
/* NULL: not known. The pod that was made last, of an object of this name. */
const struct pods_pod *pods_news_pod(const struct pods_news *n, const char *owner,
                                     int64_t worker);
const struct pods_job *pods_news_job(const struct pods_news *n, const char *name);
/* The last warning about an object whose name begins so; "": none. */
const char *pods_news_event(const struct pods_news *n, const char *object);

#endif
