/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a model, each fed with the predictions and labels of its task, and the mean
 * of every loss by rows. Train metrics move with the batches and are saved with a
 * checkpoint; those of an evaluation start anew with train_score_reset().
 */
#include "train/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "nn/metric/codes.h"
#include "nn/metric/metric.h"
#include "train/blame.h"

#define VALUES_MAX ((int64_t)1 << 20) /* of state that a checkpoint takes */

struct entry {
    struct metric *metric;
    char *name;
    size_t task;
    int64_t group_at;                         /* feature that holds the groups, or -1 */
    enum { OF_TASK, OF_CODES, OF_VALUES } of; /* what it is fed with */
};

struct train_score {
    VEC(struct entry) entries;
    VEC(struct train_score_line) lines;
    VEC(const char *) names; /* of losses; NULL: is not shown */
    struct arena arena;      /* names of losses */
    bool train;
    double loss;  /* sum over rows */
    double *each; /* the same of each loss; of train the last batch's */
    size_t n_each;
    int64_t rows;
    int64_t counted; /* what losses are the mean of: rows, or candidates */
    int64_t *groups; /* room */
    float *preds;
    int64_t room;
};

static enum rc add_metric(struct train_score *s, const struct train_session *session,
                          size_t task, struct metric *m, struct err *err)
{
    const struct model_task *t = &session->model->tasks.at[task];
    struct entry e = {.metric = m, .task = task, .group_at = -1};
    const char *key = metric_grouping_key(m);
    e.name = mem_printf("%s%s", metric_name(m), t->suffix);
    if (key)
        e.group_at = feature_plan_find(session->plan, str_c(key));
    VEC_PUSH(&s->entries, e);
    enum metric_wants wants = metric_wants(m);
    const struct nn_val *from = wants == METRIC_VALUE    ? t->y
                                : wants == METRIC_SCORES ? t->scores
                                                         : t->probs;
    if (!from)
        return err_coded(err, RC_INVAL, E1407,
                         "metric '%s' does not fit what the model predicts", e.name);
    if (key && e.group_at < 0)
        return err_coded(err, RC_INVAL, E1407, "metric '%s': there is no feature '%s'",
                         e.name, key);
    return RC_OK;
}

/* Beside the binned AUC of evaluations the exact one, whatever the bins. */
static enum rc add_exact(struct train_score *s, const struct train_session *session,
                         size_t task, const struct metric_options *options,
                         struct err *err)
{
    struct metric *m = NULL;
    enum rc rc = metric_create_exact_auc(options, &m, err);
    return rc ? rc : add_metric(s, session, task, m, err);
}

static enum rc add_task(struct train_score *s, const struct train_session *session,
                        size_t i, struct err *err)
{
    const struct model_task *t = &session->model->tasks.at[i];
    struct metric_options options = {.seed = session->options.seed};
    int64_t n = s->train ? t->n_train_metrics : t->training ? 0 : t->n_metrics;
    enum rc rc = RC_OK;
    for (int64_t k = 0; k < n && !rc; k++) {
        struct metric *m = NULL;
        rc = s->train ? metric_create_train(t->train_metrics[k], &options, &m, err)
                      : metric_create(t->metrics[k], &options, &m, err);
        if (!rc)
            rc = add_metric(s, session, i, m, err);
        if (!rc && !s->train && t->metrics[k]->auc)
            rc = add_exact(s, session, i, &options, err);
    }
    return rc;
}

static enum rc add_code_metric(struct train_score *s, const struct train_session *session,
                               enum metric_codes kind, int64_t layer, struct err *err)
{
    const struct model_sid *sid = &session->model->sid;
    struct metric_options options = {.seed = session->options.seed};
    struct entry e = {.group_at = -1, .of = OF_CODES};
    if (kind == METRIC_CODES_MSE || kind == METRIC_CODES_RELATIVE)
        e.of = OF_VALUES;
    enum rc rc =
        metric_create_codes(kind, layer, sid->sizes[layer], &options, &e.metric, err);
    if (rc)
        return rc;
    e.name = mem_printf("%s", metric_name(e.metric));
    VEC_PUSH(&s->entries, e);
    return RC_OK;
}

/* Those of a model of codes, in every evaluation. */
static enum rc add_codes(struct train_score *s, const struct train_session *session,
                         struct err *err)
{
    static const enum metric_codes whole[] = {METRIC_CODES_MSE, METRIC_CODES_RELATIVE,
                                              METRIC_CODES_UNIQUE,
                                              METRIC_CODES_COLLISIONS};
    const struct model_sid *sid = &session->model->sid;
    enum rc rc = RC_OK;
    if (!sid->codes || s->train)
        return RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(whole) && !rc; i++)
        rc = add_code_metric(s, session, whole[i], 0, err);
    for (int64_t i = 0; i < sid->layers && !rc; i++) {
        rc = add_code_metric(s, session, METRIC_CODES_USE, i, err);
        if (!rc)
            rc = add_code_metric(s, session, METRIC_CODES_ENTROPY, i, err);
    }
    return rc;
}

enum rc train_score_create(const struct train_session *session, bool train,
                           struct train_score **out, struct err *err)
{
    struct train_score *s = mem_calloc(1, sizeof(*s));
    enum rc rc = RC_OK;
    s->train = train;
    s->n_each = graph_n_losses(session->model->graph);
    s->each = mem_calloc(s->n_each + 1, sizeof(*s->each));
    for (size_t i = 0; i < s->n_each; i++) {
        bool shown = train || !graph_loss_training(session->model->graph, i);
        const char *name = graph_loss_name(session->model->graph, i);
        VEC_PUSH(&s->names, shown ? arena_strdup(&s->arena, name) : NULL);
    }
    for (size_t i = 0; i < session->model->tasks.n && !rc; i++)
        rc = add_task(s, session, i, err);
    if (!rc)
        rc = add_codes(s, session, err);
    if (rc)
        train_score_destroy(s);
    else
        *out = s;
    return rc;
}

void train_score_destroy(struct train_score *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->entries.n; i++) {
        metric_destroy(s->entries.at[i].metric);
        mem_free(s->entries.at[i].name);
    }
    VEC_RELEASE(&s->entries);
    VEC_RELEASE(&s->lines);
    VEC_RELEASE(&s->names);
    mem_free(s->each);
    arena_release(&s->arena);
    mem_free(s->groups);
    mem_free(s->preds);
    mem_free(s);
}

static enum rc make_room(struct train_score *s, int64_t rows, struct err *err)
{
    if (rows <= s->room)
        return RC_OK;
    mem_free(s->groups);
    mem_free(s->preds);
    s->groups = mem_try_alloc((size_t)rows, sizeof(*s->groups));
    s->preds = mem_try_alloc((size_t)rows, sizeof(*s->preds));
    s->room = s->groups && s->preds ? rows : 0;
    if (!s->room)
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)rows);
    return RC_OK;
}

/* The first id of each row, 0 when there is none; of candidates that of their row. */
static void fill_groups(struct train_score *s, const struct feature_out *o,
                        const int64_t *offsets)
{
    for (int64_t r = 0; r < o->rows; r++) {
        int64_t from = offsets ? offsets[r] : r, to = offsets ? offsets[r + 1] : r + 1;
        for (int64_t k = from; k < to; k++)
            s->groups[k] = o->offsets[r] < o->offsets[r + 1] ? o->ids[o->offsets[r]] : 0;
    }
}

/* Which candidate of each row is the right one. */
static void fill_targets(struct train_score *s, const struct model_task *t, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        s->preds[r] = t->diagonal ? (float)r : 0.0f;
}

/* Codes of all rows, or row by row the values that they stand for. Before codes are fitted there
 * are none.
 */
static enum rc update_codes(const struct train_session *session, const struct entry *e,
                            struct err *err)
{
    const struct model_sid *sid = &session->model->sid;
    struct graph *g = session->model->graph;
    enum rc rc = RC_OK;
    if (sid->fitted && *param_read(sid->fitted) == 0.0f)
        return RC_OK;
    if (e->of == OF_CODES) {
        struct view codes = graph_read(g, sid->codes);
        return metric_update(e->metric,
                             &(struct metric_rows){.n = codes.rows,
                                                   .pred = codes.data,
                                                   .width = codes.width,
                                                   .label = codes.data},
                             err);
    }
    struct view made = graph_read(g, sid->made), target = graph_read(g, sid->target);
    struct view flag = sid->flag ? graph_read(g, sid->flag) : (struct view){0};
    for (int64_t r = 0; r < made.rows && !rc; r++)
        if (!flag.data || *view_row(&flag, r) <= 0.5f)
            rc = metric_update(e->metric,
                               &(struct metric_rows){.n = made.width,
                                                     .pred = view_row(&made, r),
                                                     .width = 1,
                                                     .label = view_row(&target, r)},
                               err);
    return rc;
}

/* Whose rows a task has: the batch's, or candidates of its rows. */
static int64_t task_rows(const struct train_session *session, const struct model_task *t,
                         const struct feature_batch *b)
{
    return t->axis == AXIS_BATCH ? b->rows
                                 : graph_batch_rows(session->model->graph)->n[t->axis];
}

/* A metric refuses what is no number: which row that is, and what made it so. */
static enum rc blame_prediction(const struct train_score *s,
                                const struct train_session *session,
                                const struct entry *e, const struct feature_batch *b,
                                const struct view *pred, enum rc rc, struct err *err)
{
    const struct model_task *t = &session->model->tasks.at[e->task];
    struct buf what;
    int64_t at = 0, n = pred->rows * pred->width;
    while (at < n && isfinite(pred->data[at]))
        at++;
    if (at == n || t->axis != AXIS_BATCH || pred->rows != b->rows)
        return err_wrap(err, rc, "metric '%s'", e->name);
    buf_init(&what, ERR_MSG_SIZE);
    train_blame_output(session, b, at / pred->width, "prediction", (double)pred->data[at],
                       &what);
    rc = err_coded(err, RC_INVAL, E2017, "metric '%s': row %jd: %s", e->name,
                   (intmax_t)(s->rows + at / pred->width), buf_str(&what));
    buf_release(&what);
    return rc;
}

static enum rc update_metric(struct train_score *s, const struct train_session *session,
                             const struct entry *e, const struct feature_batch *b,
                             struct err *err)
{
    const struct model_task *t = &session->model->tasks.at[e->task];
    enum metric_wants wants = metric_wants(e->metric);
    struct view pred =
        graph_read(session->model->graph, wants == METRIC_VALUE    ? t->y
                                          : wants == METRIC_SCORES ? t->scores
                                                                   : t->probs);
    int64_t n = wants == METRIC_SCORES ? task_rows(session, t, b) : pred.rows;
    struct metric_rows rows = {.n = n, .pred = pred.data, .width = pred.width};
    if (wants == METRIC_SCORES) {
        fill_targets(s, t, n);
        rows.width = n ? pred.rows / n : 1;
        rows.label = s->preds;
    } else {
        rows.label = graph_read(session->model->graph, t->labels).data;
    }
    if (wants == METRIC_PROB && pred.width == 2) { /* the probability of class 1 */
        for (int64_t r = 0; r < n; r++)
            s->preds[r] = view_row(&pred, r)[1];
        rows.pred = s->preds;
        rows.width = 1;
    }
    if (e->group_at >= 0) {
        fill_groups(s, &b->at[e->group_at],
                    graph_batch_rows(session->model->graph)->offsets[t->axis]);
        rows.group = s->groups;
    }
    enum rc rc = metric_update(e->metric, &rows, err);
    return rc ? blame_prediction(s, session, e, b, &pred, rc, err) : RC_OK;
}

/* A value that is refused may be one that a device failed to copy, which its next wait tells. */
static enum rc blame_device(const struct train_session *session, enum rc rc,
                            struct err *err)
{
    struct err device = {0};
    enum rc failed = graph_wait(session->model->graph, &device);
    if (failed && err)
        *err = device;
    return failed ? failed : rc;
}

/* What a loss is the mean of: rows, or their candidates. */
static int64_t counted_rows(const struct train_session *session,
                            const struct feature_batch *b)
{
    const struct model *m = session->model;
    return m->tasks.n ? task_rows(session, &m->tasks.at[0], b) : b->rows;
}

enum rc train_score_batch(struct train_score *s, const struct train_session *session,
                          const struct feature_batch *b, double loss, struct err *err)
{
    int64_t counted = counted_rows(session, b);
    enum rc rc = make_room(s, counted > b->rows ? counted : b->rows, err);
    for (size_t i = 0; i < s->entries.n && !rc; i++)
        rc = s->entries.at[i].of == OF_TASK
                 ? update_metric(s, session, &s->entries.at[i], b, err)
                 : update_codes(session, &s->entries.at[i], err);
    if (rc)
        return blame_device(session, rc, err);
    s->loss += loss * (double)counted;
    for (size_t i = 0; i < s->n_each; i++) {
        double v = graph_loss_at(session->model->graph, i);
        s->each[i] = s->train ? v : s->each[i] + v * (double)counted;
    }
    s->rows += b->rows;
    s->counted += counted;
    return rc;
}

void train_score_losses(struct train_score *s, const double *each)
{
    memcpy(s->each, each, s->n_each * sizeof(*each));
}

enum rc train_score_merge(struct train_score *s, const struct train_score *from,
                          struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < s->entries.n && !rc; i++)
        rc = metric_merge(s->entries.at[i].metric, from->entries.at[i].metric, err);
    for (size_t i = 0; i < s->n_each; i++)
        s->each[i] += from->each[i];
    s->loss += from->loss;
    s->rows += from->rows;
    s->counted += from->counted;
    return rc;
}

static int by_name(const void *x, const void *y)
{
    const struct train_score_line *a = x, *b = y;
    return strcmp(a->name, b->name);
}

/* Each by its name; while training, where the total is shown anyway, only if there are
 * several.
 */
static void add_losses(struct train_score *s)
{
    double rows = s->train ? 1 : (double)s->counted;
    for (size_t i = 0; i < s->n_each && (!s->train || s->n_each > 1); i++)
        if (s->names.at[i])
            VEC_PUSH(&s->lines, ((struct train_score_line){.name = s->names.at[i],
                                                           .defined = true,
                                                           .value = s->each[i] / rows}));
    if (!s->train)
        VEC_PUSH(&s->lines,
                 ((struct train_score_line){
                     .name = "loss", .defined = true, .value = s->loss / rows}));
}

enum rc train_score_lines(struct train_score *s, const struct train_score_line **lines,
                          size_t *n, struct err *err)
{
    s->lines.n = 0;
    for (size_t i = 0; i < s->entries.n; i++) {
        struct metric_value v;
        enum rc rc = metric_compute(s->entries.at[i].metric, &v, err);
        if (rc)
            return rc;
        VEC_PUSH(&s->lines, ((struct train_score_line){.name = s->entries.at[i].name,
                                                       .defined = v.defined,
                                                       .value = v.value,
                                                       .why = v.why}));
    }
    if (s->counted)
        add_losses(s);
    if (s->lines.n)
        qsort(s->lines.at, s->lines.n, sizeof(*s->lines.at), by_name);
    *lines = s->lines.at;
    *n = s->lines.n;
    return RC_OK;
}

void train_score_reset(struct train_score *s)
{
    for (size_t i = 0; i < s->entries.n; i++)
        metric_reset(s->entries.at[i].metric);
    s->loss = 0;
    memset(s->each, 0, s->n_each * sizeof(*s->each));
    s->rows = 0;
    s->counted = 0;
}

int64_t train_score_rows(const struct train_score *s)
{
    return s->rows;
}

void train_score_json(const struct train_score_line *lines, size_t n, int64_t step,
                      struct buf *out)
{
    char text[32];
    buf_printf(out, "{\"global_step\": %jd", (intmax_t)step);
    for (size_t i = 0; i < n; i++) {
        str_from_f64(lines[i].value, text);
        buf_puts(out, ", ");
        buf_json_str(out, lines[i].name, strlen(lines[i].name));
        buf_printf(out, ": %s",
                   lines[i].defined && isfinite(lines[i].value) ? text : "null");
    }
    buf_puts(out, "}\n");
}

/* State goes as JSON: numbers are written so that they read back as they were; NaN, which
 * JSON does not have, as null.
 */
static void list_state(const struct train_score *s, struct nn_state *out)
{
    struct arena a = {0};
    for (size_t i = 0; i < s->entries.n; i++)
        metric_save(s->entries.at[i].metric,
                    arena_printf(&a, "%zu.%s.", i, s->entries.at[i].name), out);
    arena_release(&a);
}

static double value_at(const struct nn_state_item *it, int64_t i)
{
    return it->type == STATE_F32 ? (double)((const float *)it->data)[i]
                                 : ((const double *)it->data)[i];
}

static void put_state_value(const struct nn_state_item *it, int64_t i, struct buf *out)
{
    char text[32];
    if (it->type == STATE_I64) {
        buf_printf(out, "%jd", (intmax_t)((const int64_t *)it->data)[i]);
    } else if (isfinite(value_at(it, i))) {
        str_from_f64(value_at(it, i), text);
        buf_puts(out, text);
    } else {
        buf_puts(out, "null");
    }
}

void train_score_save(const struct train_score *s, struct buf *out)
{
    struct nn_state state = {0};
    int64_t values = 0;
    list_state(s, &state);
    for (size_t i = 0; i < state.items.n; i++)
        values += state.items.at[i].n;
    buf_putc(out, '{');
    for (size_t i = 0; i < state.items.n && values <= VALUES_MAX; i++) {
        const struct nn_state_item *it = &state.items.at[i];
        buf_puts(out, i ? ", " : "");
        buf_json_str(out, it->name, strlen(it->name));
        buf_puts(out, ": [");
        for (int64_t k = 0; k < it->n; k++) {
            buf_puts(out, k ? ", " : "");
            put_state_value(it, k, out);
        }
        buf_putc(out, ']');
    }
    buf_putc(out, '}');
    nn_state_release(&state);
}

/* The values of one list, in memory of `a`; NULL when they are not of that type. */
static const void *read_values(const struct node *list, enum nn_state_type type,
                               struct arena *a)
{
    size_t n = list->list.n;
    void *out = arena_try_alloc(a, n + 1, sizeof(double));
    for (size_t i = 0; out && i < n; i++) {
        double v = NAN;
        bool ok = type == STATE_I64 ? node_i64(list->list.at[i], (int64_t *)out + i)
                                    : node_number(list->list.at[i], &v) ||
                                          list->list.at[i]->kind == NODE_NULL;
        if (!ok)
            return NULL;
        if (type == STATE_F32)
            ((float *)out)[i] = (float)v;
        else if (type == STATE_F64)
            ((double *)out)[i] = v;
    }
    return out;
}

void train_score_load(struct train_score *s, const struct node *saved)
{
    struct nn_state now = {0}, found = {0};
    struct arena a = {0};
    list_state(s, &now); /* the types; sizes may differ */
    for (size_t i = 0; i < now.items.n; i++) {
        const struct nn_state_item *it = &now.items.at[i];
        const struct node *list = node_find(saved, it->name);
        const void *values =
            list && list->kind == NODE_LIST ? read_values(list, it->type, &a) : NULL;
        if (values)
            nn_state_add(&found, it->type, values, (int64_t)list->list.n, "%s", it->name);
    }
    for (size_t i = 0; i < s->entries.n; i++)
        (void)!metric_load(s->entries.at[i].metric,
                           arena_printf(&a, "%zu.%s.", i, s->entries.at[i].name), &found,
                           NULL);
    nn_state_release(&now);
    nn_state_release(&found);
    arena_release(&a);
}

/* --- between ranks: numbers as they are, each list behind its length --- */

static void put_i64(struct buf *out, int64_t v)
{
    buf_add(out, &v, sizeof(v));
}

static void pack(const struct train_score *s, struct buf *out)
{
    struct nn_state state = {0};
    list_state(s, &state);
    for (size_t i = 0; i < state.items.n; i++) {
        const struct nn_state_item *it = &state.items.at[i];
        put_i64(out, it->n);
        if (it->n)
            buf_add(out, it->data, (size_t)it->n * nn_state_size(it->type));
    }
    buf_add(out, &s->loss, sizeof(s->loss));
    buf_add(out, s->each, s->n_each * sizeof(*s->each));
    put_i64(out, s->rows);
    put_i64(out, s->counted);
    nn_state_release(&state);
}

/* `n` bytes of *at, which moves on, to `to`; false when there are not as many. */
static bool take(struct str *at, void *to, size_t n)
{
    if (n > at->n)
        return false;
    memcpy(to, at->p, n);
    *at = str_of(at->p + n, at->n - n);
    return true;
}

/* The lists of another score of the same metrics, in memory of `a`. */
static bool unpack_lists(const struct nn_state *like, struct str *at, struct arena *a,
                         struct nn_state *found)
{
    for (size_t i = 0; i < like->items.n; i++) {
        const struct nn_state_item *it = &like->items.at[i];
        size_t size = nn_state_size(it->type);
        int64_t n;
        if (!take(at, &n, sizeof(n)) || n < 0 || (size_t)n > at->n / size)
            return false;
        void *values = arena_try_alloc(a, (size_t)n + 1, size);
        if (!values || !take(at, values, (size_t)n * size))
            return false;
        nn_state_add(found, it->type, values, n, "%s", it->name);
    }
    return true;
}

static enum rc unpack(struct train_score *s, struct str at, struct err *err)
{
    struct nn_state like = {0}, found = {0};
    struct arena a = {0};
    list_state(s, &like);
    bool ok = unpack_lists(&like, &at, &a, &found) &&
              take(&at, &s->loss, sizeof(s->loss)) &&
              take(&at, s->each, s->n_each * sizeof(*s->each)) &&
              take(&at, &s->rows, sizeof(s->rows)) &&
              take(&at, &s->counted, sizeof(s->counted));
    enum rc rc =
        ok ? RC_OK : err_set(err, RC_FORMAT, "metrics of another rank cannot be read");
    for (size_t i = 0; i < s->entries.n && !rc; i++)
        rc = metric_load(s->entries.at[i].metric,
                         arena_printf(&a, "%zu.%s.", i, s->entries.at[i].name), &found,
                         err);
    nn_state_release(&like);
    nn_state_release(&found);
    arena_release(&a);
    return rc;
}

/* Scores that others packed, one behind the other. */
static enum rc merge_packed(struct train_score *s, const struct train_session *session,
                            struct str at, struct err *err)
{
    struct train_score *other = NULL;
    enum rc rc = train_score_create(session, false, &other, err);
    while (!rc && at.n) {
        int64_t n = 0;
        if (!take(&at, &n, sizeof(n)) || n < 0 || (size_t)n > at.n)
            rc = err_set(err, RC_FORMAT, "metrics of another rank cannot be read");
        if (!rc)
            rc = unpack(other, str_of(at.p, (size_t)n), err);
        if (!rc)
            rc = train_score_merge(s, other, err);
        if (!rc)
            at = str_of(at.p + n, at.n - (size_t)n);
    }
    train_score_destroy(other);
    return rc;
}

enum rc train_score_gather(struct train_score *s, struct train_score *const *each,
                           const struct train_session *session, struct err *err)
{
    struct comm *comm = session->options.comm;
    struct buf own, one;
    void *all = NULL;
    int64_t n = 0;
    buf_init(&own, (size_t)1 << 40);
    for (int i = 0; i < session->shards.n; i++) {
        buf_init(&one, (size_t)1 << 40);
        pack(each[i], &one);
        put_i64(&own, (int64_t)one.n);
        buf_add(&own, one.p, one.n);
        buf_release(&one);
    }
    enum rc rc = comm_gather_bytes(comm, own.p, (int64_t)own.n, &all, &n, err);
    if (!rc)
        rc = merge_packed(s, session, str_of(all, (size_t)n), err);
    mem_free(all);
    buf_release(&own);
    return rc;
}
