/* SPDX-License-Identifier: Apache-2.0 */
#include "data/batch.h"

#include "base/mem.h"

void batch_init(struct batch *b, const struct data_schema *schema)
{
    *b = (struct batch){.schema = schema, .n_cols = schema->n};
    b->cols = mem_calloc(schema->n, sizeof(*b->cols));
    for (size_t i = 0; i < schema->n; i++)
        column_init(&b->cols[i], &schema->at[i].type);
}

void batch_release(struct batch *b)
{
    for (size_t i = 0; i < b->n_cols; i++)
        column_release(&b->cols[i]);
    mem_free(b->cols);
    *b = (struct batch){0};
}

void batch_clear(struct batch *b)
{
    for (size_t i = 0; i < b->n_cols; i++)
        column_clear(&b->cols[i]);
    b->n = 0;
}

enum rc batch_finish(struct batch *b, struct err *err)
{
    for (size_t i = 1; i < b->n_cols; i++)
        if (b->cols[i].n != b->cols[0].n)
            return err_set(err, RC_INVAL, "column '%s' has %jd rows, '%s' has %jd",
                           b->schema->at[i].name, (intmax_t)b->cols[i].n,
                           b->schema->at[0].name, (intmax_t)b->cols[0].n);
    b->n = b->n_cols ? b->cols[0].n : 0;
    return RC_OK;
}

const struct column *batch_find(const struct batch *b, struct str name)
{
    int64_t i = data_schema_find(b->schema, name);
    return i < 0 ? NULL : &b->cols[i];
}

bool batch_equal(const struct batch *a, const struct batch *b)
{
    if (a->n != b->n || !data_schema_equal(a->schema, b->schema))
        return false;
    for (size_t i = 0; i < a->n_cols; i++)
        if (!column_equal(&a->cols[i], &b->cols[i]))
            return false;
    return true;
}
