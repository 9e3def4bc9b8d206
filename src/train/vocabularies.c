/* SPDX-License-Identifier: Apache-2.0 */
#include "train/vocabularies.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "feature/words.h"

#define TEXT_KEPT ((size_t)1 << 18) /* bytes; of longer ones the hash alone */

static void print_digest(const struct buf *text, char out[20])
{
    snprintf(out, 20, "%016jx", (uintmax_t)hash_xxh3(buf_str(text), text->n));
}

static void print_one(const char *name, const struct vocab *v, struct buf *out)
{
    struct buf text;
    char digest[20];
    buf_init(&text, (size_t)8 << 30);
    feature_words_print(v, &text);
    print_digest(&text, digest);
    buf_json_str(out, name, strlen(name));
    buf_printf(out, ": {\"words\": %zu, \"digest\": \"%s\"", v->n, digest);
    if (text.n <= TEXT_KEPT) {
        buf_puts(out, ", \"text\": ");
        buf_json_str(out, buf_str(&text), text.n);
    }
    buf_puts(out, "}");
    buf_release(&text);
}

bool train_vocabularies_print(const struct feature_plan *plan, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < feature_plan_count(plan); i++) {
        const struct feature_info *f = feature_plan_info(plan, i);
        int64_t unknown;
        const struct vocab *v = feature_plan_words(plan, i, &unknown);
        if (!v || !f->conf->has_vocab_file || f->conf->n_vocab_list ||
            f->conf->n_vocab_dict)
            continue;
        buf_puts(out, any ? ", " : "{");
        print_one(f->name, v, out);
        any = true;
    }
    if (any)
        buf_puts(out, "}");
    return any;
}

static bool read_file(const struct pc_feature *c, const char *dir, struct vocab *out)
{
    bool asset = c->asset_dir && *c->asset_dir;
    const char *from = asset ? c->asset_dir : dir;
    char *path = from ? fs_join(from, c->vocab_file) : mem_strdup(c->vocab_file);
    bool good = vocab_read(out, path, NULL) == RC_OK;
    mem_free(path);
    return good;
}

static bool same_digest(const struct vocab *v, const struct node *then)
{
    struct buf text;
    char digest[20];
    buf_init(&text, (size_t)8 << 30);
    feature_words_print(v, &text);
    print_digest(&text, digest);
    buf_release(&text);
    return then && then->kind == NODE_STR && str_is(then->text, digest);
}

enum train_words train_vocabularies_find(const struct node *blob,
                                         const struct pc_feature *c, const char *dir,
                                         struct vocab *out)
{
    const struct node *f = blob ? node_find(blob, c->name) : NULL;
    const struct node *text = f ? node_find(f, "text") : NULL;
    if (text && text->kind == NODE_STR &&
        vocab_parse(out, text->text.p, text->text.n, NULL) == RC_OK)
        return WORDS_KNOWN;
    bool there = read_file(c, dir, out);
    if (!f)
        return WORDS_UNKNOWN;
    if (there && same_digest(out, node_find(f, "digest")))
        return WORDS_KNOWN;
    vocab_release(out);
    return WORDS_CHANGED;
}
