/* SPDX-License-Identifier: Apache-2.0 */
/* golden_text.h - reads the text files of tests/golden, and messages written in them.
 *
 *     case NAME                 what follows belongs to it
 *     text KEY the rest of the line
 *     num KEY 1 2.5 nan ...
 */
#ifndef GOLDEN_TEXT_H
#define GOLDEN_TEXT_H

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "tap.h"
#include "text/prototext.h"
#include "text/schema.h"
#include "text/source.h"

struct golden {
    struct source *src;
    struct arena arena;
    struct str rest;   /* from the next case on */
    struct str inside; /* lines of the current case */
    const char *name;
};

static inline bool golden_open(struct golden *g, const char *file)
{
    struct err err = {0};
    *g = (struct golden){0};
    char *path = mem_printf("%s/%s", TY_GOLDEN, file);
    enum rc rc = source_open(path, &g->src, &err);
    mem_free(path);
    CHECK_STR(err.msg, "");
    if (rc == RC_OK)
        g->rest = str_of(g->src->text, g->src->n);
    return rc == RC_OK;
}

static inline void golden_close(struct golden *g)
{
    source_close(g->src);
    arena_release(&g->arena);
}

/* To the next case; false at the end. Lines before the first belong to none. */
static inline bool golden_next(struct golden *g)
{
    const char *end = g->rest.p + g->rest.n, *p = g->rest.p;
    while (p < end && strncmp(p, "case ", 5) != 0) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : end;
    }
    if (p == end)
        return false;
    const char *line = memchr(p, '\n', (size_t)(end - p));
    g->name = arena_strndup(&g->arena, p + 5, (size_t)(line - p) - 5);
    const char *next = strstr(line, "\ncase ");
    next = next ? next + 1 : end;
    g->inside = str_of(line + 1, (size_t)(next - line - 1));
    g->rest = str_of(next, (size_t)(end - next));
    return true;
}

static inline bool golden_line(const struct golden *g, const char *kind, const char *key,
                               struct str *out)
{
    struct str all = g->inside, line;
    size_t nk = strlen(kind), nn = strlen(key);
    while (str_split(&all, '\n', &line)) {
        if (line.n < nk + nn + 1 || memcmp(line.p, kind, nk) != 0 || line.p[nk] != ' ' ||
            memcmp(line.p + nk + 1, key, nn) != 0)
            continue;
        size_t at = nk + 1 + nn;
        if (line.n > at && line.p[at] != ' ')
            continue;
        *out = str_trim(str_of(line.p + at, line.n - at));
        return true;
    }
    return false;
}

/* "" when the case has none. */
static inline const char *golden_text(struct golden *g, const char *key)
{
    struct str s;
    return golden_line(g, "text", key, &s) ? arena_strndup(&g->arena, s.p, s.n) : "";
}

/* NULL and 0 when the case has none. */
static inline const double *golden_nums(struct golden *g, const char *key, int64_t *n)
{
    struct str s, word;
    *n = 0;
    if (!golden_line(g, "num", key, &s))
        return NULL;
    double *out = arena_alloc(&g->arena, (s.n / 2 + 1) * sizeof(double));
    while (s.n > 0 && str_split(&s, ' ', &word))
        CHECK(str_to_f64(word, &out[(*n)++]));
    return out;
}

static inline const float *golden_floats(struct golden *g, const char *key, int64_t *n)
{
    const double *at = golden_nums(g, key, n);
    if (!at)
        return NULL;
    float *out = arena_alloc(&g->arena, (size_t)*n * sizeof(float) + 1);
    for (int64_t i = 0; i < *n; i++)
        out[i] = (float)at[i];
    return out;
}

static inline double golden_num(struct golden *g, const char *key)
{
    int64_t n;
    const double *at = golden_nums(g, key, &n);
    CHECK_INT(n, 1);
    return n == 1 ? at[0] : (double)NAN;
}

/* A message written in protobuf text format. */
struct written {
    struct doc doc;
    struct diags diags;
    struct arena arena;
    const void *msg;
};

static inline void written_open(struct written *w, const struct msg_def *def,
                                const char *text)
{
    *w = (struct written){0};
    CHECK(source_from("golden", text, strlen(text), &w->doc.src, NULL) == RC_OK);
    CHECK(prototext_parse(&w->doc, &w->diags) == RC_OK);
    CHECK(schema_normalise(def, w->doc.root, SCHEMA_PROTO, &w->arena, &w->diags) ==
          RC_OK);
    w->msg = schema_bind(def, w->doc.root, &w->arena);
}

static inline void written_close(struct written *w)
{
    diags_release(&w->diags);
    doc_release(&w->doc);
    arena_release(&w->arena);
}

#endif
