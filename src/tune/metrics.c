/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/metrics.h"

#include <math.h>
#include <string.h>

#include "text/json.h"

#define HEAD 8               /* "ME" and six digits */
#define PAYLOAD_MAX 1000000u /* what NNI's client allows */

/* A JSON document; NULL when it is none. To doc_release(). */
static const struct node *parse(const char *text, size_t n, struct doc *d)
{
    struct diags unheard = {0};
    *d = (struct doc){0};
    enum rc rc = source_from("metric", text, n, &d->src, NULL);
    if (!rc)
        rc = json_parse(d, &unheard);
    diags_release(&unheard);
    return rc ? NULL : d->root;
}

bool tune_metrics_value(const char *json, double *out)
{
    struct str s = str_trim(str_c(json));
    struct doc d;
    if (str_is(s, "NaN") || str_is(s, "Infinity") || str_is(s, "-Infinity"))
        return str_to_f64(str_is(s, "Infinity") ? str_c("inf")
                          : str_is(s, "NaN")    ? str_c("nan")
                                                : str_c("-inf"),
                          out);
    const struct node *v = parse(s.p, s.n, &d);
    if (v && v->kind == NODE_MAP)
        v = node_find(v, "default");
    bool ok = v && node_number(v, out);
    doc_release(&d);
    return ok;
}

static enum tune_metric_type type_of(const struct node *n)
{
    if (!n || n->kind != NODE_STR)
        return METRIC_OTHER;
    return str_is(n->text, "FINAL")        ? METRIC_FINAL
           : str_is(n->text, "PERIODICAL") ? METRIC_PERIODICAL
                                           : METRIC_OTHER;
}

static bool payload(const char *text, size_t n, tune_metric_fn *found, void *arg)
{
    struct doc d;
    const struct node *root = parse(text, n, &d);
    bool ok = root && root->kind == NODE_MAP;
    if (ok) {
        const struct node *value = node_find(root, "value");
        struct tune_metric m = {.type = type_of(node_find(root, "type")), .json = "null"};
        struct buf printed;
        buf_init(&printed, PAYLOAD_MAX * 8);
        const struct node *sequence = node_find(root, "sequence");
        if (!sequence || !node_i64(sequence, &m.sequence))
            m.sequence = 0;
        if (value && value->kind == NODE_STR) {
            m.json = value->text.p;
        } else if (value) {
            json_print(value, 0, &printed);
            m.json = buf_str(&printed);
        }
        m.number = tune_metrics_value(m.json, &m.value);
        found(arg, &m);
        buf_release(&printed);
    }
    doc_release(&d);
    return ok;
}

enum rc tune_metrics_read(const char *data, size_t n, tune_metric_fn *found, void *arg,
                          size_t *used, struct err *err)
{
    size_t at = 0;
    enum rc rc = RC_OK;
    while (!rc && n - at >= HEAD) {
        uint64_t length = 0;
        if (memcmp(data + at, "ME", 2) != 0 ||
            !str_to_u64(str_of(data + at + 2, HEAD - 2), &length) ||
            length >= PAYLOAD_MAX) {
            rc =
                err_coded(err, RC_FORMAT, E4003, "no record of a metric at byte %zu", at);
            break;
        }
        if (n - at - HEAD < length)
            break;
        if (!payload(data + at + HEAD, length, found, arg))
            rc = err_coded(err, RC_FORMAT, E4003,
                           "the record of a metric at byte %zu holds no JSON object", at);
        at += HEAD + length;
    }
    *used = at;
    return rc;
}
