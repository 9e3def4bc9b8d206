/* SPDX-License-Identifier: Apache-2.0 */
/* Ads shown to shoppers, in the columns of the multi-tower DIN tutorial. Each user likes
 * a few categories; what was clicked before (click_50_seq, joined by '|') comes mostly
 * from these, and an ad whose category occurs among the clicks is clicked more often:
 * that part only a model of sequences finds.
 */
#include "data/gen/gen_private.h"

#define N_ITEMS 846812
#define N_CATES 12961
#define N_BRANDS 461498
#define SEQ_MAX 50
#define LIKED 3
#define USER 1
#define ITEM 10

static const char *const pids[] = {"430539_1007", "430548_1007"};

enum { CATE_AT = ITEM, SEQ_AT = 19, TAGS_AT = 17, TIME_AT = 16 };

#define OF(name_, n, of_, side_, effect_)                                            \
    {                                                                                \
        .name = (name_), .value = GEN_ID, .card = (n), .of = (of_), .side = (side_), \
        .effect = (effect_)                                                          \
    }

static const struct gen_field fields[] = {
    OF("user_id", 1141730, 0, GEN_NO_SIDE, 0.15f),
    OF("cms_segid", 97, USER, GEN_USER, 0.2f),
    OF("cms_group_id", 13, USER, GEN_USER, 0.2f),
    OF("final_gender_code", 3, USER, GEN_USER, 0.1f),
    OF("age_level", 7, USER, GEN_USER, 0.2f),
    OF("pvalue_level", 4, USER, GEN_NO_SIDE, 0.15f),
    OF("shopping_level", 4, USER, GEN_NO_SIDE, 0.15f),
    OF("occupation", 2, USER, GEN_NO_SIDE, 0.1f),
    OF("new_user_class_level", 5, USER, GEN_NO_SIDE, 0.15f),
    OF("adgroup_id", N_ITEMS, 0, GEN_NO_SIDE, 0.15f),
    OF("cate_id", N_CATES, 0, GEN_ITEM, 0.35f),
    OF("campaign_id", 423438, ITEM, GEN_NO_SIDE, 0.05f),
    OF("customer", 255877, ITEM, GEN_NO_SIDE, 0.05f),
    OF("brand", N_BRANDS, 0, GEN_ITEM, 0.1f),
    {.name = "price", .value = GEN_PRICE, .card = 1000000, .of = ITEM, .effect = 0.4f},
    {.name = "pid", .value = GEN_WORD, .card = 2, .effect = 0.2f, .words = pids},
    {.name = "time_stamp", .value = GEN_OWN, .type = TYPE_I64},
    {.name = "tag_category_list", .value = GEN_OWN, .type = TYPE_STR},
    {.name = "tag_brand_list", .value = GEN_OWN, .type = TYPE_STR},
    {.name = "click_50_seq__adgroup_id", .value = GEN_OWN, .type = TYPE_STR},
    {.name = "click_50_seq__cate_id", .value = GEN_OWN, .type = TYPE_STR},
    {.name = "click_50_seq__brand", .value = GEN_OWN, .type = TYPE_STR},
    {.name = "clk", .value = GEN_LABEL},
    {.name = "buy", .value = GEN_LABEL},
};

/* log2 of N + 1, written out because they are used per row. */
#define LG_ITEMS 19.69168389174118
#define LG_CATES 13.662000718718481
#define LG_BRANDS 18.815967996204712
#define LG_PER_CATE 6.044394119358453

static int64_t cate_of(int64_t item)
{
    return item % N_CATES;
}

static int64_t brand_of(uint64_t seed, int64_t item)
{
    uint32_t h = (uint32_t)gen_mix(seed ^ 0x6272616e64, (uint64_t)item);
    return gen_zipf(h, N_BRANDS, LG_BRANDS);
}

static int64_t liked_cate(uint64_t seed, int64_t user, size_t i)
{
    uint32_t h = (uint32_t)gen_mix(seed ^ (0x6c696b65 + i), (uint64_t)user);
    return gen_zipf(h, N_CATES, LG_CATES);
}

/* An item; in `of` 256 cases one of a category that the user likes. */
static int64_t pick_item(struct gen_row *row, uint32_t of)
{
    uint32_t word = rng_u32(&row->rng), what = (uint32_t)gen_mix(word, 1);
    if ((what & 0xff) >= of)
        return gen_zipf(word, N_ITEMS, LG_ITEMS);
    int64_t cate = liked_cate(row->seed, row->v[USER - 1], (what >> 8) % LIKED);
    int64_t item = cate + N_CATES * gen_zipf(word, N_ITEMS / N_CATES, LG_PER_CATE);
    return item < N_ITEMS ? item : cate;
}

static void adjust(struct gen_row *row)
{
    int64_t item = pick_item(row, 100);
    row->v[ITEM - 1] = item;
    row->v[CATE_AT] = cate_of(item);
    row->v[13] = brand_of(row->seed, item);
}

static size_t put_number(char *to, size_t n, int64_t v)
{
    char digits[20];
    size_t k = 0;
    do {
        digits[k++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    while (k)
        to[n++] = digits[--k];
    return n;
}

#define TEXT_MAX (SEQ_MAX * 8)

static enum rc add_sequence(struct gen_row *row, int *matches, struct err *err)
{
    char text[3][TEXT_MAX];
    size_t n[3] = {0};
    uint32_t word = rng_u32(&row->rng);
    size_t length = (size_t)((uint64_t)word * (SEQ_MAX + 1) >> 32);
    for (size_t i = 0; i < length; i++) {
        int64_t item = pick_item(row, 160), cate = cate_of(item);
        const int64_t v[3] = {item, cate, brand_of(row->seed, item)};
        *matches += cate == row->v[CATE_AT];
        for (size_t k = 0; k < 3; k++) {
            if (i)
                text[k][n[k]++] = '|';
            n[k] = put_number(text[k], n[k], v[k]);
        }
    }
    enum rc rc = RC_OK;
    for (size_t k = 0; !rc && k < 3; k++)
        rc = column_add_str(&row->b->cols[SEQ_AT + k], str_of(text[k], n[k]), err);
    return rc;
}

static enum rc add_tags(struct gen_row *row, struct err *err)
{
    char cates[64], brands[64];
    size_t nc = 0, nb = 0;
    for (size_t i = 0; i < LIKED; i++) {
        int64_t cate = liked_cate(row->seed, row->v[USER - 1], i);
        if (i)
            cates[nc++] = brands[nb++] = '|';
        nc = put_number(cates, nc, cate);
        nb = put_number(brands, nb, brand_of(row->seed, cate));
    }
    enum rc rc = column_add_str(&row->b->cols[TAGS_AT], str_of(cates, nc), err);
    return rc ? rc : column_add_str(&row->b->cols[TAGS_AT + 1], str_of(brands, nb), err);
}

static enum rc taobao_score(struct gen_row *row, double *z, struct err *err)
{
    int matches = 0;
    enum rc rc = add_sequence(row, &matches, err);
    if (!rc)
        rc = add_tags(row, err);
    if (!rc)
        rc = column_add_i64(&row->b->cols[TIME_AT], 1494000000 + row->number / 40, err);
    z[0] += matches > 2 ? 1.4 : matches * 0.5;
    z[1] += matches > 2 ? 0.8 : matches * 0.3;
    return rc;
}

const struct gen_kind gen_taobao = {
    .name = "taobao",
    .summary = "ads for shoppers: user, item, click_50_seq__* joined by '|', clk and buy",
    .fields = fields,
    .n_fields = ARRAY_LEN(fields),
    .bias = {-2.4, -2.2},
    .taste = 0.12,
    .adjust = adjust,
    .score = taobao_score,
};
