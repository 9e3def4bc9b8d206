/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on a lookup or a device that breaks its contract: each ends with a message that names
 * it, and a snapshot that is out of contract leaves no checkpoint behind.
 */
#include <unistd.h>

#include "base/hash.h"
#include "ckpt/ckpt.h"
#include "device_copies.h"
#include "embed/lookup_wrap.h"
#include "rows.h"
#include "train/export/scorer.h"
#include "train/score.h"
#include "train/trainer.h"

#define ROWS 500
#define BATCH_AT 4 /* the batch at which a call fails */

/* What the lookup does wrong. */
static struct {
    const char *fails; /* this function, without a message; NULL: none */
    void (*spoil)(struct lookup_snapshot *s, const struct embed_table_conf *t);
    int64_t batches;
} fault;

static bool fails(const char *function)
{
    return fault.fails && strcmp(fault.fails, function) == 0;
}

static int faulty_add_table(struct lookup *l, const struct embed_table_conf *conf,
                            struct err *err)
{
    if (fails("add_table: mute"))
        return -1;
    int n = lookup_add_table(lookup_inner(l), conf, err);
    if (fails("add_table: another's"))
        return 0;
    return n + (fails("add_table: far") ? 100 : 0);
}

static const struct embed_table_conf *faulty_table(const struct lookup *l, int table)
{
    static struct embed_table_conf other;
    const struct embed_table_conf *t = lookup_table(lookup_inner(l), table);
    if (!fails("table: wide") && !fails("table: fixed") && !fails("table: no name"))
        return t;
    other = *t;
    other.dim *= fails("table: wide") ? 64 : 1;
    other.trainable = !fails("table: fixed");
    other.name = fails("table: no name") ? NULL : t->name;
    return &other;
}

static int faulty_n_tables(const struct lookup *l)
{
    return lookup_n_tables(lookup_inner(l)) + (fails("n_tables: one more") ? 1 : 0);
}

static int faulty_add_slot(struct lookup *l, const struct embed_slot_conf *conf,
                           struct err *err)
{
    int n = lookup_add_slot(lookup_inner(l), conf, err);
    return fails("add_slot: below")       ? -7
           : fails("add_slot: far")       ? n + 1
           : fails("add_slot: another's") ? 0
                                          : n;
}

static enum rc faulty_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                              bool training, struct err *err)
{
    bool now = ++fault.batches == BATCH_AT;
    if (now && fails("prepare: positive"))
        return (enum rc)3;
    if (now && fails("prepare: unknown"))
        return (enum rc) - 99;
    return now && fails("prepare") ? RC_IO
                                   : lookup_prepare(lookup_inner(l), ids, training, err);
}

static enum rc faulty_forward(struct lookup *l, const struct view *outputs,
                              struct err *err)
{
    return fault.batches == BATCH_AT && fails("forward")
               ? RC_IO
               : lookup_forward(lookup_inner(l), outputs, err);
}

static enum rc faulty_update(struct lookup *l, const struct view *grads,
                             const struct embed_row_step *step, struct err *err)
{
    return fault.batches == BATCH_AT && fails("update")
               ? RC_IO
               : lookup_update(lookup_inner(l), grads, step, err);
}

static enum rc mute_read(const void *arg, int column, int64_t from, int64_t n, void *out,
                         struct err *err)
{
    return RC_IO;
}

static enum rc faulty_snapshot(struct lookup *l, int table, bool whole,
                               struct lookup_snapshot **out, struct err *err)
{
    if (fails("snapshot"))
        return RC_IO;
    enum rc rc = lookup_snapshot(lookup_inner(l), table, whole, out, err);
    if (!rc && fails("read"))
        (*out)->image.read = mute_read;
    if (!rc && fault.spoil)
        fault.spoil(*out, lookup_table(l, table));
    return rc;
}

static enum rc faulty_restore(struct lookup *l, int table,
                              const struct lookup_image *image, struct err *err)
{
    return fails("restore") ? RC_IO : lookup_restore(lookup_inner(l), table, image, err);
}

static enum rc faulty_touched(const struct lookup *l, int table, int64_t **ids,
                              int64_t *n, struct err *err)
{
    enum rc rc = lookup_touched(lookup_inner(l), table, ids, n, err);
    if (fails("touched: nothing")) {
        mem_free(*ids);
        *ids = NULL;
        *n = 3;
    }
    if (fails("touched: below"))
        *n = -5;
    if (fails("touched: backwards") && *n > 0)
        (*ids)[*n - 1] = -9;
    return rc;
}

static bool faulty_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    return fails("peek: nothing") || lookup_peek(lookup_inner(l), table, id, out);
}

static void faulty_destroy(struct lookup *l)
{
    lookup_wrap_release((struct lookup_wrap *)l);
    mem_free(l);
}

static enum rc faulty_create(const struct lookup_conf *conf, struct lookup **out,
                             struct err *err);

static const struct lookup_ops faulty_ops = {
    .name = "faulty", .summary = "breaks its contract", .create = faulty_create};

static enum rc faulty_create(const struct lookup_conf *conf, struct lookup **out,
                             struct err *err)
{
    struct lookup *inner = NULL;
    if (fails("create"))
        return RC_IO;
    if (fails("create: nothing"))
        return RC_OK;
    enum rc rc = lookup_create(NULL, conf, &inner, err);
    if (rc)
        return rc;
    struct lookup_wrap *w = mem_calloc(1, sizeof(*w));
    lookup_wrap_init(w, &faulty_ops, inner);
    w->ops.destroy = faulty_destroy;
    w->ops.add_table = faulty_add_table;
    w->ops.add_slot = faulty_add_slot;
    w->ops.table = faulty_table;
    w->ops.n_tables = faulty_n_tables;
    w->ops.touched = faulty_touched;
    w->ops.peek = faulty_peek;
    w->ops.prepare = faulty_prepare;
    w->ops.forward = faulty_forward;
    w->ops.update = faulty_update;
    w->ops.snapshot = faulty_snapshot;
    w->ops.restore = faulty_restore;
    if (fails("create: no peek"))
        w->ops.peek = NULL;
    *out = &w->lookup;
    return RC_OK;
}

static const char *extra; /* text behind the config */

static bool stop_soon(void *arg)
{
    int *left = arg;
    return (*left)-- <= 0;
}

static enum rc train(const struct lookup_ops *lookup, const struct device *device,
                     bool resume, int steps, struct err *err)
{
    struct conf conf = {0};
    struct diags diags = {0};
    struct train_result result = {0};
    char *text = mem_printf("train_input_path: \"rows.csv\" %s%s", rows_deepfm,
                            extra ? extra : "");
    rows_conf(text, &conf, &diags);
    ((struct pc_EasyRecConfig *)conf.data)->model_dir = "model";
    struct train_options o = {.conf = &conf,
                              .threads = 1,
                              .seed = 9,
                              .resume = resume,
                              .lookup = lookup,
                              .device = device,
                              .watch = {.arg = &steps, .stop = stop_soon}};
    fault.batches = 0;
    enum rc rc = train_run(&o, &result, &diags, err);
    train_result_release(&result);
    diags_release(&diags);
    conf_release(&conf);
    mem_free(text);
    return rc;
}

static char *enter(void)
{
    struct err err = {0};
    char *top = NULL;
    int64_t rows[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = i;
    CHECK(fs_temp_dir("trainyard-faulty", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    rows_write("rows.csv", rows, ROWS);
    return top;
}

static void leave(char *top)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
    memset(&fault, 0, sizeof(fault));
}

static void a_lookup_that_fails_without_a_word_is_named(void)
{
    static const struct {
        const char *function, *said;
    } tries[] = {
        {"create", "lookup 'faulty': create() failed without a message (i/o)"},
        {"prepare", "step 3: lookup 'faulty': prepare() failed without a message (i/o)"},
        {"forward", "step 3: lookup 'faulty': forward() failed without a message (i/o)"},
        {"update", "step 3: lookup 'faulty': update() failed without a message (i/o)"},
        {"snapshot", "lookup 'faulty': snapshot() failed without a message (i/o)"},
        {"read", "image 'of a table': read() failed without a message (i/o)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        char *top = enter();
        struct err err = {0};
        fault.fails = tries[i].function;
        CHECK_INT(train(&faulty_ops, NULL, false, 10, &err), RC_IO);
        CHECK_HAS(err.msg, tries[i].said);
        CHECK_INT(err.code, E0010);
        leave(top);
    }
}

static void a_lookup_that_answers_out_of_contract_is_named(void)
{
    static const struct {
        const char *fault, *said;
        enum code code;
    } tries[] = {
        {"create: nothing", "lookup 'faulty': create() succeeded without a lookup",
         E0011},
        {"create: no peek", "lookup 'faulty': create() gave a lookup that has no peek()",
         E0011},
        {"add_table: mute",
         "lookup 'faulty': add_table() failed without a message (invalid)", E0010},
        {"add_table: far", "lookup 'faulty': add_table() gave '", E0011},
        {"add_slot: below", "the number -7, and there are 1 slots", E0011},
        {"add_slot: far", "the number 1, and there are 1 slots", E0011},
        {"add_table: another's", "the number 0, and there are 2 tables", E0011},
        {"add_slot: another's", "the number 0, and there are 2 slots", E0011},
        {"table: wide", "the number 0, of which table() says otherwise", E0011},
        {"table: fixed", "the number 0, of which table() says otherwise", E0011},
        {"table: no name", "the number 0, of which table() says otherwise", E0011},
        {"n_tables: one more", "the number 0, and there are 2 tables", E0011},
        {"prepare: positive",
         "lookup 'faulty': prepare() answered 3, which is not an error code", E0011},
        {"prepare: unknown", "lookup 'faulty': prepare() answered -99, which is not",
         E0011},
    };
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        char *top = enter();
        struct err err = {0};
        fault.fails = tries[i].fault;
        CHECK_INT(train(&faulty_ops, NULL, false, 10, &err), RC_INVAL);
        CHECK_HAS(err.msg, tries[i].said);
        CHECK_INT(err.code, tries[i].code);
        leave(top);
    }
}

static void a_restore_that_fails_without_a_word_is_named(void)
{
    char *top = enter();
    struct err err = {0};
    CHECK_INT(train(&faulty_ops, NULL, false, 10, &err), RC_OK);
    fault.fails = "restore";
    CHECK_INT(train(&faulty_ops, NULL, true, 10, &err), RC_IO);
    CHECK_HAS(err.msg, "lookup 'faulty': restore() failed without a message (i/o)");
    leave(top);
}

/* --- snapshots out of contract --- */

static void negative_rows(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.n = -5;
}

static void other_rows(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.rows++;
}

static void one_key_less(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    if (t->keyed.kind)
        s->image.lists[LOOKUP_KEYS].n--;
}

static void one_count_less(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    if (t->keyed.kind)
        s->image.lists[LOOKUP_COUNTS].n--;
}

static void a_key_below_zero(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    static int64_t keys[1 << 12];
    struct lookup_list *l = &s->image.lists[LOOKUP_KEYS];
    if (!t->keyed.kind || l->n < 1 || l->n > (int64_t)ARRAY_LEN(keys))
        return;
    for (int64_t i = 0; i < l->n; i++)
        keys[i] = lookup_list_at(l, i);
    keys[l->n - 1] = -3;
    l->data = keys;
}

static void no_state(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.has[1] = false;
}

static void another_type(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.types[0] = DT_BF16;
}

static void another_form(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.form = t->keyed.kind ? LOOKUP_ALL : LOOKUP_KEYED;
}

static void listed_without_a_list(struct lookup_snapshot *s,
                                  const struct embed_table_conf *t)
{
    s->image.form = t->keyed.kind ? LOOKUP_KEYED : LOOKUP_LISTED;
}

static void rows_out_of_order(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    static const int64_t back[] = {1, 0};
    if (t->keyed.kind)
        return;
    s->image.form = LOOKUP_LISTED;
    s->image.n = 2;
    s->image.lists[LOOKUP_ROW_IDS] = (struct lookup_list){.data = back, .n = 2};
}

static void no_read(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.read = NULL;
}

static void a_list_of_nothing(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.lists[LOOKUP_TOUCHED] = (struct lookup_list){.n = 3};
}

static void touched_out_of_order(struct lookup_snapshot *s,
                                 const struct embed_table_conf *t)
{
    static const int64_t ids[] = {2, 1};
    s->image.lists[LOOKUP_TOUCHED] = (struct lookup_list){.data = ids, .n = 2};
}

static void touched_beyond_the_table(struct lookup_snapshot *s,
                                     const struct embed_table_conf *t)
{
    static const int64_t ids[] = {1, (int64_t)1 << 40};
    if (!t->keyed.kind)
        s->image.lists[LOOKUP_TOUCHED] = (struct lookup_list){.data = ids, .n = 2};
}

static void a_count_below_zero(struct lookup_snapshot *s,
                               const struct embed_table_conf *t)
{
    static int64_t counts[1 << 12] = {-9};
    if (t->keyed.kind && s->image.lists[LOOKUP_COUNTS].n > 0)
        s->image.lists[LOOKUP_COUNTS].data = counts;
}

static void room_without_end(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.ids.room = INT64_MAX / 2;
}

static void a_clock_below_zero(struct lookup_snapshot *s,
                               const struct embed_table_conf *t)
{
    s->image.ids.now = -1;
}

static void a_round_to_come(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    s->image.ids.last_round = INT64_MAX;
}

static void a_snapshot_out_of_contract_is_refused_before_anything_is_written(void)
{
    static const struct {
        void (*spoil)(struct lookup_snapshot *s, const struct embed_table_conf *t);
        const char *said;
    } tries[] = {
        {negative_rows, "snapshot: n is -5, below 0"},
        {other_rows, "snapshot: rows is "},
        {one_key_less, "but keys and the shared row are "},
        {one_count_less, "snapshot: list counts has "},
        {a_key_below_zero, "snapshot: a number of list keys is -3, below 0"},
        {no_state, "snapshot: has[1]: there is no column momentum1"},
        {another_type, "snapshot: types[0]: weights are bf16, not f32"},
        {another_form, "snapshot: form is LOOKUP_KEYED, which only dynamic tables have"},
        {listed_without_a_list, "but list row_ids has 0"},
        {rows_out_of_order, "number 1 of the image's rows is 0"},
        {no_read, "snapshot: read is not set"},
        {a_list_of_nothing, "snapshot: list touched has 3 numbers, not 0"},
        {touched_out_of_order, "snapshot: list touched has 2 numbers that do not ascend"},
        {touched_beyond_the_table, "numbers that do not ascend within "},
        {a_count_below_zero, "snapshot: a number of list counts is -9, below 0"},
        {room_without_end, "snapshot: ids.room is 4611686018427387903, outside 0 to"},
        {a_clock_below_zero, "snapshot: ids.now is -1, below 0"},
        {a_round_to_come, "snapshot: ids.last_round is 9223372036854775807, outside 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        char *top = enter();
        struct err err = {0};
        int64_t last = -1;
        fault.spoil = tries[i].spoil;
        CHECK_INT(train(&faulty_ops, NULL, false, 10, &err), RC_FORMAT);
        CHECK_HAS(err.msg, tries[i].said);
        CHECK_HAS(err.msg, "lookup 'faulty': table '");
        CHECK_INT(err.code, E2310);
        CHECK(ckpt_latest("model", &last, NULL) != RC_OK || last < 0);
        leave(top);
    }
}

/* Lists may lie at any address. */
static void at_odd_addresses(struct lookup_snapshot *s, const struct embed_table_conf *t)
{
    static unsigned char room[1 << 20];
    static size_t at = 1; /* snapshots live on: each list has a place of its own */
    for (int i = 0; i < LOOKUP_LISTS; i++) {
        struct lookup_list *l = &s->image.lists[i];
        size_t bytes = (size_t)l->n * sizeof(int64_t);
        if (!lookup_has(l) || bytes > sizeof(room) - at)
            continue;
        memcpy(room + at, l->data, bytes);
        l->data = room + at;
        at += bytes;
    }
}

static void lists_at_odd_addresses_are_saved_and_restored(void)
{
    char *top = enter();
    struct err err = {0};
    fault.spoil = at_odd_addresses;
    CHECK_INT(train(&faulty_ops, NULL, false, 10, &err), RC_OK);
    CHECK_INT(train(&faulty_ops, NULL, true, 3, &err), RC_OK);
    CHECK_STR(err.msg, "");
    leave(top);
}

/* --- devices --- */

static enum rc mute_open(void **state, struct err *err)
{
    return RC_IO;
}

static int waits_left; /* that succeed */

static enum rc mute_synchronise(const struct device *d, struct err *err)
{
    return waits_left-- > 0 ? device_copies.synchronise(d, err) : RC_IO;
}

static enum rc mute_plan(struct graph *g, struct err *err)
{
    return RC_NOMEM;
}

static void check_device(struct device_ops *ops, const char *said)
{
    char *top = enter();
    struct device *d = NULL;
    struct err err = {0};
    ops->name = "faulty";
    enum rc rc = device_open(ops, &d, &err);
    if (!rc)
        rc = train(NULL, d, false, 3, &err);
    CHECK(rc != RC_OK);
    CHECK_HAS(err.msg, said);
    CHECK_INT(err.code, E0010);
    device_close(d);
    leave(top);
}

static void a_device_that_fails_without_a_word_is_named(void)
{
    struct device_ops d = device_copies;
    d.open = mute_open;
    check_device(&d, "device 'faulty': open() failed without a message (i/o)");
    d = device_copies;
    d.synchronise = mute_synchronise;
    waits_left = 0;
    check_device(&d, "device 'faulty': synchronise() failed without a message (i/o)");
    waits_left = 1; /* that of opening */
    check_device(&d,
                 "step 0: device 'faulty': synchronise() failed without a message (i/o)");
    struct executor_ops e = *device_copies.executor;
    e.plan = mute_plan;
    d = device_copies;
    d.executor = &e;
    check_device(&d, "device 'faulty': plan() failed without a message (out of memory)");
}

static enum rc odd_open(void **state, struct err *err)
{
    return (enum rc)5;
}

static void check_refused(const struct device_ops *ops, const char *said)
{
    struct device *d = NULL;
    struct err err = {0};
    CHECK_INT(device_open(ops, &d, &err), RC_INVAL);
    CHECK_STR(err.msg, said);
    CHECK_INT(err.code, E0011);
}

static void *odd_alloc(const struct device *d, size_t bytes)
{
    return (char *)device_copies.alloc(d, bytes + 8) + 8;
}

static void odd_free(const struct device *d, void *at)
{
    device_copies.free(d, at ? (char *)at - 8 : NULL);
}

static void copy_nothing(const struct device *d, void *to, const void *from, size_t bytes,
                         enum device_way way)
{
}

static void a_device_out_of_contract_is_not_opened(void)
{
    struct device_ops d = device_copies;
    d.name = "odd";
    d.fill = NULL;
    check_refused(&d, "device 'odd': open() finds no fill() in the device's table");
    d.fill = device_copies.fill;
    d.executor = NULL;
    check_refused(&d, "device 'odd': open() finds no executor in the device's table");
    d.executor = device_copies.executor;
    d.open = odd_open;
    d.close = mem_free;
    check_refused(&d, "device 'odd': open() answered 5, which is not an error code");
    d = device_copies;
    d.name = "odd";
    d.alloc = odd_alloc;
    d.free = odd_free;
    check_refused(
        &d,
        "device 'odd': open() got memory from alloc() that is not aligned to 64 bytes");
    d = device_copies;
    d.name = "odd";
    d.copy = copy_nothing;
    check_refused(
        &d, "device 'odd': open() got other bytes back from copy() than went there");
}

static enum rc plan_nothing(struct graph *g, struct err *err)
{
    return RC_OK;
}

static enum rc plan_late(struct graph *g, struct err *err)
{
    enum rc rc = device_copies.executor->plan(g, err);
    g->ops.at[0]->forward_at = g->n_forward + 1000;
    return rc;
}

static void check_executor(const struct executor_ops *e, const char *said)
{
    char *top = enter();
    struct device_ops ops = device_copies;
    struct device *d = NULL;
    struct err err = {0};
    ops.name = "odd";
    ops.executor = e;
    CHECK(device_open(&ops, &d, &err) == RC_OK);
    CHECK_INT(train(NULL, d, false, 3, &err), RC_INVAL);
    CHECK_HAS(err.msg, said);
    CHECK_INT(err.code, E0011);
    device_close(d);
    leave(top);
}

static void an_executor_that_lacks_a_method_is_refused(void)
{
    struct executor_ops e = *device_copies.executor;
    e.forward = NULL;
    check_executor(&e, "device 'odd': there is no executor.forward() in the device's");
    e = *device_copies.executor;
    e.release = NULL;
    check_executor(&e, "there is no executor.release() in");
    e = *device_copies.executor;
    e.codes = NULL;
    check_executor(&e, "there is no executor.codes() beside its coded() in");
    e = *device_copies.executor;
    e.params = NULL;
    check_executor(&e, "there is no executor.params in");
    struct param_ops p = *device_copies.executor->params;
    p.update = NULL;
    e.params = &p;
    check_executor(&e, "there is no executor.params.update() in");
    e = *device_copies.executor;
    e.plan = plan_nothing;
    check_executor(&e, "device 'odd': plan() planned none of ");
    e.plan = plan_late;
    check_executor(&e, "' a moment outside the pass");
}

/* A queue in which one copy to the host goes wrong: what it brought is garbage, and every wait
 * behind it fails.
 */
static struct {
    int copies, bad; /* to the host; which of them */
    bool failed;
} queue;

static void bad_copy(const struct device *d, void *to, const void *from, size_t bytes,
                     enum device_way way)
{
    device_copies.copy(d, to, from, bytes, way);
    if (way != DEVICE_OUT || ++queue.copies != queue.bad)
        return;
    memset(to, 0x41, bytes);
    queue.failed = true;
}

static enum rc bad_synchronise(const struct device *d, struct err *err)
{
    enum rc rc = device_copies.synchronise(d, err);
    return queue.failed ? err_set(err, RC_IO, "the card fell off the bus") : rc;
}

/* Trains ten steps with copy `bad` spoilt; false: there was no such copy. */
static bool train_spoilt(int bad, enum rc *rc)
{
    struct device_ops ops = device_copies;
    struct device *d = NULL;
    struct err err = {0};
    ops.copy = bad_copy;
    ops.synchronise = bad_synchronise;
    memset(&queue, 0, sizeof(queue));
    CHECK(device_open(&ops, &d, &err) == RC_OK);
    queue.copies = 0; /* opening tries one */
    queue.bad = bad;
    *rc = train(NULL, d, false, 10, &err);
    device_close(d);
    return queue.failed;
}

static char *weights_of(const char *checkpoint)
{
    char *text = NULL,
         *path = mem_printf("%s/model-00001-of-00001.safetensors", checkpoint);
    size_t n = 0;
    bool there = fs_read(path, 1 << 24, &text, &n, NULL) == RC_OK;
    char *sum = there ? mem_printf("%zu %jx", n, (uintmax_t)hash_xxh3(text, n)) : NULL;
    mem_free(there ? text : NULL);
    mem_free(path);
    return sum;
}

/* A checkpoint that is there has the bytes of the run without a fault. */
static void check_left(const char *checkpoint, const char *want)
{
    char *got = weights_of(checkpoint);
    if (got)
        CHECK_STR(got, want);
    mem_free(got);
}

static void what_a_device_could_not_copy_is_in_no_checkpoint(void)
{
    char *top = enter();
    enum rc rc = RC_OK;
    CHECK(!train_spoilt(0, &rc) && rc == RC_OK);
    char *want = weights_of("model/model.ckpt-9");
    CHECK(want != NULL);
    int copies = queue.copies;
    for (int bad = 1; bad <= copies; bad++) {
        CHECK(fs_remove_all("model", NULL) == RC_OK);
        CHECK(train_spoilt(bad, &rc));
        CHECK(rc != RC_OK);
        check_left("model/model.ckpt-9", want);
    }
    mem_free(want);
    leave(top);
}

static bool no_peek_comes(const struct lookup *l, int table, int64_t id, float *out)
{
    queue.failed = true;
    return lookup_peek(lookup_inner(l), table, id, out);
}

static enum rc create_far(const struct lookup_conf *conf, struct lookup **out,
                          struct err *err)
{
    enum rc rc = faulty_create(conf, out, err);
    if (!rc)
        ((struct lookup_wrap *)*out)->ops.peek = no_peek_comes;
    return rc;
}

/* A device of the queue above. */
static struct device *open_queue(struct device_ops *ops)
{
    struct device *d = NULL;
    struct err err = {0};
    *ops = device_copies;
    ops->copy = bad_copy;
    ops->synchronise = bad_synchronise;
    memset(&queue, 0, sizeof(queue));
    CHECK(device_open(ops, &d, &err) == RC_OK);
    queue.copies = 0; /* opening tries one */
    return d;
}

static void rows_that_did_not_come_are_in_no_dump(void)
{
    static const struct lookup_ops far = {.name = "far", .create = create_far};
    char *top = enter();
    struct device_ops ops;
    struct device *d = open_queue(&ops);
    struct err err = {0};
    extra = "train_config { delta_embedding_dump_config { dump_interval_steps: 3 } }\n";
    CHECK_INT(train(&far, d, false, 10, &err), RC_IO);
    CHECK_HAS(err.msg, "delta_embedding_dump_config: the card fell off the bus");
    CHECK(!fs_exists("model/delta_embedding_dump/delta_embedding_step_3.parquet"));
    extra = NULL;
    device_close(d);
    leave(top);
}

static void ids_and_rows_out_of_contract_are_in_no_dump(void)
{
    static const struct {
        const char *fault, *said;
    } tries[] = {
        {"touched: nothing", "touched() gave 3 ids that do not ascend within table '"},
        {"touched: below", "touched() gave -5 ids that do not ascend within table '"},
        {"touched: backwards", " ids that do not ascend within table '"},
        {"peek: nothing", "peek() gave no values of id "},
    };
    extra = "train_config { delta_embedding_dump_config { dump_interval_steps: 3 } }\n";
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        char *top = enter();
        struct err err = {0};
        fault.fails = tries[i].fault;
        CHECK_INT(train(&faulty_ops, NULL, false, 10, &err), RC_INVAL);
        CHECK_HAS(err.msg, tries[i].said);
        CHECK_INT(err.code, E0011);
        CHECK(!fs_exists("model/delta_embedding_dump/delta_embedding_step_3.parquet"));
        leave(top);
    }
    extra = NULL;
}

static struct train_session *session_on(const struct device *d, struct conf *conf,
                                        struct diags *diags)
{
    struct train_session *s = NULL;
    struct err err = {0};
    struct train_session_options o = {.seed = 9, .device = d};
    char *text = mem_printf("eval_input_path: \"rows.csv\" %s", rows_deepfm);
    rows_conf(text, conf, diags);
    CHECK(train_session_create(conf->data, &o, &s, diags, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    mem_free(text);
    return s;
}

/* A copy of an evaluation's last batch, behind which no forward pass waits. */
static void what_a_device_could_not_copy_is_in_no_evaluation(void)
{
    char *top = enter();
    struct device_ops ops;
    struct device *d = open_queue(&ops);
    struct conf conf = {0};
    struct diags diags = {0};
    struct train_score *score = NULL;
    const struct train_score_line *lines;
    size_t n;
    struct err err = {0};
    struct train_session *s = session_on(d, &conf, &diags);
    CHECK(train_score_create(s, false, &score, &err) == RC_OK);
    CHECK_INT(train_evaluate(s, score, NULL, NULL, &diags, &lines, &n, &err), RC_OK);
    int all = queue.copies;
    CHECK(all > 0);
    for (int bad = all; bad >= all - 1; bad--) { /* labels, then predictions */
        queue.copies = 0;
        queue.bad = bad;
        queue.failed = false;
        CHECK_INT(train_evaluate(s, score, NULL, NULL, &diags, &lines, &n, &err), RC_IO);
        CHECK_STR(err.msg, "evaluation: the card fell off the bus");
    }
    train_score_destroy(score);
    train_session_destroy(s);
    diags_release(&diags);
    conf_release(&conf);
    device_close(d);
    leave(top);
}

/* One row of the columns that the features read. */
static void one_row(struct data_schema *schema, struct batch *b)
{
    struct err err = {0};
    static const struct {
        const char *name;
        enum type_id id;
    } columns[] = {{"u", TYPE_STR},
                   {"i", TYPE_I64},
                   {"tags", TYPE_STR},
                   {"p", TYPE_F32},
                   {"clk", TYPE_I64}};
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        struct type t = type_of(columns[i].id, false);
        data_schema_add(schema, str_c(columns[i].name), &t);
    }
    batch_init(b, schema);
    CHECK(column_add_str(&b->cols[0], str_c("u1"), &err) == RC_OK);
    CHECK(column_add_i64(&b->cols[1], 3, &err) == RC_OK);
    CHECK(column_add_str(&b->cols[2], str_c("t1:0.5"), &err) == RC_OK);
    CHECK(column_add_f32(&b->cols[3], 2.5f, &err) == RC_OK);
    CHECK(column_add_i64(&b->cols[4], 0, &err) == RC_OK);
    b->n = 1;
}

static void what_a_device_could_not_copy_is_no_prediction(void)
{
    char *top = enter();
    struct device_ops ops;
    struct device *d = open_queue(&ops);
    struct conf conf = {0};
    struct diags diags = {0};
    struct data_schema schema = {0};
    struct batch rows;
    struct train_scorer *x = NULL;
    struct err err = {0};
    struct train_session *s = session_on(d, &conf, &diags);
    one_row(&schema, &rows);
    CHECK(train_scorer_create(s, false, &x, &err) == RC_OK);
    CHECK_INT(train_scorer_run(x, &rows, &err), RC_OK);
    CHECK_STR(err.msg, "");
    int all = queue.copies;
    struct view v = train_scorer_view(x, "probs");
    CHECK(all > 0 && v.data && view_row(&v, 0)[0] > 0 && view_row(&v, 0)[0] < 1);
    CHECK_INT(queue.copies, all); /* all were there */
    queue.copies = 0;
    queue.bad = all;
    CHECK_INT(train_scorer_run(x, &rows, &err), RC_IO);
    CHECK_STR(err.msg, "the card fell off the bus");
    train_scorer_destroy(x);
    train_session_destroy(s);
    batch_release(&rows);
    data_schema_release(&schema);
    diags_release(&diags);
    conf_release(&conf);
    device_close(d);
    leave(top);
}

static const struct tap_case cases[] = {
    TAP(rows_that_did_not_come_are_in_no_dump),
    TAP(ids_and_rows_out_of_contract_are_in_no_dump),
    TAP(an_executor_that_lacks_a_method_is_refused),
    TAP(what_a_device_could_not_copy_is_in_no_evaluation),
    TAP(what_a_device_could_not_copy_is_no_prediction),
    TAP(a_lookup_that_fails_without_a_word_is_named),
    TAP(a_lookup_that_answers_out_of_contract_is_named),
    TAP(a_restore_that_fails_without_a_word_is_named),
    TAP(a_snapshot_out_of_contract_is_refused_before_anything_is_written),
    TAP(lists_at_odd_addresses_are_saved_and_restored),
    TAP(a_device_that_fails_without_a_word_is_named),
    TAP(a_device_out_of_contract_is_not_opened),
    TAP(what_a_device_could_not_copy_is_in_no_checkpoint),
};
TAP_MAIN(cases)
