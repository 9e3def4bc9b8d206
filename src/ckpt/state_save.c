/* SPDX-License-Identifier: Apache-2.0 */
/* The image of a table as tensors: a column of its rows is one, each list another. What
 * form the rows take is the image's choice; in the forms with some of the rows alone
 * ".rows" stands behind the name.
 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

static int64_t snapshot_bytes(const void *owner)
{
    const struct lookup_snapshot *s = owner;
    return s->ops->bytes(s);
}

static enum rc snapshot_detach(void *owner, struct err *err)
{
    struct lookup_snapshot *s = owner;
    return lookup_snapshot_detach(s, err);
}

static void snapshot_release(void *owner)
{
    lookup_snapshot_release(owner);
}

static const struct ckpt_owner_ops snapshot_ops = {
    .bytes = snapshot_bytes, .detach = snapshot_detach, .release = snapshot_release};

struct column_arg {
    const struct lookup_snapshot *s;
    int column;
};

/* Rows of other ranks can be out of reach. */
static const void *column_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                               struct err *err)
{
    const struct column_arg *a = arg;
    const struct lookup_image *image = &a->s->image;
    return lookup_image_read(image, a->column, row, n, scratch, err) ? NULL : scratch;
}

static enum rc write_column(const void *arg, const char *temp, int64_t offset, bool *done,
                            uint32_t *crc32c, struct err *err)
{
    const struct column_arg *a = arg;
    return lookup_image_write(&a->s->image, a->column, temp, offset, done, crc32c, err);
}

static const void *used_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                             struct err *err)
{
    const struct lookup_snapshot *s = arg;
    if (s->image.used)
        return s->image.used + row;
    unsigned char *bits = memset(scratch, 0xff, (size_t)n);
    if (s->image.rows & 7 && (row + n) * 8 > s->image.rows)
        bits[n - 1] = (unsigned char)((1u << (s->image.rows & 7)) - 1);
    return bits;
}

static const void *list_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                             struct err *err)
{
    const struct lookup_list *l = arg;
    return (const unsigned char *)l->data + (size_t)row * sizeof(int64_t);
}

static void free_arg(void *owner)
{
    mem_free(owner);
}

static int64_t no_bytes(const void *owner)
{
    return 0;
}

static enum rc no_detach(void *owner, struct err *err)
{
    return RC_OK;
}

static const struct ckpt_owner_ops arg_ops = {
    .bytes = no_bytes, .detach = no_detach, .release = free_arg};

static void add_column(struct ckpt_writer *w, const struct embed_table_conf *t,
                       const struct lookup_snapshot *s, const struct lookup_column *col,
                       int column)
{
    struct column_arg *arg = mem_calloc(1, sizeof(*arg));
    *arg = (struct column_arg){.s = s, .column = column};
    char *name = ckpt_column_name(t, col);
    char *full =
        s->image.form == LOOKUP_ALL ? mem_strdup(name) : mem_printf("%s.rows", name);
    enum ckpt_st_type type = ckpt_stored_type(col->type);
    struct ckpt_st_source source = {.name = full,
                                    .type = type,
                                    .n_dims = col->flat ? 1 : 2,
                                    .dims = {s->image.n, col->flat ? 0 : col->width},
                                    .rows = s->image.n,
                                    .row_bytes =
                                        (size_t)col->width * ckpt_st_type_size(type),
                                    .fn = column_rows,
                                    .write = write_column,
                                    .arg = arg};
    ckpt_add_owner(w, &arg_ops, arg);
    ckpt_add_source(w, col->state ? CKPT_OPTIMIZER : CKPT_MODEL, &source);
    mem_free(name);
    mem_free(full);
}

static void add_used(struct ckpt_writer *w, const struct embed_table_conf *t,
                     const struct lookup_snapshot *s)
{
    char *name = ckpt_table_part_name(t, "used");
    int64_t n = (s->image.rows + 7) / 8;
    struct ckpt_st_source source = {.name = name,
                                    .type = ST_U8,
                                    .n_dims = 1,
                                    .dims = {n},
                                    .rows = n,
                                    .row_bytes = 1,
                                    .fn = used_rows,
                                    .arg = s};
    ckpt_add_source(w, CKPT_STATE, &source);
    mem_free(name);
}

static void add_list(struct ckpt_writer *w, const struct embed_table_conf *t,
                     const struct lookup_list *l, const struct ckpt_list_name *as)
{
    char *name = ckpt_table_part_name(t, as->name);
    struct ckpt_st_source source = {.name = name,
                                    .type = ST_I64,
                                    .n_dims = 1,
                                    .dims = {l->n},
                                    .rows = l->n,
                                    .row_bytes = sizeof(int64_t),
                                    .fn = list_rows,
                                    .arg = l};
    if (l->live)
        ckpt_add_i64(w, as->part, name, l->data, l->n);
    else
        ckpt_add_source(w, as->part, &source);
    mem_free(name);
}

void ckpt_add_table(struct ckpt_writer *w, const struct embed_table_conf *t,
                    struct lookup_snapshot *s)
{
    struct lookup_column cols[LOOKUP_COLUMNS_MAX];
    int n = lookup_columns(t, cols);
    ckpt_add_owner(w, &snapshot_ops, s);
    for (int i = 0; i < n; i++)
        add_column(w, t, s, &cols[i], i);
    if (s->image.form == LOOKUP_ALL)
        add_used(w, t, s);
    for (int i = 0; i < LOOKUP_LISTS; i++)
        if (lookup_has(&s->image.lists[i]))
            add_list(w, t, &s->image.lists[i], &ckpt_list_names[i]);
}
