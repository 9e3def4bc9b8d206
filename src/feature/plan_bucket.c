/* SPDX-License-Identifier: Apache-2.0 */
/* How a feature makes ids, and how many rows its table has. */
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"

static void plan_bucket_put(struct fg *f, struct str word, int64_t id,
                            struct diags *diags)
{
    struct err err = {0};
    if (vocab_put(&f->bucket.vocab, word, id, NULL, &err))
        plan_report(diags, f, E1309, NULL, "feature '%s': %s", f->info.name, err.msg);
}

/* Without default_bucketize_value the default and the unknown texts come first. */
static void from_list(struct fg *f, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    bool given = c->has_default_bucketize_value;
    int64_t first = given ? 0 : 2;
    f->bucket.unknown = given ? (int64_t)c->default_bucketize_value : 1;
    if (!given) {
        plan_bucket_put(f, f->def_text, 0, diags);
        plan_bucket_put(f, str_c("<OOV>"), 1, diags);
    }
    for (int64_t i = 0; i < c->n_vocab_list; i++)
        plan_bucket_put(f, str_c(c->vocab_list[i]), first + i, diags);
    f->info.rows = (uint64_t)(c->n_vocab_list + first) + c->kind->spare_row;
}

static void from_dict(struct fg *f, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    bool given = c->has_default_bucketize_value;
    f->bucket.unknown = given ? (int64_t)c->default_bucketize_value : 1;
    for (int64_t i = 0; i < c->n_vocab_dict; i++)
        plan_bucket_put(f, str_c(c->vocab_dict[i].key),
                        (int64_t)(c->vocab_dict[i].value & INT64_MAX), diags);
    f->info.rows = (uint64_t)f->bucket.vocab.max_id + 1;
    if (!given && f->def_text.n)
        plan_bucket_put(f, f->def_text, 0, diags);
    if (f->info.rows <= (uint64_t)f->bucket.unknown)
        f->info.rows = (uint64_t)f->bucket.unknown + 1;
}

static void from_file(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    struct err err = {0};
    char *path = plan_path(p, c->asset_dir, c->vocab_file);
    enum rc rc = vocab_read(&f->bucket.vocab, path, &err);
    mem_free(path);
    if (rc) {
        plan_report(diags, f, E1309, "vocab_file", "feature '%s': %s", f->info.name,
                    err.msg);
        return;
    }
    f->bucket.unknown = (int64_t)c->default_bucketize_value;
    f->info.rows = f->bucket.vocab.n ? (uint64_t)f->bucket.vocab.max_id + 1 : 0;
    if (c->default_bucketize_value >= f->info.rows)
        plan_report(diags, f, E1309, "default_bucketize_value",
                    "feature '%s': default_bucketize_value %ju is beyond the %ju rows of "
                    "'%s'",
                    f->info.name, (uintmax_t)c->default_bucketize_value,
                    (uintmax_t)f->info.rows, c->vocab_file);
}

static void from_bounds(struct fg *f)
{
    const struct pc_feature *c = f->conf;
    f->bucket.bounds = mem_calloc((size_t)c->n_boundaries, sizeof(float));
    f->bucket.n_bounds = c->n_boundaries;
    for (int64_t i = 0; i < c->n_boundaries; i++)
        f->bucket.bounds[i] = (float)c->boundaries[i];
    f->info.rows = (uint64_t)c->n_boundaries + 1;
}

void plan_bucket(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    struct fg_bucket *b = &f->bucket;
    b->farm = p->options.farm_hash;
    if (c->kind->own_ids)
        return;
    if (c->zch || c->dynamicemb || (c->has_hash_bucket_size && c->hash_bucket_size)) {
        bucket_set_hash(b, c->zch || c->dynamicemb ? INT64_MAX : c->hash_bucket_size);
        f->info.rows = pc_feature_rows(c);
    } else if (c->has_num_buckets && c->num_buckets) {
        b->kind = BUCKET_NUM;
        b->n = f->info.rows = c->num_buckets;
    } else if (c->n_vocab_list) {
        b->kind = BUCKET_VOCAB;
        from_list(f, diags);
    } else if (c->n_vocab_dict) {
        b->kind = BUCKET_VOCAB;
        from_dict(f, diags);
    } else if (c->has_vocab_file) {
        b->kind = BUCKET_VOCAB;
        from_file(f, p, diags);
    } else if (c->n_boundaries) {
        b->kind = BUCKET_BOUNDS;
        from_bounds(f);
    }
}
