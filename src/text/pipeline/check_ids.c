/* SPDX-License-Identifier: Apache-2.0 */
/* From values to ids and numbers: one way to make ids, vocabularies without repetition,
 * ascending boundaries, admission filters that are understood, dense embeddings. All of
 * it concerns one feature alone; who shares a table is looked at in check_table.c.
 */
#include <ctype.h>
#include <string.h>

#include "text/pipeline/admission.h"
#include "text/pipeline/pipeline_private.h"

/* More than one is documented as illegal. */
static void check_several(struct pc_check *x, const struct pc_feature *f)
{
    const struct {
        bool set;
        const char *name;
    } ways[] = {{f->zch, "zch"},
                {f->dynamicemb, "dynamicemb"},
                {f->has_hash_bucket_size, "hash_bucket_size"},
                {f->has_num_buckets, "num_buckets"},
                {f->n_vocab_list > 0, "vocab_list"},
                {f->n_vocab_dict > 0, "vocab_dict"},
                {f->has_vocab_file && !f->kind->own_ids, "vocab_file"},
                {f->n_boundaries > 0, "boundaries"}};
    const char *first = NULL;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (ways[i].set && first) {
            schema_report(x->diags, DIAG_ERROR, E0335, f->msg, ways[i].name,
                          "feature '%s' sets %s as well as %s", f->name, ways[i].name,
                          first);
            return;
        }
        if (ways[i].set)
            first = ways[i].name;
    }
}

/* A table has rows. */
static void check_rows(struct pc_check *x, const struct pc_feature *f)
{
    const struct msg *m = f->msg;
    const char *field = NULL;
    if (f->has_hash_bucket_size && f->hash_bucket_size == 0)
        field = "hash_bucket_size";
    else if (f->has_num_buckets && f->num_buckets == 0)
        field = "num_buckets";
    else if (f->zch && f->zch->zch_size == 0)
        m = &f->zch->base, field = "zch_size";
    else if (f->dynamicemb && f->dynamicemb->max_capacity == 0)
        m = &f->dynamicemb->base, field = "max_capacity";
    if (field)
        schema_report(x->diags, DIAG_ERROR, E0336, m, field,
                      "feature '%s': %s must be above 0", f->name, field);
}

/* vocab_list */
static void check_vocab_list(struct pc_check *x, const struct pc_feature *f)
{
    struct map seen = {0};
    for (int64_t i = 0; i < f->n_vocab_list; i++) {
        struct map_entry *e = map_put(&seen, str_c(f->vocab_list[i]));
        if (e->value)
            check_item(x, DIAG_ERROR, E0339, f->msg, "vocab_list", i,
                       "vocab_list: '%s' appears twice", f->vocab_list[i]);
        e->value = x;
    }
    map_release(&seen);
    if (f->n_vocab_list && f->has_default_bucketize_value &&
        f->default_bucketize_value >= (uint64_t)f->n_vocab_list)
        schema_report(
            x->diags, DIAG_ERROR, E0342, f->msg, "default_bucketize_value",
            "default_bucketize_value %ju is not an index into the %jd entries of "
            "vocab_list",
            (uintmax_t)f->default_bucketize_value, (intmax_t)f->n_vocab_list);
}

/* vocab_dict; 0 is the default value and 1 the unknown one. */
static void check_vocab_dict(struct pc_check *x, const struct pc_feature *f)
{
    for (int64_t i = 0; i < f->n_vocab_dict && !f->has_default_bucketize_value; i++)
        if (f->vocab_dict[i].value < 2) {
            schema_report(x->diags, DIAG_WARNING, E0340, f->msg, "vocab_dict",
                          "vocab_dict: '%s' has index %ju, which stands for %s",
                          f->vocab_dict[i].key, (uintmax_t)f->vocab_dict[i].value,
                          f->vocab_dict[i].value ? "unknown texts" : "the default value");
            return;
        }
}

/* vocab_file requires default_bucketize_value; a tokenizer has its own ids. */
static void check_vocab_file(struct pc_check *x, const struct pc_feature *f)
{
    if (f->has_vocab_file && !f->kind->own_ids && !f->has_default_bucketize_value)
        schema_report(x->diags, DIAG_ERROR, E0341, f->msg, "vocab_file",
                      "vocab_file needs default_bucketize_value for texts that are not "
                      "in it");
}

/* Blanks left out, so that the shapes below compare as plain texts. */
static const char *squeezed(struct pc_check *x, const char *s)
{
    char *out = arena_alloc(&x->arena, strlen(s) + 1), *to = out;
    for (; *s; s++)
        if (!isspace((unsigned char)*s))
            *to++ = *s;
    return out;
}

/* The admission filters that are understood. */
static bool is_known_filter(struct pc_check *x, const char *text)
{
    static const char *const names[] = {"dynamic_threshold_filter",
                                        "average_threshold_filter",
                                        "probabilistic_threshold_filter"};
    const char *s = squeezed(x, text);
    bool lambda = str_starts(s, "lambdax:"), partial = str_starts(s, "partial(");
    s += lambda ? strlen("lambdax:") : partial ? strlen("partial(") : 0;
    struct pc_admission formula;
    if (pc_admission_parse(text, &formula))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_starts(s, names[i]))
            continue;
        const char *rest = s + strlen(names[i]);
        if (lambda)
            return str_starts(rest, "(x") && (rest[2] == ')' || rest[2] == ',');
        return partial ? *rest == ',' || *rest == ')' : *rest == '\0';
    }
    return false;
}

/* eviction_policy must be set. */
static void check_zch(struct pc_check *x, const struct pc_feature *f)
{
    if (!f->zch)
        return;
    if (!schema_oneof(&f->zch->base, "eviction_policy", NULL)) {
        struct diag *g =
            schema_report(x->diags, DIAG_ERROR, E0345, &f->zch->base, NULL,
                          "zch of feature '%s' has no eviction policy", f->name);
        diag_hint(x->diags, g, "add lfu {}, lru {} or distance_lfu {}");
    }
    if (f->zch->has_threshold_filtering_func &&
        !is_known_filter(x, f->zch->threshold_filtering_func)) {
        struct diag *g = schema_report(x->diags, DIAG_ERROR, E0346, &f->zch->base,
                                       "threshold_filtering_func",
                                       "threshold_filtering_func '%s' is not understood",
                                       f->zch->threshold_filtering_func);
        diag_hint(x->diags, g, "for example \"lambda x: (x > 10, 10)\"");
    }
}

void check_ids(struct pc_check *x, const struct pc_feature *f)
{
    check_several(x, f);
    check_rows(x, f);
    check_vocab_list(x, f);
    check_vocab_dict(x, f);
    check_vocab_file(x, f);
    check_zch(x, f);
}

/* b0 < b1 < ... */
static void check_boundaries(struct pc_check *x, const struct pc_feature *f)
{
    for (int64_t i = 0; i < f->n_boundaries; i++) {
        bool first = i == 0;
        if (first ? f->boundaries[0] == f->boundaries[0]
                  : f->boundaries[i] > f->boundaries[i - 1])
            continue;
        if (first)
            check_item(x, DIAG_ERROR, E0338, f->msg, "boundaries", i,
                       "boundaries: NaN is not a boundary");
        else
            check_item(x, DIAG_ERROR, E0338, f->msg, "boundaries", i,
                       "boundaries: %g follows %g", f->boundaries[i],
                       f->boundaries[i - 1]);
        return;
    }
}

static void check_dense_embedding(struct pc_check *x, const struct pc_feature *f)
{
    const struct msg *dense = f->autodis ? &f->autodis->base
                              : f->mlp   ? &f->mlp->base
                                         : NULL;
    if (!dense)
        return;
    if (pc_feature_is_sparse(f) || f->sequence) {
        schema_report(x->diags, DIAG_WARNING, E0358, f->msg, dense->field,
                      "%s of feature '%s' has no effect: it %s", dense->field, f->name,
                      f->sequence ? "is a sequence" : "has buckets");
        return;
    }
    if (f->autodis && f->autodis->num_channels == 0)
        schema_report(x->diags, DIAG_ERROR, E0347, dense, "num_channels",
                      "autodis of feature '%s': num_channels must be above 0", f->name);
    if (f->autodis && f->value_dim > 1)
        schema_report(x->diags, DIAG_ERROR, E0347, f->msg, "value_dim",
                      "autodis works on one number, and feature '%s' has value_dim %u",
                      f->name, f->value_dim);
}

static void check_texts(struct pc_check *x, const struct pc_feature *f)
{
    const char *bad = f->has_init_fn ? pc_init_fn_problem(x, f->init_fn) : NULL;
    if (bad)
        schema_report(x->diags, DIAG_ERROR, E0348, f->msg, "init_fn", "init_fn '%s': %s",
                      f->init_fn, bad);
    bad = f->normalizer && *f->normalizer ? normalizer_problem(x, f->normalizer) : NULL;
    if (bad)
        schema_report(x->diags, DIAG_ERROR, E0349, f->msg, "normalizer",
                      "normalizer '%s': %s", f->normalizer, bad);
}

void check_numbers(struct pc_check *x, const struct pc_feature *f)
{
    check_boundaries(x, f);
    check_dense_embedding(x, f);
    check_texts(x, f);
}
