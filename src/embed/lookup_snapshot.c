/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a snapshot is what the contract says, asked before anybody writes it. An image to be
 * restored may lack optimizer state and may be of other types (lookup_image.c); what a lookup
 * gives may not, since it becomes the only copy. Each check names the field that it reads.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "embed/lookup.h"

/* No table has this part of all numbers as room for its history. */
#define HISTORY_PART ((int64_t)1 << 22)

static const char *const list_names[LOOKUP_LISTS] = {
    [LOOKUP_ROW_IDS] = "row_ids",
    [LOOKUP_KEYS] = "keys",
    [LOOKUP_COUNTS] = "counts",
    [LOOKUP_LAST] = "last",
    [LOOKUP_WAITING_KEYS] = "waiting_keys",
    [LOOKUP_WAITING_COUNTS] = "waiting_counts",
    [LOOKUP_WAITING_LAST] = "waiting_last",
    [LOOKUP_HISTORY_IDS] = "history_ids",
    [LOOKUP_HISTORY_TIMES] = "history_times",
    [LOOKUP_TOUCHED] = "touched",
};

static enum rc wrong(const char *field, int64_t is, const char *must, int64_t be,
                     struct err *err)
{
    return err_coded(err, RC_FORMAT, E2310, "%s is %jd, %s %jd", field, (intmax_t)is,
                     must, (intmax_t)be);
}

static enum rc wrong_list(int list, int64_t must_be, struct err *err, int64_t n)
{
    return err_coded(err, RC_FORMAT, E2310, "list %s has %jd numbers, not %jd",
                     list_names[list], (intmax_t)n, (intmax_t)must_be);
}

static enum rc check_functions(const struct lookup_snapshot *s, struct err *err)
{
    const struct lookup_snapshot_ops *ops = s->ops;
    const char *none = !ops             ? "ops"
                       : !ops->bytes    ? "ops.bytes"
                       : !ops->detach   ? "ops.detach"
                       : !ops->release  ? "ops.release"
                       : !s->image.read ? "read"
                                        : NULL;
    return none ? err_coded(err, RC_FORMAT, E2310, "%s is not set", none) : RC_OK;
}

static enum rc check_columns(const struct embed_table_conf *t,
                             const struct lookup_image *image, struct err *err)
{
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    int n = lookup_columns(t, columns);
    for (int i = 0; i < n; i++) {
        const char *name = columns[i].state ? columns[i].state : "weights";
        if (!image->has[i])
            return err_coded(err, RC_FORMAT, E2310, "has[%d]: there is no column %s", i,
                             name);
        if (image->types[i] != columns[i].type)
            return err_coded(err, RC_FORMAT, E2310, "types[%d]: %s are %s, not %s", i,
                             name, dtype_name(image->types[i]),
                             dtype_name(columns[i].type));
    }
    return RC_OK;
}

static enum rc check_form(const struct embed_table_conf *t,
                          const struct lookup_image *image, bool whole, struct err *err)
{
    static const char *const names[] = {[LOOKUP_ALL] = "LOOKUP_ALL",
                                        [LOOKUP_LISTED] = "LOOKUP_LISTED",
                                        [LOOKUP_KEYED] = "LOOKUP_KEYED"};
    bool known = (unsigned)image->form <= LOOKUP_KEYED;
    bool fits = t->keyed.kind ? image->form == LOOKUP_KEYED
                              : image->form == LOOKUP_ALL ||
                                    (image->form == LOOKUP_LISTED && !whole);
    if (known && fits)
        return RC_OK;
    return err_coded(err, RC_FORMAT, E2310, "form is %s, which %s",
                     known ? names[image->form] : "none of the three",
                     t->keyed.kind ? "a dynamic table does not have"
                     : whole       ? "leaves out rows that were asked for"
                                   : "only dynamic tables have");
}

/* All lists of `n` numbers, of those that are there. */
static enum rc check_together(const struct lookup_image *image, int first, int last,
                              int64_t n, struct err *err)
{
    for (int i = first; i <= last; i++)
        if (image->lists[i].n != n)
            return wrong_list(i, n, err, image->lists[i].n);
    return RC_OK;
}

static enum rc check_lists(const struct lookup_image *image, struct err *err)
{
    const struct lookup_list *l = image->lists;
    for (int i = 0; i < LOOKUP_LISTS; i++)
        if (l[i].n < 0 || (l[i].n && !l[i].data))
            return wrong_list(i, 0, err, l[i].n);
    enum rc rc = check_together(image, LOOKUP_WAITING_KEYS, LOOKUP_WAITING_LAST,
                                l[LOOKUP_WAITING_KEYS].n, err);
    if (!rc)
        rc = check_together(image, LOOKUP_HISTORY_IDS, LOOKUP_HISTORY_TIMES,
                            l[LOOKUP_HISTORY_IDS].n, err);
    if (!rc && l[LOOKUP_HISTORY_IDS].n > image->ids.room)
        rc = wrong("ids.room", image->ids.room, "below a history of",
                   l[LOOKUP_HISTORY_IDS].n, err);
    return rc;
}

/* Keys, and how often they came. */
static enum rc check_numbers(const struct lookup_image *image, struct err *err)
{
    static const int lists[] = {LOOKUP_KEYS, LOOKUP_COUNTS, LOOKUP_WAITING_KEYS,
                                LOOKUP_WAITING_COUNTS, LOOKUP_HISTORY_IDS};
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        const struct lookup_list *l = &image->lists[lists[k]];
        for (int64_t i = 0; i < l->n; i++)
            if (lookup_list_at(l, i) < 0)
                return err_coded(err, RC_FORMAT, E2310,
                                 "a number of list %s is %jd, below 0",
                                 list_names[lists[k]], (intmax_t)lookup_list_at(l, i));
    }
    return RC_OK;
}

/* Room for a history is made for the ids of a batch, times the batches of a round. */
static enum rc check_ids(const struct embed_table_conf *t, const struct lookup_ids *ids,
                         struct err *err)
{
    int64_t most = t->keyed.kind == KEYED_ZCH ? INT64_MAX / HISTORY_PART : 0;
    if (ids->now < 0)
        return wrong("ids.now", ids->now, "below", 0, err);
    if (ids->last_round < 0 || ids->last_round > ids->now)
        return wrong("ids.last_round", ids->last_round, "outside 0 to ids.now", ids->now,
                     err);
    if (ids->room < 0 || ids->room > most)
        return wrong("ids.room", ids->room, "outside 0 to", most, err);
    if (ids->admitted < 0 || ids->evicted < 0)
        return wrong(ids->admitted < 0 ? "ids.admitted" : "ids.evicted",
                     ids->admitted < 0 ? ids->admitted : ids->evicted, "below", 0, err);
    return RC_OK;
}

static enum rc check_touched(const struct embed_table_conf *t,
                             const struct lookup_image *image, struct err *err)
{
    const struct lookup_list *l = &image->lists[LOOKUP_TOUCHED];
    if (lookup_touched_fits(t, l))
        return RC_OK;
    return err_coded(err, RC_FORMAT, E2310,
                     "list touched has %jd numbers that do not ascend within %jd rows",
                     (intmax_t)l->n, (intmax_t)t->rows);
}

static enum rc check_keys(const struct embed_table_conf *t,
                          const struct lookup_image *image, struct err *err)
{
    const struct lookup_list *keys = &image->lists[LOOKUP_KEYS];
    int64_t shared = t->keyed.kind == KEYED_ZCH;
    if (image->n != keys->n + shared)
        return wrong("n", image->n, "but keys and the shared row are", keys->n + shared,
                     err);
    if (image->n > t->rows)
        return wrong("n", image->n, "above the table's", t->rows, err);
    enum rc rc = check_numbers(image, err);
    if (!rc)
        rc = check_ids(t, &image->ids, err);
    return rc ? rc : check_together(image, LOOKUP_KEYS, LOOKUP_LAST, keys->n, err);
}

static enum rc check_rows(const struct embed_table_conf *t,
                          const struct lookup_image *image, struct err *err)
{
    if (image->rows != t->rows)
        return wrong("rows", image->rows, "but the table has", t->rows, err);
    if (image->n < 0)
        return wrong("n", image->n, "below", 0, err);
    if (image->form == LOOKUP_KEYED)
        return check_keys(t, image, err);
    int64_t n = image->form == LOOKUP_ALL ? t->rows : image->lists[LOOKUP_ROW_IDS].n;
    if (image->n != n)
        return wrong("n", image->n,
                     image->form == LOOKUP_ALL ? "but the table has"
                                               : "but list row_ids has",
                     n, err);
    return RC_OK;
}

/* What any restore asks, too: that numbers of rows ascend. */
static enum rc check_as_restored(const struct embed_table_conf *t,
                                 const struct lookup_image *image, struct err *err)
{
    enum rc rc = lookup_image_check(t, image, err);
    if (rc && err)
        err->code = E2310;
    return rc;
}

enum rc lookup_snapshot_check(const struct embed_table_conf *t,
                              const struct lookup_snapshot *s, bool whole,
                              struct err *err)
{
    if (!s)
        return err_coded(err, RC_FORMAT, E2310, "table '%s': there is no snapshot",
                         t->name);
    enum rc rc = check_functions(s, err);
    if (!rc)
        rc = check_form(t, &s->image, whole, err);
    if (!rc)
        rc = check_columns(t, &s->image, err);
    if (!rc)
        rc = check_lists(&s->image, err);
    if (!rc)
        rc = check_touched(t, &s->image, err);
    if (!rc)
        rc = check_rows(t, &s->image, err);
    if (rc)
        return err_wrap(err, rc, "table '%s': snapshot", t->name);
    return check_as_restored(t, &s->image, err);
}
