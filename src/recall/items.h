/* SPDX-License-Identifier: Apache-2.0 */
/* recall/items.h - rows with an id, a vector, attributes, read whole from any format.
 *
 * Vectors are lists of numbers, or texts of numbers separated by commas or blanks, perhaps in
 * brackets. Several vectors of one row are a list of lists, or a text with ';' between
 * them; a row may also hold them behind each other, when their number is known.
 */
#ifndef RECALL_ITEMS_H
#define RECALL_ITEMS_H

#include "base/err.h"
#include "data/dataset.h"
#include "data/sampler/keymap.h"

#define VECTOR_WIDTH_MAX 65536

/* Names of columns; NULL: not wanted. */
struct recall_items_conf {
    const char *what; /* for messages: "item table" */
    const char *id, *vector, *text;
    const char *list; /* numbers, texts or lists of them: kept as it is */
    const char *const *attrs;
    size_t n_attrs;
    int64_t vectors; /* of a row: 0 or 1: one; more: so many, all of one width */
    bool unique;     /* an id stands once */
};

struct recall_items {
    int64_t n;
    enum id_kind kind;
    struct keymap index; /* from id_key() to the first row with it */
    struct data_schema schema;
    struct batch rows; /* id, attrs (in their order), text; decoded */
    int64_t *attr_at;  /* [n_attrs]: column of `rows` */
    int64_t list_at;   /* column of `list`, or -1 */
    int64_t text_at;   /* column of `text`, or -1 */
    int64_t width;     /* of a vector */
    int64_t per_row;   /* vectors of a row */
    float *vectors;    /* [n][per_row][width]; NULL: not wanted */
    int64_t room;      /* floats of it */
};

/* Reads `d` to its end. RC_INVAL E2401 (a column), E2402 (a value), RC_NOMEM. `out` is
 * empty then.
 */
enum rc recall_items_read(struct dataset *d, const struct recall_items_conf *conf,
                          struct recall_items *out, struct err *err) MUST_CHECK;
void recall_items_release(struct recall_items *x);

static inline const struct column *recall_items_ids(const struct recall_items *x)
{
    return &x->rows.cols[0];
}
/* A value as text, empty for null: integers, floats (shortest), texts. */
void recall_value_print(const struct column *c, int64_t i, struct buf *out);

#endif
