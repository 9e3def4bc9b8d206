/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/parquet/parquet.h"
#include "data/parquet/writer.h"
#include "tap.h"

#define OK(x) CHECK_INT((x), RC_OK)
#define ROWS 700

static uint64_t state;
static uint64_t draw(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> 33;
}

static void make_schema(struct data_schema *s)
{
    struct arena *m = &s->mem;
    struct type t = type_of(TYPE_I64, false);
    data_schema_add(s, str_c("id"), &t);
    for (int id = TYPE_BOOL; id <= TYPE_STR; id++) {
        char name[16];
        snprintf(name, sizeof(name), "flat%d", id);
        t = type_of((enum type_id)id, true);
        data_schema_add(s, str_c(name), &t);
    }
    t = type_list(m, type_of(TYPE_STR, true), true);
    data_schema_add(s, str_c("list"), &t);
    t = type_list(m, type_list(m, type_of(TYPE_I32, false), true), false);
    data_schema_add(s, str_c("lists"), &t);
    t = type_map(m, type_of(TYPE_STR, false), type_of(TYPE_F32, true), true);
    data_schema_add(s, str_c("map"), &t);
    struct data_field kids[2] = {
        {.name = "a", .type = type_of(TYPE_I64, true)},
        {.name = "b", .type = type_list(m, type_of(TYPE_F64, false), true)}};
    t = (struct type){.id = TYPE_STRUCT, .nullable = true, .kids = kids, .n_kids = 2};
    data_schema_add(s, str_c("both"), &t);
}

static enum rc add_random(struct column *c, int depth, struct err *err);

static enum rc add_flat(struct column *c, struct err *err)
{
    char text[64];
    uint64_t v = draw() % 3 ? draw() % 40 : draw();
    switch (c->type->id) {
    case TYPE_BOOL:
        return column_add_bool(c, v & 1, err);
    case TYPE_I32:
        return column_add_i32(c, (int32_t)v - 20, err);
    case TYPE_I64:
        return column_add_i64(c, (int64_t)v * -7, err);
    case TYPE_U32:
        return column_add_u32(c, (uint32_t)v * 3, err);
    case TYPE_U64:
        return column_add_u64(c, UINT64_MAX - v, err);
    case TYPE_F32:
        return column_add_f32(c, v == 7 ? NAN : (float)v / 3, err);
    case TYPE_F64:
        return column_add_f64(c, (double)v / 7, err);
    default:
        snprintf(text, sizeof(text), "%.*s%d", (int)(v % 30),
                 "abcdefghijklmnopqrstuvwxyzabcdefgh", (int)(v % 1000));
        return column_add_str(c, str_of(text, v == 5 ? 0 : strlen(text)), err);
    }
}

static enum rc add_random(struct column *c, int depth, struct err *err)
{
    enum rc rc = RC_OK;
    if (c->type->nullable && draw() % 5 == 0)
        return column_add_null(c, err);
    if (!c->type->n_kids)
        return add_flat(c, err);
    uint64_t n = c->type->id == TYPE_STRUCT ? 1 : draw() % 4;
    for (uint64_t i = 0; i < n; i++)
        for (size_t k = 0; !rc && k < c->type->n_kids; k++)
            rc = add_random(&c->kids[k], depth + 1, err);
    return rc ? rc : column_add_nested(c, err);
}

static enum rc fill(struct batch *b, int64_t rows, struct err *err)
{
    enum rc rc = RC_OK;
    batch_clear(b);
    for (size_t k = 0; k < b->n_cols; k++)
        for (int64_t i = 0; !rc && i < rows; i++)
            rc = add_random(&b->cols[k], 0, err);
    return rc ? rc : batch_finish(b, err);
}

static enum rc write_file(const char *path, const struct batch *b,
                          const struct parquet_writer_options *o, struct err *err)
{
    struct parquet_writer *w;
    enum rc rc = parquet_writer_create(path, b->schema, o, &w, err);
    if (rc)
        return rc;
    rc = parquet_write(w, b, err);
    if (!rc)
        return parquet_writer_finish(w, err);
    parquet_writer_abandon(w);
    return rc;
}

/* Whether rows [from, ...) of `path` are those of b, read `step` at a time. */
static bool reads_equal(const char *path, const struct batch *b, int64_t from,
                        int64_t step, enum parquet_dict dict)
{
    struct parquet_options o = {.dict = dict};
    struct parquet *r;
    struct err err = {0};
    struct batch got;
    bool same = true;
    if (parquet_open(path, &o, &r, &err)) {
        printf("# %s\n", err.msg);
        return false;
    }
    same = parquet_rows(r) == b->n && data_schema_equal(parquet_schema(r), b->schema);
    batch_init(&got, parquet_schema(r));
    OK(parquet_seek(r, from, &err));
    for (int64_t at = from; same; at += got.n) {
        if (parquet_next(r, step, &got, &err)) {
            printf("# %s\n", err.msg);
            same = false;
        }
        CHECK_INT(parquet_tell(r), at + got.n);
        if (!got.n) {
            same = same && at == b->n;
            break;
        }
        for (size_t k = 0; k < b->n_cols; k++)
            for (int64_t i = 0; i < got.n; i++)
                if (!column_row_equal(&got.cols[k], i, &b->cols[k], at + i)) {
                    printf("# column %s row %jd differs\n", b->schema->at[k].name,
                           (intmax_t)(at + i));
                    same = false;
                    break;
                }
    }
    batch_release(&got);
    parquet_close(r);
    return same;
}

struct fixture {
    char *dir, *path;
    struct data_schema schema;
    struct batch batch;
    struct err err;
};

static void setup(struct fixture *f, int64_t rows)
{
    *f = (struct fixture){0};
    state = 42;
    OK(fs_temp_dir("pq", &f->dir, &f->err));
    f->path = fs_join(f->dir, "x.parquet");
    make_schema(&f->schema);
    batch_init(&f->batch, &f->schema);
    OK(fill(&f->batch, rows, &f->err));
}

static void teardown(struct fixture *f)
{
    OK(fs_remove_all(f->dir, &f->err));
    mem_free(f->dir);
    mem_free(f->path);
    batch_release(&f->batch);
    data_schema_release(&f->schema);
}

static void written_files_read_back(void)
{
    static const struct parquet_writer_options options[] = {
        {0},
        {.codec = CODEC_SNAPPY, .crc = true, .page_rows = 50},
        {.codec = CODEC_ZSTD, .no_dict = true, .page_bytes = 300, .group_rows = 333},
        {.codec = CODEC_GZIP, .page_rows = 7, .group_rows = 100, .dict_bytes = 200},
        {.codec = CODEC_LZ4_RAW, .page_rows = 1, .no_index = true, .group_rows = 64},
    };
    struct fixture f;
    int64_t live = mem_live();
    setup(&f, ROWS);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        OK(write_file(f.path, &f.batch, &options[i], &f.err));
        CHECK(reads_equal(f.path, &f.batch, 0, 100000, PARQUET_DICT_NONE));
        CHECK(reads_equal(f.path, &f.batch, 0, 13, PARQUET_DICT_ALL));
        CHECK(reads_equal(f.path, &f.batch, 0, 1, PARQUET_DICT_STRINGS));
        for (int64_t from = 1; from <= ROWS; from += 57)
            CHECK(reads_equal(f.path, &f.batch, from, 29, PARQUET_DICT_ALL));
        CHECK(reads_equal(f.path, &f.batch, ROWS, 29, PARQUET_DICT_NONE));
    }
    teardown(&f);
    CHECK_INT(mem_live(), live);
}

static void an_empty_file_has_no_rows(void)
{
    struct fixture f;
    setup(&f, 0);
    OK(write_file(f.path, &f.batch, NULL, &f.err));
    CHECK(reads_equal(f.path, &f.batch, 0, 10, PARQUET_DICT_NONE));
    teardown(&f);
}

static void columns_can_be_chosen(void)
{
    struct fixture f;
    struct parquet *r;
    struct batch b;
    static const char *const names[] = {"map", "id"}, *const bad[] = {"mop"},
                             *const twice[] = {"id", "id"};
    setup(&f, 50);
    OK(write_file(f.path, &f.batch, NULL, &f.err));
    struct parquet_options o = {.columns = names, .n_columns = 2};
    OK(parquet_open(f.path, &o, &r, &f.err));
    batch_init(&b, parquet_schema(r));
    OK(parquet_next(r, 100, &b, &f.err));
    CHECK_INT(b.n, 50);
    CHECK_INT(b.n_cols, 2);
    CHECK(column_equal(&b.cols[0], batch_find(&f.batch, str_c("map"))));
    CHECK(column_equal(&b.cols[1], batch_find(&f.batch, str_c("id"))));
    batch_release(&b);
    parquet_close(r);
    o = (struct parquet_options){.columns = bad, .n_columns = 1};
    CHECK_INT(parquet_open(f.path, &o, &r, &f.err), RC_INVAL);
    CHECK(f.err.code == E1011);
    CHECK_HAS(f.err.msg, "x.parquet': no column 'mop'; did you mean 'map'?");
    o = (struct parquet_options){.columns = twice, .n_columns = 2};
    CHECK_INT(parquet_open(f.path, &o, &r, &f.err), RC_INVAL);
    CHECK_HAS(f.err.msg, "column 'id' is asked for twice");
    teardown(&f);
}

static void strings_stay_encoded_when_asked(void)
{
    struct fixture f;
    struct parquet *r;
    struct batch b;
    struct data_schema s = {0};
    struct type t = type_of(TYPE_STR, true);
    struct parquet_options o = {.dict = PARQUET_DICT_STRINGS};
    struct parquet_writer_options wo = {.group_rows = 500};
    setup(&f, 0);
    data_schema_add(&s, str_c("c"), &t);
    struct batch in;
    batch_init(&in, &s);
    for (int i = 0; i < 1000; i++)
        OK(column_add_str(&in.cols[0], i % 3 ? str_c("yes") : str_c("no"), &f.err));
    OK(batch_finish(&in, &f.err));
    OK(write_file(f.path, &in, &wo, &f.err));
    OK(parquet_open(f.path, &o, &r, &f.err));
    batch_init(&b, parquet_schema(r));
    CHECK_INT(parquet_groups(r), 2);
    CHECK_INT(parquet_group_start(r, 1), 500);
    OK(parquet_next(r, 400, &b, &f.err));
    CHECK(b.cols[0].dict != NULL);
    CHECK_INT(b.cols[0].dict->values.n, 2);
    struct dict *first = dict_ref(b.cols[0].dict);
    OK(parquet_next(r, 200, &b, &f.err)); /* crosses the row groups: values */
    CHECK_INT(b.n, 200);
    CHECK(b.cols[0].dict == NULL);
    CHECK(str_is(column_str(&b.cols[0], 1), "yes"));
    OK(parquet_next(r, 400, &b, &f.err));
    CHECK(b.cols[0].dict != NULL);
    CHECK(b.cols[0].dict != first);
    CHECK(str_is(column_str(&first->values, 0), "no"));
    dict_unref(first);
    batch_release(&b);
    batch_release(&in);
    data_schema_release(&s);
    parquet_close(r);
    teardown(&f);
}

static void a_warm_reader_allocates_nothing(void)
{
    struct fixture f;
    struct parquet *r;
    struct batch b;
    struct parquet_writer_options o = {
        .codec = CODEC_SNAPPY, .page_rows = 100, .group_rows = 350};
    setup(&f, ROWS);
    OK(write_file(f.path, &f.batch, &o, &f.err));
    OK(parquet_open(f.path, NULL, &r, &f.err));
    batch_init(&b, parquet_schema(r));
    int64_t before = 0;
    for (int round = 0; round < 3; round++) {
        before = mem_total();
        OK(parquet_seek(r, 0, &f.err));
        do
            OK(parquet_next(r, 64, &b, &f.err));
        while (b.n);
    }
    CHECK_INT(mem_total(), before);
    batch_release(&b);
    parquet_close(r);
    teardown(&f);
}

static void short_memory_is_an_error(void)
{
    struct fixture f;
    int64_t live = mem_live(), tries = 0;
    setup(&f, 60);
    struct parquet_writer_options o = {
        .codec = CODEC_NONE, .page_rows = 20, .group_rows = 40};
    struct parquet_options ro = {.dict = PARQUET_DICT_STRINGS};
    for (enum rc rc = RC_NOMEM; rc; tries += 3) {
        mem_fail_at(tries + 1);
        rc = write_file(f.path, &f.batch, &o, &f.err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        CHECK(rc == RC_OK || !fs_exists(f.path));
    }
    CHECK(tries > 100);
    tries = 0;
    for (enum rc rc = RC_NOMEM; rc; tries++) {
        struct parquet *r = NULL;
        struct batch b = {0};
        mem_fail_at(tries + 1);
        rc = parquet_open(f.path, &ro, &r, &f.err);
        if (!rc) {
            batch_init(&b, parquet_schema(r));
            rc = parquet_next(r, 60, &b, &f.err);
            CHECK_INT(b.n, rc ? 0 : 60);
        }
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        batch_release(&b);
        parquet_close(r);
    }
    CHECK(tries > 50);
    teardown(&f);
    CHECK_INT(mem_live(), live);
}

/* Opens and reads bytes; whether that succeeded. */
static bool reads(const char *bytes, size_t n, struct err *err)
{
    struct parquet_options o = {.max_bytes = 1 << 22};
    struct parquet *r;
    struct batch b;
    if (parquet_open_memory("m", bytes, n, &o, &r, err))
        return false;
    enum rc rc;
    batch_init(&b, parquet_schema(r));
    do {
        rc = parquet_next(r, 64, &b, err);
        if (rc)
            CHECK_INT(b.n, 0);
    } while (!rc && b.n);
    batch_release(&b);
    parquet_close(r);
    return !rc;
}

static void cut_files_are_refused(void)
{
    struct fixture f;
    char *bytes;
    size_t n;
    setup(&f, 40);
    OK(write_file(f.path, &f.batch, NULL, &f.err));
    OK(fs_read(f.path, 1 << 24, &bytes, &n, &f.err));
    CHECK(reads(bytes, n, &f.err));
    for (size_t k = 0; k < n; k++)
        CHECK(!reads(bytes, k, &f.err));
    CHECK(!reads(bytes, n - 1, &f.err));
    CHECK(f.err.code == E1002);
    CHECK_STR(f.err.msg,
              "'m': it begins as a Parquet file but does not end as one: cut short "
              "or still being written");
    CHECK(!reads("hello, I am a text file", 23, &f.err));
    CHECK_STR(f.err.msg, "'m': not a Parquet file: it does not begin with PAR1");
    mem_free(bytes);
    teardown(&f);
}

static void damaged_files_never_crash(void)
{
    struct fixture f;
    char *bytes;
    size_t n, refused = 0;
    struct parquet_writer_options o = {.page_rows = 30, .crc = true};
    setup(&f, 100);
    for (int crc = 0; crc < 2; crc++) {
        o.crc = crc;
        OK(write_file(f.path, &f.batch, &o, &f.err));
        OK(fs_read(f.path, 1 << 24, &bytes, &n, &f.err));
        for (int round = 0; round < 1500; round++) {
            size_t at = draw() % n;
            char old = bytes[at];
            bytes[at] = (char)(old ^ (char)(1 + draw() % 255));
            refused += !reads(bytes, n, &f.err);
            bytes[at] = old;
        }
        CHECK(reads(bytes, n, &f.err));
        mem_free(bytes);
    }
    CHECK(refused > 1500);
    teardown(&f);
}

static void a_pool_reads_the_same(void)
{
    struct fixture f;
    struct pool *pool;
    struct parquet *a, *b;
    struct batch one, many;
    struct parquet_writer_options o = {
        .codec = CODEC_ZSTD, .page_rows = 100, .group_rows = 350};
    struct parquet_options ro = {.dict = PARQUET_DICT_ALL};
    setup(&f, ROWS);
    OK(write_file(f.path, &f.batch, &o, &f.err));
    OK(pool_create(3, &pool, &f.err));
    OK(parquet_open(f.path, &ro, &a, &f.err));
    OK(parquet_open(f.path, &ro, &b, &f.err));
    parquet_set_pool(b, pool);
    batch_init(&one, parquet_schema(a));
    batch_init(&many, parquet_schema(b));
    do {
        OK(parquet_next(a, 91, &one, &f.err));
        OK(parquet_next(b, 91, &many, &f.err));
        CHECK(batch_equal(&one, &many));
    } while (one.n);
    batch_release(&one);
    batch_release(&many);
    parquet_close(a);
    parquet_close(b);
    pool_destroy(pool);
    teardown(&f);
}

static void damage_is_named(void)
{
    struct fixture f;
    char *bytes;
    size_t n;
    struct parquet_writer_options o = {.page_rows = 10, .crc = true, .no_dict = true};
    struct parquet *r;
    struct batch b;
    setup(&f, 40);
    OK(write_file(f.path, &f.batch, &o, &f.err));
    OK(fs_read(f.path, 1 << 24, &bytes, &n, &f.err));
    bytes[160] ^= 1; /* in the second page of 'id' */
    OK(parquet_open_memory("m", bytes, n, NULL, &r, &f.err));
    batch_init(&b, parquet_schema(r));
    OK(parquet_next(r, 10, &b, &f.err));
    CHECK_INT(parquet_next(r, 10, &b, &f.err), RC_FORMAT);
    CHECK(f.err.code == E1007);
    CHECK_HAS(f.err.msg, "'m': column 'id', row group 0, page 1 at byte ");
    CHECK_HAS(f.err.msg, ": the checksum is ");
    CHECK_INT(parquet_tell(r), 10);
    OK(parquet_seek(r, 20, &f.err)); /* past the damage */
    OK(parquet_next(r, 10, &b, &f.err));
    CHECK(column_row_equal(&b.cols[0], 0, &f.batch.cols[0], 20));
    CHECK_INT(parquet_seek(r, 41, &f.err), RC_INVAL);
    CHECK_STR(f.err.msg, "'m': row 41 is outside of its 40 rows");
    batch_release(&b);
    parquet_close(r);
    mem_free(bytes);
    teardown(&f);
}

static void wrong_batches_are_refused(void)
{
    struct fixture f;
    struct parquet_writer *w;
    struct data_schema s = {0};
    struct type t = type_of(TYPE_I64, false);
    struct batch b;
    setup(&f, 0);
    data_schema_add(&s, str_c("a"), &t);
    OK(parquet_writer_create(f.path, &s, NULL, &w, &f.err));
    CHECK_INT(parquet_write(w, &f.batch, &f.err), RC_INVAL);
    CHECK_HAS(f.err.msg, "x.parquet': a batch of 13 columns where 1 belong");
    batch_init(&b, &s);
    OK(column_add_null(&b.cols[0], &f.err));
    OK(batch_finish(&b, &f.err));
    CHECK_INT(parquet_write(w, &b, &f.err), RC_INVAL);
    CHECK(f.err.code == E1020);
    CHECK_HAS(f.err.msg,
              "column 'a': a null where the schema has none, in row 0 of the batch");
    parquet_writer_abandon(w);
    CHECK(!fs_exists(f.path));
    batch_release(&b);
    data_schema_release(&s);
    teardown(&f);
}

/* Reads all rows 64 at a time; the longest batch, and whether they are those written. */
static int64_t longest_batch(struct fixture *f, size_t max_bytes, bool *same)
{
    struct parquet *r;
    struct batch b;
    struct parquet_options o = {.max_bytes = max_bytes};
    int64_t longest = 0, rows = 0;
    OK(parquet_open(f->path, &o, &r, &f->err));
    batch_init(&b, parquet_schema(r));
    *same = true;
    do {
        OK(parquet_next(r, 64, &b, &f->err));
        for (int64_t i = 0; *same && i < b.n; i++)
            for (size_t k = 0; *same && k < b.n_cols; k++)
                *same = column_row_equal(&b.cols[k], i, &f->batch.cols[k], rows + i);
        rows += b.n;
        longest = b.n > longest ? b.n : longest;
    } while (b.n);
    CHECK_INT(rows, f->batch.n);
    batch_release(&b);
    parquet_close(r);
    return longest;
}

static void large_rows_come_in_short_batches(void)
{
    struct fixture f;
    bool same;
    setup(&f, ROWS);
    OK(write_file(f.path, &f.batch, NULL, &f.err));
    CHECK_INT(longest_batch(&f, 0, &same), 64);
    CHECK(same);
    int64_t some = longest_batch(&f, 500, &same);
    CHECK(some > 1 && some < 64);
    CHECK(same);
    CHECK_INT(longest_batch(&f, 1, &same), 1); /* a row is as large as it is */
    CHECK(same);
    teardown(&f);
}

static const struct tap_case cases[] = {
    TAP(written_files_read_back),         TAP(an_empty_file_has_no_rows),
    TAP(columns_can_be_chosen),           TAP(strings_stay_encoded_when_asked),
    TAP(a_warm_reader_allocates_nothing), TAP(short_memory_is_an_error),
    TAP(cut_files_are_refused),           TAP(damaged_files_never_crash),
    TAP(a_pool_reads_the_same),           TAP(damage_is_named),
    TAP(wrong_batches_are_refused),       TAP(large_rows_come_in_short_batches),
};
TAP_MAIN(cases)
