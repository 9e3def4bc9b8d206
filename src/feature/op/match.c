/* SPDX-License-Identifier: Apache-2.0 */
/* match_feature: two keys, one after the other, in a map of maps
 * `pk1^sk1:v,sk2:v|pk2^sk4:v`. A key that is ALL fits every entry.
 */
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/number.h"

struct match {
    int pkey, skey; /* inputs, or -1: ALL */
    bool texts;     /* found values are texts that become ids */
    bool show_pkey, show_skey;
    const char *prefix; /* before the text, or NULL */
};

static int input_of(const struct fg *f, const char *field)
{
    for (size_t i = 0; i < f->n_in; i++)
        if (f->in[i].conf && strcmp(f->in[i].conf->field, field) == 0)
            return (int)i;
    return -1;
}

static void match_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_MatchFeature *m = (const void *)f->conf->msg;
    struct match *o = f->op = mem_calloc(1, sizeof(*o));
    int map = input_of(f, "nested_map");
    o->pkey = input_of(f, "pkey");
    o->skey = input_of(f, "skey");
    o->show_pkey = m->show_pkey;
    o->show_skey = m->show_skey;
    bool numbers = f->sink == SINK_NUMBERS || f->bucket.kind == BUCKET_BOUNDS;
    o->texts = !numbers;
    if (numbers && f->info.stub && m->need_discrete) {
        o->texts = true;
        f->sink = SINK_TEXTS;
    }
    o->prefix = f->bucket.kind == BUCKET_HASH || f->sink == SINK_TEXTS
                    ? f->conf->feature_name
                    : NULL;
    f->want = 1;
    if (map != 0 || (o->pkey < 0 && strcmp(m->pkey, "ALL") != 0) ||
        (o->skey < 0 && strcmp(m->skey, "ALL") != 0)) {
        plan_report(diags, f, E1318, NULL,
                    "match_feature '%s' needs nested_map, pkey and skey", f->info.name);
        return;
    }
    f->in[0].form = FORM_PAIRS;
    f->in[0].sep = '|';
    f->in[0].colon = '^';
    for (size_t i = 1; i < f->n_in; i++)
        f->in[i].form = FORM_TEXTS;
    f->mask_in = f->n_in > 1 ? 1 : 0;
}

static enum rc match_give(struct fg_run *x, struct str pk, struct str sk,
                          struct str value)
{
    const struct match *o = x->f->op;
    struct buf *text = &x->scratch->text;
    double v;
    if (!o->texts) {
        if (x->f->sink == SINK_NUMBERS && sink_given(x) >= (int64_t)x->f->dim)
            return RC_OK; /* of several the first ones */
        if (!number_parse(value, &v))
            return fg_fail(x, &x->f->in[0], RC_FORMAT, E1303, "'%.*s' is not a number",
                           SHOWN(value));
        return sink_number(x, v, false);
    }
    if (x->f->bucket.kind == BUCKET_NUM)
        return sink_text(x, value, 1.0f);
    buf_clear(text);
    if (o->prefix)
        buf_printf(text, "%s_", o->prefix);
    if (o->show_pkey) {
        buf_add(text, pk.p, pk.n);
        buf_putc(text, '_');
    }
    if (o->show_skey) {
        buf_add(text, sk.p, sk.n);
        buf_putc(text, '_');
    }
    buf_add(text, value.p, value.n);
    return text->failed ? fg_nomem(x) : sink_text(x, str_of(text->p, text->n), 1.0f);
}

/* Second level: `sk1:v,sk2:v`. */
static enum rc search(struct fg_run *x, struct str pk, struct str map,
                      const struct fg_range *in)
{
    const struct match *o = x->f->op;
    struct str rest = map, item, value, sk;
    enum rc rc = RC_OK;
    struct cell_buf buf;
    while (!rc && rest.n && str_split(&rest, ',', &item)) {
        value = item;
        str_split(&value, ':', &sk);
        if (!value.p)
            continue;
        bool hit = o->skey < 0;
        for (int64_t k = hit ? 0 : in [o->skey].begin; !hit && k < in[o->skey].end; k++)
            hit = str_eq(sk, cell_text(&x->st->in[o->skey], k, &buf));
        if (hit)
            rc = match_give(x, pk, sk, value);
    }
    return rc;
}

static enum rc match_step(struct fg_run *x, const struct fg_range *in)
{
    const struct match *o = x->f->op;
    const struct fg_cells *map = &x->st->in[0];
    enum rc rc = RC_OK;
    for (int64_t i = in[0].begin; !rc && i < in[0].end; i++) {
        struct cell_buf buf, key;
        struct str pk = plane_text(&map->key, NULL, i, &buf);
        bool hit = o->pkey < 0;
        for (int64_t k = hit ? 0 : in [o->pkey].begin; !hit && k < in[o->pkey].end; k++)
            hit = str_eq(pk, cell_text(&x->st->in[o->pkey], k, &key));
        if (hit && map->val.type == CELL_TEXT)
            rc = search(x, pk, cells_text(map)[i], in);
    }
    return rc;
}

static void json_write_match(struct fg_json *w)
{
    const struct pc_MatchFeature *m = (const void *)w->f->msg;
    const char *type = fg_json_value_type(w->f, m->has_fg_value_type, m->fg_value_type);
    bool multi = strcmp(m->pkey, "ALL") == 0 || strcmp(m->skey, "ALL") == 0;
    fg_json_text(w, "user", m->nested_map);
    fg_json_text(w, "category", m->pkey);
    fg_json_text(w, "item", m->skey);
    fg_json_text(w, "matchType", multi ? "multihit" : "hit");
    fg_json_default(w);
    fg_json_text(w, "value_type", type);
    fg_json_flag(w, "needDiscrete", m->need_discrete || strcmp(type, "string") == 0);
    fg_json_flag(w, "show_category", m->show_pkey);
    fg_json_flag(w, "show_item", m->show_skey);
    fg_json_separator(w);
    fg_json_normalizer(w);
    fg_json_bucket(w);
    if (m->has_value_dim)
        fg_json_count(w, "value_dim", m->value_dim);
}

static const struct fg_json_key json_keys[] = {
    {"category", "pkey"},
    {"item", "skey"},
    {"matchType", NULL},
    {"needDiscrete", "need_discrete"},
    {"show_category", "show_pkey"},
    {"show_item", "show_skey"},
    {"user", "nested_map"},
    {0},
};

const struct fg_ops fg_match = {.compile = match_compile,
                                .step = match_step,
                                .release = mem_free,
                                .json = {.write = json_write_match, .keys = json_keys}};
