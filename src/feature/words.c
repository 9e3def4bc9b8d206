/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/words.h"

struct str feature_default_text(const struct pc_feature *c)
{
    const char *text = c->default_value ? c->default_value : "";
    bool number = c->kind->zero_default || !pc_feature_is_sparse(c);
    if (!*text && (number || c->sequence || c->of_items))
        text = "0";
    return str_c(text);
}

bool feature_has_words(const struct pc_feature *c)
{
    bool other = c->zch || c->dynamicemb ||
                 (c->has_hash_bucket_size && c->hash_bucket_size) ||
                 (c->has_num_buckets && c->num_buckets);
    return !other && (c->n_vocab_list || c->n_vocab_dict || c->has_vocab_file);
}

/* Without default_bucketize_value the default and the unknown texts come first. */
static enum rc words_of_list(const struct pc_feature *c, struct vocab *out,
                             struct err *err)
{
    bool given = c->has_default_bucketize_value;
    enum rc rc = RC_OK;
    if (!given)
        rc = vocab_put(out, feature_default_text(c), 0, NULL, err);
    if (!given && !rc)
        rc = vocab_put(out, str_c("<OOV>"), 1, NULL, err);
    for (int64_t i = 0; !rc && i < c->n_vocab_list; i++)
        rc = vocab_put(out, str_c(c->vocab_list[i]), i + (given ? 0 : 2), NULL, err);
    return rc;
}

enum rc feature_words_listed(const struct pc_feature *c, struct vocab *out,
                             int64_t *unknown, struct err *err)
{
    bool given = c->has_default_bucketize_value;
    struct str def = feature_default_text(c);
    enum rc rc = RC_OK;
    *unknown = given ? (int64_t)c->default_bucketize_value : 1;
    if (c->n_vocab_list)
        return words_of_list(c, out, err);
    for (int64_t i = 0; !rc && i < c->n_vocab_dict; i++)
        rc = vocab_put(out, str_c(c->vocab_dict[i].key),
                       (int64_t)(c->vocab_dict[i].value & INT64_MAX), NULL, err);
    if (!rc && !given && def.n)
        rc = vocab_put(out, def, 0, NULL, err);
    return rc;
}

void feature_words_print(const struct vocab *v, struct buf *out)
{
    for (size_t i = 0; i < v->n; i++) {
        buf_add(out, v->at[i].text.p, v->at[i].text.n);
        buf_printf(out, " %jd\n", (intmax_t)v->at[i].id);
    }
}
