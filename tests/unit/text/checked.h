/* SPDX-License-Identifier: Apache-2.0 */
/* One snippet of a file, and the one thing that is to be said about it. */
#ifndef CHECKED_H
#define CHECKED_H

#include "tap.h"
#include "text/conf.h"

struct checked_row {
    const char *text;
    enum severity severity;
    enum code code;
    const char *msg;
    uint32_t line, col;
    const char *hint; /* NULL: any */
};

static inline const struct diag *checked_find(const struct diags *d,
                                              const struct checked_row *r)
{
    for (size_t i = 0; i < d->list.n; i++)
        if (d->list.at[i].code == r->code && strcmp(d->list.at[i].msg, r->msg) == 0)
            return &d->list.at[i];
    return NULL;
}

/* An error must be the only error of its snippet; a warning or note must leave the file
 * usable.
 */
static inline void checked_row(const struct conf_kind *kind, const struct checked_row *r)
{
    struct conf c;
    struct diags d = {0};
    struct err err = {0};
    struct conf_options o = {.kind = kind};
    enum rc rc = conf_from("t", r->text, strlen(r->text), &o, &c, &d, &err);
    int before = tap_failed;
    const struct diag *g = checked_find(&d, r);
    CHECK_INT(rc, r->severity == DIAG_ERROR ? RC_INVAL : RC_OK);
    CHECK_INT(d.n_errors, r->severity == DIAG_ERROR);
    CHECK(g != NULL);
    if (g) {
        uint32_t line = 0, col = 0;
        if (g->at.src)
            source_locate(g->at.src, g->at.off, &line, &col);
        CHECK_INT(g->severity, r->severity);
        CHECK_INT(line, r->line);
        CHECK_INT(col, r->col);
        if (r->hint)
            CHECK_STR(g->hint, r->hint);
    }
    if (tap_failed > before) {
        struct buf shown;
        buf_init(&shown, 1 << 20);
        diags_print(&d, &shown, false);
        printf("# want %s: %s at %u:%u\n# got:\n%s\n%s\n", code_info(r->code)->id, r->msg,
               r->line, r->col, buf_str(&shown), err.msg);
        buf_release(&shown);
    }
    diags_release(&d);
    conf_release(&c);
}

#define CHECKED_ROWS(kind, rows)                     \
    do {                                             \
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) \
            checked_row((kind), &(rows)[i]);         \
    } while (0)

#endif
