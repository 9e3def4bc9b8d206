/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/objective.h"

#include <math.h>
#include <string.h>

#include "text/json.h"
#include "tune/metrics.h"
#include "tune/point.h"

/* One metric of a result; a plain number is the metric `default`. Python writes NaN and
 * Infinity, which JSON has not: such a result is read as a number alone.
 */
static bool metric_of(const char *json, const char *name, double *out)
{
    struct doc d = {0};
    if (strcmp(name, "default") == 0)
        return tune_metrics_value(json, out);
    bool ok = json_read("result", json, strlen(json), &d, NULL) == RC_OK &&
              node_find(d.root, name) && node_number(node_find(d.root, name), out);
    doc_release(&d);
    return ok;
}

static enum rc missing(const char *name, const char *json, struct err *err)
{
    return err_coded(err, RC_INVAL, E4013, "the result %.60s has no number '%s'", json,
                     name);
}

/* By how much, as a share of the bound where that is not zero. */
static double excess(const struct tune_constraint *c, double v)
{
    if (isnan(v))
        return INFINITY;
    double over = v > c->most ? v - c->most : v < c->least ? c->least - v : 0;
    double scale = fabs(v > c->most ? c->most : c->least);
    return over > 0 && isfinite(scale) && scale > 0 ? over / scale : over;
}

enum rc tune_objectives_read(const struct tune_objectives *o, const char *json,
                             double *values, double *violation, struct err *err)
{
    double sum = 0;
    if (o->n == 0 && !tune_metrics_value(json, &values[0]))
        return missing("default", json, err);
    for (int64_t i = 0; i < o->n; i++)
        if (!metric_of(json, o->at[i].metric, &values[i]))
            return missing(o->at[i].metric, json, err);
    for (int64_t i = 0; i < o->n_bounds; i++) {
        double v;
        if (!metric_of(json, o->bounds[i].metric, &v))
            return missing(o->bounds[i].metric, json, err);
        sum += excess(&o->bounds[i], v);
    }
    *violation = sum;
    return RC_OK;
}

bool tune_objectives_first(const struct tune_objectives *o, const char *json,
                           double *value)
{
    return metric_of(json, o->n ? o->at[0].metric : "default", value) ||
           tune_metrics_value(json, value);
}

static void put_bound(struct buf *b, const char *key, double v)
{
    if (!isfinite(v))
        return;
    buf_printf(b, ", \"%s\": ", key);
    tune_point_print_real(v, b);
}

void tune_objectives_print(const struct tune_objectives *o, struct buf *out)
{
    buf_puts(out, " \"objectives\": [");
    for (int64_t i = 0; i < o->n; i++) {
        buf_puts(out, i ? ", {\"metric\": " : "{\"metric\": ");
        buf_json_str(out, o->at[i].metric, strlen(o->at[i].metric));
        buf_printf(out, ", \"maximize\": %s}", o->at[i].maximize ? "true" : "false");
    }
    buf_puts(out, "],\n \"constraints\": [");
    for (int64_t i = 0; i < o->n_bounds; i++) {
        buf_puts(out, i ? ", {\"metric\": " : "{\"metric\": ");
        buf_json_str(out, o->bounds[i].metric, strlen(o->bounds[i].metric));
        put_bound(out, "least", o->bounds[i].least);
        put_bound(out, "most", o->bounds[i].most);
        buf_puts(out, "}");
    }
    buf_puts(out, "],\n");
}

static double bound_of(const struct node *n, const char *key, double otherwise)
{
    const struct node *found = node_find(n, key);
    double v;
    return found && node_number(found, &v) ? v : otherwise;
}

void tune_objectives_from(const struct node *root, struct tune_objectives *o)
{
    const struct node *list = node_get_list(root, "objectives");
    *o = (struct tune_objectives){0};
    for (size_t i = 0; list && i < list->list.n && o->n < TUNE_OBJECTIVES_MAX; i++)
        o->at[o->n++] = (struct tune_objective){
            .metric = node_get_text(list->list.at[i], "metric", "default"),
            .maximize = node_get_bool(list->list.at[i], "maximize", false)};
    list = node_get_list(root, "constraints");
    for (size_t i = 0; list && i < list->list.n && o->n_bounds < CONSTRAINTS_MAX; i++)
        o->bounds[o->n_bounds++] = (struct tune_constraint){
            .metric = node_get_text(list->list.at[i], "metric", "default"),
            .least = bound_of(list->list.at[i], "least", -INFINITY),
            .most = bound_of(list->list.at[i], "most", INFINITY)};
}
