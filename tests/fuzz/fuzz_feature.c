/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses a mode, the rest are rows of texts, one per line, for features
 * of every kind. Whatever they hold: ids, numbers or a message; ids below the rows of
 * their table; and the same result from encoded columns.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "feature/feature.h"
#include "text/prototext.h"

#define F(x) "feature_configs { " x " }\n"
#define ID "embedding_dim: 4 separator: '|' "

static const char config[] = F(
    "id_feature { feature_name: 'a' expression: 'user:x' hash_bucket_size: 100 " ID
    "}") F("id_feature { feature_name: 'b' expression: 'user:x' vocab_list: ['1', 'b'] weighted: true " ID
           "}") F("combo_feature { feature_name: 'c' expression: ['user:x', 'user:y'] hash_bucket_size: 9 "
                  "value_dim: 50 " ID "}")
    F("sequence_id_feature { feature_name: 'd' expression: 'user:x' hash_bucket_size: 9 "
      "sequence_length: 20 value_dim: 0 " ID
      "}") F("sequence_id_feature { feature_name: 'd1' expression: 'user:x' hash_bucket_size: 9 "
             "sequence_length: 20 " ID "}")
        F("match_feature { feature_name: 'e' nested_map: 'user:x' pkey: 'user:y' skey: 'ALL' "
          "hash_bucket_size: 9 " ID
          "}") F("overlap_feature { feature_name: 'f' query: 'user:x' title: 'user:y' method: "
                 "'proximity_avg_dist' separator: '|' }")
            F("overlap_feature { feature_name: 'f1' query: 'user:x' title: 'user:y' method: 'index_of' "
              "separator: '|' boundaries: [0, 1] }")
                F("custom_feature { feature_name: 'g' operator_name: 'EditDistance' operator_lib_file: "
                  "'pyfg/x' expression: ['user:x', 'user:y'] boundaries: [1, 5] }")
                    F("combine_feature { feature_name: 'h' expression: 'user:x' separator: '|' value_map { key: "
                      "'1' value: 2.5 } num_buckets: 5 }")
                        F("lookup_feature { feature_name: 'i' map: 'user:x' key: 'user:y' hash_bucket_size: 9 "
                          "need_key: true " ID "}");
static const char numbers[] = F(
    "raw_feature { feature_name: 'a' expression: 'user:x' boundaries: [1, 2] value_dim: 0 "
    "separator: '|' }")
    F("kv_dot_product { feature_name: 'b' query: 'user:x' document: 'user:y' separator: '|' }")
        F("bool_mask_feature { feature_name: 'c' expression: ['user:x', 'user:y'] num_buckets: 7 " ID
          "}")
            F("sequence_expr_feature { feature_name: 'd' variables: ['item:x', 'user:y'] expression: "
              "'reduce_sum(x) + len(y)' sequence_length: 9 separator: '|' }");

struct plan {
    struct doc doc;
    struct arena arena;
    struct diags diags;
    struct feature_plan *p;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void make(struct plan *m, unsigned mode)
{
    static const char *const modes[] = {"FG_NORMAL", "FG_DAG", "FG_BUCKETIZE", "FG_NONE"};
    struct buf text;
    *m = (struct plan){0};
    buf_init(&text, 1 << 20);
    buf_printf(&text, "data_config { fg_mode: %s }\n%s", modes[mode & 3],
               mode & 4 ? numbers : config);
    must(source_from("t", buf_str(&text), text.n, &m->doc.src, NULL) == RC_OK);
    must(prototext_parse(&m->doc, &m->diags) == RC_OK);
    must(schema_normalise(&pc_EasyRecConfig_def, m->doc.root, SCHEMA_PROTO, &m->arena,
                          &m->diags) == RC_OK);
    must(feature_plan_create(schema_bind(&pc_EasyRecConfig_def, m->doc.root, &m->arena),
                             NULL, &m->p, &m->diags, NULL) == RC_OK);
    buf_release(&text);
}

static void unmake(struct plan *m)
{
    feature_plan_destroy(m->p);
    diags_release(&m->diags);
    doc_release(&m->doc);
    arena_release(&m->arena);
}

/* Every line is a row; a tab separates x from y. Other columns repeat x. */
static void fill(struct batch *b, const char *data, size_t n)
{
    struct str rest = str_of(data, n), line, x;
    for (int rows = 0; rows < 50 && str_split(&rest, '\n', &line); rows++) {
        struct str y = line;
        str_split(&y, '\t', &x);
        for (size_t i = 0; i < b->n_cols; i++) {
            struct str s = strcmp(b->schema->at[i].name, "y") == 0 ? y : x;
            must((s.p ? column_add_str(&b->cols[i], s, NULL)
                      : column_add_null(&b->cols[i], NULL)) == RC_OK);
        }
    }
    must(batch_finish(b, NULL) == RC_OK);
}

static void encode(struct column *c)
{
    struct dict *d = dict_create(c->type);
    uint32_t codes[50];
    must(c->n <= 50);
    for (int64_t i = 0; i < c->n; i++) {
        codes[i] = 0;
        if (column_is_null(c, i))
            continue;
        codes[i] = (uint32_t)d->values.n;
        must(column_add_str(&d->values, column_str(c, i), NULL) == RC_OK);
    }
    must(column_mem_reserve(&c->own_values, sizeof(codes), 0, NULL) == RC_OK);
    memcpy(c->own_values.p, codes, sizeof(codes));
    c->values = c->own_values.p;
    c->offsets = NULL;
    c->text = NULL;
    c->dict = d;
}

static void check(const struct feature_plan *p, const struct feature_batch *o,
                  bool ranges)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct feature_info *f = feature_plan_info(p, i);
        const struct feature_out *a = &o->at[i];
        must(!f->sparse || a->offsets[a->rows] == a->n_ids);
        must(!f->sequence || a->seq_offsets[a->rows] == a->steps);
        for (int64_t k = 0; ranges && k < a->n_ids; k++)
            must(a->ids[k] >= 0 && (uint64_t)a->ids[k] < f->rows);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct plan m;
    struct data_schema schema = {0};
    struct type text = type_of(TYPE_STR, true);
    struct batch b;
    struct err err = {0}, err2 = {0};
    struct buf one, two;
    if (n < 1)
        return 0;
    unsigned mode = data[0] & 7;
    make(&m, mode);
    size_t n_columns;
    const struct feature_column *c = feature_plan_columns(m.p, &n_columns);
    for (size_t i = 0; i < n_columns; i++)
        data_schema_add(&schema, str_c(c[i].name), &text);
    batch_init(&b, &schema);
    fill(&b, (const char *)data + 1, n - 1);
    struct feature_scratch *s = feature_scratch_create(m.p);
    struct feature_batch *o = feature_batch_create(m.p);
    buf_init(&one, 1 << 26);
    buf_init(&two, 1 << 26);
    enum rc rc = feature_run(m.p, s, &b, NULL, o, &err);
    for (int64_t r = 0; !rc && r < b.n; r++)
        feature_print_row(m.p, o, r, &one);
    if (!rc)
        check(m.p, o, (mode & 3) != 3);
    must(!rc || err.msg[0]);
    for (size_t i = 0; i < b.n_cols; i++)
        encode(&b.cols[i]);
    must(feature_run(m.p, s, &b, NULL, o, &err2) == rc);
    for (int64_t r = 0; !rc && r < b.n; r++)
        feature_print_row(m.p, o, r, &two);
    must(strcmp(err.msg, err2.msg) == 0);
    must(one.n == two.n && (!one.n || memcmp(one.p, two.p, one.n) == 0));
    buf_release(&one);
    buf_release(&two);
    feature_batch_destroy(o);
    feature_scratch_destroy(s);
    batch_release(&b);
    data_schema_release(&schema);
    unmake(&m);
    return 0;
}
