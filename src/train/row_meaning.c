/* SPDX-License-Identifier: Apache-2.0 */
/* The features of the checkpoint's config are compared by name with those that look up a
 * table of the model. Numbers that are ids themselves may get more rows, and a vocabulary
 * more words behind those it had: rows that both have mean the same. A hash of another
 * size, another vocabulary or other boundaries give every row another meaning. Tables
 * with keys (zch, dynamicemb) say themselves which id a row is.
 */
#include "train/row_meaning.h"

#include <string.h>

#include "base/mem.h"
#include "text/conf.h"
#include "text/pipeline/feature.h"

struct train_row_meaning {
    const struct train_session *s;
    struct conf conf; /* the checkpoint's */
    struct pc_features features;
    struct arena arena;
    bool known;
};

struct train_row_meaning *train_row_meaning_create(const struct train_session *s,
                                                   const struct ckpt *c)
{
    struct train_row_meaning *m = mem_calloc(1, sizeof(*m));
    struct conf_options o = {.kind = &conf_kind_pipeline, .ignore_unknown = true};
    struct diags diags = {0};
    const char *text = ckpt_config(c);
    m->s = s;
    m->known = text[0] && conf_from("the checkpoint's config", text, strlen(text), &o,
                                    &m->conf, &diags, NULL) == RC_OK;
    diags_release(&diags);
    if (m->known)
        pc_features_init(&m->features, m->conf.data, &m->arena);
    return m;
}

void train_row_meaning_destroy(struct train_row_meaning *m)
{
    if (!m)
        return;
    pc_features_release(&m->features);
    conf_release(&m->conf);
    arena_release(&m->arena);
    mem_free(m);
}

enum maker {
    MAKER_NONE,
    MAKER_KEYS,
    MAKER_HASH,
    MAKER_NUMBER,
    MAKER_LIST,
    MAKER_DICT,
    MAKER_FILE,
    MAKER_BOUNDS
};

static const char *const maker_names[] = {
    [MAKER_NONE] = "ids as they come", [MAKER_KEYS] = "zch or dynamicemb",
    [MAKER_HASH] = "hash_bucket_size", [MAKER_NUMBER] = "num_buckets",
    [MAKER_LIST] = "vocab_list",       [MAKER_DICT] = "vocab_dict",
    [MAKER_FILE] = "vocab_file",       [MAKER_BOUNDS] = "boundaries"};

/* As the features choose, see feature/plan_bucket.c. */
static enum maker maker_of(const struct pc_feature *f)
{
    if (f->zch || f->dynamicemb)
        return MAKER_KEYS;
    if (f->has_hash_bucket_size && f->hash_bucket_size)
        return MAKER_HASH;
    if (f->has_num_buckets && f->num_buckets)
        return MAKER_NUMBER;
    if (f->n_vocab_list)
        return MAKER_LIST;
    if (f->n_vocab_dict)
        return MAKER_DICT;
    if (f->has_vocab_file)
        return MAKER_FILE;
    return f->n_boundaries ? MAKER_BOUNDS : MAKER_NONE;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Of a vocabulary: which ids unknown and missing values have. */
static bool same_default(const struct pc_feature *a, const struct pc_feature *b)
{
    if (a->has_default_bucketize_value != b->has_default_bucketize_value)
        return false;
    return a->has_default_bucketize_value
               ? a->default_bucketize_value == b->default_bucketize_value
               : same_text(a->default_value, b->default_value);
}

static const char *other_words(struct train_row_meaning *m, const struct pc_feature *old,
                               const struct pc_feature *now)
{
    int64_t n = old->n_vocab_list;
    if (!same_default(old, now))
        return "another default of the vocabulary";
    if (now->n_vocab_list < n)
        n = now->n_vocab_list;
    for (int64_t i = 0; i < n; i++)
        if (strcmp(old->vocab_list[i], now->vocab_list[i]) != 0)
            return arena_printf(&m->arena, "vocab_list has '%.40s' where it had '%.40s'",
                                now->vocab_list[i], old->vocab_list[i]);
    return NULL;
}

static const char *other_entries(struct train_row_meaning *m,
                                 const struct pc_feature *old,
                                 const struct pc_feature *now)
{
    if (!same_default(old, now))
        return "another default of the vocabulary";
    for (int64_t i = 0; i < now->n_vocab_dict; i++)
        for (int64_t k = 0; k < old->n_vocab_dict; k++) {
            bool word = strcmp(now->vocab_dict[i].key, old->vocab_dict[k].key) == 0;
            if (word != (now->vocab_dict[i].value == old->vocab_dict[k].value))
                return arena_printf(&m->arena, "vocab_dict has another id for '%.40s'",
                                    now->vocab_dict[i].key);
        }
    return NULL;
}

static bool same_boundaries(const struct pc_feature *a, const struct pc_feature *b)
{
    if (a->n_boundaries != b->n_boundaries)
        return false;
    for (int64_t i = 0; i < a->n_boundaries; i++)
        if ((float)a->boundaries[i] != (float)b->boundaries[i])
            return false;
    return true;
}

static const char *compare(struct train_row_meaning *m, const struct pc_feature *old,
                           const struct pc_feature *now)
{
    enum maker maker = maker_of(now);
    if (maker != maker_of(old))
        return arena_printf(&m->arena, "%s, was %s", maker_names[maker],
                            maker_names[maker_of(old)]);
    if (maker == MAKER_HASH && old->hash_bucket_size != now->hash_bucket_size)
        return arena_printf(&m->arena, "hash_bucket_size %ju, was %ju",
                            (uintmax_t)now->hash_bucket_size,
                            (uintmax_t)old->hash_bucket_size);
    if (maker == MAKER_LIST)
        return other_words(m, old, now);
    if (maker == MAKER_DICT)
        return other_entries(m, old, now);
    if (maker == MAKER_FILE && !same_text(old->vocab_file, now->vocab_file))
        return arena_printf(&m->arena, "vocab_file '%.60s', was '%.60s'", now->vocab_file,
                            old->vocab_file);
    if (maker == MAKER_BOUNDS && !same_boundaries(old, now))
        return "other boundaries";
    return NULL;
}

const char *train_row_meaning_differs(void *arg, int table)
{
    struct train_row_meaning *m = arg;
    const struct model *model = m->s->model;
    const struct pc_EasyRecConfig *then = m->known ? m->conf.data : NULL;
    const char *why = NULL;
    if (!m->known)
        return NULL;
    enum pc_FgMode old = pc_fg_mode(then->data_config),
                   now = pc_fg_mode(m->s->conf->data_config);
    bool bare = now == pc_FgMode_FG_NONE;
    if (bare != (old == pc_FgMode_FG_NONE))
        return bare ? "FG_NONE, was another fg_mode" : "another fg_mode, was FG_NONE";
    for (size_t i = 0; i < model->inputs.n && !why && !bare; i++) {
        const struct model_input *in = &model->inputs.at[i];
        if (in->slot < 0 || lookup_slot(model->lookup, in->slot)->table != table)
            continue;
        const struct pc_feature *f =
            pc_features_find(&m->features, str_c(in->feature->name));
        why = f ? compare(m, f, in->feature) : NULL;
    }
    return why;
}
