/* SPDX-License-Identifier: Apache-2.0 */
/* Random files, settings, kill points and rank counts: every row is handed out exactly
 * once, and with unchanged settings the batches that follow are the same ones.
 */
#include "base/rng.h"
#include "rows_of.h"

#define RANKS_MAX 4
#define ROWS_MAX 2000

struct trial {
    struct rng rng;
    char *dir, *input;
    int64_t rows;
    int seen[ROWS_MAX];
};

static int64_t pick(struct trial *t, int64_t lo, int64_t hi)
{
    return lo + (int64_t)rng_below(&t->rng, (uint64_t)(hi - lo + 1));
}

static void make_files(struct trial *t, const char *format)
{
    int64_t n = pick(t, 1, 5);
    t->dir = rows_dir();
    t->input = mem_printf("%s/*.%s", t->dir, format);
    t->rows = 0;
    for (int64_t i = 0; i < n; i++) {
        char name[32];
        int64_t rows = pick(t, 0, 4) || i == n - 1 ? pick(t, 1, 300) : 0;
        snprintf(name, sizeof(name), "f%jd", (intmax_t)i);
        rows_write(t->dir, name, format, t->rows, rows);
        t->rows += rows;
    }
    memset(t->seen, 0, sizeof(t->seen));
}

static void drop_files(struct trial *t)
{
    rows_drop(t->dir);
    mem_free(t->input);
}

static struct dataset_conf settings(struct trial *t, bool cost)
{
    static const char *const labels[] = {"label"};
    return (struct dataset_conf){
        .input = t->input,
        .labels = labels,
        .n_labels = 1,
        .batch_size = pick(t, 1, 40),
        .batch_cost = cost ? pick(t, 1, 60) : 0,
        .cost_field = cost ? "cost" : NULL,
        .shuffle = pick(t, 0, 1) ? pick(t, 1, 5) : 0,
        .seed = (uint64_t)pick(t, 0, 3),
        .world = pick(t, 1, RANKS_MAX),
        .readers = pick(t, 1, 3),
        .threads = (int)pick(t, 0, 2),
        .queue = pick(t, 1, 3),
        .every_row = true,
    };
}

/* Up to `most` batches; the ids are counted. True when the pass is over. */
static bool consume(struct trial *t, struct dataset *d, int64_t most)
{
    struct err err = {0};
    const struct batch *b = NULL;
    while (most-- > 0) {
        if (!OK(dataset_next(d, &b, &err)) || !b)
            return true;
        CHECK(b->n > 0);
        for (int64_t i = 0; i < b->n; i++) {
            int64_t id = column_i64(&b->cols[0], i);
            CHECK(id >= 0 && id < t->rows);
            CHECK_INT(column_i64(&b->cols[2], i), id % 5);
            t->seen[id]++;
        }
    }
    return false;
}

/* All ranks take some batches and say where they are; the merged text is the caller's. */
static char *run_ranks(struct trial *t, struct dataset_conf conf, const char *cursor,
                       int64_t most)
{
    struct err err = {0};
    struct buf texts[RANKS_MAX], merged;
    const char *list[RANKS_MAX];
    char *result = NULL;
    for (int64_t r = 0; r < conf.world; r++) {
        struct dataset *d = NULL;
        buf_init(&texts[r], 1 << 20);
        conf.rank = r;
        conf.cursor = cursor;
        if (OK(dataset_open(&conf, &d, &err))) {
            consume(t, d, most < 0 ? INT64_MAX : pick(t, 0, most));
            dataset_tell(d, &texts[r]);
        }
        dataset_close(d);
        list[r] = buf_str(&texts[r]);
    }
    buf_init(&merged, 1 << 20);
    if (OK(dataset_merge(list, (size_t)conf.world, &merged, &err)))
        result = buf_take(&merged);
    buf_release(&merged);
    for (int64_t r = 0; r < conf.world; r++)
        buf_release(&texts[r]);
    return result;
}

static void check_once(struct trial *t, uint64_t number)
{
    int64_t lost = 0, twice = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        lost += t->seen[i] == 0;
        twice += t->seen[i] > 1;
    }
    if (lost || twice)
        printf("# trial %ju: %jd of %jd rows lost, %jd twice\n", (uintmax_t)number,
               (intmax_t)lost, (intmax_t)t->rows, (intmax_t)twice);
    CHECK_INT(lost, 0);
    CHECK_INT(twice, 0);
}

static void try_format(const char *format, uint64_t trials, bool cost)
{
    for (uint64_t k = 0; k < trials; k++) {
        struct trial t = {0};
        rng_init(&t.rng, 7, cost, 0, k);
        make_files(&t, format);
        char *cursor = NULL;
        for (int64_t stops = pick(&t, 0, 3); stops > 0; stops--) {
            char *next = run_ranks(&t, settings(&t, cost), cursor, 6);
            mem_free(cursor);
            cursor = next;
        }
        char *end = run_ranks(&t, settings(&t, cost), cursor, -1);
        check_once(&t, k);
        mem_free(end);
        mem_free(cursor);
        drop_files(&t);
    }
}

static void csv_rows_come_once_whatever_happens(void)
{
    try_format("csv", 60, false);
}

static void jsonl_rows_come_once_whatever_happens(void)
{
    try_format("jsonl", 30, false);
}

static void rows_come_once_with_batches_by_cost(void)
{
    try_format("csv", 40, true);
}

static void parquet_rows_come_once_whatever_happens(void)
{
    if (!writer_find("parquet")) {
        tap_skip("no Parquet writer");
        return;
    }
    try_format("parquet", 60, false);
    try_format("parquet", 20, true);
}

struct order {
    int64_t ids[2 * ROWS_MAX]; /* a batch ends with -1 */
    size_t n;
};

static void record(struct dataset *d, int64_t most, struct order *o)
{
    struct err err = {0};
    const struct batch *b = NULL;
    while (most-- > 0) {
        if (!OK(dataset_next(d, &b, &err)) || !b)
            return;
        for (int64_t i = 0; i < b->n; i++)
            o->ids[o->n++] = column_i64(&b->cols[0], i);
        o->ids[o->n++] = -1;
    }
}

/* In one go; and stopped after `at` batches and resumed, with other threads. */
static void check_same_order(struct trial *t, struct dataset_conf conf, int64_t at)
{
    static struct order whole, parts;
    struct err err = {0};
    struct dataset *d = NULL;
    struct buf text;
    whole.n = parts.n = 0;
    buf_init(&text, 1 << 20);
    if (OK(dataset_open(&conf, &d, &err)))
        record(d, INT64_MAX, &whole);
    dataset_close(d);
    d = NULL;
    conf.threads = (conf.threads + 1) % 3;
    if (OK(dataset_open(&conf, &d, &err))) {
        record(d, at, &parts);
        dataset_tell(d, &text);
    }
    dataset_close(d);
    d = NULL;
    conf.cursor = buf_str(&text);
    if (OK(dataset_open(&conf, &d, &err)))
        record(d, INT64_MAX, &parts);
    dataset_close(d);
    CHECK_INT(parts.n, whole.n);
    CHECK(parts.n == whole.n &&
          memcmp(parts.ids, whole.ids, whole.n * sizeof(int64_t)) == 0);
    buf_release(&text);
}

static void resumed_batches_are_those_that_would_have_come(void)
{
    for (uint64_t k = 0; k < 40; k++) {
        struct trial t = {0};
        rng_init(&t.rng, 8, 0, 0, k);
        make_files(&t, writer_find("parquet") && k % 2 ? "parquet" : "csv");
        struct dataset_conf conf = settings(&t, k % 3 == 0);
        conf.world = 1;
        check_same_order(&t, conf, pick(&t, 0, 12));
        drop_files(&t);
    }
}

static void later_passes_resume_too(void)
{
    static struct order whole, parts;
    struct trial t = {0};
    struct err err = {0};
    struct dataset *d = NULL;
    struct buf text;
    const struct batch *b = NULL;
    rng_init(&t.rng, 9, 0, 0, 0);
    make_files(&t, "csv");
    struct dataset_conf conf = {
        .input = t.input, .batch_size = 10, .shuffle = 3, .readers = 2};
    buf_init(&text, 1 << 20);
    whole.n = parts.n = 0;
    if (OK(dataset_open(&conf, &d, &err))) {
        record(d, INT64_MAX, &whole);
        size_t first = whole.n;
        record(d, 4, &whole);
        dataset_tell(d, &text);
        record(d, INT64_MAX, &whole);
        CHECK_INT(whole.n, 2 * first);
        CHECK(memcmp(whole.ids, whole.ids + first, first * sizeof(int64_t)) != 0);
    }
    dataset_close(d);
    d = NULL;
    conf.cursor = buf_str(&text);
    if (OK(dataset_open(&conf, &d, &err))) {
        struct dataset_counts c;
        record(d, INT64_MAX, &parts);
        dataset_counts(d, &c);
        CHECK_INT(c.epoch, 1);
        CHECK(parts.n > 0 && memcmp(parts.ids, whole.ids + whole.n - parts.n,
                                    parts.n * sizeof(int64_t)) == 0);
        OK(dataset_next(d, &b, &err));
        dataset_counts(d, &c);
        CHECK_INT(c.epoch, 2);
    }
    dataset_close(d);
    buf_release(&text);
    drop_files(&t);
}

static void check_refused(const struct trial *t, const char *cursor, const char *message)
{
    struct err err = {0};
    struct dataset *d = NULL;
    struct dataset_conf conf = {.input = t->input, .cursor = cursor};
    CHECK(dataset_open(&conf, &d, &err) != RC_OK);
    CHECK_HAS(err.msg, message);
    dataset_close(d);
}

static void broken_positions_are_refused(void)
{
    struct trial t = {0};
    struct buf text;
    rng_init(&t.rng, 10, 0, 0, 0);
    t.dir = rows_dir();
    t.input = mem_printf("%s/a.csv", t.dir);
    rows_write(t.dir, "a", "csv", 0, 20);
    buf_init(&text, 1 << 20);
    check_refused(&t, "", "data position");
    check_refused(&t, "{}", "data position: it has no version");
    check_refused(&t, "{\"version\": 9}", "version 9 is newer than this program");
    check_refused(&t, "{\"version\": 1}", "data position: a part is missing");
    buf_printf(&text,
               "{\"version\": 1, \"epoch\": 0, \"world\": 1, \"files\": [{\"path\": "
               "\"%s\", \"rows\": %%d}], \"ranks\": [{\"slots\": [{\"held\": [], "
               "\"left\": [%%s]}]}]}",
               t.input);
    static const struct {
        int rows;
        const char *left, *message;
    } cases[] = {
        {21, "", "had 21 rows and has now 20"},
        {20, "[0, 0, -1, 0, 0, 21]", "a range of rows is impossible"},
        {20, "[1, 0, -1, 0, 0, 2]", "a range of rows is impossible"},
        {20, "[0, -1, -1, 0, 0, 2]", "a range of rows is impossible"},
        {20, "[0, 5, -1, 0, 0, 2]", "a range of rows is impossible"},
        {20, "[0, 0, -1, 0, 0]", "a range of rows is impossible"},
        {20, "[0, 0, -1, 0, 0, 9], [0, 8, -1, 0, 0, 10]", "some rows occur twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf one;
        const char *form = buf_str(&text);
        buf_init(&one, 1 << 20);
        for (const char *p = form; *p; p++) {
            if (p[0] == '%' && p[1] == 'd')
                buf_printf(&one, "%d", cases[i].rows);
            else if (p[0] == '%' && p[1] == 's')
                buf_puts(&one, cases[i].left);
            else
                buf_putc(&one, *p);
            p += p[0] == '%';
        }
        check_refused(&t, buf_str(&one), cases[i].message);
        buf_release(&one);
    }
    buf_release(&text);
    drop_files(&t);
}

static const struct tap_case cases[] = {
    TAP(csv_rows_come_once_whatever_happens),
    TAP(jsonl_rows_come_once_whatever_happens),
    TAP(rows_come_once_with_batches_by_cost),
    TAP(parquet_rows_come_once_whatever_happens),
    TAP(resumed_batches_are_those_that_would_have_come),
    TAP(later_passes_resume_too),
    TAP(broken_positions_are_refused),
};
TAP_MAIN(cases)
