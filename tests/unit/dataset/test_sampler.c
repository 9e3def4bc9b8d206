/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler/sampler.h"

#include "data/sampler/alias.h"
#include "rows_of.h"

static const char *const attr_fields[] = {"item", "price", "tags"};

/* Tables in a directory, training data as a batch, and a sampler on them. */
struct setting {
    char *dir;
    char *items, *edges, *tree;
    struct data_schema schema; /* user, item, price, tags, label */
    struct batch batch;
    struct sampler_conf conf;
};

static char *put(const char *dir, const char *name, const char *text)
{
    struct err err = {0};
    char *path = fs_join(dir, name);
    OK(fs_write(path, text, strlen(text), 0644, &err));
    return path;
}

static void add_row(struct batch *b, int64_t user, int64_t item)
{
    struct err err = {0};
    OK(column_add_i64(&b->cols[0], user, &err));
    OK(column_add_i64(&b->cols[1], item, &err));
    OK(column_add_f32(&b->cols[2], (float)item / 2, &err));
    OK(column_add_str(&b->cols[3].kids[0], str_c("own"), &err));
    OK(column_add_nested(&b->cols[3], &err));
    OK(column_add_i64(&b->cols[4], 1, &err));
}

static void set_up(struct setting *s, const char *items, const char *edges)
{
    struct err err = {0};
    *s = (struct setting){.dir = rows_dir()};
    struct type i64 = type_of(TYPE_I64, true), f32 = type_of(TYPE_F32, true);
    struct type list = type_list(&s->schema.mem, type_of(TYPE_STR, true), true);
    data_schema_add(&s->schema, str_c("user"), &i64);
    data_schema_add(&s->schema, str_c("item"), &i64);
    data_schema_add(&s->schema, str_c("price"), &f32);
    data_schema_add(&s->schema, str_c("tags"), &list);
    data_schema_add(&s->schema, str_c("label"), &i64);
    batch_init(&s->batch, &s->schema);
    for (int64_t i = 0; i < 4; i++)
        add_row(&s->batch, i, i);
    OK(batch_finish(&s->batch, &err));
    s->items = put(s->dir, "items.txt", items);
    s->edges = put(s->dir, "edges.txt", edges ? edges : "");
    s->conf = (struct sampler_conf){.kind = SAMPLER_NEGATIVE,
                                    .items = s->items,
                                    .positive_edges = s->edges,
                                    .hard_edges = s->edges,
                                    .tree_edges = s->edges,
                                    .attr_delim = ":",
                                    .attr_fields = attr_fields,
                                    .n_attr_fields = 3,
                                    .item_id_field = "item",
                                    .user_id_field = "user",
                                    .num_sample = 6,
                                    .num_hard_sample = 2,
                                    .remain_ratio = 1,
                                    .seed = 7};
}

static void tear_down(struct setting *s)
{
    batch_release(&s->batch);
    data_schema_release(&s->schema);
    mem_free(s->items);
    mem_free(s->edges);
    rows_drop(s->dir);
}

/* Items 0 to 9; item i costs i / 4 and is drawn with weight i. */
static const char ten_items[] = "id:int64\tweight:float\tattrs:string\n"
                                "0\t0\t0:0:a\n"
                                "1\t1\t1:0.25:a\x1d"
                                "b\n"
                                "2\t2\t2:0.5:\n"
                                "3\t3\t3:0.75:a\n"
                                "4\t4\t4:1:a\n"
                                "5\t5\t5:1.25:a\n"
                                "6\t6\t6:1.5:a\x1d"
                                "b\x1d"
                                "c\n"
                                "7\t7\t7::a\n"
                                "8\t8\t8:2:a\n"
                                "9\t9\t9:2.25:a\n";

static struct sampler *opened(struct setting *s)
{
    struct sampler *out = NULL;
    struct err err = {0};
    if (!OK(sampler_open(&s->conf, &s->schema, &out, &err)))
        exit(1);
    return out;
}

static void alias_draws_by_weight(void)
{
    double weights[] = {0, 1, 0, 5, 2, 0, 12};
    int64_t count[7] = {0}, n = 200000;
    struct alias a;
    struct err err = {0};
    struct rng r;
    OK(alias_init(&a, weights, 7, &err));
    rng_init(&r, 3, 1, 0, 0);
    for (int64_t i = 0; i < n; i++)
        count[alias_draw(&a, &r)]++;
    for (int i = 0; i < 7; i++) /* five deviations of a binomial, at most */
        CHECK_NEAR((double)count[i] / (double)n, weights[i] / 20, 0.006);
    CHECK_INT(count[0] + count[2] + count[5], 0);
    alias_release(&a);
}

static void negatives_follow_the_batch(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    set_up(&s, ten_items, NULL);
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    CHECK_INT(sampler_items(sampler), 10);
    CHECK_STR(sampler_notes(sampler), "");
    for (uint64_t step = 0; step < 50; step++) {
        OK(sampler_run(sampler, x, &s.batch, step, &out, &err));
        CHECK(out.rows == &s.batch);
        CHECK(!out.hard_at);
        CHECK_INT(out.n_common, 6);
        CHECK_INT(out.items->n, 10);
        CHECK_INT(out.items->n_cols, 3);
        for (int64_t i = 0; i < 10; i++) {
            int64_t item = column_i64(&out.items->cols[0], i);
            const struct column *price = &out.items->cols[1];
            CHECK(i < 4 ? item == i : item > 3 && item < 10);
            CHECK(i < 4 || (item == 7) == column_is_null(price, i));
            CHECK_NEAR(column_f32(price, i),
                       i < 4       ? (double)item / 2
                       : item == 7 ? 0
                                   : (double)item / 4,
                       1e-6);
            const int32_t *tags = out.items->cols[2].offsets;
            CHECK_INT(tags[i + 1] - tags[i], i >= 4 && item == 6 ? 3 : 1);
        }
    }
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

/* The draws of a step do not depend on what was drawn before, nor on who draws. */
static void a_step_draws_the_same_always(void)
{
    struct setting s;
    struct sampled a, b;
    struct err err = {0};
    set_up(&s, ten_items, NULL);
    struct sampler *one = opened(&s), *two = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(one),
                           *y = sampler_scratch_create(two);
    int same = 0;
    for (uint64_t step = 0; step < 40; step++) {
        OK(sampler_run(one, x, &s.batch, step, &a, &err));
        OK(sampler_run(two, y, &s.batch, 39 - step, &b, &err));
        same += batch_equal(a.items, b.items);
        OK(sampler_run(two, y, &s.batch, step, &b, &err));
        CHECK(batch_equal(a.items, b.items));
    }
    CHECK(same < 10);
    sampler_scratch_destroy(x);
    sampler_scratch_destroy(y);
    sampler_close(one);
    sampler_close(two);
    tear_down(&s);
}

static void a_small_table_still_gives_negatives(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    set_up(&s, "id:int64\tweight:float\tattrs:string\n1\t1\t1:2:a\n2\t1\t2:2:a\n", NULL);
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    OK(sampler_run(sampler, x, &s.batch, 0, &out, &err));
    CHECK_INT(out.items->n, 10);
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static void edges_are_checked_against_the_user_table(void)
{
    struct setting s;
    struct sampler *sampler;
    struct err err = {0};
    set_up(
        &s, ten_items,
        "userid:int64\titemid:int64\tweight:float\n0\t1\t1\n5\t2\t1\n6\t3\t1\n6\t4\t1\n");
    char *users = put(s.dir, "users.txt", "id:int64\tweight:float\n0\t1\n0\t2\n9\t0\n");
    s.conf.kind = SAMPLER_NEGATIVE_V2;
    s.conf.users = users;
    sampler = opened(&s);
    CHECK_HAS(sampler_notes(sampler), "users.txt': it lacks 2 of 3 users of the positive "
                                      "edges; they are drawn for as the others");
    sampler_close(sampler);
    s.conf.kind = SAMPLER_HARD_NEGATIVE;
    sampler = opened(&s);
    CHECK_HAS(sampler_notes(sampler), "it lacks 2 of 3 users of the hard edges");
    sampler_close(sampler);
    mem_free(users);
    s.conf.users = users =
        put(s.dir, "users.txt", "id:int64\tweight:float\n0\t1\n5\t1\n6\t1\n");
    sampler = opened(&s);
    CHECK_STR(sampler_notes(sampler), "");
    sampler_close(sampler);
    mem_free(users);
    s.conf.users = users = put(s.dir, "users.txt", "id:string\tweight:float\n0\t1\n");
    CHECK(sampler_open(&s.conf, &s.schema, &sampler, &err) == RC_FORMAT);
    CHECK_INT(err.code, E1901);
    CHECK_HAS(err.msg, "its ids are not of the type of the edges' users");
    s.conf.users = "no/such/file";
    CHECK(sampler_open(&s.conf, &s.schema, &sampler, &err) == RC_NOTFOUND);
    mem_free(users);
    tear_down(&s);
}

static void v2_leaves_out_positive_edges(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    /* user 0 knows all but 9; user 1 all but 8; user 2 all but 1, 2; user 3 none */
    set_up(&s, ten_items,
           "userid:int64\titemid:int64\tweight:float\n"
           "0\t1\t1\n0\t2\t1\n0\t3\t1\n0\t4\t1\n0\t5\t1\n0\t6\t1\n0\t7\t1\n0\t8\t1\n"
           "1\t9\t1\n1\t1\t1\n1\t2\t1\n1\t3\t1\n1\t4\t1\n1\t5\t1\n1\t6\t1\n1\t7\t1\n"
           "2\t3\t1\n2\t4\t1\n2\t5\t1\n2\t6\t1\n2\t7\t1\n2\t8\t1\n2\t9\t1\n"
           "1\t77\t1\n");
    s.conf.kind = SAMPLER_NEGATIVE_V2;
    s.conf.num_sample = 7; /* two per row, the last row's second is left out */
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    CHECK_HAS(sampler_notes(sampler),
              "1 edges name items that the item table does not have, the first in row "
              "24: left out");
    for (uint64_t step = 0; step < 20; step++) {
        OK(sampler_run(sampler, x, &s.batch, step, &out, &err));
        CHECK_INT(out.items->n, 11);
        const struct column *items = &out.items->cols[0];
        CHECK_INT(column_i64(items, 4), 9);
        CHECK_INT(column_i64(items, 5), 9);
        CHECK_INT(column_i64(items, 6), 8);
        CHECK_INT(column_i64(items, 7), 8);
        CHECK_INT(column_i64(items, 8), 1); /* 2 is the row's own item */
        CHECK_INT(column_i64(items, 9), 1);
        CHECK(column_i64(items, 10) != 3);
    }
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static void hard_negatives_come_row_by_row(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    set_up(&s, ten_items,
           "userid:int64\titemid:int64\tweight:float\n"
           "3\t9\t1\n1\t6\t1\n3\t8\t1\n3\t5\t1\n");
    for (int v2 = 0; v2 < 2; v2++) {
        s.conf.kind = v2 ? SAMPLER_HARD_NEGATIVE_V2 : SAMPLER_HARD_NEGATIVE;
        struct sampler *sampler = opened(&s);
        struct sampler_scratch *x = sampler_scratch_create(sampler);
        OK(sampler_run(sampler, x, &s.batch, 5, &out, &err));
        static const int64_t at[] = {0, 0, 1, 1, 3};
        for (int i = 0; i < 5; i++)
            CHECK_INT(out.hard_at[i], at[i]);
        CHECK_INT(out.items->n, 4 + 6 + 3);
        CHECK_INT(column_i64(&out.items->cols[0], 10), 6);
        CHECK_INT(column_i64(&out.items->cols[0], 11), 9);
        CHECK_INT(column_i64(&out.items->cols[0], 12), 8);
        sampler_scratch_destroy(x);
        sampler_close(sampler);
    }
    tear_down(&s);
}

/* Rows of lists: user k has the items 10 k + 1, ... of ten, as a list and as text. */
struct lists {
    struct setting s;
    struct data_schema
        schema; /* user, c__item, c__price as list<int64>, list<float>; text */
    struct batch batch;
};

static void add_list_row(struct lists *l, int64_t user, const int64_t *items, int n,
                         int prices)
{
    struct err err = {0};
    char text[64] = "";
    struct batch *b = &l->batch;
    OK(column_add_i64(&b->cols[0], user, &err));
    for (int i = 0; i < n; i++) {
        OK(column_add_i64(&b->cols[1].kids[0], items[i], &err));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%jd", i ? "|" : "",
                 (intmax_t)items[i]);
    }
    OK(column_add_nested(&b->cols[1], &err));
    for (int i = 0; i < prices; i++)
        OK(column_add_f32(&b->cols[2].kids[0], (float)items[i] / 2, &err));
    OK(column_add_nested(&b->cols[2], &err));
    OK(column_add_str(&b->cols[3], str_c(text), &err));
}

static void set_up_lists(struct lists *l, const char *edges)
{
    static const char *const fields[] = {"item", "price", "tags"};
    set_up(&l->s, ten_items, edges);
    l->schema = (struct data_schema){0};
    struct type i64 = type_of(TYPE_I64, true), f32 = type_of(TYPE_F32, true);
    struct type text = type_of(TYPE_STR, true);
    struct type items = type_list(&l->schema.mem, i64, true),
                prices = type_list(&l->schema.mem, f32, true);
    data_schema_add(&l->schema, str_c("user"), &i64);
    data_schema_add(&l->schema, str_c("c__item"), &items);
    data_schema_add(&l->schema, str_c("c__price"), &prices);
    data_schema_add(&l->schema, str_c("t__item"), &text);
    batch_init(&l->batch, &l->schema);
    l->s.conf.attr_fields = fields;
    l->s.conf.item_id_field = "c__item";
    l->s.conf.list_prefix = "c__";
    l->s.conf.list_delim = "|";
}

static void tear_down_lists(struct lists *l)
{
    batch_release(&l->batch);
    data_schema_release(&l->schema);
    tear_down(&l->s);
}

static void lists_of_items_are_taken_apart(void)
{
    static const int64_t a[] = {1, 2}, b[] = {3, 4, 5}, at[] = {0, 2, 2, 5};
    struct lists l;
    struct err err = {0};
    set_up_lists(&l,
                 "userid:int64\titemid:int64\tweight:float\n0\t9\t1\n2\t8\t1\n2\t7\t1\n");
    add_list_row(&l, 0, a, 2, 2);
    add_list_row(&l, 1, a, 0, 0);
    add_list_row(&l, 2, b, 3, 3);
    OK(batch_finish(&l.batch, &err));
    for (int text = 0; text < 2; text++) {
        struct sampler *sampler = NULL;
        struct sampled out;
        l.s.conf.kind = SAMPLER_HARD_NEGATIVE;
        l.s.conf.list_prefix = text ? "t__" : "c__";
        l.s.conf.item_id_field = text ? "t__item" : "c__item";
        OK(sampler_open(&l.s.conf, &l.schema, &sampler, &err));
        struct sampler_scratch *x = sampler_scratch_create(sampler);
        for (uint64_t step = 0; step < 20; step++) {
            OK(sampler_run(sampler, x, &l.batch, step, &out, &err));
            CHECK_INT(out.n_own, 5);
            for (int i = 0; i < 4; i++)
                CHECK_INT(out.own_at[i], at[i]);
            CHECK_INT(out.hard_at[3], 3);
            CHECK_INT(out.items->n, 5 + 6 + 3);
            const struct column *items = &out.items->cols[0];
            for (int64_t i = 0; i < out.items->n; i++) {
                int64_t item =
                    text ? column_str(items, i).p[0] - '0' : column_i64(items, i);
                CHECK(i < 5 ? item == i + 1 : item > 5);
                CHECK(i < 11 || item == (i == 11 ? 9 : i == 12 ? 8 : 7));
            }
            if (!text)
                CHECK_NEAR(column_f32(&out.items->cols[1], 4), 2.5, 1e-6);
        }
        sampler_scratch_destroy(x);
        sampler_close(sampler);
    }
    tear_down_lists(&l);
}

static void lists_of_items_are_as_long_as_each_other(void)
{
    static const int64_t a[] = {1, 2};
    struct lists l;
    struct err err = {0};
    struct sampled out;
    struct sampler *sampler = NULL;
    set_up_lists(&l, NULL);
    add_list_row(&l, 0, a, 2, 2);
    add_list_row(&l, 1, a, 2, 1);
    OK(batch_finish(&l.batch, &err));
    OK(sampler_open(&l.s.conf, &l.schema, &sampler, &err));
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    CHECK(sampler_run(sampler, x, &l.batch, 0, &out, &err) == RC_INVAL);
    CHECK_INT(err.code, E1904);
    CHECK_HAS(err.msg,
              "column 'c__price', row 1 of the batch: 1 values for the 2 items of "
              "'c__item'");
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down_lists(&l);
}

/* A tree of four levels: 100; 101, 102; 103 to 106; items 0 to 7 below them. */
static const char nodes[] =
    "id:int64\tweight:float\tattrs:string\n"
    "100\t1\t0:100:0:x\n"
    "101\t1\t1:101:0:x\n102\t1\t1:102:0:x\n"
    "103\t1\t2:103:0:x\n104\t1\t2:104:0:x\n105\t1\t2:105:0:x\n"
    "106\t1\t2:106:0:x\n"
    "0\t1\t3:0:0:x\n1\t1\t3:1:0:x\n2\t1\t3:2:0:x\n3\t1\t3:3:0:x\n"
    "4\t1\t3:4:0:x\n5\t1\t3:5:0:x\n6\t1\t3:6:0:x\n7\t1\t3:7:0:x\n";
static const char ups[] = "src_id:int64\tdst_id:int64\tweight:float\n"
                          "0\t101\t1\n0\t103\t1\n1\t103\t1\n1\t101\t1\n"
                          "2\t104\t1\n2\t101\t1\n3\t104\t1\n3\t101\t1\n";
static const uint32_t per_level[] = {0, 1, 2, 3};

static void tree_setting(struct setting *s)
{
    static const char *const fields[] = {"price", "tags"}, *const labels[] = {"label"};
    set_up(s, nodes, ups);
    s->conf.kind = SAMPLER_TDM;
    s->conf.attr_fields = fields;
    s->conf.n_attr_fields = 2;
    s->conf.layer_num_sample = per_level;
    s->conf.n_layers = 4;
    s->conf.labels = labels;
    s->conf.n_labels = 1;
}

static void check_tree_row(const struct batch *b, int64_t row, int64_t user, int64_t lo,
                           int64_t hi, int64_t not_this, int64_t label)
{
    int64_t item = column_i64(&b->cols[1], row);
    CHECK_INT(column_i64(&b->cols[0], row), user);
    CHECK(item >= lo && item <= hi && item != not_this);
    CHECK_INT(column_i64(&b->cols[4], row), label);
}

static void a_tree_makes_the_batch_longer(void)
{
    static const int64_t up1[] = {101, 101, 101, 101}, up2[] = {103, 103, 104, 104};
    struct setting s;
    struct sampled out;
    struct err err = {0};
    tree_setting(&s);
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    for (uint64_t step = 0; step < 20; step++) {
        OK(sampler_run(sampler, x, &s.batch, step, &out, &err));
        CHECK(!out.items);
        CHECK_INT(out.unknown, 0);
        CHECK_INT(out.rows->n, 4 + 4 * 2 + 4 * 6);
        for (int64_t i = 0; i < 4; i++) {
            const struct batch *b = out.rows;
            check_tree_row(b, i, i, i, i, -1, 1);
            check_tree_row(b, 4 + 2 * i, i, up1[i], up1[i], -1, 1);
            check_tree_row(b, 5 + 2 * i, i, up2[i], up2[i], -1, 1);
            check_tree_row(b, 12 + 6 * i, i, 102, 102, -1, 0);
            for (int64_t k = 0; k < 5; k++)
                check_tree_row(b, 13 + 6 * i + k, i, k < 2 ? 103 : 0, k < 2 ? 106 : 7,
                               k < 2 ? up2[i] : i, 0);
            CHECK(column_i64(&b->cols[1], 13 + 6 * i) !=
                  column_i64(&b->cols[1], 14 + 6 * i));
        }
    }
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static void a_tree_may_leave_levels_out(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    int64_t upper = 0, steps = 3000;
    tree_setting(&s);
    s.conf.remain_ratio = 0.5; /* one of the two middle levels */
    s.conf.levels = LEVELS_ARITHMETIC;
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    for (int64_t step = 0; step < steps; step++) {
        OK(sampler_run(sampler, x, &s.batch, (uint64_t)step, &out, &err));
        bool first = column_i64(&out.rows->cols[1], 4) < 103;
        CHECK_INT(out.rows->n, 4 + 4 + 4 * (first ? 4 : 5));
        upper += first;
    }
    CHECK_NEAR((double)upper / (double)steps, 1.0 / 3, 0.05);
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static void an_item_outside_the_tree_stays_alone(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    tree_setting(&s);
    add_row(&s.batch, 4, 4711);
    OK(batch_finish(&s.batch, &err));
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    OK(sampler_run(sampler, x, &s.batch, 1, &out, &err));
    CHECK_INT(out.unknown, 1);
    CHECK_INT(out.rows->n, 5 + 4 * 2 + 4 * 6);
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static void ids_may_be_texts(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    set_up(&s,
           "id:string|weight:float|attrs:string\n"
           "0|1|0;0;a\nx|1|5;0;a\n1|1|1;0;a\n2|1|2;1;b\n3|1|3;1;b\n",
           NULL);
    s.conf.field_delim = '|';
    s.conf.attr_delim = ";";
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    OK(sampler_run(sampler, x, &s.batch, 0, &out, &err));
    for (int64_t i = 4; i < 10; i++)
        CHECK_INT(column_i64(&out.items->cols[0], i), 5);
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static void a_table_may_be_parquet(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    struct data_schema schema = {0};
    struct batch b;
    struct writer *w = NULL;
    struct writer_conf conf = {0};
    struct type i64 = type_of(TYPE_I64, true), f64 = type_of(TYPE_F64, true);
    struct type str = type_of(TYPE_STR, true);
    set_up(&s, ten_items, NULL);
    char *path = fs_join(s.dir, "items.parquet"), text[32];
    data_schema_add(&schema, str_c("id"), &i64);
    data_schema_add(&schema, str_c("weight"), &f64);
    data_schema_add(&schema, str_c("attrs"), &str);
    batch_init(&b, &schema);
    for (int64_t i = 0; i < 20; i++) {
        snprintf(text, sizeof(text), "%jd:1:t", (intmax_t)i);
        OK(column_add_i64(&b.cols[0], i, &err));
        OK(column_add_f64(&b.cols[1], i == 17, &err));
        OK(column_add_str(&b.cols[2], str_c(text), &err));
    }
    OK(batch_finish(&b, &err));
    OK(writer_open(path, writer_find("parquet"), &schema, &conf, &w, &err));
    OK(writer_add(w, &b, &err));
    OK(writer_commit(w, &err));
    s.conf.items = path;
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    OK(sampler_run(sampler, x, &s.batch, 0, &out, &err));
    for (int64_t i = 4; i < 10; i++)
        CHECK_INT(column_i64(&out.items->cols[0], i), 17);
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    batch_release(&b);
    data_schema_release(&schema);
    mem_free(path);
    tear_down(&s);
}

static void bad_tables_say_row_and_value(void)
{
#define HEAD "id:int64\tweight:float\tattrs:string\n"
    static const struct {
        const char *items, *message;
        enum code code;
    } cases[] = {
        {"1\t0.5\t1:2:a\n2\t1\t2:2:a\n",
         "the first line must name the columns, it begins with '1'", E1901},
        {"id:int64\tweight:float\n1\t1\n",
         "there are 2 columns, not 3 (id, weight, attrs)", E1901},
        {HEAD "1\t1\t1:2:a\nx7\t1\t1:2:a\n", "row 2: id 'x7' is not an integer", E1902},
        {HEAD "1\tmuch\t1:2:a\n", "row 1: weight 'much' is not a number", E1902},
        {HEAD "1\t-2\t1:2:a\n", "row 1: weight -2 is not a finite number of at least 0",
         E1902},
        {HEAD "1\tnan\t1:2:a\n", "row 1: weight nan is not a finite number of at least 0",
         E1902},
        {HEAD "1\t1\t1:2:a\n5\t1\t1:2:a\n1\t1\t1:2:a\n",
         "row 3 has the id of row 1, an item may occur only once", E1902},
        {HEAD "1\t1\t1:2:a\n2\t1\t1:2\n", "row 2: 2 attributes, attr_fields has 3 names",
         E1903},
        {HEAD "1\t1\t1:2:a:b\n", "row 1: 4 attributes, attr_fields has 3 names", E1903},
        {HEAD "1\t1\t1:cheap:a\n", "row 1: attribute 'price': 'cheap' is not a number",
         E1903},
        {HEAD "1\t1\t1.5:2:a\n", "row 1: attribute 'item': '1.5' is not an integer",
         E1903},
        {HEAD "1\t0\t1:2:a\n2\t0\t2:2:a\n", "no item has a weight above 0", E1905},
        {HEAD, "no item has a weight above 0", E1905},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setting s;
        struct sampler *sampler = NULL;
        struct err err = {0};
        set_up(&s, cases[i].items, NULL);
        CHECK(sampler_open(&s.conf, &s.schema, &sampler, &err) != RC_OK);
        char *message = mem_printf("item table '%s': %s", s.items, cases[i].message);
        CHECK_STR(err.msg, message);
        CHECK_INT(err.code, cases[i].code);
        mem_free(message);
        tear_down(&s);
    }
}

static void bad_settings_are_named(void)
{
    static const char *const twice[] = {"item", "price", "price"};
    static const uint32_t root[] = {1, 1, 2, 3}, many[] = {0, 1, 4, 3}, few[] = {0, 1, 2};
    struct setting s;
    struct err err = {0};
    struct sampler *out = NULL;
    set_up(&s, ten_items, NULL);
    s.conf.item_id_field = "iten";
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_INVAL);
    CHECK_STR(err.msg, "item_id_field: there is no column 'iten' in the data");
    s.conf.item_id_field = "tags";
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_INVAL);
    CHECK_STR(err.msg, "item_id_field: column 'tags' is of type list<string>, ids are "
                       "integers or texts");
    s.conf.item_id_field = "item";
    s.conf.attr_fields = twice;
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_INVAL);
    CHECK_STR(err.msg, "attr_fields names 'price' twice");
    s.conf.items = "/no/such/table";
    s.conf.attr_fields = attr_fields;
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_NOTFOUND);
    CHECK_HAS(err.msg, "item table: ");
    tear_down(&s);
    tree_setting(&s);
    s.conf.layer_num_sample = root;
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_INVAL);
    CHECK_HAS(err.msg, "layer_num_sample: 4 levels, the first with 1 negatives");
    s.conf.layer_num_sample = many;
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_INVAL);
    CHECK_STR(err.msg, "level 2 has 4 nodes: too few for 4 negatives beside a positive");
    s.conf.layer_num_sample = few;
    s.conf.n_layers = 3;
    CHECK(sampler_open(&s.conf, &s.schema, &out, &err) == RC_INVAL);
    CHECK_STR(err.msg, "row 8 of the item table: level 3, layer_num_sample has 3 levels");
    CHECK(!out);
    tear_down(&s);
}

static void ids_of_the_batch_must_fit(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    struct data_schema texts = {0};
    struct type str = type_of(TYPE_STR, true);
    struct batch b;
    set_up(&s, ten_items, NULL);
    data_schema_add(&texts, str_c("item"), &str);
    batch_init(&b, &texts);
    OK(column_add_str(&b.cols[0], str_c("4"), &err));
    OK(column_add_str(&b.cols[0], str_c("shoe"), &err));
    OK(batch_finish(&b, &err));
    struct sampler *sampler = NULL;
    OK(sampler_open(&s.conf, &texts, &sampler, &err));
    CHECK_HAS(sampler_notes(sampler),
              "attribute 'price' is not a column that training reads: ignored");
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    CHECK(sampler_run(sampler, x, &b, 0, &out, &err) == RC_INVAL);
    CHECK_STR(err.msg,
              "column 'item', row 1 of the batch: 'shoe' is not an integer, as the "
              "ids of the sampler's tables are");
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    batch_release(&b);
    data_schema_release(&texts);
    tear_down(&s);
}

static void lack_of_memory_is_reported(void)
{
    struct setting s;
    tree_setting(&s);
    static const enum sampler_kind kinds[] = {SAMPLER_TDM, SAMPLER_HARD_NEGATIVE_V2};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        static const char *const fields[] = {"label", "item", "price", "tags"};
        s.conf.kind = kinds[k];
        s.conf.attr_fields = k ? fields : attr_fields + 1;
        s.conf.n_attr_fields = k ? 4 : 2;
        enum rc rc = RC_NOMEM;
        for (int64_t at = 1; rc == RC_NOMEM && at < 10000; at++) {
            struct sampler *sampler = NULL;
            struct sampler_scratch *x = NULL;
            struct sampled out;
            struct err err = {0};
            int64_t live = mem_live();
            mem_fail_at(at);
            rc = sampler_open(&s.conf, &s.schema, &sampler, &err);
            if (!rc) {
                x = sampler_scratch_create(sampler);
                rc = sampler_run(sampler, x, &s.batch, 0, &out, &err);
            }
            mem_fail_at(0);
            if (rc && rc != RC_NOMEM)
                printf("# %s\n", err.msg);
            sampler_scratch_destroy(x);
            sampler_close(sampler);
            CHECK_INT(mem_live(), live);
        }
        CHECK(rc == RC_OK);
    }
    tear_down(&s);
}

static void nothing_is_allocated_after_warm_up(void)
{
    struct setting s;
    struct sampled out;
    struct err err = {0};
    tree_setting(&s);
    struct sampler *sampler = opened(&s);
    struct sampler_scratch *x = sampler_scratch_create(sampler);
    for (uint64_t step = 0; step < 3; step++)
        OK(sampler_run(sampler, x, &s.batch, step, &out, &err));
    int64_t before = mem_total();
    for (uint64_t step = 3; step < 50; step++)
        OK(sampler_run(sampler, x, &s.batch, step, &out, &err));
    CHECK_INT(mem_total(), before);
    sampler_scratch_destroy(x);
    sampler_close(sampler);
    tear_down(&s);
}

static const struct tap_case cases[] = {
    TAP(alias_draws_by_weight),
    TAP(negatives_follow_the_batch),
    TAP(a_step_draws_the_same_always),
    TAP(a_small_table_still_gives_negatives),
    TAP(edges_are_checked_against_the_user_table),
    TAP(v2_leaves_out_positive_edges),
    TAP(hard_negatives_come_row_by_row),
    TAP(lists_of_items_are_taken_apart),
    TAP(lists_of_items_are_as_long_as_each_other),
    TAP(a_tree_makes_the_batch_longer),
    TAP(a_tree_may_leave_levels_out),
    TAP(an_item_outside_the_tree_stays_alone),
    TAP(ids_may_be_texts),
    TAP(a_table_may_be_parquet),
    TAP(bad_tables_say_row_and_value),
    TAP(bad_settings_are_named),
    TAP(ids_of_the_batch_must_fit),
    TAP(lack_of_memory_is_reported),
    TAP(nothing_is_allocated_after_warm_up),
};
TAP_MAIN(cases)
