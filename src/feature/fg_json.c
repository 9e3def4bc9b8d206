/* SPDX-License-Identifier: Apache-2.0 */
/* Writing fg.json: an object per feature. What all kinds say is written here; what one
 * adds by its operator (op/NAME.c, .json), with the helpers of this file.
 */
#include "feature/fg_json.h"

#include <stdint.h>
#include <string.h>

#include "feature/feature_private.h"
#include "text/json.h"

const struct span fg_json_nowhere;

void fg_json_put(struct fg_json *w, const char *key, struct node *value)
{
    node_add(w->a, w->to, str_c(key), fg_json_nowhere, value);
}

void fg_json_text(struct fg_json *w, const char *key, const char *text)
{
    fg_json_put(w, key, node_str(w->a, text, strlen(text), fg_json_nowhere));
}

void fg_json_count(struct fg_json *w, const char *key, uint64_t v)
{
    fg_json_put(w, key, node_uint(w->a, v, fg_json_nowhere));
}

void fg_json_flag(struct fg_json *w, const char *key, bool v)
{
    fg_json_put(w, key, node_bool(w->a, v, fg_json_nowhere));
}

void fg_json_texts(struct fg_json *w, const char *key, const char *const *texts,
                   int64_t n)
{
    struct node *list = node_create(w->a, NODE_LIST, fg_json_nowhere);
    for (int64_t i = 0; i < n; i++)
        node_push(w->a, list,
                  node_str(w->a, texts[i], strlen(texts[i]), fg_json_nowhere));
    fg_json_put(w, key, list);
}

/* An empty default of a sequence is "0". */
const char *fg_json_default_of(const struct pc_feature *f)
{
    const char *text = f->default_value ? f->default_value : "";
    return !*text && (f->sequence || f->of_items) ? "0" : text;
}

void fg_json_default(struct fg_json *w)
{
    fg_json_text(w, "default_value", fg_json_default_of(w->f));
}

void fg_json_separator(struct fg_json *w)
{
    if (w->f->separator && strcmp(w->f->separator, "\x1d") != 0)
        fg_json_text(w, "separator", w->f->separator);
}

void fg_json_normalizer(struct fg_json *w)
{
    if (w->f->normalizer && *w->f->normalizer)
        fg_json_text(w, "normalizer", w->f->normalizer);
}

void fg_json_boundaries(struct fg_json *w)
{
    if (!w->f->n_boundaries)
        return;
    struct node *list = node_create(w->a, NODE_LIST, fg_json_nowhere);
    for (int64_t i = 0; i < w->f->n_boundaries; i++)
        node_push(w->a, list, node_real(w->a, w->f->boundaries[i], fg_json_nowhere));
    fg_json_put(w, "boundaries", list);
}

static void put_vocab_list(struct fg_json *w)
{
    const struct pc_feature *f = w->f;
    struct node *list = node_create(w->a, NODE_LIST, fg_json_nowhere);
    bool given = f->has_default_bucketize_value;
    if (!given) {
        const char *def = fg_json_default_of(f);
        node_push(w->a, list, node_str(w->a, def, strlen(def), fg_json_nowhere));
        node_push(w->a, list, node_str(w->a, "<OOV>", 5, fg_json_nowhere));
    }
    for (int64_t i = 0; i < f->n_vocab_list; i++)
        node_push(
            w->a, list,
            node_str(w->a, f->vocab_list[i], strlen(f->vocab_list[i]), fg_json_nowhere));
    fg_json_put(w, "vocab_list", list);
}

static void put_vocab_dict(struct fg_json *w)
{
    const struct pc_feature *f = w->f;
    struct node *map = node_create(w->a, NODE_MAP, fg_json_nowhere);
    const char *def = fg_json_default_of(f);
    bool adds = !f->has_default_bucketize_value && *def;
    for (int64_t i = 0; i < f->n_vocab_dict; i++)
        if (!adds || strcmp(f->vocab_dict[i].key, def) != 0)
            node_add(w->a, map, str_c(f->vocab_dict[i].key), fg_json_nowhere,
                     node_uint(w->a, f->vocab_dict[i].value, fg_json_nowhere));
    if (adds)
        node_add(w->a, map, str_c(def), fg_json_nowhere,
                 node_uint(w->a, 0, fg_json_nowhere));
    fg_json_put(w, "vocab_dict", map);
}

void fg_json_bucket(struct fg_json *w)
{
    const struct pc_feature *f = w->f;
    bool vocab = f->n_vocab_list || f->n_vocab_dict || f->has_vocab_file;
    if (f->zch || f->dynamicemb)
        fg_json_count(w, "hash_bucket_size", INT64_MAX);
    else if (f->has_hash_bucket_size)
        fg_json_count(w, "hash_bucket_size", f->hash_bucket_size);
    else if (f->n_vocab_list)
        put_vocab_list(w);
    else if (f->n_vocab_dict)
        put_vocab_dict(w);
    else if (f->has_vocab_file)
        fg_json_text(w, "vocab_file", f->vocab_file);
    else if (f->has_num_buckets)
        fg_json_count(w, "num_buckets", f->num_buckets);
    else
        fg_json_boundaries(w);
    if (vocab)
        fg_json_count(w, "default_bucketize_value",
                      f->has_default_bucketize_value ? f->default_bucketize_value : 1);
}

const char *fg_json_value_type(const struct pc_feature *f, bool set, const char *given)
{
    bool text = f->zch || f->dynamicemb || f->has_hash_bucket_size ||
                f->has_num_buckets || f->n_vocab_list || f->n_vocab_dict ||
                f->has_vocab_file;
    return set ? given : text ? "string" : "float";
}

static void put_sequence(struct fg_json *w, bool own)
{
    if (!own)
        return;
    fg_json_text(w, "sequence_delim", w->f->sequence_delim);
    fg_json_count(w, "sequence_length", w->f->sequence_length);
}

static void put_fields(struct fg_json *w)
{
    if (w->f->n_sequence_fields)
        fg_json_texts(w, "sequence_fields", w->f->sequence_fields,
                      w->f->n_sequence_fields);
}

static struct fg_json fg_json_begin(const struct pc_feature *f, struct arena *a,
                                    const char *type, const char *name)
{
    struct fg_json w = {.a = a, .f = f, .to = node_create(a, NODE_MAP, fg_json_nowhere)};
    fg_json_text(&w, "feature_type", type);
    fg_json_text(&w, "feature_name", name);
    return w;
}

/* What a feature reads that is a feature of its own in fg.json, and its name; NULL:
 * nothing.
 */
static struct node *write_before(const struct pc_feature *f, struct arena *a, bool own,
                                 const char **name)
{
    const struct fg_json_ops *ops = &fg_ops_of(f->kind)->json;
    struct fg_json w = {.a = a, .f = f};
    const char *type = NULL;
    *name = ops->before ? ops->before(&w, &type) : NULL;
    if (!*name)
        return NULL;
    w = fg_json_begin(f, a, arena_printf(a, "%s%s", own ? "sequence_" : "", type), *name);
    ops->write_before(&w);
    put_sequence(&w, own);
    put_fields(&w);
    return w.to;
}

/* One object, or two of which the second reads the first. */
static void write_feature(const struct pc_feature *f, struct arena *a, struct node *list)
{
    const struct fg_json_ops *ops = &fg_ops_of(f->kind)->json;
    bool own = f->sequence && !f->group && !f->tokens_as_sequence;
    const char *name_before, *type = ops->type ? ops->type(f) : f->kind->member;
    struct node *before = write_before(f, a, own, &name_before);
    struct fg_json w = fg_json_begin(
        f, a, arena_printf(a, "%s%s", own && !ops->bare ? "sequence_" : "", type),
        f->feature_name);
    ops->write(&w);
    put_sequence(&w, own);
    if (!before)
        put_fields(&w);
    else if (f->group)
        fg_json_texts(&w, "sequence_fields", &name_before, 1);
    if (f->stub_type)
        fg_json_flag(&w, "stub_type", true);
    if (before)
        node_push(a, list, before);
    node_push(a, list, w.to);
}

static struct node *write_group(const struct pc_SequenceFeature *g, struct arena *a)
{
    struct fg_json w = {.a = a, .to = node_create(a, NODE_MAP, fg_json_nowhere)};
    fg_json_text(&w, "sequence_name", g->sequence_name);
    fg_json_count(&w, "sequence_length", g->sequence_length);
    fg_json_text(&w, "sequence_delim", g->sequence_delim);
    fg_json_text(&w, "sequence_pk",
                 g->has_sequence_pk ? g->sequence_pk
                                    : arena_printf(a, "user:%s", g->sequence_name));
    fg_json_put(&w, "features", node_create(a, NODE_LIST, fg_json_nowhere));
    return w.to;
}

void fg_json_print(const struct pc_EasyRecConfig *conf, struct buf *out)
{
    struct arena a = {0};
    struct pc_features features;
    struct node *root = node_create(&a, NODE_MAP, fg_json_nowhere);
    struct node *list = node_create(&a, NODE_LIST, fg_json_nowhere), *group = NULL;
    const struct pc_SequenceFeature *at = NULL;
    pc_features_init(&features, conf, &a);
    node_add(&a, root, str_c("features"), fg_json_nowhere, list);
    for (size_t i = 0; i < features.n; i++) {
        const struct pc_feature *f = &features.at[i];
        if (f->group && f->group != at) {
            at = f->group;
            group = write_group(at, &a);
            node_push(&a, list, group);
        }
        write_feature(f, &a, f->group ? node_find(group, "features") : list);
    }
    json_print(root, 4, out);
    pc_features_release(&features);
    arena_release(&a);
}
