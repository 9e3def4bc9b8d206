/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a line of a watch, an answer of an API server, and news of the watcher: no
 * crash; news that parse read back as they were printed.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/pods_logs.h"
#include "backend/pods_news.h"
#include "kube/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_event(const char *text, size_t n)
{
    struct doc d = {0};
    enum kube_event type;
    const struct node *object = NULL;
    struct pods_pod pod;
    char words[PODS_TEXT_SIZE];
    if (kube_event_read(text, n, &d, &type, &object, NULL) == RC_OK) {
        (void)pods_pod_read(object, &pod);
        (void)pods_job_read(object, words);
    }
    doc_release(&d);
}

static void read_news(const char *text, size_t n)
{
    struct pods_news news, again;
    struct buf b, c;
    buf_init(&b, 1 << 22);
    buf_init(&c, 1 << 22);
    if (pods_news_parse(text, n, &news, NULL) == RC_OK) {
        pods_news_print(&news, &b);
        if (pods_news_parse(buf_str(&b), b.n, &again, NULL))
            abort();
        pods_news_print(&again, &c);
        if (b.n != c.n || memcmp(buf_str(&b), buf_str(&c), b.n) != 0)
            abort();
        pods_news_release(&again);
    }
    pods_news_release(&news);
    buf_release(&b);
    buf_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data;
    struct buf b;
    struct str rest;
    buf_init(&b, 1 << 16);
    kube_status_words(500, text, n, &b);
    buf_release(&b);
    read_event(text, n);
    read_news(text, n);
    (void)pods_logs_time(str_of(text, n), &rest);
    return 0;
}
