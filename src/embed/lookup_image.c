/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an image can restore a table. Whoever keeps the rows relies on it, so it is
 * asked once, in lookup_restore(), before anything is changed.
 */
#include "embed/lookup.h"

static enum rc misfit(const struct embed_table_conf *t, struct err *err)
{
    return err_wrap(err, RC_FORMAT, "table '%s'", t->name);
}

static enum rc check_form(const struct embed_table_conf *t,
                          const struct lookup_image *image, struct err *err)
{
    bool keyed = image->form == LOOKUP_KEYED;
    if (keyed == (t->keyed.kind != KEYED_NONE))
        return RC_OK;
    return err_coded(err, RC_FORMAT, E2306, "the image has rows of %s, but the table %s",
                     keyed ? "ids" : "numbers",
                     keyed ? "numbers its rows" : "is dynamic");
}

static enum rc check_columns(const struct embed_table_conf *t,
                             const struct lookup_image *image, struct err *err)
{
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    int n = lookup_columns(t, columns);
    if (!image->has[0])
        return err_coded(err, RC_FORMAT, E2306, "the image has no weights");
    for (int i = 0; i < n; i++)
        if (image->has[i] && image->types[i] != columns[i].type &&
            image->types[i] != DT_F32)
            return err_coded(err, RC_FORMAT, E2306, "the image has %s as %s, not %s",
                             columns[i].state ? columns[i].state : "weights",
                             dtype_name(image->types[i]), dtype_name(columns[i].type));
    return RC_OK;
}

/* Numbers of rows ascend and lie within what the table was. */
static enum rc check_listed(const struct lookup_image *image, struct err *err)
{
    const struct lookup_list *ids = &image->lists[LOOKUP_ROW_IDS];
    if (ids->n != image->n)
        return err_coded(err, RC_FORMAT, E2306, "the image has %jd rows, but %jd numbers",
                         (intmax_t)image->n, (intmax_t)ids->n);
    for (int64_t i = 0, last = -1; i < ids->n; i++) {
        int64_t row = lookup_list_at(ids, i);
        if (row <= last || row >= image->rows)
            return err_coded(err, RC_FORMAT, E2306,
                             "number %jd of the image's rows is %jd: they must ascend "
                             "and be below %jd",
                             (intmax_t)i, (intmax_t)row, (intmax_t)image->rows);
        last = row;
    }
    return RC_OK;
}

static enum rc check_keyed(const struct embed_table_conf *t,
                           const struct lookup_image *image, struct err *err)
{
    const struct lookup_list *lists = image->lists;
    int64_t n = lists[LOOKUP_KEYS].n, shared = t->keyed.kind == KEYED_ZCH;
    bool counted = lookup_has(&lists[LOOKUP_COUNTS]) && lookup_has(&lists[LOOKUP_LAST]);
    if (n + shared != image->n)
        return err_coded(err, RC_FORMAT, E2306, "the image has %jd rows, but %jd ids",
                         (intmax_t)image->n, (intmax_t)n);
    if (counted && (lists[LOOKUP_COUNTS].n != n || lists[LOOKUP_LAST].n != n))
        return err_coded(err, RC_FORMAT, E2306,
                         "the image has %jd ids, but %jd counts and %jd times",
                         (intmax_t)n, (intmax_t)lists[LOOKUP_COUNTS].n,
                         (intmax_t)lists[LOOKUP_LAST].n);
    return RC_OK;
}

static enum rc check_rows(const struct embed_table_conf *t,
                          const struct lookup_image *image, struct err *err)
{
    switch (image->form) {
    case LOOKUP_LISTED:
        return check_listed(image, err);
    case LOOKUP_KEYED:
        return check_keyed(t, image, err);
    case LOOKUP_ALL:
        break;
    }
    if (image->n >= image->rows)
        return RC_OK;
    return err_coded(err, RC_FORMAT, E2306, "the image has %jd of %jd rows",
                     (intmax_t)image->n, (intmax_t)image->rows);
}

enum rc lookup_image_check(const struct embed_table_conf *t,
                           const struct lookup_image *image, struct err *err)
{
    enum rc rc = check_form(t, image, err);
    if (!rc)
        rc = check_columns(t, image, err);
    if (!rc)
        rc = check_rows(t, image, err);
    return rc ? misfit(t, err) : RC_OK;
}
