/* SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/state.h"
#include "embed/embed.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static struct err err;
static char *dir;

/* A small model: two parameters, a table per row optimizer, state of the dense part. */
struct model {
    float w[6], b[2], m[6];
    struct param params[2];
    struct param *list[2];
    struct embed *embed;
    struct ckpt_array array;
    struct ckpt_state state;
};

struct variant {
    uint64_t seed;
    int64_t rows;
    const char *table; /* name of the first one */
    enum embed_row_opt_kind kind;
    bool rename; /* of parameter "fc.w" */
};

static const struct variant usual = {.seed = 1, .rows = 150, .table = "t0"};

static void add_table(struct model *m, const char *name, int64_t rows,
                      enum embed_row_opt_kind kind, bool trainable, uint64_t seed)
{
    struct embed_table_conf conf = {.name = name,
                                    .rows = rows,
                                    .dim = 5,
                                    .init = EMBED_NORMAL,
                                    .a = 0,
                                    .b = 0.1,
                                    .trainable = trainable,
                                    .opt = {.kind = kind, .initial_accumulator = 0.25},
                                    .seed = seed};
    CHECK(embed_add_table(m->embed, &conf, &err) >= 0);
}

static void model_init(struct model *m, const struct variant *v)
{
    *m = (struct model){.embed = embed_create(NULL)};
    m->params[0] = (struct param){.name = v->rename ? "new.fc.w" : "fc.w",
                                  .n_dims = 2,
                                  .dims = {2, 3},
                                  .n = 6,
                                  .value = m->w};
    m->params[1] =
        (struct param){.name = "fc.b", .n_dims = 1, .dims = {2}, .n = 2, .value = m->b};
    m->list[0] = &m->params[0];
    m->list[1] = &m->params[1];
    m->array = (struct ckpt_array){CKPT_OPTIMIZER,
                                   v->rename ? "optimizer.new.fc.w.exp_avg"
                                             : "optimizer.fc.w.exp_avg",
                                   2,
                                   {2, 3},
                                   m->m};
    add_table(m, v->table, v->rows, v->kind, true, v->seed);
    for (int k = 1; k < ROW_OPT_KINDS; k++)
        add_table(m, (char[]){'t', (char)('0' + k), 0}, 64, (enum embed_row_opt_kind)k,
                  true, v->seed);
    add_table(m, "frozen", 3, ROW_ADAM, false, v->seed);
    m->state = (struct ckpt_state){.params = m->list,
                                   .n_params = 2,
                                   .lookup = embed_lookup(m->embed),
                                   .arrays = &m->array,
                                   .n_arrays = 1};
}

static void model_release(struct model *m)
{
    embed_destroy(m->embed);
}

/* Something that training could have made of it. */
static void train(struct model *m, float salt)
{
    for (int i = 0; i < 6; i++) {
        m->w[i] = salt + (float)i;
        m->m[i] = -salt / (float)(i + 1);
    }
    m->b[0] = salt;
    m->b[1] = -0.0f;
    for (int i = 0; i < embed_n_tables(m->embed); i++) {
        struct embed_table *t = embed_table_at(m->embed, i);
        for (int64_t r = (int64_t)salt; r < t->conf.rows; r += 1 + r % 3) {
            if (!embed_table_used(t, r))
                embed_table_use(t, r);
            for (int64_t k = 0; k < t->stride; k++)
                embed_table_row(t, r)[k] += (float)(r * 100 + k);
        }
    }
}

static bool same_table(const struct embed_table *a, const struct embed_table *b)
{
    return a->conf.rows == b->conf.rows && a->stride == b->stride &&
           memcmp(a->data, b->data, embed_table_bytes(a)) == 0 &&
           memcmp(a->used, b->used, (size_t)(a->conf.rows + 63) / 64 * 8) == 0;
}

static bool same_model(const struct model *a, const struct model *b)
{
    bool same = memcmp(a->w, b->w, sizeof(a->w)) == 0 &&
                memcmp(a->b, b->b, sizeof(a->b)) == 0 &&
                memcmp(a->m, b->m, sizeof(a->m)) == 0;
    for (int i = 0; same && i < embed_n_tables(a->embed); i++)
        same = same_table(embed_table_at(a->embed, i), embed_table_at(b->embed, i));
    return same;
}

static void save(const struct model *m)
{
    struct ckpt_writer_conf conf = {.step = 1};
    struct ckpt_writer *w = ckpt_writer_open(dir, &conf);
    ckpt_add_state(w, &m->state);
    CHECK(ckpt_commit(w, &err) == RC_OK);
}

static enum rc load(struct model *m, const struct ckpt_load *how, struct ckpt_report *r)
{
    struct ckpt *c = NULL;
    err = (struct err){0};
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
    enum rc rc = ckpt_load_state(c, &m->state, how, r, &err);
    ckpt_close(c);
    return rc;
}

static void begin(struct model *m)
{
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    model_init(m, &usual);
    train(m, 2);
}

static void end(struct model *m)
{
    model_release(m);
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(dir);
}

static void a_model_comes_back_byte_for_byte(void)
{
    int64_t live = mem_live();
    struct model a, b;
    struct ckpt_report r = {0};
    begin(&a);
    save(&a);
    model_init(&b, &usual);
    train(&b, 1); /* what was there before does not count */
    CHECK(!same_model(&a, &b));
    CHECK(load(&b, &(struct ckpt_load){0}, &r) == RC_OK);
    CHECK(same_model(&a, &b));
    CHECK_INT(r.diffs.n, 0);
    CHECK(r.n_loaded == 3 + 11 + 14 && r.n_floats > 1000);
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
    CHECK_INT(mem_live(), live);
}

static void unused_rows_are_readable_by_others(void)
{
    struct model a;
    struct ckpt *c = NULL;
    float want[5], got[5];
    begin(&a);
    save(&a);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
    const struct embed_table *t = embed_table_at(a.embed, 1);
    CHECK(!embed_table_used(t, 0) && !embed_table_used(t, 4) && embed_table_used(t, 2));
    embed_table_initial(t, 4, want);
    const struct ckpt_st_tensor *w = ckpt_find(c, "embedding.t1.weight");
    CHECK(w && w->n_dims == 2 && w->dims[0] == 64 && w->dims[1] == 5);
    CHECK(ckpt_st_read_f32(w, 4, 1, got, 5, &err) == RC_OK);
    CHECK(memcmp(want, got, sizeof(got)) == 0);
    CHECK(ckpt_st_read_f32(w, 2, 1, got, 5, &err) == RC_OK);
    CHECK(memcmp(embed_table_row(t, 2), got, sizeof(got)) == 0);
    const struct ckpt_st_tensor *m =
        ckpt_find(c, "optimizer.embedding.t1.weight.momentum1");
    CHECK(m && ckpt_st_read_f32(m, 4, 1, got, 5, &err) == RC_OK);
    CHECK(got[0] == 0.25f && got[4] == 0.25f);
    m = ckpt_find(c, "optimizer.embedding.t2.weight.momentum1");
    CHECK(m && m->n_dims == 1 && m->dims[0] == 64);
    m = ckpt_find(c, "embedding.t1.weight.used");
    CHECK(m && m->bytes == 8 && memcmp(m->data, t->used, 8) == 0);
    CHECK(ckpt_find(c, "optimizer.embedding.frozen.weight.momentum1") == NULL);
    ckpt_close(c);
    end(&a);
}

static void another_seed_keeps_the_values_of_all_rows(void)
{
    struct model a, b;
    struct ckpt_report r = {0};
    struct variant other = usual;
    other.seed = 2;
    begin(&a);
    save(&a);
    model_init(&b, &other);
    CHECK(load(&b, &(struct ckpt_load){0}, &r) == RC_OK);
    const struct embed_table *t = embed_table_at(a.embed, 1),
                             *u = embed_table_at(b.embed, 1);
    float want[5];
    embed_table_initial(t, 4, want);
    CHECK(embed_table_used(u, 4) &&
          memcmp(embed_table_row(u, 4), want, sizeof(want)) == 0);
    CHECK(embed_table_row(u, 4)[5] == 0.25f);
    CHECK(memcmp(embed_table_row(u, 2), embed_table_row(t, 2), (size_t)t->stride * 4) ==
          0);
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
}

static void differences_are_reported_all_at_once(void)
{
    struct model a, b, before;
    struct ckpt_report r = {0};
    struct variant other = usual;
    struct buf text;
    other.rows = 151;
    other.rename = true;
    begin(&a);
    save(&a);
    model_init(&b, &other);
    train(&b, 3);
    model_init(&before, &other);
    train(&before, 3);
    b.params[1].dims[0] = 1;
    CHECK(load(&b, &(struct ckpt_load){0}, &r) == RC_INVAL);
    CHECK(same_model(&b, &before)); /* untouched */
    CHECK_INT(err.code, E1510);
    CHECK_HAS(err.msg,
              "model.ckpt-1': 6 parameters of checkpoint and model do not match: "
              "not in the checkpoint: 'new.fc.w' F32 [2, 3], "
              "'optimizer.new.fc.w.exp_avg' F32 [2, 3]; "
              "not in the model: 'fc.w' F32 [2, 3], "
              "'optimizer.fc.w.exp_avg' F32 [2, 3]; different: "
              "'fc.b' is F32 [2] in the checkpoint, F32 [1] in the model, "
              "'embedding.t0.weight' is F32 [150, 5] in the checkpoint, "
              "F32 [151, 5] in the model");
    buf_init(&text, 1 << 16);
    ckpt_report_print(&r, &text);
    CHECK_STR(
        buf_str(&text),
        "not in the checkpoint (2):\n"
        "  'new.fc.w' F32 [2, 3]\n"
        "  'optimizer.new.fc.w.exp_avg' F32 [2, 3]\n"
        "not in the model (2):\n"
        "  'fc.w' F32 [2, 3]\n"
        "  'optimizer.fc.w.exp_avg' F32 [2, 3]\n"
        "different (2):\n"
        "  'fc.b' is F32 [2] in the checkpoint, F32 [1] in the model\n"
        "  'embedding.t0.weight' is F32 [150, 5] in the checkpoint, F32 [151, 5] in "
        "the model\n");
    buf_release(&text);
    ckpt_report_release(&r);
    /* A shape that differs is an error for fine-tuning too. */
    CHECK(load(&b, &(struct ckpt_load){.partial = true}, &r) == RC_INVAL);
    CHECK_INT(r.counts[CKPT_SHAPE], 1);
    CHECK_INT(r.counts[CKPT_ROWS], 1);
    ckpt_report_release(&r);
    model_release(&b);
    model_release(&before);
    end(&a);
}

static void fine_tuning_takes_what_there_is(void)
{
    struct model a, b;
    struct ckpt_report r = {0};
    struct variant other = usual;
    other.rows = 200;
    other.rename = true;
    begin(&a);
    save(&a);
    model_init(&b, &other);
    train(&b, 3);
    CHECK(load(&b, &(struct ckpt_load){.partial = true}, &r) == RC_OK);
    CHECK_INT(r.counts[CKPT_MISSING], 2);
    CHECK_INT(r.counts[CKPT_EXTRA], 2);
    CHECK_INT(r.counts[CKPT_ROWS], 1);
    CHECK(b.w[0] == 3 && b.b[0] == 2);
    const struct embed_table *t = embed_table_at(a.embed, 0),
                             *u = embed_table_at(b.embed, 0);
    CHECK(memcmp(t->data, u->data, 150 * (size_t)t->stride * sizeof(float)) == 0);
    bool untouched = true;
    for (int64_t row = 150; row < 200; row++)
        untouched =
            untouched && embed_table_used(u, row) == (embed_table_row(u, row)[0] != 0);
    CHECK(untouched &&
          embed_table_used(u, 199) + embed_table_used(u, 198) + embed_table_used(u, 197) >
              0);
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
}

static void without_the_optimizer_state_begins_anew(void)
{
    struct model a, b;
    struct ckpt_report r = {0};
    begin(&a);
    save(&a);
    model_init(&b, &usual);
    struct ckpt_load how = {.partial = true, .no_optimizer = true};
    CHECK(load(&b, &how, &r) == RC_OK);
    CHECK_INT(r.diffs.n, 0);
    CHECK(b.w[5] == a.w[5] && b.m[0] == 0);
    const struct embed_table *t = embed_table_at(a.embed, 1),
                             *u = embed_table_at(b.embed, 1);
    CHECK(memcmp(embed_table_row(t, 2), embed_table_row(u, 2), 5 * sizeof(float)) == 0);
    CHECK(embed_table_row(u, 2)[5] == 0.25f && embed_table_row(t, 2)[5] != 0.25f);
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
}

/* State of one rule is not taken for that of another. */
static void another_row_optimizer_is_a_difference(void)
{
    struct model a, b;
    struct ckpt_report r = {0};
    struct variant adam = usual, lamb = usual;
    adam.kind = ROW_ADAM;
    lamb.kind = ROW_LAMB;
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    model_init(&a, &adam);
    train(&a, 2);
    save(&a);
    model_init(&b, &lamb);
    CHECK(load(&b, &(struct ckpt_load){0}, &r) == RC_INVAL);
    CHECK_HAS(err.msg,
              "different: 'embedding.t0.weight' was trained with adam, the model "
              "uses lamb");
    ckpt_report_release(&r);
    CHECK(load(&b, &(struct ckpt_load){.partial = true}, &r) == RC_OK);
    const struct embed_table *t = embed_table_at(a.embed, 0),
                             *u = embed_table_at(b.embed, 0);
    CHECK(memcmp(embed_table_row(t, 2), embed_table_row(u, 2), 5 * sizeof(float)) == 0);
    CHECK(embed_table_row(u, 2)[5] == 0);
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
}

static enum rc load_mapped(struct model *m, const char *lines, struct ckpt_report *r)
{
    char *path = fs_join(dir, "map.txt");
    struct ckpt_map map;
    CHECK(fs_write(path, lines, strlen(lines), 0600, &err) == RC_OK);
    CHECK(ckpt_map_read(path, &map, &err) == RC_OK);
    enum rc rc = load(m, &(struct ckpt_load){.partial = true, .map = &map}, r);
    ckpt_map_release(&map);
    mem_free(path);
    return rc;
}

static void a_map_renames_parameters_with_what_belongs_to_them(void)
{
    struct model a, b;
    struct ckpt_report r = {0};
    struct variant other = usual;
    other.rename = true;
    other.table = "renamed";
    begin(&a);
    save(&a);
    model_init(&b, &other);
    CHECK(load_mapped(&b,
                      "new.fc.w\tfc.w\nembedding.renamed.weight\tembedding.t0.weight\n",
                      &r) == RC_OK);
    CHECK_INT(r.diffs.n, 0);
    CHECK(memcmp(a.w, b.w, sizeof(a.w)) == 0 && memcmp(a.m, b.m, sizeof(a.m)) == 0);
    const struct embed_table *t = embed_table_at(a.embed, 0),
                             *u = embed_table_at(b.embed, 0);
    float want[5]; /* initial values were those of the old name */
    embed_table_initial(t, 0, want);
    CHECK(memcmp(embed_table_row(u, 0), want, sizeof(want)) == 0 &&
          embed_table_used(u, 0));
    CHECK(memcmp(embed_table_row(t, 2), embed_table_row(u, 2), (size_t)t->stride * 4) ==
          0);
    ckpt_report_release(&r);
    CHECK(load_mapped(&b, "new.fc.w\tfc.w\nnew.fc.x\tfc.w\n", &r) == RC_INVAL);
    CHECK_HAS(err.msg, "map.txt': line 2: the model has no parameter 'new.fc.x'");
    CHECK_INT(err.code, E1512);
    ckpt_report_release(&r);
    CHECK(load_mapped(&b, "\nnew.fc.w\tfc.v\n", &r) == RC_INVAL);
    CHECK_HAS(err.msg, "map.txt': line 2: the checkpoint has no parameter 'fc.v'");
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
}

static void a_table_named_by_its_weights_keeps_that_name(void)
{
    struct model a, b;
    struct ckpt_report r = {0};
    struct ckpt *c = NULL;
    struct variant other = usual;
    other.table = "model.ebc.t.weight";
    other.kind = ROW_ADAM;
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    model_init(&a, &other);
    train(&a, 2);
    save(&a);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
    CHECK(ckpt_find(c, "model.ebc.t.weight") != NULL);
    CHECK(ckpt_find(c, "model.ebc.t.weight.used") != NULL);
    CHECK(ckpt_find(c, "optimizer.model.ebc.t.weight.momentum2") != NULL);
    ckpt_close(c);
    model_init(&b, &other);
    CHECK(load(&b, &(struct ckpt_load){0}, &r) == RC_OK);
    CHECK(same_model(&a, &b)); /* unused rows included */
    ckpt_report_release(&r);
    model_release(&b);
    end(&a);
}

static void nothing_in_common_is_an_error(void)
{
    struct model a;
    struct ckpt_report r = {0};
    begin(&a);
    save(&a);
    struct param p = a.params[0], *list[] = {&p};
    struct model b = {.state = {.params = list, .n_params = 1}};
    p.name = "stranger";
    CHECK(load(&b, &(struct ckpt_load){.partial = true}, &r) == RC_INVAL);
    CHECK_HAS(err.msg, "not in the checkpoint: 'stranger' F32 [2, 3]");
    CHECK_HAS(err.msg, " more");
    ckpt_report_release(&r);
    end(&a);
}

static const struct tap_case cases[] = {
    TAP(a_model_comes_back_byte_for_byte),
    TAP(unused_rows_are_readable_by_others),
    TAP(another_seed_keeps_the_values_of_all_rows),
    TAP(differences_are_reported_all_at_once),
    TAP(fine_tuning_takes_what_there_is),
    TAP(without_the_optimizer_state_begins_anew),
    TAP(another_row_optimizer_is_a_difference),
    TAP(a_map_renames_parameters_with_what_belongs_to_them),
    TAP(a_table_named_by_its_weights_keeps_that_name),
    TAP(nothing_in_common_is_an_error),
};
TAP_MAIN(cases)
