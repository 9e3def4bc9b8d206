/* SPDX-License-Identifier: Apache-2.0 */
/* A session as a checkpoint, and back: parameters and tables by ckpt/state.h, floats of
 * optimizers and averages as tensors beside them, their counters and those of the session
 * as small JSON texts. Loading reads into memory of its own first, so that a checkpoint
 * that does not fit changes nothing.
 */
#include "train/save.h"

#include <string.h>

#include "base/mem.h"
#include "ckpt/state.h"
#include "text/json.h"
#include "train/columns.h"
#include "train/dense_tables.h"
#include "train/row_meaning.h"
#include "train/vocabularies.h"

#define OPTIM_PREFIX "optimizer."
#define EMA_PREFIX "ema."

static struct ckpt_state state_of(const struct train_session *s)
{
    struct ckpt_state state = {.lookup = s->model->lookup};
    state.params = graph_params(s->model->graph, &state.n_params);
    return state;
}

/* What optimizers and averages keep. Floats are tensors of the checkpoint; counters, of
 * which there are few, stand in its blob "counters".
 */
struct extras {
    struct nn_state items; /* borrowed from their owners */
    VEC(struct ckpt_array) arrays;
    VEC(size_t) item_of; /* the item of each array */
    struct arena names;
};

static void extras_init(struct extras *x, const struct train_session *s)
{
    *x = (struct extras){0};
    /* in the middle of an accumulation the gradients so far count, too */
    optim_save(s->optim, s->step % s->accumulate != 0, &x->items);
    if (s->ema)
        optim_ema_save(s->ema, EMA_PREFIX, &x->items);
    optim_scaler_save(&s->scaler, &x->items);
    for (size_t i = 0; i < x->items.items.n; i++) {
        const struct nn_state_item *it = &x->items.items.at[i];
        if (it->type != STATE_F32)
            continue;
        struct ckpt_array array = {
            .part = CKPT_OPTIMIZER,
            .name = arena_printf(&x->names, OPTIM_PREFIX "%s", it->name),
            .n_dims = 1,
            .dims = {it->n},
            .data = (float *)(uintptr_t)it->data};
        VEC_PUSH(&x->arrays, array);
        VEC_PUSH(&x->item_of, i);
    }
}

static void extras_release(struct extras *x)
{
    nn_state_release(&x->items);
    VEC_RELEASE(&x->arrays);
    VEC_RELEASE(&x->item_of);
    arena_release(&x->names);
}

static void put_value(struct buf *b, const struct nn_state_item *it, int64_t i)
{
    char text[32];
    if (it->type == STATE_I64) {
        buf_printf(b, "%jd", (intmax_t)((const int64_t *)it->data)[i]);
        return;
    }
    str_from_f64(((const double *)it->data)[i], text);
    buf_puts(b, text);
}

/* {"name": [1, 2], ...} */
static void add_counters(struct ckpt_writer *w, const struct extras *x)
{
    struct buf b;
    bool first = true;
    buf_init(&b, (size_t)1 << 28);
    buf_putc(&b, '{');
    for (size_t i = 0; i < x->items.items.n; i++) {
        const struct nn_state_item *it = &x->items.items.at[i];
        if (it->type == STATE_F32)
            continue;
        buf_puts(&b, first ? "" : ", ");
        buf_json_str(&b, it->name, strlen(it->name));
        buf_puts(&b, ": [");
        for (int64_t k = 0; k < it->n; k++) {
            buf_puts(&b, k ? ", " : "");
            put_value(&b, it, k);
        }
        buf_putc(&b, ']');
        first = false;
    }
    buf_putc(&b, '}');
    ckpt_add_json(w, "counters", buf_str(&b));
    buf_release(&b);
}

static void add_session(struct ckpt_writer *w, const struct train_session *s)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 24);
    buf_printf(&b, "{\"step\": %ju, \"epoch\": %ju, \"rows\": %ju, \"seed\": %ju",
               (uintmax_t)s->step, (uintmax_t)s->epoch, (uintmax_t)s->rows,
               (uintmax_t)s->options.seed);
    if (s->shards.total > 1)
        buf_printf(&b, ", \"shards\": %d", s->shards.total);
    if (s->schedule_step)
        buf_printf(&b, ", \"schedule_step\": %ju, \"schedule_epoch\": %ju",
                   (uintmax_t)s->schedule_step, (uintmax_t)s->schedule_epoch);
    if (s->data_step)
        buf_printf(&b, ", \"data_step\": %ju, \"data_epoch\": %ju",
                   (uintmax_t)s->data_step, (uintmax_t)s->data_epoch);
    train_dense_tables_print(s->model, &b);
    buf_putc(&b, '}');
    ckpt_add_json(w, "session", buf_str(&b));
    buf_release(&b);
}

static void add_columns(struct ckpt_writer *w, const struct train_session *s)
{
    struct buf b;
    if (!s->columns.n)
        return;
    buf_init(&b, (size_t)1 << 28);
    train_columns_print(&s->columns, &b);
    ckpt_add_json(w, TRAIN_COLUMNS, buf_str(&b));
    buf_release(&b);
}

static void add_vocabularies(struct ckpt_writer *w, const struct train_session *s)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 30);
    if (train_vocabularies_print(s->plan, &b))
        ckpt_add_json(w, TRAIN_VOCABULARIES, buf_str(&b));
    buf_release(&b);
}

struct ckpt_writer *train_session_save(const struct train_session *s,
                                       const char *model_dir, const char *config,
                                       const char *position)
{
    struct ckpt_writer_conf conf = {
        .step = (int64_t)s->step - 1, .epoch = (int64_t)s->epoch, .config = config};
    struct ckpt_writer *w = ckpt_writer_open(model_dir, &conf);
    struct ckpt_state state = state_of(s);
    struct extras x;
    extras_init(&x, s);
    state.arrays = x.arrays.at;
    state.n_arrays = x.arrays.n;
    ckpt_add_state(w, &state);
    add_counters(w, &x);
    add_session(w, s);
    add_columns(w, s);
    add_vocabularies(w, s);
    if (position)
        ckpt_add_json(w, "data", position);
    extras_release(&x);
    return w;
}

/* The values of a counter, in memory of `a`; NULL when they are not there as they should
 * be. */
static const void *counter_values(const struct node *blob, const struct nn_state_item *it,
                                  struct arena *a)
{
    const struct node *list = blob ? node_find(blob, it->name) : NULL;
    if (!list || list->kind != NODE_LIST || list->list.n != (size_t)it->n)
        return NULL;
    int64_t *ints = arena_alloc(a, (size_t)it->n * sizeof(*ints));
    double *reals = arena_alloc(a, (size_t)it->n * sizeof(*reals));
    for (int64_t i = 0; i < it->n; i++) {
        const struct node *n = list->list.at[i];
        if (it->type == STATE_I64 ? !node_i64(n, &ints[i]) : !node_number(n, &reals[i]))
            return NULL;
    }
    return it->type == STATE_I64 ? (const void *)ints : (const void *)reals;
}

/* Rows that mean other ids (another vocabulary of the same size) are a mismatch, too. */
static enum rc load_same_rows(const struct train_session *s, const struct ckpt *c,
                              const struct ckpt_state *state, struct ckpt_load *how,
                              struct err *err)
{
    struct ckpt_report report = {0};
    struct train_row_meaning *meaning = train_row_meaning_create(s, c, true);
    how->other_rows = train_row_meaning_differs;
    how->arg = meaning;
    enum rc rc = ckpt_load_state(c, state, how, &report, err);
    train_row_meaning_destroy(meaning);
    ckpt_report_release(&report);
    return rc;
}

/* Into memory of its own first, so that a checkpoint that does not fit changes nothing.
 */
static enum rc load_all(struct train_session *s, const struct ckpt *c, struct err *err)
{
    struct ckpt_state state = state_of(s);
    struct ckpt_load how = {.partial = false};
    struct arena a = {0};
    struct nn_state found = {0};
    struct extras x;
    extras_init(&x, s);
    for (size_t i = 0; i < x.arrays.n; i++) {
        const struct nn_state_item *it = &x.items.items.at[x.item_of.at[i]];
        x.arrays.at[i].data = arena_alloc(&a, (size_t)it->n * sizeof(float));
        nn_state_add(&found, STATE_F32, x.arrays.at[i].data, it->n, "%s", it->name);
    }
    for (size_t i = 0; i < x.items.items.n; i++) {
        const struct nn_state_item *it = &x.items.items.at[i];
        const void *values = it->type == STATE_F32
                                 ? NULL
                                 : counter_values(ckpt_json(c, "counters"), it, &a);
        if (values)
            nn_state_add(&found, it->type, values, it->n, "%s", it->name);
    }
    state.arrays = x.arrays.at;
    state.n_arrays = x.arrays.n;
    enum rc rc = load_same_rows(s, c, &state, &how, err);
    if (!rc)
        rc = optim_load(s->optim, &found, NULL, err);
    if (!rc && s->ema)
        rc = optim_ema_load(s->ema, EMA_PREFIX, &found, err);
    if (!rc)
        rc = optim_scaler_load(&s->scaler, &found, err);
    extras_release(&x);
    nn_state_release(&found);
    arena_release(&a);
    return rc;
}

static bool counter(const struct node *blob, const char *name, uint64_t *out)
{
    const struct node *n = blob ? node_find(blob, name) : NULL;
    return n && node_u64(n, out);
}

enum rc train_session_saved_seed(const struct ckpt *c, uint64_t *seed, struct err *err)
{
    if (counter(ckpt_json(c, "session"), "seed", seed))
        return RC_OK;
    return err_set(err, RC_FORMAT, "%s: it holds no counters of a training run",
                   ckpt_path(c));
}

int train_session_saved_shards(const struct ckpt *c)
{
    uint64_t n;
    bool has = counter(ckpt_json(c, "session"), "shards", &n);
    return has && n >= 1 && n <= DIST_SHARDS_MAX ? (int)n : 1;
}

/* Older checkpoints do not hold it; what their data had done by then tells. */
static void load_data_epoch(struct train_session *s, const struct ckpt *c)
{
    uint64_t passes;
    if (counter(ckpt_json(c, "session"), "data_epoch", &s->data_epoch) &&
        s->data_epoch <= s->epoch)
        return;
    s->data_epoch = 0;
    if (s->data_step && counter(ckpt_json(c, "data"), "epoch", &passes) &&
        passes <= s->epoch)
        s->data_epoch = s->epoch - passes;
}

static enum rc load_session(struct train_session *s, const struct ckpt *c,
                            struct err *err)
{
    const struct node *blob = ckpt_json(c, "session");
    uint64_t seed;
    if (!counter(blob, "step", &s->step) || !counter(blob, "epoch", &s->epoch) ||
        !counter(blob, "rows", &s->rows) || !counter(blob, "seed", &seed))
        return err_set(err, RC_FORMAT, "it holds no counters of a training run");
    if (!counter(blob, "schedule_step", &s->schedule_step) ||
        !counter(blob, "schedule_epoch", &s->schedule_epoch) ||
        s->schedule_step > s->step || s->schedule_epoch > s->epoch)
        s->schedule_step = s->schedule_epoch = 0;
    if (!counter(blob, "data_step", &s->data_step) || s->data_step > s->step)
        s->data_step = 0;
    load_data_epoch(s, c);
    train_columns_read(ckpt_json(c, TRAIN_COLUMNS), &s->columns);
    if (seed != s->options.seed)
        return err_set(err, RC_INVAL, "it was trained with seed %ju, not %ju",
                       (uintmax_t)seed, (uintmax_t)s->options.seed);
    return RC_OK;
}

/* Parameters and tables without the state of optimizers. */
static enum rc load_tensors(struct train_session *s, const struct ckpt *c,
                            struct err *err)
{
    struct ckpt_state state = state_of(s);
    struct ckpt_load how = {.partial = false, .no_optimizer = true};
    return load_same_rows(s, c, &state, &how, err);
}

enum rc train_session_resume(struct train_session *s, const struct ckpt *c, bool fresh,
                             struct arena *a, const char **position, struct err *err)
{
    *position = NULL;
    enum rc rc = load_session(s, c, err);
    if (!rc)
        rc = fresh ? load_tensors(s, c, err) : load_all(s, c, err);
    const struct node *data = rc ? NULL : ckpt_json(c, "data");
    if (data) {
        struct buf b;
        buf_init(&b, (size_t)1 << 30);
        json_print(data, 0, &b);
        *position = arena_strdup(a, buf_str(&b));
        buf_release(&b);
    }
    return rc ? err_wrap(err, rc, "%s", ckpt_path(c)) : RC_OK;
}

static bool has_average(const struct ckpt *c)
{
    const struct node *n = node_find(ckpt_json(c, "counters"), "__n_averaged__");
    int64_t count = 0;
    return n && n->kind == NODE_LIST && n->list.n == 1 &&
           node_i64(n->list.at[0], &count) && count > 0;
}

static enum rc load_average(struct train_session *s, const struct ckpt *c,
                            struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        char *name = mem_printf(OPTIM_PREFIX EMA_PREFIX "%s", params[i]->name);
        const struct ckpt_st_tensor *t = ckpt_find(c, name);
        if (t && ckpt_st_rows(t) == params[i]->n && ckpt_st_width(t) == 1) {
            rc = ckpt_st_read_f32(t, 0, params[i]->n, param_write_begin(params[i]), 1,
                                  err);
            param_write_end(params[i]);
        }
        mem_free(name);
    }
    return rc;
}

enum rc train_session_load_weights(struct train_session *s, const struct ckpt *c,
                                   bool average, struct err *err)
{
    enum rc rc = RC_OK;
    if (ckpt_json(c, "session"))
        rc = load_session(s, c, err);
    else /* converted from elsewhere: tensors are all there is */
        s->step = (uint64_t)(ckpt_step(c) + 1);
    if (!rc)
        rc = load_tensors(s, c, err);
    if (!rc && average && has_average(c))
        rc = load_average(s, c, err);
    return rc ? err_wrap(err, rc, "%s", ckpt_path(c)) : RC_OK;
}
