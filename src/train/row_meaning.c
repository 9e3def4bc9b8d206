/* SPDX-License-Identifier: Apache-2.0 */
/* The features of the checkpoint's config are compared by name with those that look up a
 * table of the model. Numbers that are ids themselves may get more rows, and a vocabulary
 * more words behind those it had: rows that both have mean the same. A hash of another
 * size, another vocabulary or other boundaries give every row another meaning. Tables
 * with keys (zch, dynamicemb) say themselves which id a row is. Where both sides have
 * vocabularies, however they are written, rows can be found again by their words; the
 * words of a vocab_file are those of the checkpoint, not of a file that may have changed.
 */
#include "train/row_meaning.h"

#include <string.h>

#include "base/mem.h"
#include "feature/words.h"
#include "text/conf.h"
#include "text/pipeline/feature.h"
#include "train/vocabularies.h"

struct train_row_meaning {
    const struct train_session *s;
    struct conf conf; /* the checkpoint's */
    struct pc_features features;
    const struct node *words; /* the checkpoint's, of files; NULL: it has none */
    struct arena arena;
    bool known, same_run;
};

struct train_row_meaning *train_row_meaning_create(const struct train_session *s,
                                                   const struct ckpt *c, bool same_run)
{
    struct train_row_meaning *m = mem_calloc(1, sizeof(*m));
    struct conf_options o = {.kind = &conf_kind_pipeline, .ignore_unknown = true};
    struct diags diags = {0};
    const char *text = ckpt_config(c);
    m->s = s;
    m->same_run = same_run;
    m->words = ckpt_json(c, TRAIN_VOCABULARIES);
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

/* The words that a feature had, and the row of others; false when they are not known. */
static bool words_then(const struct train_row_meaning *m, const struct pc_feature *old,
                       struct vocab *out, int64_t *unknown)
{
    *unknown = (int64_t)old->default_bucketize_value;
    if (maker_of(old) != MAKER_FILE)
        return feature_words_listed(old, out, unknown, NULL) == RC_OK;
    return train_vocabularies_find(m->words, old, m->s->options.dir, out) !=
               WORDS_CHANGED &&
           out->n > 0;
}

/* Words of now, NULL when there are none. */
static const struct vocab *words_now(const struct train_row_meaning *m,
                                     const struct pc_feature *now, int64_t *unknown)
{
    int64_t at = feature_plan_find(m->s->plan, str_c(now->name));
    return at < 0 ? NULL : feature_plan_words(m->s->plan, (size_t)at, unknown);
}

/* A word of both that has another row now, or a new one in the row of another. */
static const char *moved_word(struct train_row_meaning *m, const struct vocab *then,
                              const struct vocab *now)
{
    bool *taken = mem_calloc((size_t)then->max_id + 2, sizeof(*taken));
    const char *why = NULL;
    for (size_t i = 0; i < then->n; i++)
        taken[then->at[i].id] = true;
    for (size_t i = 0; i < now->n && !why; i++) {
        const struct vocab_entry *e = &now->at[i];
        int64_t old = vocab_find(then, e->text);
        if (old < 0 ? e->id <= then->max_id && taken[e->id] : old != e->id)
            why = arena_printf(&m->arena, "vocab_file has another id for '%.*s'",
                               (int)(e->text.n < 40 ? e->text.n : 40), e->text.p);
    }
    mem_free(taken);
    return why;
}

static const char *other_file(struct train_row_meaning *m, const struct pc_feature *old,
                              const struct pc_feature *now)
{
    struct vocab then = {.max_id = -1};
    int64_t unknown;
    const struct vocab *words = words_now(m, now, &unknown);
    enum train_words known =
        train_vocabularies_find(m->words, old, m->s->options.dir, &then);
    const char *why = NULL;
    if (known == WORDS_CHANGED)
        why = arena_printf(&m->arena, "vocab_file '%.60s' has changed", old->vocab_file);
    else if (known == WORDS_UNKNOWN && !m->same_run &&
             !same_text(old->vocab_file, now->vocab_file))
        why = arena_printf(&m->arena, "vocab_file '%.60s', was '%.60s'", now->vocab_file,
                           old->vocab_file);
    else if (known == WORDS_KNOWN && !same_default(old, now))
        why = "another default of the vocabulary";
    else if (known == WORDS_KNOWN && words)
        why = moved_word(m, &then, words);
    vocab_release(&then);
    return why;
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
    if (maker == MAKER_FILE)
        return other_file(m, old, now);
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
    if (bare != (old == pc_FgMode_FG_NONE) && m->same_run)
        return NULL;
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

/* ---- rows by their words ---- */

struct finding {
    int64_t rows;   /* of the table */
    int64_t *then;  /* [rows]: of all features so far */
    int64_t *place; /* [rows]: of the feature at hand */
    size_t found, fresh, gone;
};

/* Where the words of one feature were; the first word of a row speaks for it. */
static void find_rows(struct finding *x, const struct vocab *then, int64_t unknown_then,
                      const struct vocab *now, int64_t unknown)
{
    size_t found = 0;
    for (int64_t r = 0; r < x->rows; r++)
        x->place[r] = -1;
    for (size_t i = 0; i < now->n; i++) {
        int64_t old = vocab_find(then, now->at[i].text), row = now->at[i].id;
        found += old >= 0;
        if (old >= 0 && row < x->rows && x->place[row] < 0)
            x->place[row] = old;
    }
    if (unknown < x->rows && x->place[unknown] < 0)
        x->place[unknown] = unknown_then;
    x->found += found;
    x->fresh += now->n - found;
    for (size_t i = 0; i < then->n; i++)
        x->gone += vocab_find(now, then->at[i].text) < 0;
}

/* Features that share a table must agree. */
static bool agree(struct finding *x)
{
    for (int64_t r = 0; r < x->rows; r++) {
        if (x->place[r] < 0)
            continue;
        if (x->then[r] >= 0 && x->then[r] != x->place[r])
            return false;
        x->then[r] = x->place[r];
    }
    return true;
}

static bool find_feature(const struct train_row_meaning *m, struct finding *x,
                         const struct pc_feature *old, const struct pc_feature *f)
{
    struct vocab then = {.max_id = -1};
    int64_t unknown = 0, unknown_then = 0;
    const struct vocab *now = words_now(m, f, &unknown);
    bool good = now && feature_has_words(old) && words_then(m, old, &then, &unknown_then);
    if (good) {
        find_rows(x, &then, unknown_then, now, unknown);
        good = agree(x);
    }
    vocab_release(&then);
    return good;
}

const char *train_row_meaning_rows(void *arg, int table, int64_t *then)
{
    struct train_row_meaning *m = arg;
    const struct model *model = m->s->model;
    struct finding x = {.rows = lookup_table(model->lookup, table)->rows, .then = then};
    bool good = m->known;
    x.place = mem_calloc((size_t)x.rows + 1, sizeof(*x.place));
    for (int64_t r = 0; r < x.rows; r++)
        then[r] = -1;
    for (size_t i = 0; i < model->inputs.n && good; i++) {
        const struct model_input *in = &model->inputs.at[i];
        if (in->slot < 0 || lookup_slot(model->lookup, in->slot)->table != table)
            continue;
        const struct pc_feature *f =
            pc_features_find(&m->features, str_c(in->feature->name));
        good = !f || find_feature(m, &x, f, in->feature);
    }
    mem_free(x.place);
    return good ? arena_printf(&m->arena, "%zu words found again, %zu new, %zu gone",
                               x.found, x.fresh, x.gone)
                : NULL;
}
