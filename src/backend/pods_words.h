/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_words.h - what Kubernetes says of a pod, a Job and an event, in our terms. */
#ifndef BACKEND_PODS_WORDS_H
#define BACKEND_PODS_WORDS_H

#include "job/state.h"
#include "text/node.h"

enum pods_state {
    PODS_WAITING, /* its container does not run yet */
    PODS_RUNNING,
    PODS_ENDED,
    PODS_GONE, /* deleted, and nobody saw an end */
};

#define PODS_TEXT_SIZE 300
#define PODS_NAME_SIZE 260

/* A pod, as far as we look at it. */
struct pods_pod {
    char owner[PODS_NAME_SIZE]; /* the object that it is part of */
    int64_t worker;             /* -1: it is not known */
    char name[PODS_NAME_SIZE], uid[64], node[64];
    enum pods_state state;
    bool placed;   /* it has a node */
    bool deleting; /* somebody deleted it */
    bool hopeless; /* it waits for what never comes */
    int code;      /* of an end; -1: none is known */
    int64_t ended; /* wall clock, ns */
    enum job_reason why;
    char text[PODS_TEXT_SIZE];
    bool stale; /* the watcher's: not in the list that it reads */
};

/* False: no pod of ours. */
bool pods_pod_read(const struct node *object, struct pods_pod *out);
/* Of an object with pods, of any kind: has it ended? `text` says what there is to say. */
bool pods_job_read(const struct node *object, char text[PODS_TEXT_SIZE]);

#endif
