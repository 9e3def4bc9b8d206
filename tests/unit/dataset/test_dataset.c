/* SPDX-License-Identifier: Apache-2.0 */
#include "rows_of.h"

#define IDS_MAX 8192

struct ids {
    int64_t at[IDS_MAX]; /* a batch ends with -1 */
    size_t n;
};

static char *dir;

static void start(void)
{
    dir = rows_dir();
}

static void end(void)
{
    rows_drop(dir);
    dir = NULL;
}

static void put(const char *name, const char *text)
{
    struct err err = {0};
    char *path = fs_join(dir, name);
    OK(fs_write(path, text, strlen(text), 0644, &err));
    mem_free(path);
}

/* The settings with the input "name" in the directory. */
static enum rc open_as(struct dataset_conf conf, const char *name, struct dataset **d,
                       struct err *err)
{
    char *path = fs_join(dir, name);
    conf.input = path;
    enum rc rc = dataset_open(&conf, d, err);
    mem_free(path);
    return rc;
}

/* Messages with the directory cut out. */
static void check_message(const struct err *err, const char *want)
{
    struct buf got;
    char *prefix = mem_printf("%s/", dir);
    buf_init(&got, 4096);
    for (const char *p = err->msg; *p; p++) {
        bool at_dir = str_starts(p, prefix);
        p += at_dir ? strlen(prefix) : 0;
        buf_putc(&got, *p);
    }
    CHECK_STR(buf_str(&got), want);
    buf_release(&got);
    mem_free(prefix);
}

static void check_refused(struct dataset_conf conf, const char *name, const char *message)
{
    struct dataset *d = NULL;
    struct err err = {0};
    enum rc rc = open_as(conf, name, &d, &err);
    const struct batch *b = NULL;
    while (!rc) {
        rc = dataset_next(d, &b, &err);
        if (!rc && !b)
            break;
    }
    CHECK(rc != RC_OK);
    check_message(&err, message);
    dataset_close(d);
}

static void read_pass(struct dataset *d, struct ids *out)
{
    const struct batch *b = NULL;
    struct err err = {0};
    out->n = 0;
    while (OK(dataset_next(d, &b, &err)) && b) {
        const struct column *id = batch_find(b, str_c("id"));
        for (int64_t i = 0; i < b->n; i++)
            out->at[out->n++] = column_i64(id, i);
        out->at[out->n++] = -1;
    }
}

static void check_ids(const struct ids *got, const char *want)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < got->n; i++)
        if (got->at[i] < 0)
            buf_puts(&text, " |");
        else
            buf_printf(&text, " %jd", (intmax_t)got->at[i]);
    CHECK_STR(buf_str(&text), want);
    buf_release(&text);
}

static void check_reads(struct dataset_conf conf, const char *name, const char *want,
                        struct dataset_counts *counts)
{
    static struct ids got;
    struct dataset *d = NULL;
    struct err err = {0};
    if (OK(open_as(conf, name, &d, &err))) {
        read_pass(d, &got);
        check_ids(&got, want);
        if (counts)
            dataset_counts(d, counts);
    }
    dataset_close(d);
}

static void rows_are_split_evenly_over_slots(void)
{
    static const char *const formats[] = {"csv", "jsonl", "parquet"};
    for (size_t f = 0; f < ARRAY_LEN(formats); f++) {
        if (!writer_find(formats[f]))
            continue;
        start();
        rows_write(dir, "a", formats[f], 0, 4);
        rows_write(dir, "b", formats[f], 4, 0);
        rows_write(dir, "c", formats[f], 4, 7);
        struct dataset_conf conf = {
            .batch_size = 2, .world = 2, .readers = 2, .every_row = true};
        /* 11 rows, 4 slots: 3 3 3 2; a rank's slots take turns. */
        check_reads(conf, "", " 0 1 | 3 4 | 2 | 5 |", NULL);
        conf.rank = 1;
        check_reads(conf, "", " 6 7 | 9 10 | 8 |", NULL);
        end();
    }
}

static void one_odd_row_is_dropped_for_even_ranks(void)
{
    struct dataset_counts counts;
    start();
    rows_write(dir, "a", "csv", 0, 9);
    struct dataset_conf conf = {.batch_size = 4, .world = 2};
    check_reads(conf, "a.csv", " 0 1 2 3 |", &counts);
    CHECK_INT(counts.skipped, 1);
    conf.every_row = true;
    check_reads(conf, "a.csv", " 0 1 2 3 | 4 |", &counts);
    CHECK_INT(counts.skipped, 0);
    conf.rank = 1;
    check_reads(conf, "a.csv", " 5 6 7 8 |", &counts);
    end();
}

static void what_is_left_goes_to_another_number_of_ranks(void)
{
    struct err err = {0};
    struct buf texts[2], all;
    const char *list[2];
    start();
    rows_write(dir, "a", "csv", 0, 1000);
    buf_init(&all, 1 << 16);
    for (int r = 0; r < 2; r++) {
        struct dataset *d = NULL;
        const struct batch *b = NULL;
        struct dataset_conf conf = {.batch_size = 100, .world = 2, .rank = r};
        buf_init(&texts[r], 1 << 16);
        OK(open_as(conf, "a.csv", &d, &err));
        for (int i = 0; i < 3; i++)
            OK(dataset_next(d, &b, &err));
        dataset_tell(d, &texts[r]);
        list[r] = buf_str(&texts[r]);
        dataset_close(d);
    }
    OK(dataset_merge(list, 2, &all, &err));
    struct dataset_conf conf = {.batch_size = 200, .cursor = buf_str(&all)};
    static struct ids got;
    struct dataset *d = NULL;
    OK(open_as(conf, "a.csv", &d, &err));
    read_pass(d, &got);
    CHECK_INT(got.n, 402);
    CHECK_INT(got.at[0], 300);
    CHECK_INT(got.at[199], 499);
    CHECK_INT(got.at[201], 800);
    CHECK_INT(got.at[400], 999);
    read_pass(d, &got); /* the next pass is whole again */
    CHECK_INT(got.n, 1005);
    dataset_close(d);
    check_refused((struct dataset_conf){.cursor = list[0]}, "a.csv",
                  "data position: it holds 1 of 2 ranks; merge them first");
    for (int r = 0; r < 2; r++)
        buf_release(&texts[r]);
    buf_release(&all);
    end();
}

static void whole_files_can_be_dealt(void)
{
    start();
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('a' + i), 0};
        rows_write(dir, name, "csv", 10 * i, 2);
    }
    struct dataset_conf conf = {
        .batch_size = 9, .by_file = true, .world = 2, .readers = 4};
    /* 5 files and 2 ranks: 2 readers each; slots 0 to 3. */
    check_reads(conf, "", " 0 1 40 41 | 10 11 |", NULL);
    conf.rank = 1;
    check_reads(conf, "", " 20 21 | 30 31 |", NULL);
    conf.world = 6;
    check_refused(conf, "", "5 files cannot be dealt to 6 ranks");
    end();
}

static void short_batches_can_be_dropped(void)
{
    struct dataset_counts counts;
    start();
    rows_write(dir, "a", "csv", 0, 7);
    struct dataset_conf conf = {.batch_size = 3, .drop_remainder = true};
    check_reads(conf, "a.csv", " 0 1 2 | 3 4 5 |", &counts);
    CHECK_INT(counts.rows, 6);
    CHECK_INT(counts.batches, 2);
    CHECK_INT(counts.skipped, 1);
    end();
}

static void batches_end_where_the_cost_does(void)
{
    start();
    rows_write(dir, "a", "csv", 0, 12); /* costs 0 1 2 3 4 0 1 2 3 4 0 1 */
    struct dataset_conf conf = {.batch_size = 100, .batch_cost = 6, .cost_field = "cost"};
    check_reads(conf, "a.csv", " 0 1 2 3 | 4 5 6 | 7 8 | 9 10 11 |", NULL);
    conf.batch_cost = 2; /* a row that costs more goes alone */
    check_reads(conf, "a.csv", " 0 1 | 2 | 3 | 4 | 5 6 | 7 | 8 | 9 | 10 11 |", NULL);
    conf.batch_size = 2;
    conf.batch_cost = 1000;
    check_reads(conf, "a.csv", " 0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 |", NULL);
    conf.cost_field = NULL;
    check_refused(conf, "a.csv",
                  "batch_cost_size needs sample_cost_field, the column of costs");
    end();
}

static void order_does_not_depend_on_threads(void)
{
    static struct ids first, other;
    start();
    rows_write(dir, "a", "csv", 0, 700);
    rows_write(dir, "b", "csv", 700, 500);
    for (int threads = 0; threads < 5; threads++) {
        struct dataset *d = NULL;
        struct err err = {0};
        struct dataset_conf conf = {
            .batch_size = 7, .readers = 4, .shuffle = 5, .seed = 3, .threads = threads};
        OK(open_as(conf, "", &d, &err));
        read_pass(d, threads ? &other : &first);
        CHECK(!threads || (other.n == first.n &&
                           memcmp(other.at, first.at, first.n * sizeof(int64_t)) == 0));
        dataset_close(d);
    }
    end();
}

static void labels_are_checked_at_once(void)
{
    static const char *const wrong[] = {"lable"}, *const text[] = {"name"},
                             *const label[] = {"label"}, *const far[] = {"zzzzzz"};
    start();
    rows_write(dir, "a", "csv", 0, 7);
    struct dataset_conf conf = {.labels = wrong, .n_labels = 1};
    check_refused(conf, "a.csv",
                  "label 'lable' is not in 'a.csv', did you mean 'label'?");
    conf.labels = far;
    check_refused(conf, "a.csv", "label 'zzzzzz' is not in 'a.csv'");
    conf.labels = text;
    check_refused(conf, "a.csv",
                  "label 'name' of 'a.csv' is of type string, but must be a number or a "
                  "list of numbers");
    conf = (struct dataset_conf){.weights = text, .n_weights = 1};
    check_refused(
        conf, "a.csv",
        "sample weight 'name' of 'a.csv' is of type string, but must be a number");
    conf = (struct dataset_conf){.reader = {.want = wrong, .n_want = 1}};
    check_refused(conf, "a.csv",
                  "column 'lable' is not in 'a.csv', did you mean 'label'?");
    put("n.csv", "id,label\n1,0\n2,\n3,1\n");
    conf = (struct dataset_conf){.labels = label, .n_labels = 1};
    check_refused(conf, "n.csv", "'n.csv': row 2 (line 3) has no value in 'label'");
    end();
}

static void only_wanted_columns_are_read(void)
{
    static const char *const want[] = {"name", "id"}, *const label[] = {"label"};
    struct dataset *d = NULL;
    struct err err = {0};
    struct buf names;
    start();
    rows_write(dir, "a", "csv", 0, 7);
    struct dataset_conf conf = {
        .reader = {.want = want, .n_want = 2}, .labels = label, .n_labels = 1};
    buf_init(&names, 1024);
    if (OK(open_as(conf, "a.csv", &d, &err)))
        data_schema_print(dataset_schema(d), &names);
    CHECK_STR(buf_str(&names), "id: int64\nlabel: int64\nname: string\n");
    buf_release(&names);
    dataset_close(d);
    end();
}

static void files_must_agree(void)
{
    start();
    put("a.csv", "id,label\n1,0\n");
    put("b.csv", "label,id,more\n1,2,3\n0,3,4\n");
    struct dataset_conf conf = {.batch_size = 2};
    check_reads(conf, "?.csv", " 1 2 | 3 |", NULL);
    put("c.csv", "id\n4\n");
    check_refused(conf, "?.csv", "column 'label' of 'a.csv' is not in 'c.csv'");
    put("c.csv", "id,label\nx,1\n");
    struct err err = {0};
    struct dataset *d = NULL;
    const struct batch *b = NULL;
    enum rc rc = open_as(conf, "?.csv", &d, &err);
    while (!rc && (b || !err.msg[0])) {
        rc = dataset_next(d, &b, &err);
        if (!rc && !b)
            break;
    }
    CHECK_INT(rc, RC_FORMAT);
    CHECK_HAS(err.msg, "c.csv");
    dataset_close(d);
    put("d.csv", "");
    check_refused(conf, "nope", "'nope' does not exist");
    end();
}

/* A file of about 3 MB, of which every 100th row is malformed. */
static void write_damaged(int64_t rows)
{
    struct buf text;
    buf_init(&text, 1 << 26);
    buf_puts(&text, "id,label,cost,name\n");
    for (int64_t i = 0; i < rows; i++) {
        if (i % 100 == 13 || i % 100 == 14)
            buf_printf(&text, i % 2 ? "%jd,x,0,a\n" : "%jd,0\n", (intmax_t)i);
        else
            buf_printf(&text, "%jd,1,%jd,%0900d\n", (intmax_t)i, (intmax_t)(i % 5), 7);
    }
    put("bad.csv", buf_str(&text));
    buf_release(&text);
}

static void check_damaged(struct dataset_conf conf, int64_t rows, int64_t kill)
{
    static char seen[8192];
    struct err err = {0};
    char *cursor = NULL;
    int64_t malformed = 0;
    memset(seen, 0, sizeof(seen));
    for (int part = 0; part < 2; part++) {
        struct buf texts[4], all;
        const char *list[4];
        conf.world = part ? 3 : 2;
        for (int64_t r = 0; r < conf.world; r++) {
            struct dataset *d = NULL;
            const struct batch *b = NULL;
            struct dataset_counts counts = {0};
            buf_init(&texts[r], 1 << 20);
            conf.rank = r;
            conf.cursor = cursor;
            OK(open_as(conf, "bad.csv", &d, &err));
            for (int64_t k = 0; d && (part || k < kill); k++) {
                if (!OK(dataset_next(d, &b, &err)) || !b)
                    break;
                for (int64_t i = 0; i < b->n; i++)
                    seen[column_i64(&b->cols[0], i)]++;
            }
            if (d) {
                dataset_tell(d, &texts[r]);
                dataset_counts(d, &counts);
            }
            malformed += counts.malformed;
            list[r] = buf_str(&texts[r]);
            dataset_close(d);
        }
        buf_init(&all, 1 << 20);
        OK(dataset_merge(list, (size_t)conf.world, &all, &err));
        mem_free(cursor);
        cursor = buf_take(&all);
        for (int64_t r = 0; r < conf.world; r++)
            buf_release(&texts[r]);
    }
    mem_free(cursor);
    int64_t wrong = 0, bad = 0;
    for (int64_t i = 0; i < rows; i++) {
        bool is_bad = i % 100 == 13 || i % 100 == 14;
        bad += is_bad;
        wrong += seen[i] != !is_bad;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(malformed, bad);
}

static void malformed_rows_are_counted_and_left_out(void)
{
    start();
    static const struct reader_field fields[] = {
        {.name = "label", .type = {.id = TYPE_I64}}};
    write_damaged(3300);
    struct dataset_conf conf = {.batch_size = 64, .readers = 2, .every_row = true};
    conf.reader.fields = fields;
    conf.reader.n_fields = 1;
    check_refused(
        conf, "bad.csv",
        "'bad.csv': line 15, column 4: 'label' (field 2): 'x' is not of type INT64");
    conf.reader.skip_bad = true;
    check_damaged(conf, 3300, 5);
    conf.threads = 2;
    conf.batch_size = 33;
    check_damaged(conf, 3300, 17);
    conf.batch_cost = 50;
    conf.cost_field = "cost";
    check_damaged(conf, 3300, 9);
    conf.shuffle = 4;
    check_damaged(conf, 3300, 11);
    end();
}

static void a_warm_dataset_allocates_nothing(void)
{
    static const char *const formats[] = {"csv", "parquet"};
    for (size_t f = 0; f < ARRAY_LEN(formats); f++) {
        struct dataset *d = NULL;
        struct err err = {0};
        const struct batch *b = NULL;
        if (!writer_find(formats[f]))
            continue;
        start();
        /* Every batch has the same number of bytes. */
        rows_write(dir, "a", formats[f], 1000, 4000);
        struct dataset_conf conf = {.batch_size = 21, .shuffle = 4, .readers = 2};
        OK(open_as(conf, "", &d, &err));
        for (int i = 0; i < 120; i++)
            OK(dataset_next(d, &b, &err));
        int64_t before = mem_total();
        for (int i = 0; i < 40; i++)
            OK(dataset_next(d, &b, &err));
        CHECK_INT(mem_total() - before, 0);
        dataset_close(d);
        end();
    }
}

static void missing_memory_is_reported(void)
{
    start();
    rows_write(dir, "a", "csv", 0, 300);
    rows_write(dir, "b", "csv", 300, 300);
    enum rc rc = RC_NOMEM;
    int64_t live = mem_live();
    for (int64_t n = 1; rc && n < 2000; n++) {
        struct dataset *d = NULL;
        struct err err = {0};
        const struct batch *b = NULL;
        struct dataset_conf conf = {
            .batch_size = 64, .shuffle = 2, .readers = 2, .threads = (int)(n % 2)};
        mem_fail_at(n);
        rc = open_as(conf, "", &d, &err);
        while (!rc) {
            rc = dataset_next(d, &b, &err);
            if (!rc && !b)
                break;
        }
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        CHECK(rc == RC_OK || err.msg[0]);
        dataset_close(d);
    }
    CHECK_INT(rc, RC_OK);
    CHECK_INT(mem_live(), live);
    end();
}

static const struct tap_case cases[] = {
    TAP(rows_are_split_evenly_over_slots),
    TAP(one_odd_row_is_dropped_for_even_ranks),
    TAP(what_is_left_goes_to_another_number_of_ranks),
    TAP(whole_files_can_be_dealt),
    TAP(short_batches_can_be_dropped),
    TAP(batches_end_where_the_cost_does),
    TAP(order_does_not_depend_on_threads),
    TAP(labels_are_checked_at_once),
    TAP(only_wanted_columns_are_read),
    TAP(files_must_agree),
    TAP(malformed_rows_are_counted_and_left_out),
    TAP(a_warm_dataset_allocates_nothing),
    TAP(missing_memory_is_reported),
};
TAP_MAIN(cases)
