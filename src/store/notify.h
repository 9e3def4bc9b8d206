/* SPDX-License-Identifier: Apache-2.0 */
/* store/notify.h - rules about what to tell whom, and what is still to be told.
 *
 * A delivery has a key that is its own for what it is about, so that the same thing is
 * told once however often it is noticed. RC_NOTFOUND (E3111), RC_INVAL (E3110).
 */
#ifndef STORE_NOTIFY_H
#define STORE_NOTIFY_H

#include "store/store.h"

struct store_rule {
    const char *id, *owner;
    const char *kind;      /* "webhook", "mail" */
    const char *target;    /* URL or address */
    const char *condition; /* JSON object */
    int64_t created;       /* ns */
    const char *muted;     /* not kept: why its owner is not told; NULL, "": is */
};
struct store_rules {
    struct arena arena;
    struct store_rule *at;
    size_t n;
};
void store_rules_release(struct store_rules *l);
enum rc store_rule_create(struct store *s, const struct store_rule *r,
                          struct err *err) MUST_CHECK;
/* Both NULL: all, by age. */
enum rc store_rule_get(struct store *s, const char *id, const char *owner,
                       struct store_rules *out, struct err *err) MUST_CHECK;
enum rc store_rule_delete(struct store *s, const char *id, struct err *err) MUST_CHECK;

struct store_delivery {
    const char *key; /* unique */
    const char *rule, *job;
    const char *payload; /* JSON */
    const char *state;   /* "pending", "sent", "failed" */
    const char *message; /* of the last failure */
    int64_t tries;
    int64_t due;     /* next try, ns */
    int64_t created; /* ns */
};
struct store_deliveries {
    struct arena arena;
    struct store_delivery *at;
    size_t n;
};
void store_deliveries_release(struct store_deliveries *l);
/* *added false: one with this key is known. */
enum rc store_delivery_add(struct store *s, const struct store_delivery *d, bool *added,
                           struct err *err) MUST_CHECK;
/* Pending and due, oldest first. */
enum rc store_delivery_due(struct store *s, int64_t now, size_t limit,
                           struct store_deliveries *out, struct err *err) MUST_CHECK;
/* State, message, tries and due become those of `d`. */
enum rc store_delivery_update(struct store *s, const struct store_delivery *d,
                              struct err *err) MUST_CHECK;
/* The latest first; `rule` NULL: of all. */
enum rc store_delivery_list(struct store *s, const char *rule, size_t limit,
                            struct store_deliveries *out, struct err *err) MUST_CHECK;
/* Of all rules of `owner`. */
enum rc store_delivery_list_of(struct store *s, const char *owner, size_t limit,
                               struct store_deliveries *out, struct err *err) MUST_CHECK;

/* How far somebody has read something: a number with a name, 0 before it was set. */
enum rc store_mark_get(struct store *s, const char *name, int64_t *value,
                       struct err *err) MUST_CHECK;
enum rc store_mark_set(struct store *s, const char *name, int64_t value,
                       struct err *err) MUST_CHECK;
/* Only where there is none yet: of several at once one is taken. */
enum rc store_mark_first(struct store *s, const char *name, int64_t value,
                         struct err *err) MUST_CHECK;

#endif
