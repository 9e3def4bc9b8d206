/* SPDX-License-Identifier: Apache-2.0 */
/* store/audit.h - who did what, when, from where, and whether it was allowed. */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "store/store.h"

struct store_audit {
    int64_t num;  /* read only; grows */
    int64_t time; /* ns */
    const char *who, *action, *object, *outcome, *address;
};
struct store_audits {
    struct arena arena;
    struct store_audit *at;
    size_t n;
};
void store_audits_release(struct store_audits *l);
enum rc store_audit_add(struct store *s, const struct store_audit *rows, size_t n,
                        struct err *err) MUST_CHECK;
struct store_audit_filter {
    const char *who, *action; /* NULL: all */
    int64_t since;            /* ns; 0: from the beginning */
    int64_t before; /* num of the last row of the page before; 0: the first page */
    size_t limit;   /* 0: STORE_ROWS_MAX */
};
/* The latest first. */
enum rc store_audit_get(struct store *s, const struct store_audit_filter *f,
                        struct store_audits *out, struct err *err) MUST_CHECK;

#endif
