/* SPDX-License-Identifier: Apache-2.0 */
/* lookup_feature: what a map holds for the keys of another input. The map of a row is
 * indexed when it is long (kv_index.c) and searched when it is short. Found numbers are
 * combined into one, found texts become an id each, and a value of several numbers is
 * cut into them. In fg.json the last form is two features, because other generators read
 * it so.
 */
#include <string.h>

#include "base/mem.h"
#include "feature/combiner.h"
#include "feature/kv_index.h"
#include "feature/number.h"

enum { MAP, KEY };

struct lookup {
    enum combiner combiner;
    bool texts; /* found values are texts that become ids */
    bool whole; /* numbers are combined as whole ones, which become an id */
    bool need_key;
    char value_sep; /* between the numbers of one value; 0: one number */
};

/* fg_value_type makes the values whole numbers: they are combined before they become an
 * id.
 */
static bool combines_ids(const struct fg *f, const struct pc_LookupFeature *m)
{
    return f->sink == SINK_IDS && f->bucket.kind != BUCKET_BOUNDS && !m->need_discrete &&
           m->has_fg_value_type &&
           (strcmp(m->fg_value_type, "int64") == 0 ||
            strcmp(m->fg_value_type, "int32") == 0);
}

static void lookup_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_LookupFeature *m = (const void *)f->conf->msg;
    struct lookup *l = f->op = mem_calloc(1, sizeof(*l));
    bool numbers = f->sink == SINK_NUMBERS || f->bucket.kind == BUCKET_BOUNDS;
    l->whole = combines_ids(f, m);
    numbers = numbers || l->whole;
    if (!numbers || (f->info.stub && m->need_discrete)) {
        l->texts = true;
        if (numbers && f->bucket.kind == BUCKET_NONE)
            f->sink = SINK_TEXTS;
    }
    l->need_key = m->need_key && l->texts;
    if (!combiner_find(m->combiner, &l->combiner))
        plan_report(diags, f, E1318, "combiner",
                    "feature '%s': there is no combiner '%s'", f->info.name, m->combiner);
    if (f->sink == SINK_NUMBERS && f->dim > 1)
        l->value_sep = *m->value_separator ? *m->value_separator : ',';
    f->want = f->sink == SINK_NUMBERS ? f->dim : 1;
    f->several = true; /* without a combiner, one per key */
    f->in[MAP].form = FORM_PAIRS;
    f->in[MAP].sep = '\x1d';
    f->in[KEY].form = FORM_TEXTS;
    f->mask_in = KEY;
}

static void *lookup_scratch(const void *op)
{
    return mem_calloc(1, sizeof(struct kv_index));
}

static void lookup_scratch_destroy(void *scratch)
{
    kv_index_release(scratch);
    mem_free(scratch);
}

static enum rc no_number(struct fg_run *x, const struct fg_cells *map, int64_t i)
{
    struct cell_buf buf;
    struct str s = cell_text(map, i, &buf);
    return fg_fail(x, &x->f->in[MAP], RC_FORMAT, E1303, "'%.*s' is not a number",
                   SHOWN(s));
}

static enum rc give_text(struct fg_run *x, const struct lookup *l,
                         const struct fg_cells *map, int64_t i, struct str key)
{
    struct cell_buf buf;
    struct str value = cell_text(map, i, &buf);
    struct buf *text = &x->scratch->text;
    if (!l->need_key)
        return sink_text(x, value, 1.0f);
    buf_clear(text);
    buf_add(text, key.p, key.n);
    buf_putc(text, '_');
    buf_add(text, value.p, value.n);
    return text->failed ? fg_nomem(x) : sink_text(x, str_of(text->p, text->n), 1.0f);
}

/* The numbers of the first value that is found. */
static enum rc give_vector(struct fg_run *x, char sep, const struct fg_cells *map,
                           int64_t i)
{
    struct cell_buf buf;
    struct str rest = cell_text(map, i, &buf), part;
    enum rc rc = RC_OK;
    double v;
    while (!rc && str_split(&rest, sep, &part)) {
        if (!number_parse(part, &v))
            return no_number(x, map, i);
        rc = sink_number(x, v, false);
    }
    return rc;
}

static enum rc give_number(struct fg_run *x, const struct lookup *l, double v)
{
    if (!l->whole)
        return sink_number(x, v, false);
    if (!(v > -9.2e18 && v < 9.2e18))
        return fg_fail(x, &x->f->in[MAP], RC_FORMAT, E1304,
                       "%g is not an integer of 64 bits", v);
    return sink_i64(x, (int64_t)v, 1.0f);
}

static enum rc lookup_step(struct fg_run *x, const struct fg_range *in)
{
    const struct lookup *l = x->f->op;
    const struct fg_cells *map = &x->st->in[MAP], *keys = &x->st->in[KEY];
    struct combined sum = {0};
    struct cell_buf buf;
    enum rc rc = RC_OK;
    if (x->row == 0 && x->step == 0)
        kv_index_forget(x->st->op);
    for (int64_t k = in[KEY].begin; !rc && k < in[KEY].end; k++) {
        struct str key = cell_text(keys, k, &buf);
        int64_t i;
        double v;
        rc = kv_index_find(x, x->st->op, map, in[MAP], key, &i);
        if (rc || i < 0)
            continue;
        if (l->value_sep)
            return give_vector(x, l->value_sep, map, i);
        if (l->texts)
            rc = give_text(x, l, map, i, key);
        else if (!plane_number(&map->val, i, &v))
            rc = no_number(x, map, i);
        else if (l->combiner == COMBINE_NONE && x->f->sink == SINK_IDS)
            rc = give_number(x, l, v);
        else
            combined_add(&sum, v);
    }
    return !rc && sum.n ? give_number(x, l, combined_value(&sum, l->combiner)) : rc;
}

static void json_write_whole(struct fg_json *w)
{
    const struct pc_LookupFeature *m = (const void *)w->f->msg;
    const char *type = fg_json_value_type(w->f, m->has_fg_value_type, m->fg_value_type);
    bool discrete = m->need_discrete || strcmp(type, "string") == 0;
    fg_json_text(w, "map", m->map);
    fg_json_text(w, "key", m->key);
    fg_json_default(w);
    fg_json_text(w, "value_type", type);
    fg_json_flag(w, "needDiscrete", discrete);
    fg_json_flag(w, "needKey", m->need_key);
    fg_json_text(w, "combiner", discrete ? "" : m->combiner);
    fg_json_separator(w);
    fg_json_normalizer(w);
    fg_json_bucket(w);
    if (m->has_value_dim)
        fg_json_count(w, "value_dim", m->value_dim);
}

/* A lookup of several numbers is written as two features: the text that was found, and
 * the numbers in it. */
static bool is_split(const struct pc_feature *f)
{
    const struct pc_LookupFeature *m = (const void *)f->msg;
    return m->has_value_dim && m->value_dim > 1;
}

static const char *found_name(const struct fg_json *w)
{
    return arena_printf(w->a, "%s__lookup", w->f->feature_name);
}

static void json_write_found(struct fg_json *w)
{
    const struct pc_LookupFeature *m = (const void *)w->f->msg;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (uint32_t i = 0; i < m->value_dim; i++)
        buf_printf(&text, "%s%s", i ? m->value_separator : "", fg_json_default_of(w->f));
    fg_json_text(w, "map", m->map);
    fg_json_text(w, "key", m->key);
    fg_json_text(w, "default_value", buf_str(&text));
    fg_json_text(w, "value_type", "string");
    fg_json_flag(w, "needDiscrete", true);
    fg_json_flag(w, "needKey", m->need_key);
    fg_json_text(w, "combiner", "");
    fg_json_count(w, "value_dim", 1);
    buf_release(&text);
}

static void json_write_split_lookup(struct fg_json *w)
{
    const struct pc_LookupFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_text(w, "expression", arena_printf(w->a, "feature:%s", found_name(w)));
    fg_json_text(w, "value_type", "float");
    fg_json_count(w, "value_dim", m->value_dim);
    fg_json_text(w, "separator", m->value_separator);
    fg_json_normalizer(w);
    fg_json_boundaries(w);
}

static void json_write_lookup(struct fg_json *w)
{
    if (is_split(w->f))
        json_write_split_lookup(w);
    else
        json_write_whole(w);
}

static const char *json_type(const struct pc_feature *f)
{
    return is_split(f) ? "raw_feature" : f->kind->member;
}

static const char *json_before(const struct fg_json *w, const char **type)
{
    *type = "lookup_feature";
    return is_split(w->f) ? found_name(w) : NULL;
}

static void json_write_before(struct fg_json *w)
{
    json_write_found(w);
    fg_json_flag(w, "stub_type", true);
}

/* Found texts that nothing turns into ids. */
static void json_read_lookup(struct fg_json_reader *r, const struct node *from,
                             const struct node *all, struct node *to)
{
    if (node_find(from, "stub_type") &&
        strcmp(fg_json_text_of(from, "value_type"), "string") == 0)
        node_put(r->a, to, "fg_value_type", node_str(r->a, "string", 6, from->at));
}

static const struct fg_json_key json_keys[] = {
    {"needDiscrete", "need_discrete"},
    {"needKey", "need_key"},
    {0},
};

const struct fg_ops fg_lookup = {.compile = lookup_compile,
                                 .step = lookup_step,
                                 .release = mem_free,
                                 .scratch = lookup_scratch,
                                 .scratch_destroy = lookup_scratch_destroy,
                                 .json = {.write = json_write_lookup,
                                          .keys = json_keys,
                                          .type = json_type,
                                          .before = json_before,
                                          .write_before = json_write_before,
                                          .read = json_read_lookup}};
