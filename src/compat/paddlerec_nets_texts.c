/* SPDX-License-Identifier: Apache-2.0 */
/* Networks on texts and sessions: PaddleRec's TextCNN, TagSpace, SimNet, DSSM, SSR, GRU4Rec, and
 * its two towers of films. Where lines hold a query, what fits it and what does not, what
 * fits is candidate 0 and the label of each row, a column that no line has.
 */
#include <math.h>
#include <string.h>

#include "compat/paddlerec_private.h"

#define LENGTH_MAX 100000 /* of a text */
#define TAGS_MAX 64
#define FITS "label=value(0)"

static const char *xavier_table(struct paddlerec_put *x, int64_t rows, int64_t dim)
{
    double bound = sqrt(6.0 / (double)(rows + dim));
    return arena_printf(x->a, "nn.init.uniform_,a=%.9g,b=%.9g", -bound, bound);
}

/* A table that several features read. */
struct words {
    const char *table, *init;
    int64_t rows, dim;
};

/* A feature and a group of its own name: a sequence, or ids that are added up. */
static void put_words(struct paddlerec_put *x, const struct words *w, const char *name,
                      bool sequence)
{
    const char *more =
        sequence
            ? arena_printf(x->a, "sequence_length: %d sequence_delim: \";\" ", LENGTH_MAX)
            : "";
    buf_printf(x->out,
               "feature_configs { %s { feature_name: \"%s\" expression: \"user:%s\" "
               "%snum_buckets: %jd embedding_dim: %jd embedding_name: \"%s\" init_fn: "
               "\"%s\" } }\n",
               sequence ? "sequence_id_feature" : "id_feature", name, name, more,
               (intmax_t)w->rows, (intmax_t)w->dim, w->table, w->init);
}

static void group_of_one(struct paddlerec_put *x, const char *name, bool sequence)
{
    paddlerec_group(x, name, sequence ? "SEQUENCE" : "DEEP", "", 0, name);
}

/* --- one text, several classes --- */

struct text_net {
    int64_t rows, longest, dim, filters, windows[3], hidden, classes;
};

static void put_text(struct paddlerec_put *x, const struct text_net *t)
{
    struct words w = {.table = "words",
                      .rows = t->rows,
                      .dim = t->dim,
                      .init = xavier_table(x, t->rows, t->dim)};
    buf_printf(&x->columns, "label=id(items,%jd) words=text(items,%jd)",
               (intmax_t)t->longest + 1, (intmax_t)t->longest);
    put_words(x, &w, "words", true);
    buf_puts(x->out, "model_config {\n");
    group_of_one(x, "words", true);
    buf_printf(
        x->out,
        "  text_cnn { input: \"words\" windows: [%jd, %jd, %jd] filters: %jd mlp { "
        "hidden_units: [%jd] activation: \"nn.Tanh\" } }\n  num_class: %jd\n  losses { "
        "softmax_cross_entropy {} }\n" XAVIER "}\n",
        (intmax_t)t->windows[0], (intmax_t)t->windows[1], (intmax_t)t->windows[2],
        (intmax_t)t->filters, (intmax_t)t->hidden, (intmax_t)t->classes);
}

static void put_textcnn(struct paddlerec_put *x)
{
    struct text_net t = {.rows = paddlerec_int(x, "dict_dim", 1),
                         .longest = paddlerec_int(x, "max_len", 1),
                         .dim = paddlerec_int(x, "emb_dim", 1),
                         .filters = paddlerec_int(x, "cnn_dim", 1),
                         .windows = {paddlerec_int(x, "cnn_filter_size1", 1),
                                     paddlerec_int(x, "cnn_filter_size2", 1),
                                     paddlerec_int(x, "cnn_filter_size3", 1)},
                         .hidden = paddlerec_int(x, "hid_dim", 1),
                         .classes = paddlerec_int(x, "class_dim", 2)};
    put_text(x, &t);
}

/* Its sizes are in the code. */
static void put_textcnn_pretrain(struct paddlerec_put *x)
{
    put_text(x, &(struct text_net){.rows = 2000001,
                                   .longest = 100,
                                   .dim = 128,
                                   .filters = 128,
                                   .windows = {1, 2, 3},
                                   .hidden = 96,
                                   .classes = 2});
}

/* --- a query and candidates --- */

/* What towers do with their input, "encoder: \"gru\" units: 128". */
static const char *encoder(struct paddlerec_put *x, const char *key, int64_t units)
{
    static const char *const known[][2] = {
        {"bow", "sum"}, {"cnn", "cnn"}, {"gru", "gru"}};
    const char *text = paddlerec_text(x, key);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(text, known[i][0]) == 0)
            return arena_printf(x->a, "encoder: \"%s\" units: %jd", known[i][1],
                                (intmax_t)units);
    paddlerec_fault(x, &x->c->hyper_parameters->base, key,
                    "hyper_parameters.%s: '%s' is not one of bow, cnn, gru", key, text);
    return "";
}

static double margin_of(struct paddlerec_put *x)
{
    double margin = paddlerec_num(x, "margin", 0.1);
    if (margin < 0)
        paddlerec_fault(x, &x->c->hyper_parameters->base, "margin",
                        "hyper_parameters.margin: %g is below 0", margin);
    return margin;
}

/* n candidates, of which the label names the one that fits. */
static void put_candidates(struct paddlerec_put *x, const char *const *names, int64_t n,
                           const char *loss)
{
    for (int64_t i = 0; i < n; i++)
        buf_printf(x->out, " candidate_inputs: \"%s\"", names[i]);
    buf_printf(x->out, " }\n  num_class: %jd\n  losses { %s }\n", (intmax_t)n, loss);
}

/* The text picks its tag: by the hardest of all others, where PaddleRec draws neg_size. */
static void put_tagspace(struct paddlerec_put *x)
{
    int64_t tags = paddlerec_int(x, "vocab_tag_size", 2);
    int64_t dim = paddlerec_int(x, "emb_dim", 1);
    struct words text = {
        .table = "text_emb", .rows = paddlerec_int(x, "vocab_text_size", 1), .dim = dim};
    struct words tag = {.table = "tag_emb", .rows = tags, .dim = dim};
    const char *names[TAGS_MAX];
    if (tags > TAGS_MAX) {
        paddlerec_fault(x, &x->c->hyper_parameters->base, "vocab_tag_size",
                        "hyper_parameters.vocab_tag_size: the built-in %s has up to %d",
                        x->net->name, TAGS_MAX);
        return;
    }
    text.init = xavier_table(x, text.rows, dim);
    tag.init = xavier_table(x, tags, dim);
    buf_puts(&x->columns, "label=id(tag) text=ids(words)");
    put_words(x, &text, "text", true);
    for (int64_t i = 0; i < tags; i++) {
        names[i] = arena_printf(x->a, "tag%jd", (intmax_t)i);
        put_words(x, &tag, names[i], false);
        buf_printf(&x->columns, " tag%jd=value(%jd)", (intmax_t)i, (intmax_t)i);
    }
    buf_puts(x->out, "model_config {\n");
    group_of_one(x, "text", true);
    for (int64_t i = 0; i < tags; i++)
        group_of_one(x, names[i], false);
    buf_printf(x->out,
               "  match_towers { query_input: \"text\" query_tower { encoder: \"cnn\" "
               "units: %jd window: %jd output_dim: %jd } candidate_tower {}",
               (intmax_t)paddlerec_int(x, "hid_dim", 1),
               (intmax_t)paddlerec_int(x, "win_size", 1), (intmax_t)dim);
    put_candidates(x, names, tags,
                   arena_printf(x->a, "hinge_loss { margin: %.9g }", margin_of(x)));
    buf_puts(x->out, XAVIER "}\n");
}

static void put_simnet(struct paddlerec_put *x)
{
    static const char *const names[] = {"query", "title", "other"};
    int64_t rows = paddlerec_int(x, "sparse_feature_dim", 1);
    int64_t dim = paddlerec_int(x, "embedding_dim", 1);
    int64_t hidden = paddlerec_int(x, "hidden_size", 1);
    size_t n = x->sparse.n;
    struct words w = {
        .table = "emb", .rows = rows, .dim = dim, .init = xavier_table(x, rows, dim)};
    if (x->dense.n || n > 3 || n < (x->training ? 3 : 2)) {
        paddlerec_fault(x, &x->set->base, "sparse_slots",
                        "%s reads three sparse slots, query, title and another title "
                        "(to evaluate two will do), and no dense ones",
                        x->net->name);
        return;
    }
    buf_puts(&x->columns, FITS);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) { /* a pair: the title against itself */
        put_words(x, &w, names[i], true);
        buf_printf(&x->columns, " %s=ids(%s)", names[i],
                   x->sparse.at[i < n ? i : n - 1].name);
    }
    buf_puts(x->out, "model_config {\n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        group_of_one(x, names[i], true);
    buf_printf(
        x->out,
        "  match_towers { query_input: \"query\" query_tower { %s output_dim: %jd } "
        "candidate_tower { %s output_dim: %jd }",
        encoder(x, "query_encoder", paddlerec_int(x, "query_encode_dim", 1)),
        (intmax_t)hidden,
        encoder(x, "title_encoder", paddlerec_int(x, "title_encode_dim", 1)),
        (intmax_t)hidden);
    put_candidates(x, names + 1, 2,
                   arena_printf(x->a, "hinge_loss { margin: %.9g }", margin_of(x)));
    buf_puts(x->out, XAVIER "}\n");
}

/* A list of activations that are all the same. */
static const char *same_act(struct paddlerec_put *x, const char *key)
{
    static const char *const acts[][2] = {
        {"relu", "nn.ReLU"}, {"sigmoid", "nn.Sigmoid"}, {"tanh", "nn.Tanh"}};
    const struct node *n =
        x->c->hyper_parameters ? node_find(x->c->hyper_parameters->base.node, key) : NULL;
    bool list = n && n->kind == NODE_LIST && n->list.n;
    for (size_t i = 0; list && i < ARRAY_LEN(acts); i++) {
        size_t same = 0;
        while (same < n->list.n && n->list.at[same]->kind == NODE_STR &&
               str_is(n->list.at[same]->text, acts[i][0]))
            same++;
        if (same == n->list.n)
            return acts[i][1];
    }
    paddlerec_fault(x, &x->c->hyper_parameters->base, n ? key : NULL,
                    "hyper_parameters.%s: the built-in %s takes one of relu, sigmoid, "
                    "tanh for all layers",
                    key, x->net->name);
    return "nn.Tanh";
}

/* Bias and weight of a layer are drawn alike. */
static void dssm_biases(struct paddlerec_put *x, const char *sizes, int64_t width)
{
    struct str rest = str_c(sizes), part;
    for (int i = 0; str_split(&rest, ',', &part); i++) {
        int64_t out;
        if (!str_to_i64(str_trim(part), &out))
            return; /* it was said */
        double bound = sqrt(6.0 / (double)(width + out));
        paddlerec_initial(x, arena_printf(x->a, ".*mlp.%d.*bias", i),
                          arena_printf(x->a, "uniform_,a=%.9g,b=%.9g", -bound, bound));
        width = out;
    }
}

/* A tower for each document, as in PaddleRec's code. */
static void put_dssm(struct paddlerec_put *x)
{
    int64_t width = paddlerec_int(x, "trigram_d", 1);
    int64_t others = paddlerec_int(x, "neg_num", 1);
    const char *sizes = paddlerec_sizes(x, "fc_sizes"), *act = same_act(x, "fc_acts");
    const char *names[TAGS_MAX] = {"title"};
    int64_t n = 1 + others; /* lines of an evaluation hold none of the others */
    if (n > TAGS_MAX) {
        paddlerec_fault(x, &x->c->hyper_parameters->base, "neg_num",
                        "hyper_parameters.neg_num: the built-in %s has up to %d",
                        x->net->name, TAGS_MAX - 1);
        return;
    }
    buf_puts(&x->columns, FITS);
    paddlerec_numbers(x, "query", "query", width);
    paddlerec_numbers(x, "title", "title", width);
    for (int64_t i = 1; i < n; i++) {
        names[i] = arena_printf(x->a, "other%jd", (intmax_t)i - 1);
        buf_printf(x->out,
                   "feature_configs { raw_feature { feature_name: \"%s\" expression: "
                   "\"user:%s\" value_dim: %jd } }\n",
                   names[i], names[i], (intmax_t)width);
        buf_printf(&x->columns, " %s=floats(others,%jd,%jd)", names[i], (intmax_t)width,
                   (intmax_t)i - 1);
    }
    buf_puts(x->out, "model_config {\n");
    group_of_one(x, "query", false);
    for (int64_t i = 0; i < n; i++)
        group_of_one(x, names[i], false);
    const char *tower =
        arena_printf(x->a, "mlp { hidden_units: [%s] activation: \"%s\" }", sizes, act);
    buf_printf(x->out,
               "  match_towers { query_input: \"query\" query_tower { %s } "
               "candidate_tower { %s } share_candidate_tower: false",
               tower, tower);
    put_candidates(
        x, names, n,
        arena_printf(x->a, "softmax_cross_entropy { reduction: \"sum\" scale: %.9g }",
                     1.0 / (double)x->replicas));
    dssm_biases(x, sizes, width);
    buf_puts(x->out, XAVIER "}\n");
}

/* --- sessions --- */

/* The session without its last item picks that item, against one that it holds. */
static void put_ssr(struct paddlerec_put *x)
{
    static const char *const names[] = {"next", "other"};
    int64_t rows = paddlerec_int(x, "vocab_size", 1);
    int64_t dim = paddlerec_int(x, "emb_dim", 1);
    int64_t hidden = paddlerec_int(x, "hidden_size", 1);
    struct words w = {
        .table = "item", .rows = rows, .dim = dim, .init = xavier_table(x, rows, dim)};
    buf_puts(&x->columns,
             FITS " session=head(items) next=last(items) other=other(items)");
    put_words(x, &w, "session", true);
    put_words(x, &w, "next", false);
    put_words(x, &w, "other", false);
    buf_puts(x->out, "model_config {\n");
    group_of_one(x, "session", true);
    group_of_one(x, "next", false);
    group_of_one(x, "other", false);
    buf_printf(x->out,
               "  match_towers { query_input: \"session\" query_tower { encoder: "
               "\"gru\" units: 128 output_dim: %jd } candidate_tower { output_dim: %jd }",
               (intmax_t)hidden, (intmax_t)hidden);
    put_candidates(x, names, 2, "hinge_loss { margin: 0.8 }");
    buf_puts(x->out, XAVIER "}\n");
}

/* Behind each item of a session the next one. */
static void put_gru4rec(struct paddlerec_put *x)
{
    int64_t rows = paddlerec_int(x, "vocab_size", 2);
    int64_t width = paddlerec_int(x, "hid_size", 1);
    const char *uniform = arena_printf(x->a, "uniform_,a=%.9g,b=%.9g",
                                       paddlerec_num(x, "init_low_bound", -0.04),
                                       paddlerec_num(x, "init_high_bound", 0.04));
    struct words w = {.table = "emb",
                      .rows = rows,
                      .dim = width,
                      .init = arena_printf(x->a, "nn.init.%s", uniform)};
    buf_puts(&x->columns, "label=tail(items) session=head(items)");
    put_words(x, &w, "session", true);
    buf_puts(x->out, "model_config {\n");
    group_of_one(x, "session", true);
    buf_printf(x->out,
               "  gru4rec { input: \"session\" hidden_units: [%jd] every_step: true }\n"
               "  num_class: %jd\n  losses { softmax_cross_entropy {} }\n",
               (intmax_t)width, (intmax_t)rows);
    paddlerec_initial(x, ".*bias.*", "zeros_");
    paddlerec_initial(x, ".*", uniform);
    buf_puts(x->out, "}\n");
    x->table_rate = paddlerec_num(x, "emb_lr_x", 1);
    paddlerec_part(x, ".*gru.*weight.*", paddlerec_num(x, "gru_lr_x", 1), 0);
    paddlerec_part(x, ".*output.*weight", paddlerec_num(x, "fc_lr_x", 1), 0);
}

/* --- audiences --- */

/* Seeds and the user in one table. */
static void put_look_alike(struct paddlerec_put *x)
{
    int64_t rows = paddlerec_int(x, "user_count", 1);
    int64_t dim = paddlerec_int(x, "user_emb_size", 1);
    struct words w = {.table = "user_emb",
                      .rows = rows,
                      .dim = dim,
                      .init = xavier_table(x, rows, dim)};
    if (!paddlerec_label(x, 3, 0))
        return;
    buf_printf(&x->columns, " seeds=ids(%s) target=ids(%s)", x->sparse.at[1].name,
               x->sparse.at[2].name);
    put_words(x, &w, "seeds", true);
    put_words(x, &w, "target", false);
    buf_puts(x->out, "model_config {\n");
    group_of_one(x, "seeds", true);
    group_of_one(x, "target", false);
    buf_printf(x->out,
               "  look_alike { seeds_input: \"seeds\" user_input: \"target\" units: %jd "
               "}\n",
               (intmax_t)paddlerec_int(x, "transformed_size", 1));
    paddlerec_log_loss(x);
    buf_puts(x->out, XAVIER "}\n");
}

/* --- films --- */

#define FILM_SLOTS \
    10 /* logid time userid gender age occupation movieid title genres label */
#define FILM_USER 2 /* the first of the user, of the film, the label */
#define FILM_MOVIE 6
#define FILM_LABEL 9

static bool put_film_slots(struct paddlerec_put *x)
{
    int64_t rows = paddlerec_int(x, "sparse_feature_number", 1);
    struct words w = {.table = "emb",
                      .rows = rows,
                      .dim = paddlerec_int(x, "sparse_feature_dim", 1),
                      .init = "nn.init.uniform_,a=-1,b=1"};
    if (x->sparse.n != FILM_SLOTS || x->dense.n) {
        paddlerec_fault(
            x, &x->set->base, "sparse_slots",
            "%s reads %d sparse slots (two that it skips, four of the user, "
            "three of the film, the label) and no dense one; dataset '%s' has "
            "%zu and %zu",
            x->net->name, FILM_SLOTS, x->set->name, x->sparse.n, x->dense.n);
        return false;
    }
    buf_printf(&x->columns, "label=id(%s)", x->sparse.at[FILM_LABEL].name);
    for (int i = FILM_USER; i < FILM_LABEL; i++) {
        const char *name = arena_printf(x->a, "slot%d", i);
        put_words(x, &w, name, false);
        buf_printf(&x->columns, " %s=ids(%s)", name, x->sparse.at[i].name);
    }
    buf_puts(x->out, "model_config {\n");
    return true;
}

static void film_group(struct paddlerec_put *x, const char *name, int from, int to)
{
    buf_printf(x->out, "  feature_groups { group_name: \"%s\" group_type: DEEP", name);
    for (int i = from; i < to; i++)
        buf_printf(x->out, " feature_names: \"slot%d\"", i);
    buf_puts(x->out, " }\n");
}

static void film_initial(struct paddlerec_put *x)
{
    paddlerec_initial(x, ".*weight", "kaiming_normal_,nonlinearity=linear");
    paddlerec_initial(x, ".*bias", "zeros_");
    buf_puts(x->out, "}\n");
}

static void put_film_rank(struct paddlerec_put *x)
{
    if (!put_film_slots(x))
        return;
    film_group(x, "all", FILM_USER, FILM_LABEL);
    buf_printf(x->out,
               "  multi_tower { towers { input: \"all\" mlp { hidden_units: [%s] } } }\n"
               "  num_class: 1\n  losses { l2_loss { sigmoid_scale: 5 } }\n",
               paddlerec_sizes(x, "fc_sizes"));
    film_initial(x);
}

static void put_film_recall(struct paddlerec_put *x)
{
    if (!put_film_slots(x))
        return;
    const char *sizes = paddlerec_sizes(x, "fc_sizes");
    film_group(x, "user", FILM_USER, FILM_MOVIE);
    film_group(x, "film", FILM_MOVIE, FILM_LABEL);
    buf_printf(x->out,
               "  match_towers { query_input: \"user\" query_tower { mlp { hidden_units: "
               "[%s] } } candidate_tower { mlp { hidden_units: [%s] } } scale: 5 "
               "candidate_inputs: \"film\" }\n  num_class: 1\n  losses { l2_loss {} }\n",
               sizes, sizes);
    film_initial(x);
}

#define ACC .labels = "\"label\"", .accuracy = "acc"

const struct paddlerec_net paddlerec_net_contentunderstanding_tagspace = {
    .name = "contentunderstanding/tagspace",
    ACC,
    .format = "tagspace",
    .read = "vocab_text_size|vocab_tag_size|emb_dim|hid_dim|win_size|margin",
    .may = "neg_size|num_devices",
    .idle = "",
    .put = put_tagspace,
    .digest = "cd020ef2a225a14661866f375c92ae654ec6160881f9e686d667b35ca8649da1",
    .readers = {"ce18e592dff119797ea3233deef2851b4bb74e089c7607ece1c9c3268555fb59"}};

const struct paddlerec_net paddlerec_net_contentunderstanding_textcnn = {
    .name = "contentunderstanding/textcnn",
    ACC,
    .format = "items",
    .read = "dict_dim|max_len|cnn_dim|cnn_filter_size1|cnn_filter_size2|"
            "cnn_filter_size3|emb_dim|hid_dim|class_dim",
    .idle = "is_sparse",
    .put = put_textcnn,
    .digest = "cb354f071023e14e7de0f80cdfa3dc7a00cbf77119e86a8c6eb09863d7df6db0",
    .readers = {"728b4b97d291b9351930e2ae2d5a09595d10be755f22e70cc3259532e7958fad"}};

const struct paddlerec_net paddlerec_net_contentunderstanding_textcnn_pretrain = {
    .name = "contentunderstanding/textcnn_pretrain",
    ACC,
    .format = "items",
    .read = "",
    .idle = "",
    .put = put_textcnn_pretrain,
    .digest = "57d6f93fcd44bb2f36c6b90e0b77f87d9acd594070ae09d7cc68d3bcb0b53d0d",
    .readers = {"728b4b97d291b9351930e2ae2d5a09595d10be755f22e70cc3259532e7958fad"}};

const struct paddlerec_net paddlerec_net_demo_movie_rank = {
    .name = "demo/movie_recommand/rank",
    .labels = "\"label\"",
    .read = "sparse_feature_number|sparse_feature_dim|fc_sizes",
    .may = "dense_input_dim",
    .idle = "",
    .no_dense = true,
    .adam = true,
    .put = put_film_rank,
    .digest = "c20dbbc92d137ead3d9cff1df08290e6a75235dbcc3f571ca78582322ab42b64"};

const struct paddlerec_net paddlerec_net_demo_movie_recall = {
    .name = "demo/movie_recommand/recall",
    .labels = "\"label\"",
    .read = "sparse_feature_number|sparse_feature_dim|fc_sizes",
    .may = "dense_input_dim",
    .idle = "",
    .no_dense = true,
    .adam = true,
    .put = put_film_recall,
    .digest = "d65b2d451e3e5a81e69bf8421c24c42844b37e0949c2f2684be4319e30393cd1"};

const struct paddlerec_net paddlerec_net_match_dssm = {
    .name = "match/dssm",
    .labels = "\"label\"",
    .format = "texts",
    .read = "trigram_d|neg_num|fc_sizes|fc_acts",
    .may = "slice_end",
    .idle = "",
    .sum = true,
    .similarity = "query_doc_sim",
    .put = put_dssm,
    .digest = "cc0aa232890aa21940233f72a2d48276f55eb01ad26daaa35fa98e2c1d7bd229",
    .readers = {"1c8ba1f3f185f839fa8750ac5b02b8b8b745f7584d8466cb108e31941a7f83d2",
                "9bfdb2f79dad4af34038c9ff7f1f9f2b2cd8ab13ae0b43849dcaf497a8aea088"}};

const struct paddlerec_net paddlerec_net_match_multiview_simnet = {
    .name = "match/multiview-simnet",
    ACC,
    .read = "query_encoder|title_encoder|query_encode_dim|title_encode_dim|"
            "sparse_feature_dim|embedding_dim|hidden_size|margin",
    .idle = "",
    .no_dense = true,
    .similarity = "query_pt_sim",
    .put = put_simnet,
    .digest = "aea44f93ba63c27b4f6d632dcd345437c5f6bee5d55d6adec89feca87e192df6"};

const struct paddlerec_net paddlerec_net_recall_gru4rec = {
    .name = "recall/gru4rec",
    .labels = "\"label\"",
    .format = "items",
    .read = "vocab_size|hid_size|emb_lr_x|gru_lr_x|fc_lr_x|init_low_bound|"
            "init_high_bound|recall_k",
    .idle = "",
    .recall = "recall_k",
    .put = put_gru4rec,
    .digest = "400b9f6995abb96447b97d31fe4a0cccd4d9c79a898ba5898c46195c3bf853e8",
    .readers = {"ffc9d41cd14f2d744a15ecfb7c9405afd146c1973460ed72c157bfcf7baa0798"}};

const struct paddlerec_net paddlerec_net_recall_look_alike = {
    .name = "recall/look-alike_recall",
    .labels = "\"label\"",
    .read = "user_emb_size|user_count|transformed_size",
    .may = "seeds_num",
    .idle = "use_DataLoader",
    .no_dense = true,
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_look_alike,
    .digest = "7ad98aeb20f850ed0615673df4b1a84532c407beed9d6d57e30855e0a0d49250"};

const struct paddlerec_net paddlerec_net_recall_ssr = {
    .name = "recall/ssr",
    .labels = "\"label\"",
    .accuracy = "correct",
    .format = "items",
    .read = "vocab_size|emb_dim|hidden_size",
    .idle = "",
    .counts = true,
    .put = put_ssr,
    .digest = "ff6ca5484a4956875b58eb85586f31439128d9d1cbd50b0c1985417f602538eb",
    .readers = {"4bbc307baf8f52ae875092bccfbcb240783457b740e4e2d34b7265cd29c0185b",
                "22749cdcc0178d1253b0db1efab4a1637200d20d8023bc8d75949f0ad47e6e99"}};
