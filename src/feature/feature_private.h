/* SPDX-License-Identifier: Apache-2.0 */
/* feature/feature_private.h - how a plan is made inside.
 *
 * A feature (struct fg) reads its inputs into cells: for each step of each row a list of
 * values. A row that is no sequence is one step. The feature's operator looks at one step
 * of all inputs at a time and gives values to the sink, which turns them into ids or
 * numbers. A step that gave nothing gets the default.
 */
#ifndef FEATURE_FEATURE_PRIVATE_H
#define FEATURE_FEATURE_PRIVATE_H

#include "base/vec.h"
#include "feature/bucket.h"
#include "feature/feature.h"
#include "feature/fg_json_private.h"
#include "feature/normal.h"

/* Values side by side, all of one type. */
enum cell_type {
    CELL_TEXT, /* struct str */
    CELL_I64,
    CELL_F32,
    CELL_F64,
    CELL_CODE, /* uint32_t into a dictionary of texts */
};

struct fg_plane {
    enum cell_type type;
    struct feature_mem mem;
    struct feature_mem digits; /* of integers beyond 2^63, which are texts */
};

struct fg_cells {
    int64_t rows, steps, n; /* rows is 1 when `one`; n values */
    bool one;               /* its one row stands for all */
    bool seq;               /* rows have row_at; else each row is one step */
    int64_t *row_at;        /* [rows + 1] */
    int64_t *step_at;       /* [steps + 1] */
    struct fg_plane val;
    struct fg_plane key; /* CELL_TEXT or CELL_I64; only of pairs */
    struct dict *dict;   /* borrowed; CELL_CODE */
    bool split;          /* a code's text may hold several values */
    int64_t cap;         /* values for which there is room in the planes at use */
    int64_t step_cap;
    struct feature_mem row_mem, step_mem;
};

static inline const struct str *cells_text(const struct fg_cells *c)
{
    return c->val.mem.p;
}
static inline const int64_t *cells_i64(const struct fg_cells *c)
{
    return c->val.mem.p;
}
static inline const float *cells_f32(const struct fg_cells *c)
{
    return c->val.mem.p;
}
static inline const double *cells_f64(const struct fg_cells *c)
{
    return c->val.mem.p;
}
static inline const uint32_t *cells_code(const struct fg_cells *c)
{
    return c->val.mem.p;
}

/* What an operator wants to see of an input. */
enum fg_form {
    FORM_TEXTS,   /* texts split at the separator; integers stay integers */
    FORM_WHOLE,   /* the text of a row or step, uncut */
    FORM_NUMBERS, /* split and parsed */
    FORM_NUMBER,  /* parsed, not split */
    FORM_PAIRS,   /* key:value; a missing value is an empty text */
};

struct fg;

struct fg_input {
    struct pc_input *conf;    /* NULL: the column has the feature's name */
    const char *column;       /* what a message calls it */
    int64_t slot;             /* of plan->columns; -1: a feature or literal */
    const struct fg *feature; /* FG_DAG: reads this one's result */
    struct str literal;       /* FG_DAG: const: */
    bool is_const;
    bool seq;    /* one entry per step */
    bool spread; /* of a sequence: a single step stands for all of them */
    enum fg_form form;
    char sep;
    bool keep_codes; /* encoded texts may stay codes */
    bool wide;       /* numbers are doubles; else float32 unless they were text */
    bool last_colon; /* pairs: the value is behind the last colon, not the first */
    char colon;      /* between key and value; 0 is ':' */
};

/* Values of one step of one input. */
struct fg_range {
    int64_t begin, end;
};

struct fg_run;

struct fg_ops {
    /* Sets f's inputs' forms, f->op, f->sparse and so on; problems go to diags. */
    void (*compile)(struct fg *f, struct feature_plan *p, struct diags *diags);
    /* One step: gives values to the sink; nothing: the default. Fails by fg_fail(); a failure
     * without words gets E0010, an answer that is no code of failure E0011.
     */
    enum rc (*step)(struct fg_run *x, const struct fg_range *in);
    /* Optional: all rows at once when it can (*done), from the column. */
    enum rc (*fast)(struct fg_run *x, bool *done);
    void (*release)(void *op);
    /* Optional: per-thread memory of the operator. */
    void *(*scratch)(const void *op); /* NULL for none */
    void (*scratch_destroy)(void *scratch);
    struct fg_json_ops json;
};
#define FEATURE(name, ...) extern const struct fg_ops fg_##name;
#include "text/pipeline/features.def"
#undef FEATURE
const struct fg_ops *fg_ops_of(const struct pc_feature_kind *kind);

enum sink_kind { SINK_IDS, SINK_NUMBERS, SINK_TEXTS };

struct fg {
    struct feature_info info;
    const struct pc_feature *conf;
    const struct fg_ops *ops;
    size_t index; /* in the plan */
    struct fg_input *in;
    size_t n_in;
    void *op; /* the operator's settings; released by ops->release */

    bool sequence, weighted, use_mask;
    bool sampled;      /* it has a row per item of the batch's sampler */
    size_t mask_in;    /* the input that use_mask hides */
    struct str delim;  /* between steps */
    char sep;          /* between values */
    int64_t max_steps; /* 0: any */
    int64_t keep;      /* values kept per row or step, 0: all */
    enum sink_kind sink;
    struct fg_bucket bucket;
    struct normal normal; /* NORMAL_NONE: none */
    uint32_t dim;         /* SINK_NUMBERS; 0 for others */
    /* Numbers that a row or step must have, as numbers or before boundaries make ids of them
     * (E1305); 0: any. With `several` boundaries take any, and `want` is the default's.
     */
    uint32_t want;
    bool several;

    struct str def_text; /* empty: no default */
    int64_t *def_ids;    /* [n_def] */
    float *def_values;   /* [dim] */
    int64_t n_def;       /* SINK_IDS; 0: none */
    bool has_def;        /* numbers, texts */
    uint32_t line;       /* in the config */
    const char *file;    /* NULL: messages do not name the place */
    int mark;            /* while sorting */
};

struct feature_plan {
    struct arena mem;
    struct pc_features conf;
    const struct pc_DataConfig *data;
    struct feature_options options;
    enum pc_FgMode mode;
    struct str multi_sep; /* FG_NONE */
    struct fg *at;        /* [n], in the order of the config */
    size_t n;
    const struct fg **order; /* [n]: what is read comes before its readers */
    VEC(struct feature_column) columns;
    VEC(int64_t) targets; /* columns of labels and weights */
    size_t n_labels, n_weights;
    struct map by_column; /* to index + 1 */
};

/* Ids of the texts of one dictionary. */
struct fg_memo {
    struct dict *dict;       /* one reference is ours */
    struct feature_mem slot; /* int64_t per entry: an id, MEMO_NEW, or a span */
    VEC(struct fg_range) spans;
    VEC(int64_t) ids;
};
#define MEMO_NEW (-1) /* below it: -2 - index into spans */

/* Per feature and thread. */
struct fg_state {
    struct fg_cells *in; /* [n_in] */
    struct fg_range *range;
    struct fg_memo memo;
    struct fg_cells text; /* results of a feature that stays text */
    struct feature_mem text_mem;
    size_t text_n;
    struct feature_out stub; /* output of a stub */
    struct expr_value *vars; /* [n_in] */
    void *op;
};

struct feature_scratch {
    const struct feature_plan *plan;
    struct fg_state *at;          /* [plan->n] */
    const struct column **column; /* [plan->columns.n], of the batch at hand */
    int64_t *index;               /* where each column was in the last batch, or -1 */
    struct column *tidy;  /* [plan->columns.n]: texts without what is around them */
    struct column *first; /* [plan->columns.n]: of lists of items the first */
    struct buf text;      /* for a text put together */
    struct expr_stack *stack;
};

/* One feature of one batch, at work. */
struct fg_run {
    const struct feature_plan *plan;
    struct feature_scratch *scratch;
    const uint8_t *mask;
    struct feature_batch *batch;
    struct err *err;
    int64_t rows;

    const struct fg *f;
    struct fg_state *st;
    struct feature_out *out;
    int64_t row, step; /* at hand */
    int64_t n;         /* values in the sink */
    int64_t cap;       /* room in it */
    int64_t step_base; /* values when the step began */
};

/* mem.c */
bool feature_mem_room(struct feature_mem *m, size_t n, size_t size) MUST_CHECK;
void feature_mem_release(struct feature_mem *m);

/* cells.c: cuts a column up as the input wants it. */
enum rc cells_read(struct fg_run *x, const struct fg_input *in, struct fg_cells *c);
void cells_release(struct fg_cells *c);
/* Can a column of that type be read so? */
bool cells_accept(const struct fg_input *in, const struct type *t);
/* Results of another feature as cells. */
enum rc cells_of_feature(struct fg_run *x, const struct fg_input *in, struct fg_cells *c);
enum rc cells_of_const(struct fg_run *x, const struct fg_input *in, struct fg_cells *c);

struct cell_buf {
    char text[40];
};
/* Value i as a text; numbers are written into `buf`. */
struct str plane_text(const struct fg_plane *p, const struct dict *dict, int64_t i,
                      struct cell_buf *buf);
static inline struct str cell_text(const struct fg_cells *c, int64_t i,
                                   struct cell_buf *buf)
{
    return c->val.type == CELL_TEXT ? cells_text(c)[i]
                                    : plane_text(&c->val, c->dict, i, buf);
}
/* Value i as a number; false when its text is none. */
bool plane_number(const struct fg_plane *p, int64_t i, double *out);

/* sink.c */
enum rc sink_room(struct fg_run *x, int64_t more) MUST_CHECK;
enum rc sink_text(struct fg_run *x, struct str s, float weight) MUST_CHECK;
enum rc sink_i64(struct fg_run *x, int64_t v, float weight) MUST_CHECK;
/* `narrow`: the value is a float32 and is normalised as one. */
enum rc sink_number(struct fg_run *x, double v, bool narrow) MUST_CHECK;
enum rc sink_cell(struct fg_run *x, const struct fg_cells *c, int64_t i,
                  float weight) MUST_CHECK;
/* Values of the step given so far. */
static inline int64_t sink_given(const struct fg_run *x)
{
    return x->n - x->step_base;
}
enum rc sink_default(struct fg_run *x) MUST_CHECK;
/* Cuts to f->keep, fills in the default, ends the step. */
enum rc sink_end_step(struct fg_run *x) MUST_CHECK;
enum rc sink_end_bare_step(struct fg_run *x) MUST_CHECK; /* without the default */
enum rc sink_begin(struct fg_run *x, int64_t rows) MUST_CHECK;
void sink_end_row(struct fg_run *x);
/* The one row that was made as so many; before sink_finish(). RC_NOMEM. */
enum rc sink_repeat(struct fg_run *x, int64_t rows) MUST_CHECK;
void sink_finish(struct fg_run *x);

/* run.c */
/* A failure at the row at hand: "feature 'f' (c:3): column 'x', row 7: ...". */
enum rc fg_fail(struct fg_run *x, const struct fg_input *in, enum rc rc, enum code code,
                const char *fmt, ...) PRINTF_LIKE(5, 6);
enum rc fg_nomem(struct fg_run *x);
const struct column *fg_column(const struct fg_run *x, const struct fg_input *in);
static inline bool fg_masked(const struct fg_run *x, const struct fg_input *in,
                             int64_t row)
{
    return x->mask && x->f->use_mask && in == &x->f->in[x->f->mask_in] && x->mask[row];
}
/* Enough of a text for a message. */
#define SHOWN(s) (int)((s).n < 60 ? (s).n : 60), (s).p ? (s).p : ""

/* none.c: FG_NONE, values that are ids and numbers already. */
enum rc none_run(struct fg_run *x);
bool none_accept(const struct fg *f, const struct type *t);

/* memo.c */
void memo_release(struct fg_memo *m);
enum rc memo_use(struct fg_run *x, struct fg_memo *m, struct dict *dict);
/* Gives the ids of entry `code` to the sink; `split`: its text may hold several. */
enum rc memo_sink(struct fg_run *x, struct fg_memo *m, uint32_t code, bool split);

/* dag.c */
void dag_sort(struct feature_plan *p, struct diags *diags);

/* plan_default.c */
void plan_defaults(struct fg *f, struct feature_plan *p, struct diags *diags);
/* plan_bucket.c: f->bucket and the rows of its table */
void plan_bucket(struct fg *f, struct feature_plan *p, struct diags *diags);
/* plan.c */
char *plan_path(struct feature_plan *p, const char *asset_dir, const char *file);
struct diag *plan_report(struct diags *d, const struct fg *f, enum code code,
                         const char *field, const char *fmt, ...) PRINTF_LIKE(5, 6);
int64_t plan_want_column(struct feature_plan *p, const char *name, enum feature_use use,
                         const char *by);
/* sampled.c: columns that only the sampler reads; then, when the order is known, which
 * features it makes longer; what is kept of a sample */
void plan_sampler_columns(struct feature_plan *p);
void plan_sampled(struct feature_plan *p, struct diags *diags);
enum rc feature_sampled_keep(struct feature_batch *out, const struct sampled *in,
                             struct err *err);
/* Without a sampler: a row's item is the first of its list. */
enum rc feature_first_items(struct feature_scratch *s, struct err *err);
/* target.c: labels and sample weights */
/* The two texts that target `i` of the plan may be; NULL: it is no such label. */
const struct pc_LabelText *target_texts(const struct feature_plan *p, size_t i);
bool target_accept(enum feature_use use, const struct pc_LabelText *texts,
                   const struct type *t);
enum rc target_run(struct fg_run *x, const struct batch *batch,
                   struct feature_batch *out);

#endif
