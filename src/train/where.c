/* SPDX-License-Identifier: Apache-2.0 */
#include "train/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MARK " of the batch"

static void make_room(struct train_where *w, size_t n)
{
    if (n <= w->room)
        return;
    w->room = n;
    w->at = mem_realloc(w->at, n, sizeof(*w->at));
}

void train_where_take(struct train_where *w, const struct dataset *d)
{
    w->n = dataset_parts(d, w->at, w->room, &w->loose);
    if (w->n > w->room) {
        make_room(w, w->n);
        w->n = dataset_parts(d, w->at, w->room, &w->loose);
    }
}

void train_where_set(struct train_where *w, const struct dataset_part *part, bool loose)
{
    make_room(w, 1);
    w->at[0] = *part;
    w->n = 1;
    w->loose = loose;
}

void train_where_release(struct train_where *w)
{
    mem_free(w->at);
    *w = (struct train_where){0};
}

/* The digits of "row 44 of the batch" or "row 44:", and what is behind them; NULL when
 * there is no such.
 */
static char *find_row(char *msg, char **behind)
{
    for (char *at = strstr(msg, "row "); at; at = strstr(at + 1, "row ")) {
        char *digits = at + 4;
        size_t n = strspn(digits, "0123456789");
        if (n && strncmp(digits + n, MARK, strlen(MARK)) == 0) {
            *behind = digits + n + strlen(MARK);
            return digits;
        }
        if (n && digits[n] == ':') {
            *behind = digits + n;
            return digits;
        }
    }
    return NULL;
}

/* Row `row` of the batch, for a person; false when it is not known. */
static bool name_of(const struct train_where *w, int64_t row, char *out, size_t size)
{
    if (w->loose && w->n) {
        snprintf(out, size, "%jd of the readable ones from row %jd of '%.300s' on",
                 (intmax_t)(row + 1), (intmax_t)w->at[0].row, w->at[0].path);
        return true;
    }
    for (size_t i = 0; i < w->n; i++) {
        const struct dataset_part *p = &w->at[i];
        if (row >= p->n) {
            row -= p->n;
            continue;
        }
        if (p->line > 0)
            snprintf(out, size, "%jd of '%.300s' (line %jd)", (intmax_t)(p->row + row),
                     p->path, (intmax_t)(p->line + row));
        else
            snprintf(out, size, "%jd of '%.300s'", (intmax_t)(p->row + row), p->path);
        return true;
    }
    return false;
}

/* `name` in place of what stands between the two. */
static void put_name(struct err *err, const char *from, const char *behind,
                     const char *name)
{
    struct err old = *err;
    snprintf(err->msg, sizeof(err->msg), "%.*s%s%s", (int)(from - err->msg), old.msg,
             name, old.msg + (behind - err->msg));
}

bool train_where_name(const struct train_where *w, struct err *err)
{
    char name[400], *behind = NULL;
    char *at = err ? find_row(err->msg, &behind) : NULL;
    if (!at || !name_of(w, strtoll(at, NULL, 10), name, sizeof(name)))
        return false;
    put_name(err, at, behind, name);
    return true;
}

void train_where_item(struct err *err)
{
    char name[40], *behind = NULL;
    char *at = err ? find_row(err->msg, &behind) : NULL;
    if (!at)
        return;
    snprintf(name, sizeof(name), "items[%lld]", strtoll(at, NULL, 10));
    put_name(err, at - strlen("row "), behind, name);
}
