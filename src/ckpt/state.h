/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/state.h - the state of the engine into a checkpoint and back, byte for byte.
 *
 * Names: a dense parameter has the name that its graph gives it. A table `t` is
 *     embedding.t.weight                      F32, F16 or BF16 [rows, dim], unused rows
 *                                             with their initial values, for all to read
 *     optimizer.embedding.t.weight.momentum1  F32 [rows, dim] or [rows], if there is any;
 *     optimizer.embedding.t.weight.momentum2  likewise
 *     embedding.t.weight.used                 U8: a bit per row, lowest bit first
 * or, where leaving out unused rows saves a megabyte or more, each with ".rows" behind
 * its name and used rows alone, and
 *     embedding.t.weight.row_ids              I64 [used rows], ascending
 * A keyed table has ".rows" too, and embedding.t.weight.keys and further lists of its
 * ids; see docs/checkpoint-format.md.
 * A table whose name ends in ".weight" has that as the name of its weights instead.
 * Dense optimizer state is the caller's, by custom `optimizer.<parameter>.<key>`.
 */
#ifndef CKPT_STATE_H
#define CKPT_STATE_H

#include "base/vec.h"
#include "ckpt/ckpt.h"
#include "ckpt/map.h"
#include "embed/lookup.h"
#include "nn/graph.h"

/* The name of a table's weights; the caller's, to mem_free(). */
char *ckpt_table_name(const struct embed_table_conf *t) MUST_CHECK;

/* A further array of floats: optimizer state, moving averages. */
struct ckpt_array {
    enum ckpt_part part;
    const char *name;
    int n_dims;
    int64_t dims[3];
    float *data;
};

/* All borrowed. */
struct ckpt_state {
    struct param *const *params; /* graph_params() */
    size_t n_params;
    struct lookup *lookup; /* NULL: no tables */
    const struct ckpt_array *arrays;
    size_t n_arrays;
};

/* Adds all of it; see ckpt_add_f32() for how failures are reported, and for how long the
 * data must stay. The blob "tables" is taken.
 */
void ckpt_add_state(struct ckpt_writer *w, const struct ckpt_state *s);

enum ckpt_diff_kind {
    CKPT_MISSING, /* the model has it, the checkpoint does not */
    CKPT_EXTRA,   /* the checkpoint has it, the model does not */
    CKPT_SHAPE,   /* both have it, in other shapes or types */
    CKPT_MEANING, /* a table whose rows stand for other ids; it keeps its values */
    CKPT_MOVED,   /* such a table, whose rows were read into other places */
    CKPT_ROWS,    /* a table with another number of rows, of which all common were read */
    CKPT_DIFF_KINDS
};

struct ckpt_diff {
    enum ckpt_diff_kind kind;
    const char *name; /* in the model; of CKPT_EXTRA: in the checkpoint */
    const char *text; /* "F32 [3, 4] in the checkpoint, F32 [3, 5] in the model" */
};

/* What did not match; texts lie in the arena. */
struct ckpt_report {
    struct arena arena;
    VEC(struct ckpt_diff) diffs;
    size_t counts[CKPT_DIFF_KINDS];
    size_t n_loaded;  /* tensors */
    int64_t n_floats; /* read */
};
void ckpt_report_release(struct ckpt_report *r);
/* One line per difference, the kinds in the order above. */
void ckpt_report_print(const struct ckpt_report *r, struct buf *out);

struct ckpt_load {
    /* false: everything must match (resuming). true: what is missing keeps its value,
     * what is extra is left out, tables may differ in rows (fine-tuning); other shapes
     * are an error all the same, unless:
     */
    bool partial;
    bool other_shapes;          /* with partial: what has another shape keeps its value */
    bool no_optimizer;          /* leave out CKPT_OPTIMIZER */
    const struct ckpt_map *map; /* names in the checkpoint; NULL: the same */
    /* Why rows of a table of the model stand for other ids there, NULL: they do not; the
     * table then keeps its values, unless another shape is an error, as this then is.
     */
    const char *(*other_rows)(void *arg, int table);
    /* With other_shapes, for such a table: where each of its rows was in the checkpoint, -1:
     * nowhere, into then[], of as many as it has. What to say of it; NULL: not known. Rows
     * of the checkpoint then go there, and the others keep their initial values. May be
     * NULL.
     */
    const char *(*rows_then)(void *arg, int table, int64_t *then);
    void *arg;
};

/* Compares everything first, then reads: on failure the model is untouched. *report is
 * filled in any case (zeroed by the caller, to be released). Rows of a table that were
 * not used when it was saved are unused again, unless the table's initial values are
 * others now. RC_INVAL: E1510, E1512; the message holds the first differences, the report all.
 */
enum rc ckpt_load_state(const struct ckpt *c, const struct ckpt_state *s,
                        const struct ckpt_load *how, struct ckpt_report *report,
                        struct err *err) MUST_CHECK;

#endif
