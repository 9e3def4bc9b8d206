/* SPDX-License-Identifier: Apache-2.0 */
/* First a plan: every tensor that the model wants is looked up (through the map of names
 * if there is one) and compared, and what does not match goes into the report. Only a
 * plan without fault is carried out.
 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/report.h"
#include "ckpt/state_private.h"

#define SHAPES_MAX 4096

struct dense_job {
    const struct ckpt_st_tensor *from;
    struct param *param; /* or NULL: */
    float *to;
};

struct loader {
    const struct ckpt *c;
    const struct ckpt_load *how;
    struct ckpt_report *report;
    struct map taken; /* names in the checkpoint */
    size_t *hits;     /* per line of the map: 1 names that the model has, 2 also found */
    VEC(struct dense_job) dense;
    VEC(struct ckpt_table_job) tables;
};

/* What stands before the name of the parameter that something belongs to. */
static const char *const owners[] = {"", "optimizer.", "ema."};

/* The name in the checkpoint; the caller's. */
static char *old_name(const struct loader *l, const char *name,
                      const struct ckpt_map_line **line)
{
    for (size_t i = 0; l->how->map && i < ARRAY_LEN(owners); i++) {
        const char *rest;
        if (!str_starts(name, owners[i]))
            continue;
        *line = ckpt_map_find(l->how->map, name + strlen(owners[i]), &rest);
        if (*line)
            return mem_printf("%s%s%s", owners[i], (*line)->old, rest);
    }
    return mem_strdup(name);
}

static const struct ckpt_st_tensor *look_up(struct loader *l, const char *name)
{
    const struct ckpt_map_line *line = NULL;
    char *old = old_name(l, name, &line);
    const struct ckpt_st_tensor *t = ckpt_find(l->c, old);
    if (line)
        l->hits[line - l->how->map->lines.at] |= t ? 3 : 1;
    if (t)
        map_put(&l->taken, str_c(old));
    mem_free(old);
    return t;
}

static void report_missing(struct loader *l, const char *name, const int64_t *dims,
                           int n_dims)
{
    struct buf b;
    enum ckpt_st_type f32 = ST_F32;
    buf_init(&b, SHAPES_MAX);
    ckpt_st_print_shape(&f32, dims, n_dims, &b);
    ckpt_report_add(l->report, CKPT_MISSING, name, buf_str(&b));
    buf_release(&b);
}

static void report_shapes(struct loader *l, enum ckpt_diff_kind kind, const char *name,
                          const struct ckpt_st_tensor *t, const int64_t *dims, int n_dims)
{
    struct buf b;
    enum ckpt_st_type f32 = ST_F32;
    buf_init(&b, SHAPES_MAX);
    buf_puts(&b, "is ");
    ckpt_st_print_shape(&t->type, t->dims, t->n_dims, &b);
    buf_puts(&b, " in the checkpoint, ");
    ckpt_st_print_shape(&f32, dims, n_dims, &b);
    buf_puts(&b, " in the model");
    ckpt_report_add(l->report, kind, name, buf_str(&b));
    buf_release(&b);
}

static bool type_fits(const struct loader *l, enum ckpt_st_type t)
{
    return t == ST_F32 ||
           (l->how->partial && (t == ST_F64 || t == ST_F16 || t == ST_BF16));
}

static bool dims_fit(const struct ckpt_st_tensor *t, const int64_t *dims, int n_dims)
{
    return t->n_dims == n_dims &&
           memcmp(t->dims, dims, (size_t)n_dims * sizeof(*dims)) == 0;
}

static void plan_dense(struct loader *l, const char *name, const int64_t *dims,
                       int n_dims, struct param *param, float *to)
{
    const struct ckpt_st_tensor *t = look_up(l, name);
    if (!t)
        report_missing(l, name, dims, n_dims);
    else if (!type_fits(l, t->type) || !dims_fit(t, dims, n_dims))
        report_shapes(l, CKPT_SHAPE, name, t, dims, n_dims);
    else
        VEC_PUSH(&l->dense, ((struct dense_job){t, param, to}));
}

/* Of the table whose weights are `weight`, in the checkpoint; NULL when it says nothing.
 */
static const struct node *table_facts(const struct loader *l,
                                      const struct ckpt_st_tensor *weight)
{
    char *name = mem_strdup(weight->name);
    if (str_ends(name, ".rows"))
        name[strlen(name) - strlen(".rows")] = '\0';
    const struct node *facts = node_find(ckpt_json(l->c, "tables"), name);
    mem_free(name);
    return facts;
}

static const char *table_fact(const struct loader *l, const struct ckpt_st_tensor *weight,
                              const char *key)
{
    const struct node *v = node_find(table_facts(l, weight), key);
    return v && v->kind == NODE_STR ? v->text.p : NULL;
}

static bool same_initial(struct loader *l, const struct embed_table_conf *t,
                         const struct ckpt_st_tensor *weight)
{
    char *origin = ckpt_origin_text(t);
    const char *then = table_fact(l, weight, "first");
    bool same = then && strcmp(then, origin) == 0;
    mem_free(origin);
    return same;
}

static const struct ckpt_st_tensor *
part_of(struct loader *l, const struct embed_table_conf *t, const char *what)
{
    char *name = ckpt_table_part_name(t, what);
    const struct ckpt_st_tensor *found = look_up(l, name);
    mem_free(name);
    return found;
}

/* The bitmap counts only when unused rows would get the same values again. */
static const unsigned char *find_used(struct loader *l, const struct embed_table_conf *t,
                                      const struct ckpt_st_tensor *weight)
{
    const struct ckpt_st_tensor *used = part_of(l, t, "used");
    bool good = same_initial(l, t, weight) && used && used->type == ST_U8 &&
                used->bytes == (ckpt_st_rows(weight) + 7) / 8;
    return good ? used->data : NULL;
}

/* Whether state of the checkpoint means the same here. */
static bool same_optimizer(struct loader *l, const struct embed_table_conf *t,
                           const struct ckpt_st_tensor *weight, const char *name)
{
    const char *then = table_fact(l, weight, "optimizer");
    const char *now = t->trainable ? embed_row_opt_name(t->opt.kind) : "none";
    if (!then || strcmp(then, now) == 0)
        return true;
    char *text = mem_printf("was trained with %s, the model uses %s", then, now);
    if (!l->how->partial && !l->how->no_optimizer)
        ckpt_report_add(l->report, CKPT_SHAPE, name, text);
    mem_free(text);
    return false;
}

static bool rows_fit(const struct loader *l, const struct ckpt_st_tensor *t,
                     const int64_t *dims, int n_dims)
{
    return l->how->partial && t->n_dims == n_dims && t->dims[0] > 0 &&
           (n_dims == 1 || t->dims[1] == dims[1]);
}

static bool column_type_fits(const struct loader *l, const struct lookup_column *col,
                             enum ckpt_st_type t)
{
    return t == ckpt_stored_type(col->type) || (l->how->partial && type_fits(l, t));
}

/* Column i of the job, all rows of it; state also needs as many rows as the weights have.
 */
static void plan_all(struct loader *l, struct ckpt_table_job *j, int i,
                     const struct ckpt_st_tensor *t, const char *name)
{
    const struct lookup_column *col = &j->cols[i];
    int64_t dims[2] = {j->conf->rows, col->width};
    int n_dims = col->flat ? 1 : 2;
    bool fits = column_type_fits(l, col, t->type) &&
                (i == 0 || (j->from[0] && t->dims[0] == j->from[0]->dims[0]));
    if (fits && dims_fit(t, dims, n_dims)) {
        j->from[i] = t;
    } else if (fits && rows_fit(l, t, dims, n_dims)) {
        j->from[i] = t;
        if (i == 0)
            report_shapes(l, CKPT_ROWS, name, t, dims, n_dims);
    } else {
        report_shapes(l, CKPT_SHAPE, name, t, dims, n_dims);
    }
}

/* The same for rows that are listed. */
static void plan_listed(struct loader *l, struct ckpt_table_job *j, int i,
                        const struct ckpt_st_tensor *t, const char *name)
{
    const struct lookup_column *col = &j->cols[i];
    int64_t dims[2] = {i ? j->image.n : ckpt_st_rows(t), col->width};
    int n_dims = col->flat ? 1 : 2;
    if (column_type_fits(l, col, t->type) && dims_fit(t, dims, n_dims))
        j->from[i] = t;
    else
        report_shapes(l, CKPT_SHAPE, name, t, dims, n_dims);
}

static void plan_column(struct loader *l, struct ckpt_table_job *j, int i)
{
    const struct lookup_column *col = &j->cols[i];
    int64_t dims[2] = {j->conf->rows, col->width};
    char *name = ckpt_column_name(j->conf, col);
    char *listed = mem_printf("%s.rows", name);
    const struct ckpt_st_tensor *t =
        look_up(l, j->image.form == LOOKUP_ALL ? name : listed);
    if (!t)
        report_missing(l, name, dims, col->flat ? 1 : 2);
    else if (j->image.form == LOOKUP_ALL)
        plan_all(l, j, i, t, name);
    else
        plan_listed(l, j, i, t, name);
    if (i == 0 && j->from[0])
        j->image.n = ckpt_st_rows(j->from[0]);
    mem_free(name);
    mem_free(listed);
}

static bool is_list(const struct ckpt_st_tensor *t, int64_t n)
{
    return t && t->type == ST_I64 && t->n_dims == 1 && t->dims[0] == n;
}

/* The list of that kind, when it is one; `n` < 0: of any length. */
static struct lookup_list find_list(struct loader *l, const struct ckpt_table_job *j,
                                    enum lookup_list_kind kind, int64_t n)
{
    const struct ckpt_st_tensor *t = part_of(l, j->conf, ckpt_list_names[kind].name);
    bool fits = t && is_list(t, n < 0 ? ckpt_st_rows(t) : n);
    return ckpt_list_of(fits ? t : NULL);
}

/* Whether numbers ascend from 0 on and stay below `end`. */
static bool ascends(const struct lookup_list *l, int64_t end)
{
    for (int64_t i = 0, last = -1; i < l->n; last = lookup_list_at(l, i++))
        if (lookup_list_at(l, i) <= last || lookup_list_at(l, i) >= end)
            return false;
    return true;
}

/* Numbers of rows that ascend within the table; why they cannot be used, or NULL. */
static const char *plan_places(struct loader *l, struct ckpt_table_job *j)
{
    const struct node *rows = node_find(table_facts(l, j->from[0]), "rows");
    const char *then = table_fact(l, j->from[0], "first");
    struct lookup_image *image = &j->image;
    struct lookup_list *ids = &image->lists[LOOKUP_ROW_IDS];
    const struct ckpt_st_tensor *t =
        part_of(l, j->conf, ckpt_list_names[LOOKUP_ROW_IDS].name);
    if (!rows || !node_i64(rows, &image->rows) || image->rows < 1 ||
        !is_list(t, image->n))
        return "has no list of row_ids";
    *ids = ckpt_list_of(t);
    if (!ascends(ids, image->rows))
        return "has row_ids out of order";
    bool other = !same_initial(l, j->conf, j->from[0]);
    if (other && (!then || !ckpt_origin_parse(then, &j->origin)))
        return "does not say what its other rows hold";
    j->other_initial = other;
    if (image->rows != j->conf->rows && !l->how->partial)
        return "has another number of rows";
    return NULL;
}

static int64_t id_fact(const struct node *facts, const char *name)
{
    const struct node *n = node_find(node_find(facts, "ids"), name);
    int64_t v = 0;
    return n && node_i64(n, &v) ? v : 0;
}

static bool same_rule(const struct loader *l, const struct ckpt_table_job *j)
{
    char *rule = ckpt_rule_text(j->conf);
    const char *then = table_fact(l, j->from[0], "rule");
    bool same = then && strcmp(then, rule) == 0;
    mem_free(rule);
    return same;
}

/* Counts and times were written for a run that begins (`tables from-zch`). */
static bool keeps_scores(const struct loader *l, const struct ckpt_table_job *j)
{
    const char *scores = table_fact(l, j->from[0], "scores");
    return scores && strcmp(scores, "kept") == 0;
}

/* Ids, and what is known of them: a few optional lists. */
static const char *plan_keys(struct loader *l, struct ckpt_table_job *j)
{
    struct lookup_list *lists = j->image.lists;
    const struct node *facts = table_facts(l, j->from[0]);
    int64_t n = j->image.n - (j->conf->keyed.kind == KEYED_ZCH ? 1 : 0);
    if (!same_rule(l, j) && !l->how->partial)
        return "follows another zch or dynamicemb block";
    const struct ckpt_st_tensor *keys =
        part_of(l, j->conf, ckpt_list_names[LOOKUP_KEYS].name);
    if (!is_list(keys, n))
        return "has no list of keys";
    lists[LOOKUP_KEYS] = ckpt_list_of(keys);
    lists[LOOKUP_COUNTS] = find_list(l, j, LOOKUP_COUNTS, n);
    lists[LOOKUP_LAST] = find_list(l, j, LOOKUP_LAST, n);
    if (l->how->partial && !keeps_scores(l, j))
        lists[LOOKUP_COUNTS] = lists[LOOKUP_LAST] = (struct lookup_list){0};
    lists[LOOKUP_WAITING_KEYS] = find_list(l, j, LOOKUP_WAITING_KEYS, -1);
    int64_t waiting = lists[LOOKUP_WAITING_KEYS].n;
    lists[LOOKUP_WAITING_COUNTS] = find_list(l, j, LOOKUP_WAITING_COUNTS, waiting);
    lists[LOOKUP_WAITING_LAST] = find_list(l, j, LOOKUP_WAITING_LAST, waiting);
    lists[LOOKUP_HISTORY_IDS] = find_list(l, j, LOOKUP_HISTORY_IDS, -1);
    lists[LOOKUP_HISTORY_TIMES] = find_list(l, j, LOOKUP_HISTORY_TIMES, -1);
    j->image.ids = (struct lookup_ids){.now = id_fact(facts, "now"),
                                       .last_round = id_fact(facts, "last_round"),
                                       .room = id_fact(facts, "room"),
                                       .admitted = id_fact(facts, "admitted"),
                                       .evicted = id_fact(facts, "evicted")};
    return NULL;
}

/* Which of the forms the checkpoint has. */
static enum lookup_form form_of(const struct loader *l, const struct embed_table_conf *t)
{
    const struct ckpt_map_line *line = NULL;
    char *name = ckpt_table_part_name(t, "rows"), *old = old_name(l, name, &line);
    bool listed = ckpt_find(l->c, old) != NULL;
    mem_free(name);
    mem_free(old);
    return !listed ? LOOKUP_ALL : t->keyed.kind ? LOOKUP_KEYED : LOOKUP_LISTED;
}

static const char *plan_form(struct loader *l, struct ckpt_table_job *j)
{
    const struct ckpt_st_tensor *weight = j->from[0];
    if (j->image.form == LOOKUP_LISTED)
        return plan_places(l, j);
    if (j->image.form == LOOKUP_KEYED)
        return plan_keys(l, j);
    if (j->conf->keyed.kind)
        return "has rows with numbers, not with ids";
    j->image.rows = weight->dims[0];
    j->image.used = find_used(l, j->conf, weight);
    return NULL;
}

/* Ids that ascend, within the table where rows have numbers. */
static const char *plan_touched(struct loader *l, struct ckpt_table_job *j)
{
    const struct ckpt_st_tensor *t =
        part_of(l, j->conf, ckpt_list_names[LOOKUP_TOUCHED].name);
    struct lookup_list *list = &j->image.lists[LOOKUP_TOUCHED];
    if (!t)
        return NULL;
    if (!is_list(t, ckpt_st_rows(t)))
        return "has no list of touched ids";
    *list = ckpt_list_of(t);
    return ascends(list, j->conf->keyed.kind ? INT64_MAX : j->conf->rows)
               ? NULL
               : "has touched ids out of order";
}

/* Rows that mean other ids go where their ids are now; false when that is not known. */
static bool move_rows(struct loader *l, struct ckpt_table_job *j, const char *name)
{
    const struct ckpt_load *how = l->how;
    if (!how->rows_then || !how->other_shapes || j->image.form == LOOKUP_KEYED)
        return false;
    int64_t *then = mem_calloc((size_t)j->conf->rows + 1, sizeof(*then));
    const char *text = how->rows_then(how->arg, j->table, then);
    if (text) {
        ckpt_table_job_move(j, then, &l->report->arena);
        ckpt_report_add(l->report, CKPT_MOVED, name, text);
    }
    mem_free(then);
    return text != NULL;
}

static void plan_table(struct loader *l, const struct lookup *lookup, int table)
{
    const struct embed_table_conf *t = lookup_table(lookup, table);
    struct ckpt_table_job j = {.table = table, .conf = t};
    j.image.form = form_of(l, t);
    j.image.partial = l->how->partial;
    j.n_cols = lookup_columns(t, j.cols);
    plan_column(l, &j, 0);
    const struct ckpt_st_tensor *weight = j.from[0];
    char *name = ckpt_column_name(t, &j.cols[0]);
    bool with_state =
        !l->how->no_optimizer && (!weight || same_optimizer(l, t, weight, name));
    for (int i = 1; i < j.n_cols && with_state; i++)
        plan_column(l, &j, i);
    const char *why = weight ? plan_form(l, &j) : NULL;
    if (!why && lookup_tracks(lookup, table) && !l->how->partial)
        why = plan_touched(l, &j);
    const char *other =
        weight && l->how->other_rows ? l->how->other_rows(l->how->arg, table) : NULL;
    if (why)
        ckpt_report_add(l->report, CKPT_SHAPE, name, why);
    else if (other && move_rows(l, &j, name))
        other = NULL;
    else if (other)
        ckpt_report_add(l->report, CKPT_MEANING, name, other);
    mem_free(name);
    if (weight && !why && !other)
        VEC_PUSH(&l->tables, j);
}

/* Once with every line, so that what a line names can be missed by name. */
static enum rc check_map(const struct loader *l, struct err *err)
{
    const struct ckpt_map *m = l->how->map;
    for (size_t i = 0; m && i < m->lines.n; i++) {
        const struct ckpt_map_line *line = &m->lines.at[i];
        if (l->hits[i] == 0)
            return err_coded(err, RC_INVAL, E1512,
                             "file '%s': line %zu: the model has no parameter '%s'",
                             m->path, line->line, line->now);
        if (l->hits[i] == 1)
            return err_coded(err, RC_INVAL, E1512,
                             "file '%s': line %zu: the checkpoint has no parameter '%s'",
                             m->path, line->line, line->old);
    }
    return RC_OK;
}

static void find_extra(struct loader *l)
{
    enum ckpt_part last = l->how->no_optimizer ? CKPT_MODEL : CKPT_OPTIMIZER;
    for (size_t i = 0; i < ckpt_count(l->c); i++) {
        const struct ckpt_st_tensor *t = ckpt_at(l->c, i);
        if (ckpt_part_at(l->c, i) > last || map_find(&l->taken, str_c(t->name)))
            continue;
        struct buf b;
        buf_init(&b, SHAPES_MAX);
        ckpt_st_print_shape(&t->type, t->dims, t->n_dims, &b);
        ckpt_report_add(l->report, CKPT_EXTRA, t->name, buf_str(&b));
        buf_release(&b);
    }
}

static enum rc plan_state(struct loader *l, const struct ckpt_state *s, struct err *err)
{
    for (size_t i = 0; i < s->n_params; i++) {
        struct param *p = s->params[i];
        plan_dense(l, p->name, p->dims, p->n_dims, p, NULL);
    }
    for (int i = 0; s->lookup && i < lookup_n_tables(s->lookup); i++)
        plan_table(l, s->lookup, i);
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct ckpt_array *a = &s->arrays[i];
        if (a->part == CKPT_OPTIMIZER && l->how->no_optimizer)
            continue;
        plan_dense(l, a->name, a->dims, a->n_dims, NULL, a->data);
    }
    find_extra(l);
    enum rc rc = check_map(l, err);
    if (rc)
        return rc;
    const struct ckpt_report *r = l->report;
    size_t differ = r->counts[CKPT_SHAPE] + r->counts[CKPT_MEANING];
    bool nothing = (r->counts[CKPT_MISSING] || differ) && l->dense.n + l->tables.n == 0;
    if ((differ && !l->how->other_shapes) || nothing || (!l->how->partial && r->diffs.n))
        return ckpt_report_error(r, err);
    return RC_OK;
}

static enum rc carry_out(struct loader *l, struct lookup *lookup, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < l->dense.n && !rc; i++) {
        const struct dense_job *j = &l->dense.at[i];
        float *to = j->param ? param_write_begin(j->param) : j->to;
        rc = ckpt_st_read_f32(j->from, 0, ckpt_st_rows(j->from), to,
                              ckpt_st_width(j->from), err);
        if (j->param)
            param_write_end(j->param);
        l->report->n_loaded++;
        l->report->n_floats += ckpt_st_rows(j->from) * ckpt_st_width(j->from);
    }
    for (size_t i = 0; i < l->tables.n && !rc; i++) {
        struct ckpt_table_job *j = &l->tables.at[i];
        rc = ckpt_table_job_run(j, lookup, err);
        for (int k = 0; k < j->n_cols; k++) {
            l->report->n_loaded += j->from[k] ? 1 : 0;
            l->report->n_floats += j->from[k] ? j->image.n * j->cols[k].width : 0;
        }
    }
    return rc;
}

enum rc ckpt_load_state(const struct ckpt *c, const struct ckpt_state *s,
                        const struct ckpt_load *how, struct ckpt_report *report,
                        struct err *err)
{
    struct loader l = {.c = c, .how = how, .report = report};
    l.hits = mem_calloc(how->map ? how->map->lines.n + 1 : 1, sizeof(*l.hits));
    enum rc rc = plan_state(&l, s, err);
    if (!rc)
        rc = carry_out(&l, s->lookup, err);
    mem_free(l.hits);
    map_release(&l.taken);
    VEC_RELEASE(&l.dense);
    VEC_RELEASE(&l.tables);
    return rc ? err_wrap(err, rc, "checkpoint '%s'", ckpt_path(c)) : RC_OK;
}
