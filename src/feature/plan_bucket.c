/* SPDX-License-Identifier: Apache-2.0 */
/* How a feature makes ids, and how many rows its table has. */
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/words.h"

static void from_list(struct fg *f, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    struct err err = {0};
    if (feature_words_listed(c, &f->bucket.vocab, &f->bucket.unknown, &err))
        plan_report(diags, f, E1309, NULL, "feature '%s': %s", f->info.name, err.msg);
    if (c->n_vocab_list) {
        f->info.rows = (uint64_t)c->n_vocab_list + c->kind->spare_row +
                       (c->has_default_bucketize_value ? 0 : 2);
        return;
    }
    f->info.rows = (uint64_t)f->bucket.vocab.max_id + 1;
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
    } else if (c->n_vocab_list || c->n_vocab_dict) {
        b->kind = BUCKET_VOCAB;
        from_list(f, diags);
    } else if (c->has_vocab_file) {
        b->kind = BUCKET_VOCAB;
        from_file(f, p, diags);
    } else if (c->n_boundaries) {
        b->kind = BUCKET_BOUNDS;
        from_bounds(f);
    }
}
