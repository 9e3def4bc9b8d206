/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that have several items each: lists, or texts that are cut at a delimiter. What is
 * known of an item stands at the same place of lists that are equally long.
 */
#include <string.h>

#include "data/rows.h"
#include "data/sampler/sampler_private.h"

/* The parts of a text; an empty one has none. */
static enum rc add_parts(struct str text, struct str delim, struct column *to,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (bool more = text.n > 0; more && !rc;) {
        const char *at =
            delim.n && text.n ? memmem(text.p, text.n, delim.p, delim.n) : NULL;
        size_t n = at ? (size_t)(at - text.p) : text.n;
        rc = column_add_str(to, str_of(text.p, n), err);
        more = at != NULL;
        if (more)
            text = str_of(at + delim.n, text.n - n - delim.n);
    }
    return rc;
}

static enum rc add_row(const struct sampler *s, const struct column *from, int64_t row,
                       struct column *to, struct err *err)
{
    if (from->type->id == TYPE_LIST)
        return column_append(to, &from->kids[0], from->offsets[row],
                             from->offsets[row + 1] - from->offsets[row], err);
    if (from->type->id == TYPE_STR)
        return add_parts(column_str(from, row), s->delim, to, err);
    return column_append(to, from, row, 1, err);
}

/* Which items are a row's: those from `first` on. */
static enum rc note_row(struct sampler_scratch *x, int64_t row, int64_t first,
                        int64_t end, struct err *err)
{
    enum rc rc = list_room(&x->from, end, err);
    for (int64_t k = first; k < end && !rc; k++)
        x->from.at[k] = row;
    x->own_at.at[row + 1] = end;
    return rc;
}

static enum rc check_row(const struct sampler *s, const struct sampler_scratch *x,
                         size_t column, int64_t row, int64_t n, struct err *err)
{
    int64_t want = x->own_at.at[row + 1] - x->own_at.at[row];
    if (n == want)
        return RC_OK;
    return err_coded(
        err, RC_INVAL, E1904,
        "column '%s', row %jd of the batch: %jd values for the %jd items of '%s'",
        s->data->at[column].name, (intmax_t)row, (intmax_t)n, (intmax_t)want,
        s->data->at[s->item_at].name);
}

enum rc sampler_flatten(const struct sampler *s, struct sampler_scratch *x,
                        const struct batch *from, size_t column, bool first,
                        struct column *to, struct err *err)
{
    const struct column *c = &from->cols[column];
    enum rc rc = first ? list_room(&x->own_at, from->n + 1, err) : RC_OK;
    if (!rc && first)
        x->own_at.at[0] = 0;
    for (int64_t r = 0; r < from->n && !rc; r++) {
        int64_t before = to->n;
        rc = add_row(s, c, c->n == 1 ? 0 : r, to, err);
        if (!rc)
            rc = first ? note_row(x, r, before, to->n, err)
                       : check_row(s, x, column, r, to->n - before, err);
    }
    return rc;
}
