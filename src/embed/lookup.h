/* SPDX-License-Identifier: Apache-2.0 */
/* embed/lookup.h - the one interface between a model and its embedding tables: ids in,
 * vectors out, gradients in; and rows for checkpoints, dumps and exports.
 *
 *     lookup_prepare(l, ids, training, err)   which rows the batch needs
 *     lookup_forward(l, outputs, err)         their vectors, pooled, into the outputs
 *     lookup_update(l, grads, &step, err)     each row that occurred is updated once
 *
 * Tables and slots are added first, in the same order by everybody, then lookup_finish(). Then batches follow:
 * prepare, forward, and in training update, in this order and from one thread. A prepare
 * that fails with RC_INVAL has changed nothing: no id was admitted, no row was filled, and
 * the next batch may follow. After any other failure, and of a prepare over several ranks after
 * this one too, only lookup_destroy() may: ids may have been admitted, here or elsewhere. A
 * failure has a message; one that comes without gets E0010.
 *
 * Whoever keeps the rows (this process, others, a device), a row's gradients are added in the order of the batch and its initial values
 * are a function of (seed, table, row or id), so that every implementation gives the same
 * bytes.
 *
 * The rows of a table leave and come back as an image (struct lookup_image): that of one
 * implementation restores any other. Between batches only.
 */
#ifndef EMBED_LOOKUP_H
#define EMBED_LOOKUP_H

#include <stddef.h>

#include "base/err.h"
#include "base/pool.h"
#include "embed/conf.h"

struct comm;
struct device;

/* --- images of tables --- */

/* A row as its columns: the weights, then up to two arrays of optimizer state. */
#define LOOKUP_COLUMNS_MAX (1 + ROW_STATES_MAX)
struct lookup_column {
    const char *state; /* NULL: the weights; else "momentum1", "momentum2" */
    enum dtype type;
    int64_t width; /* values */
    bool flat;     /* one value per row: a list rather than a matrix */
};
/* How many there are; a function of the configuration alone. */
int lookup_columns(const struct embed_table_conf *conf,
                   struct lookup_column out[LOOKUP_COLUMNS_MAX]);

/* Whether the image of a table of numbered rows, of which so many are used, lists them:
 * where leaving out the others saves much.
 */
bool lookup_lists_rows(const struct embed_table_conf *conf, int64_t used);

/* Which rows an image has, and in what order. */
enum lookup_form {
    LOOKUP_ALL,    /* all rows by number; `used` says which are used */
    LOOKUP_LISTED, /* used rows; their numbers are LOOKUP_ROW_IDS */
    LOOKUP_KEYED,  /* rows of LOOKUP_KEYS; of KEYED_ZCH, then the one that others share */
};

/* Numbers that go with the rows; what decides about ids is in keyed.h. */
enum lookup_list_kind {
    LOOKUP_ROW_IDS, /* ascending */
    LOOKUP_KEYS,
    LOOKUP_COUNTS,
    LOOKUP_LAST,
    LOOKUP_WAITING_KEYS,
    LOOKUP_WAITING_COUNTS,
    LOOKUP_WAITING_LAST,
    LOOKUP_HISTORY_IDS,
    LOOKUP_HISTORY_TIMES,
    LOOKUP_TOUCHED, /* ids for the next dump of changed rows, ascending */
    LOOKUP_LISTS
};
struct lookup_list {
    const void *data; /* n numbers of 64 bits at any address; NULL: there is no list */
    int64_t n;
    bool live; /* changes with the next batch: whoever keeps the image copies it */
};
static inline bool lookup_has(const struct lookup_list *l)
{
    return l->data != NULL;
}
int64_t lookup_list_at(const struct lookup_list *l, int64_t i);

/* Counters of a table with keys; see keyed.h. */
struct lookup_ids {
    int64_t now, last_round, room, admitted, evicted;
};

/* Where the initial values of rows that an image leaves out come from. */
struct lookup_origin {
    struct embed_values values;
    uint64_t seed, stream;
};

/* Rows [from, from + n) of a column, one behind the other, in the image's type of it. */
typedef enum rc lookup_read_fn(const void *arg, int column, int64_t from, int64_t n,
                               void *out, struct err *err);

/* All rows of a column into a file that this process makes (fs.h: fs_file_temp(), from byte
 * `offset` on), by all processes that keep rows of the table, each some of it. *done false: one of
 * them does not see the file, and nothing was written. *crc32c: of the bytes.
 */
typedef enum rc lookup_write_fn(const void *arg, int column, const char *temp,
                                int64_t offset, bool *done, uint32_t *crc32c,
                                struct err *err);

struct lookup_image {
    enum lookup_form form;
    int64_t rows; /* of the table when the image was made */
    int64_t n;    /* rows in the image */
    /* To restore: the weights must be there; optimizer state that is missing starts from
     * its initial values. A type is the column's own, or DT_F32.
     */
    bool has[LOOKUP_COLUMNS_MAX];
    enum dtype types[LOOKUP_COLUMNS_MAX];
    /* LOOKUP_ALL: a bit per row, lowest first; NULL: all are used. */
    const unsigned char *used;
    struct lookup_list lists[LOOKUP_LISTS];
    struct lookup_ids ids;
    /* To restore: ids that find no place are left out, and nothing but rows is taken. */
    bool partial;
    /* To restore, LOOKUP_LISTED: the rows left out had initial values of this origin, not
     * those that the table would give them now; NULL: the same.
     */
    const struct lookup_origin *origin;
    lookup_read_fn *read;
    lookup_write_fn *write; /* optional; of rows that other processes keep */
    const void *arg;
};

/* An image of the live rows, of the lookup's thread. It follows them until it is detached;
 * the table must live as long. From then on another thread reads and releases it, while
 * batches go on.
 */
struct lookup_snapshot {
    struct lookup_image image;
    const struct lookup_snapshot_ops *ops;
};
struct lookup_snapshot_ops {
    int64_t (*bytes)(const struct lookup_snapshot *s); /* that detach() copies */
    /* Copies the rows, which may change from then on. Any failure, such as RC_NOMEM: it is as
     * it was, and is read at once, before the next batch.
     */
    enum rc (*detach)(struct lookup_snapshot *s, struct err *err);
    void (*release)(struct lookup_snapshot *s);
};

/* --- the interface --- */

struct lookup_conf {
    struct pool *pool;           /* borrowed; may be NULL */
    struct comm *comm;           /* borrowed; NULL: one rank */
    const struct device *device; /* borrowed; of lookups that are a device's own */
    /* Of a lookup that can stand around any other one: which; NULL: lookup_local_ops. One that
     * is made for a certain one does not read it.
     */
    const struct lookup_ops *inner;
};

struct lookup_memory {
    size_t weights, state; /* of all rows, used or not */
    size_t ids;            /* of keys and counts, as now */
};

/* What an implementation's struct begins with. */
struct lookup {
    const struct lookup_ops *ops;
};

/* One way to keep tables; the functions of this header say what each method does. All must
 * be there but those that are marked: lookup_create() refuses a lookup without one of them, and
 * success without a lookup (E0011). So are numbers of tables and slots that are none.
 */
struct lookup_ops {
    const char *name, *summary;
    /* Outputs and gradients are views of the device's memory (graph_device_view()), not of
     * the host's.
     */
    bool on_device;
    enum rc (*create)(const struct lookup_conf *conf, struct lookup **out,
                      struct err *err);
    void (*destroy)(struct lookup *l);
    int (*add_table)(struct lookup *l, const struct embed_table_conf *conf,
                     struct err *err);
    int (*add_slot)(struct lookup *l, const struct embed_slot_conf *conf,
                    struct err *err);
    int (*n_tables)(const struct lookup *l);
    int (*n_slots)(const struct lookup *l);
    const struct embed_table_conf *(*table)(const struct lookup *l, int table);
    const struct embed_slot_conf *(*slot)(const struct lookup *l, int slot);
    enum rc (*share)(struct lookup *l, const struct lookup *with, struct err *err);
    enum rc (*finish)(struct lookup *l, struct err *err);      /* optional */
    const char *(*by_host)(const struct lookup *l, int table); /* optional */

    enum rc (*prepare)(struct lookup *l, const struct embed_slot_ids *ids, bool training,
                       struct err *err);
    enum rc (*forward)(struct lookup *l, const struct view *outputs, struct err *err);
    enum rc (*update)(struct lookup *l, const struct view *grads,
                      const struct embed_row_step *step, struct err *err);

    enum rc (*snapshot)(struct lookup *l, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err);
    enum rc (*restore)(struct lookup *l, int table, const struct lookup_image *image,
                       struct err *err);
    bool (*peek)(const struct lookup *l, int table, int64_t id, float *out);
    enum rc (*track)(struct lookup *l, struct err *err);
    bool (*tracks)(const struct lookup *l, int table);
    enum rc (*touched)(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                       struct err *err);
    void (*forget_touched)(struct lookup *l);
    void (*memory)(const struct lookup *l, int table, struct lookup_memory *out);
    size_t (*reach)(const struct lookup *l, int table, int64_t rows);
};

#define LOOKUP(name) extern const struct lookup_ops lookup_##name##_ops;
#include "embed/lookups.def"
#undef LOOKUP

const struct lookup_ops *lookup_find(const char *name); /* NULL when there is none */

/* `ops` NULL is lookup_local_ops. On success *out is the caller's, to lookup_destroy(). */
enum rc lookup_create(const struct lookup_ops *ops, const struct lookup_conf *conf,
                      struct lookup **out, struct err *err) MUST_CHECK;
void lookup_destroy(struct lookup *l); /* NULL is fine */

/* The table's number, below lookup_n_tables(), or -1 with `err` filled. Tables of one name are one table and must
 * agree in rows and width.
 */
int lookup_add_table(struct lookup *l, const struct embed_table_conf *conf,
                     struct err *err);
/* The slot's number, below lookup_n_slots(), or -1 with `err` filled. */
int lookup_add_slot(struct lookup *l, const struct embed_slot_conf *conf,
                    struct err *err) MUST_CHECK;
int lookup_n_tables(const struct lookup *l);
int lookup_n_slots(const struct lookup *l);
/* All tables and slots are there: takes memory now that the first batch would take else.
 * RC_NOMEM (E2304): what is wanted, and what there is.
 */
enum rc lookup_finish(struct lookup *l, struct err *err) MUST_CHECK;
/* Of a lookup that is a device's: why the host keeps this table; NULL: the device does. */
const char *lookup_by_host(const struct lookup *l, int table);
/* Borrowed. */
const struct embed_table_conf *lookup_table(const struct lookup *l, int table);
const struct embed_slot_conf *lookup_slot(const struct lookup *l, int slot);
const struct embed_table_conf *lookup_slot_table(const struct lookup *l, int slot);
/* Both have the same tables and implementation: `l` reads those of `with`, which must
 * live longer and not be trained. For several threads that predict with one model.
 */
enum rc lookup_share(struct lookup *l, const struct lookup *with,
                     struct err *err) MUST_CHECK;

/* ids[lookup_n_slots()], borrowed until the next lookup_prepare(): forward and update may read
 * them. Ids of keyed tables are any that
 * are not negative: they are admitted, given rows or turned away here. RC_INVAL E1402
 * when an id lies outside its table: the message names feature, row and id. RC_NOMEM; of
 * tables elsewhere, RC_IO. With `training`, rows that occur for the first time are
 * filled.
 */
enum rc lookup_prepare(struct lookup *l, const struct embed_slot_ids *ids, bool training,
                       struct err *err) MUST_CHECK;
/* The columns of each slot in its output are overwritten; others are left alone. */
enum rc lookup_forward(struct lookup *l, const struct view *outputs,
                       struct err *err) MUST_CHECK;
/* After lookup_prepare(training). Slots whose table is frozen are skipped. */
enum rc lookup_update(struct lookup *l, const struct view *grads,
                      const struct embed_row_step *step, struct err *err) MUST_CHECK;

/* `whole`: LOOKUP_ALL even where few rows are used. *out is the caller's, to
 * lookup_snapshot_release(). RC_NOMEM; E2310: lookup_snapshot_check() refuses what the
 * implementation gave.
 */
enum rc lookup_snapshot(struct lookup *l, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err) MUST_CHECK;
void lookup_snapshot_release(struct lookup_snapshot *s); /* NULL is fine */
/* As lookup_snapshot_ops.detach and lookup_image.read say. */
enum rc lookup_snapshot_detach(struct lookup_snapshot *s, struct err *err) MUST_CHECK;
enum rc lookup_image_read(const struct lookup_image *image, int column, int64_t from,
                          int64_t n, void *out, struct err *err) MUST_CHECK;
/* As lookup_write_fn says; *done is false without one. */
enum rc lookup_image_write(const struct lookup_image *image, int column, const char *temp,
                           int64_t offset, bool *done, uint32_t *crc32c,
                           struct err *err) MUST_CHECK;
/* Rows that the image leaves out are unused afterwards. E2306: the image is not of such a
 * table, and the table is as it was. On another failure (E2303 of keys, RC_NOMEM, or what
 * image->read() says) the table is empty or holds a part.
 */
enum rc lookup_restore(struct lookup *l, int table, const struct lookup_image *image,
                       struct err *err) MUST_CHECK;
/* What lookup_restore() asks first: the form is the table's, weights are there, types are
 * the columns' or DT_F32, there are as many numbers or keys as rows, and numbers ascend
 * below image->rows. RC_FORMAT E2306. What keys may be, the implementation says.
 */
enum rc lookup_image_check(const struct embed_table_conf *t,
                           const struct lookup_image *image, struct err *err) MUST_CHECK;
/* What lookup_snapshot() asks before anybody sees a snapshot: that lookup_restore() of any
 * implementation would take it for this table. All columns are there, in their own types, the
 * rows are the table's, and lists that go together are as long as each other; keys are not
 * negative and within the table's capacity, counts are not negative, touched ids ascend. That
 * no key comes twice is the implementation's to know. RC_FORMAT E2310, with the table and the
 * field.
 */
enum rc lookup_snapshot_check(const struct embed_table_conf *t,
                              const struct lookup_snapshot *s, bool whole,
                              struct err *err) MUST_CHECK;
/* The weights that an evaluation reads for an id: out[dim]; false: it has no row. */
bool lookup_peek(const struct lookup *l, int table, int64_t id, float *out);

/* From now on every table notes which ids training looks up. RC_NOMEM. */
enum rc lookup_track(struct lookup *l, struct err *err) MUST_CHECK;
bool lookup_tracks(const struct lookup *l, int table);
/* Those ids, ascending; *ids is the caller's, to mem_free(). RC_NOMEM; E0011: the
 * implementation gave others.
 */
enum rc lookup_touched(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                       struct err *err) MUST_CHECK;
/* Whether ids ascend, and are those of rows that the table has. */
bool lookup_touched_fits(const struct embed_table_conf *t, const struct lookup_list *ids);
void lookup_forget_touched(struct lookup *l); /* of all tables */

void lookup_memory(const struct lookup *l, int table, struct lookup_memory *out);
/* Bytes that `rows` used rows take at most: a row takes the page that it lies in. */
size_t lookup_reach(const struct lookup *l, int table, int64_t rows);

#endif
