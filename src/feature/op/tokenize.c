/* SPDX-License-Identifier: Apache-2.0 */
/* tokenize_feature: the text of a row or step, normalised if asked for, as token ids.
 * With tokens_as_sequence each token is a step.
 */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/token/text_norm.h"
#include "feature/token/token.h"

struct tokenize {
    struct tokenizer *tokenizer;
    struct feature_text_norm norm;
    bool has_norm, as_sequence;
};

struct tokenize_scratch {
    struct token_scratch *tokens;
    struct buf text;
};

static void set_options(struct feature_text_norm *t, const struct pc_TextNormalizer *m)
{
    if (!m->n_norm_options)
        t->upper = t->half_width = t->simplified = t->filter = true;
    for (int64_t i = 0; i < m->n_norm_options; i++) {
        switch (m->norm_options[i]) {
        case pc_TextNormalizeOption_TEXT_LOWER2UPPER:
            t->upper = true;
            break;
        case pc_TextNormalizeOption_TEXT_UPPER2LOWER:
            t->lower = true;
            break;
        case pc_TextNormalizeOption_TEXT_SBC2DBC:
            t->half_width = true;
            break;
        case pc_TextNormalizeOption_TEXT_CHT2CHS:
            t->simplified = true;
            break;
        case pc_TextNormalizeOption_TEXT_FILTER:
            t->filter = true;
            break;
        case pc_TextNormalizeOption_TEXT_SPLITCHRS:
            t->split_chars = true;
            break;
        case pc_TextNormalizeOption_TEXT_REMOVE_SPACE:
            t->no_blanks = true;
            break;
        }
    }
}

static void load_norm(struct tokenize *op, struct fg *f, struct feature_plan *p,
                      const struct pc_TextNormalizer *m, struct diags *diags)
{
    struct err err = {0};
    op->has_norm = true;
    set_options(&op->norm, m);
    op->norm.max_chars = m->has_max_length ? m->max_length : 0;
    if (op->norm.upper && op->norm.lower)
        plan_report(
            diags, f, E1313, "text_normalizer",
            "feature '%s': TEXT_LOWER2UPPER and TEXT_UPPER2LOWER exclude each other",
            f->info.name);
    if (!m->has_stop_char_file || !*m->stop_char_file)
        return;
    char *path = plan_path(p, f->conf->asset_dir, m->stop_char_file);
    if (feature_text_norm_stops(&op->norm, path, &err))
        plan_report(diags, f, E1313, "text_normalizer",
                    "feature '%s': stop_char_file: %s", f->info.name, err.msg);
    mem_free(path);
}

static void load_tokenizer(struct tokenize *op, struct fg *f, struct feature_plan *p,
                           const struct pc_TokenizeFeature *m, struct diags *diags)
{
    struct err err = {0};
    enum tokenizer_kind kind = str_is(str_c(m->tokenizer_type), "sentencepiece")
                                   ? TOKENIZER_SENTENCEPIECE
                                   : TOKENIZER_BPE;
    char *path = plan_path(p, m->asset_dir, m->vocab_file);
    if (tokenizer_open(path, kind, &op->tokenizer, &err))
        plan_report(diags, f, E1313, "vocab_file", "feature '%s': %s", f->info.name,
                    err.msg);
    else
        f->info.rows = (uint64_t)tokenizer_rows(op->tokenizer);
    mem_free(path);
}

static enum rc tokenize_encode(const struct tokenize *op, struct tokenize_scratch *s,
                               struct str text, const int64_t **ids, size_t *n,
                               struct err *err)
{
    if (op->has_norm) {
        feature_text_norm_run(&op->norm, text, &s->text);
        enum rc rc = buf_check(&s->text, err);
        if (rc)
            return rc;
        text = str_of(buf_str(&s->text), s->text.n);
    }
    return tokenizer_encode(op->tokenizer, s->tokens, text, ids, n, err);
}

static void *tokenize_scratch(const void *op)
{
    struct tokenize_scratch *s = mem_calloc(1, sizeof(*s));
    s->tokens = token_scratch_create();
    buf_init(&s->text, (size_t)64 << 20);
    return s;
}

static void tokenize_scratch_destroy(void *scratch)
{
    struct tokenize_scratch *s = scratch;
    token_scratch_destroy(s->tokens);
    buf_release(&s->text);
    mem_free(s);
}

/* The default is a text like any other. */
static void set_default(struct fg *f, const struct tokenize *op, struct diags *diags)
{
    struct tokenize_scratch *s = tokenize_scratch(op);
    struct err err = {0};
    const int64_t *ids;
    size_t n = 0;
    if (tokenize_encode(op, s, f->def_text, &ids, &n, &err))
        plan_report(diags, f, E1315, "default_value", "feature '%s': default_value: %s",
                    f->info.name, err.msg);
    f->def_ids = mem_calloc(n + 1, sizeof(*f->def_ids));
    for (size_t i = 0; i < n; i++)
        f->def_ids[i] = ids[i];
    f->n_def = (int64_t)n;
    tokenize_scratch_destroy(s);
}

static void tokenize_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_TokenizeFeature *m = (const void *)f->conf->msg;
    struct tokenize *op = mem_calloc(1, sizeof(*op));
    bool none = p->mode == pc_FgMode_FG_NONE;
    f->op = op;
    op->as_sequence = m->tokens_as_sequence;
    if (op->as_sequence && !none)
        f->in[0].seq = false; /* the steps are made here */
    f->in[0].form = FORM_WHOLE;
    load_tokenizer(op, f, p, m, diags);
    if (m->text_normalizer && !none)
        load_norm(op, f, p, m->text_normalizer, diags);
    if (op->tokenizer && !none)
        set_default(f, op, diags);
}

/* The texts of the step, one after the other: a list of texts is several. */
static enum rc tokenize_step(struct fg_run *x, const struct fg_range *in)
{
    const struct tokenize *op = x->f->op;
    const struct fg_cells *c = &x->st->in[0];
    enum rc rc = RC_OK;
    int64_t given = 0;
    for (int64_t i = in->begin; !rc && i < in->end; i++) {
        struct cell_buf buf;
        const int64_t *ids = NULL;
        size_t n = 0;
        struct err err = {0};
        rc = tokenize_encode(op, x->st->op, cell_text(c, i, &buf), &ids, &n, &err);
        if (rc)
            return fg_fail(x, NULL, rc, E1313, "%s", err.msg);
        for (size_t k = 0; !rc && k < n; k++, given++) {
            if (op->as_sequence && given)
                rc = sink_end_step(x);
            if (!rc)
                rc = sink_i64(x, ids[k], 1.0f);
        }
    }
    for (int64_t k = 0; !rc && op->as_sequence && !given && k < x->f->n_def; k++) {
        if (k)
            rc = sink_end_step(x);
        if (!rc)
            rc = sink_i64(x, x->f->def_ids[k], 1.0f);
    }
    return rc;
}

static void tokenize_release(void *p)
{
    struct tokenize *op = p;
    tokenizer_close(op->tokenizer);
    feature_text_norm_release(&op->norm);
    mem_free(op);
}

/* The bit of each TextNormalizeOption in "parameter"; 0 for the one that has none. */
static const uint16_t norm_bits[pc_TextNormalizeOption_TEXT_REMOVE_SPACE + 1] = {
    [pc_TextNormalizeOption_TEXT_LOWER2UPPER] = 2,
    [pc_TextNormalizeOption_TEXT_UPPER2LOWER] = 4,
    [pc_TextNormalizeOption_TEXT_SBC2DBC] = 8,
    [pc_TextNormalizeOption_TEXT_CHT2CHS] = 16,
    [pc_TextNormalizeOption_TEXT_FILTER] = 32,
    [pc_TextNormalizeOption_TEXT_SPLITCHRS] = 512,
};

static const char *normal_name(const struct fg_json *w)
{
    return arena_printf(w->a, "%s__text_norm", w->f->feature_name);
}

static void json_write_tokenize(struct fg_json *w)
{
    const struct pc_TokenizeFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_text(w, "vocab_file", m->vocab_file);
    fg_json_text(w, "expression",
                 m->text_normalizer ? arena_printf(w->a, "feature:%s", normal_name(w))
                                    : m->expression);
    fg_json_text(w, "tokenizer_type", m->tokenizer_type);
    fg_json_text(w, "output_type", "word_id");
}

static void json_write_before(struct fg_json *w)
{
    const struct pc_TokenizeFeature *m = (const void *)w->f->msg;
    const struct pc_TextNormalizer *t = m->text_normalizer;
    uint64_t bits = 0;
    fg_json_text(w, "expression", m->expression);
    fg_json_flag(w, "is_gbk_input", false);
    fg_json_flag(w, "is_gbk_output", false);
    fg_json_flag(w, "stub_type", true);
    if (t->has_max_length)
        fg_json_count(w, "max_length", t->max_length);
    if (t->has_stop_char_file && *t->stop_char_file)
        fg_json_text(w, "stop_char_file", t->stop_char_file);
    for (int64_t i = 0; i < t->n_norm_options; i++) {
        bits |= norm_bits[t->norm_options[i]];
        if (t->norm_options[i] == pc_TextNormalizeOption_TEXT_REMOVE_SPACE)
            fg_json_flag(w, "remove_space", true);
    }
    if (t->n_norm_options)
        fg_json_count(w, "parameter", bits);
}

/* A text_normalizer stands before the tokenizer that reads it. */
static const char *json_before(const struct fg_json *w, const char **type)
{
    const struct pc_TokenizeFeature *m = (const void *)w->f->msg;
    *type = "text_normalizer";
    return m->text_normalizer ? normal_name(w) : NULL;
}

/* "parameter" as the options it stands for. */
static struct node *norm_options(struct fg_json_reader *r, const struct node *from)
{
    const struct node *bits = node_find(from, "parameter");
    const struct node *blanks = node_find(from, "remove_space");
    struct node *list = node_create(r->a, NODE_LIST, from->at);
    uint64_t v = 0;
    if (bits && node_u64(bits, &v))
        for (size_t i = 0; i < ARRAY_LEN(norm_bits); i++)
            if (v & norm_bits[i])
                node_push(r->a, list, node_int(r->a, (int64_t)i, bits->at));
    if (blanks && blanks->kind == NODE_BOOL && blanks->flag)
        node_push(r->a, list,
                  node_int(r->a, pc_TextNormalizeOption_TEXT_REMOVE_SPACE, blanks->at));
    return list;
}

/* A text_normalizer becomes a part of the tokenizer that reads it. */
static void json_read_tokenize(struct fg_json_reader *r, const struct node *self,
                               const struct node *list, struct node *to)
{
    const char *reads = fg_json_text_of(to, "expression");
    for (size_t i = 0; list && str_starts(reads, "feature:") && i < list->list.n; i++) {
        const struct node *from = list->list.at[i], *given;
        if (!fg_json_is_norm(from) ||
            strcmp(fg_json_text_of(from, "feature_name"), reads + 8) != 0)
            continue;
        struct node *norm = node_create(r->a, NODE_MAP, from->at);
        static const char *const same[] = {"max_length", "stop_char_file"};
        for (size_t k = 0; k < ARRAY_LEN(same); k++)
            if ((given = node_find(from, same[k])) != NULL)
                node_put(r->a, norm, same[k], node_clone(r->a, given));
        struct node *options = norm_options(r, from);
        if (options->list.n)
            node_put(r->a, norm, "norm_options", options);
        node_put(r->a, to, "text_normalizer", norm);
        const char *text = fg_json_text_of(from, "expression");
        node_put(r->a, to, "expression", node_str(r->a, text, strlen(text), from->at));
        node_remove(to, "sequence_fields");
        if ((given = node_find(from, "sequence_fields")) != NULL)
            node_put(r->a, to, "sequence_fields", node_clone(r->a, given));
    }
}

static const struct fg_json_key json_keys[] = {
    {"output_type", NULL},
    {0},
};

const struct fg_ops fg_tokenize = {.compile = tokenize_compile,
                                   .step = tokenize_step,
                                   .release = tokenize_release,
                                   .scratch = tokenize_scratch,
                                   .scratch_destroy = tokenize_scratch_destroy,
                                   .json = {.write = json_write_tokenize,
                                            .keys = json_keys,
                                            .before = json_before,
                                            .write_before = json_write_before,
                                            .read = json_read_tokenize}};
