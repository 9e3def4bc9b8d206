/* SPDX-License-Identifier: Apache-2.0 */
/* One contract, two databases: every case below runs on SQLite and on a PostgreSQL server
 * that the test starts.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "databases.h"
#include "store/schema.h"
#include "store/store.h"

/* Names differ from case to case: the PostgreSQL database is one for all. */
static const char *fresh_id(void)
{
    static char ids[64][24];
    static int n;
    snprintf(ids[n % 64], 24, "jb-%d-%d", round_number, n);
    return ids[n++ % 64];
}

static struct store_job row_of(const char *id)
{
    return (struct store_job){.id = id,
                              .name = "train",
                              .owner = "ann",
                              .state = "Queuing",
                              .queue = "default",
                              .backend = "local",
                              .node = "n1",
                              .status = "{}",
                              .priority = 3,
                              .created = 1000,
                              .cpu_milli = 2500,
                              .memory = 1 << 20,
                              .gpu = 1,
                              .timeout_s = 60,
                              .workers = 2};
}

static const struct store_event first[] = {
    {.time = 1000, .type = "Submitted", .worker = -1, .message = "by ann"},
    {.time = 1001,
     .type = "StateChanged",
     .worker = -1,
     .reason = "JobEnqueued",
     .data = "{\"state\": \"Queuing\"}"}};

static void create(struct store *s, const struct store_job *row)
{
    bool existed = true;
    struct err err = {0};
    struct store_new job = {
        .row = row, .spec = "{\"name\": \"t\"}", .events = first, .n_events = 2};
    CHECK_INT(store_create(s, &job, &existed, &err), RC_OK);
    CHECK_STR(err.msg, "");
    CHECK(!existed);
}

static void a_job_is_read_back_as_written(void)
{
    struct store *s = open_store();
    struct store_job row = row_of(fresh_id());
    struct store_jobs got = {0};
    struct store_events ev = {0};
    char *spec = NULL;
    int64_t seq = 0;
    create(s, &row);
    CHECK_INT(store_get(s, row.id, &got, NULL), RC_OK);
    CHECK_INT(got.n, 1);
    CHECK_STR(got.at[0].id, row.id);
    CHECK_STR(got.at[0].owner, "ann");
    CHECK_STR(got.at[0].state, "Queuing");
    CHECK_STR(got.at[0].token, "");
    CHECK_STR(got.at[0].status, "{}");
    CHECK_INT(got.at[0].priority, 3);
    CHECK_INT(got.at[0].cpu_milli, 2500);
    CHECK_INT(got.at[0].memory, 1 << 20);
    CHECK_INT(got.at[0].timeout_s, 60);
    CHECK_INT(got.at[0].workers, 2);
    CHECK_INT(got.at[0].seq, 2);
    CHECK_INT(store_spec(s, row.id, &spec, NULL), RC_OK);
    CHECK_STR(spec, "{\"name\": \"t\"}");
    CHECK_INT(store_seq(s, row.id, &seq, NULL), RC_OK);
    CHECK_INT(seq, 2);
    CHECK_INT(store_events_get(s, row.id, 0, 0, &ev, NULL), RC_OK);
    CHECK_INT(ev.n, 2);
    CHECK_INT(ev.at[1].seq, 2);
    CHECK_INT(ev.at[1].worker, -1);
    CHECK_STR(ev.at[1].type, "StateChanged");
    CHECK_STR(ev.at[1].reason, "JobEnqueued");
    CHECK_STR(ev.at[1].data, "{\"state\": \"Queuing\"}");
    store_events_release(&ev);
    mem_free(spec);
    store_jobs_release(&got);
    store_close(s);
}

static void a_job_that_is_not_there_is_notfound(void)
{
    struct store *s = open_store();
    struct store_jobs got = {0};
    struct err err = {0};
    char *spec = NULL;
    int64_t seq = 7;
    CHECK_INT(store_get(s, "jb-none", &got, &err), RC_NOTFOUND);
    CHECK_STR(err.msg, "no job 'jb-none'");
    CHECK_INT(err.code, E3103);
    CHECK_INT(store_spec(s, "jb-none", &spec, NULL), RC_NOTFOUND);
    CHECK_INT(store_seq(s, "jb-none", &seq, NULL), RC_NOTFOUND);
    CHECK_INT(seq, 7);
    store_close(s);
}

static void the_same_token_is_the_same_job(void)
{
    struct store *s = open_store();
    struct store_job a = row_of(fresh_id()), b = row_of(fresh_id());
    struct store_jobs got = {0};
    char token[32];
    bool existed = false;
    snprintf(token, sizeof(token), "token-%d", round_number);
    a.token = b.token = token;
    create(s, &a);
    struct store_new again = {.row = &b, .spec = "{}", .events = first, .n_events = 2};
    CHECK_INT(store_create(s, &again, &existed, NULL), RC_OK);
    CHECK(existed);
    CHECK_INT(store_get(s, b.id, &got, NULL), RC_NOTFOUND);
    CHECK_INT(store_by_token(s, "ann", token, &got, NULL), RC_OK);
    CHECK_STR(got.at[0].id, a.id);
    store_jobs_release(&got);
    /* Of another owner it is another job. */
    b.owner = "bob";
    create(s, &b);
    CHECK_INT(store_by_token(s, "cid", token, &got, NULL), RC_NOTFOUND);
    store_close(s);
}

static void a_writer_that_missed_an_event_is_refused(void)
{
    struct store *s = open_store(), *other = open_store();
    struct store_job row = row_of(fresh_id());
    struct store_event e = {.time = 5, .type = "Warning", .worker = -1, .message = "one"};
    struct store_events ev = {0};
    struct err err = {0};
    create(s, &row);
    row.seq = 2;
    row.state = "Running";
    CHECK_INT(store_append(s, &row, &e, 1, NULL), RC_OK);
    e.message = "two";
    CHECK_INT(store_append(other, &row, &e, 1, &err), RC_CANCELED);
    CHECK_INT(err.code, E3104);
    CHECK_HAS(err.msg, "has events behind number 2 by now");
    row.seq = 3;
    CHECK_INT(store_append(other, &row, &e, 1, NULL), RC_OK);
    CHECK_INT(store_events_get(s, row.id, 2, 0, &ev, NULL), RC_OK);
    CHECK_INT(ev.n, 2);
    CHECK_STR(ev.at[0].message, "one");
    CHECK_STR(ev.at[1].message, "two");
    CHECK_INT(ev.at[1].seq, 4);
    store_events_release(&ev);
    store_close(other);
    store_close(s);
}

static void many_events_at_once_keep_their_order(void)
{
    struct store *s = open_store();
    struct store_job row = row_of(fresh_id());
    struct store_event e[50];
    struct store_events ev = {0};
    char text[50][8];
    create(s, &row);
    for (int i = 0; i < 50; i++) {
        snprintf(text[i], 8, "n%d", i);
        e[i] = (struct store_event){.time = i, .type = "Warning", .message = text[i]};
    }
    row.seq = 2;
    CHECK_INT(store_append(s, &row, e, 50, NULL), RC_OK);
    CHECK_INT(store_events_get(s, row.id, 2, 0, &ev, NULL), RC_OK);
    CHECK_INT(ev.n, 50);
    for (int i = 0; i < 50 && i < (int)ev.n; i++) {
        CHECK_INT(ev.at[i].seq, i + 3);
        CHECK_STR(ev.at[i].message, text[i]);
    }
    store_events_release(&ev);
    CHECK_INT(store_events_get(s, row.id, 10, 5, &ev, NULL), RC_OK);
    CHECK_INT(ev.n, 5);
    CHECK_INT(ev.n ? ev.at[0].seq : 0, 11);
    store_events_release(&ev);
    store_close(s);
}

static void hostile_texts_are_only_texts(void)
{
    struct store *s = open_store();
    struct store_job row = row_of(fresh_id());
    struct store_jobs got = {0};
    struct store_filter f = {.limit = 5};
    const char *bad = "x'; DROP TABLE jobs; --\x1b[31m\n%_\\";
    row.name = bad;
    row.owner = bad;
    create(s, &row);
    f.owner = bad;
    CHECK_INT(store_list(s, &f, &got, NULL), RC_OK);
    CHECK_INT(got.n, 1);
    CHECK_STR(got.n ? got.at[0].name : "", bad);
    store_jobs_release(&got);
    f = (struct store_filter){.name = "\n%_\\"};
    CHECK_INT(store_list(s, &f, &got, NULL), RC_OK);
    CHECK_INT(got.n, 1);
    store_jobs_release(&got);
    f = (struct store_filter){.name = "x%JOBS"};
    CHECK_INT(store_list(s, &f, &got, NULL), RC_OK);
    CHECK_INT(got.n, 0);
    store_jobs_release(&got);
    /* What would be a pattern is none. */
    CHECK_INT(store_get(s, "' OR '1'='1", &got, NULL), RC_NOTFOUND);
    store_close(s);
}

static void lists_are_filtered_and_paged(void)
{
    struct store *s = open_store();
    struct store_jobs got = {0};
    struct store_job row;
    char owner[24], ids[10][24];
    snprintf(owner, sizeof(owner), "pager-%d", round_number);
    for (int i = 0; i < 10; i++) {
        const struct store_label label = {"team", i % 2 ? "red" : "blue"};
        bool existed;
        snprintf(ids[i], sizeof(ids[i]), "%s", fresh_id());
        row = row_of(ids[i]);
        row.owner = owner;
        row.name = i < 3 ? "Early-Bird" : "late";
        row.state = i % 3 ? "Queuing" : "Running";
        row.created = 5000 + i;
        struct store_new job = {.row = &row,
                                .spec = "{}",
                                .labels = &label,
                                .n_labels = 1,
                                .events = first,
                                .n_events = 2};
        CHECK_INT(store_create(s, &job, &existed, NULL), RC_OK);
    }
    const struct {
        struct store_filter f;
        size_t n;
        int newest;
    } cases[] = {
        {{.owner = owner}, 10, 9},
        {{.owner = owner, .limit = 3}, 3, 9},
        {{.owner = owner, .states = "Running"}, 4, 9},
        {{.owner = owner, .states = "Running,Queuing"}, 10, 9},
        {{.owner = owner, .states = "Failed"}, 0, 0},
        {{.owner = owner, .name = "early"}, 3, 2},
        {{.owner = owner, .label_key = "team", .label_value = "red"}, 5, 9},
        {{.owner = owner, .label_key = "team"}, 10, 9},
        {{.owner = owner, .label_key = "team", .label_value = "green"}, 0, 0},
        {{.owner = owner, .since = 5007}, 3, 9},
        {{.owner = owner, .until = 5002}, 2, 1},
        {{.owner = owner, .node = "elsewhere"}, 0, 0},
        {{.owner = owner, .oldest_first = true, .limit = 1}, 1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(store_list(s, &cases[i].f, &got, NULL), RC_OK);
        CHECK_INT(got.n, cases[i].n);
        if (got.n)
            CHECK_STR(got.at[0].id, ids[cases[i].newest]);
        store_jobs_release(&got);
    }
    struct store_filter page = {.owner = owner, .limit = 4};
    int seen = 0;
    for (size_t n = 1; n; page.before = n ? got.at[n - 1].num : 0) {
        store_jobs_release(&got);
        CHECK_INT(store_list(s, &page, &got, NULL), RC_OK);
        n = got.n;
        for (size_t i = 0; i < n; i++)
            CHECK_STR(got.at[i].id, ids[9 - seen++]);
        if (!n)
            break;
    }
    CHECK_INT(seen, 10);
    store_jobs_release(&got);
    struct store_count counts[16];
    size_t n_counts = 0;
    CHECK_INT(store_counts(s, counts, 16, &n_counts, NULL), RC_OK);
    CHECK(n_counts >= 2);
    store_close(s);
}

static void a_metric_point_is_kept_once(void)
{
    struct store *s = open_store();
    const char *id = fresh_id();
    struct store_points got = {0};
    struct store_point p[40];
    for (int i = 0; i < 40; i++)
        p[i] = (struct store_point){.name = i % 2 ? "auc" : "loss",
                                    .attempt = 1,
                                    .at = i,
                                    .time = i,
                                    .step = i,
                                    .value = i + 0.1};
    CHECK_INT(store_points_add(s, id, p, 40, NULL), RC_OK);
    CHECK_INT(store_points_add(s, id, p + 10, 30, NULL), RC_OK);
    CHECK_INT(store_points_get(s, id, NULL, 0, 0, &got, NULL), RC_OK);
    CHECK_INT(got.n, 40);
    CHECK(got.n == 40 && got.at[39].value == 39.1 && got.at[39].step == 39);
    store_points_release(&got);
    CHECK_INT(store_points_get(s, id, "auc", 0, 5, &got, NULL), RC_OK);
    CHECK_INT(got.n, 5);
    int64_t next = got.next;
    store_points_release(&got);
    CHECK_INT(store_points_get(s, id, "auc", next, 100, &got, NULL), RC_OK);
    CHECK_INT(got.n, 15);
    store_points_release(&got);
    CHECK_INT(store_points_last(s, id, &got, NULL), RC_OK);
    CHECK_INT(got.n, 2);
    CHECK(got.n == 2 && got.at[0].value == 39.1 && got.at[1].value == 38.1);
    store_points_release(&got);
    store_close(s);
}

static void datasets_have_unique_names(void)
{
    struct store *s = open_store();
    struct store_datasets got = {0};
    struct err err = {0};
    char name[32], id[32];
    snprintf(name, sizeof(name), "taobao-%d", round_number);
    snprintf(id, sizeof(id), "d-%d", round_number);
    struct store_dataset d = {.name = name,
                              .id = id,
                              .type = "local",
                              .uri = "/data",
                              .mount = "/mnt/data",
                              .owner = "ann",
                              .created = 5};
    CHECK_INT(store_dataset_create(s, &d, &err), RC_OK);
    d.id = "d-other";
    CHECK_INT(store_dataset_create(s, &d, &err), RC_INVAL);
    CHECK_INT(err.code, E3106);
    CHECK_INT(store_dataset_get(s, id, &got, NULL), RC_OK);
    CHECK_STR(got.n ? got.at[0].name : "", name);
    CHECK_STR(got.n ? got.at[0].mount : "", "/mnt/data");
    store_datasets_release(&got);
    CHECK_INT(store_dataset_delete(s, name, NULL), RC_OK);
    CHECK_INT(store_dataset_delete(s, name, &err), RC_NOTFOUND);
    CHECK_INT(err.code, E3107);
    CHECK_INT(store_dataset_get(s, name, &got, NULL), RC_NOTFOUND);
    CHECK_INT(store_dataset_get(s, NULL, &got, NULL), RC_OK);
    store_datasets_release(&got);
    store_close(s);
}

static void a_second_opening_finds_the_tables(void)
{
    struct store *s = open_store();
    CHECK_INT(store_version(s), STORE_VERSION);
    store_close(s);
    s = open_store();
    CHECK_INT(store_version(s), STORE_VERSION);
    CHECK_STR(store_kind(s), store_is_url(where) ? "postgresql" : "sqlite");
    store_close(s);
}

static void (*const contract[])(void) = {
    a_job_is_read_back_as_written,        a_job_that_is_not_there_is_notfound,
    the_same_token_is_the_same_job,       a_writer_that_missed_an_event_is_refused,
    many_events_at_once_keep_their_order, hostile_texts_are_only_texts,
    lists_are_filtered_and_paged,         a_metric_point_is_kept_once,
    datasets_have_unique_names,           a_second_opening_finds_the_tables,
};

static void sqlite_keeps_the_contract(void)
{
    char *path = fs_join(temp, "sub/store.db");
    struct stat st;
    where = path;
    run_contract(contract, ARRAY_LEN(contract));
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 077, 0); /* nobody else's business */
    mem_free(path);
}

static void postgresql_keeps_the_contract(void)
{
    on_postgresql(contract, ARRAY_LEN(contract));
}

static void a_file_that_is_no_store_is_refused(void)
{
    char *path = fs_join(temp, "text.db");
    struct store *s = NULL;
    struct err err = {0};
    const char *text = "this is a text, and quite long enough to be taken for a header";
    CHECK_INT(fs_write(path, text, strlen(text), 0600, NULL), RC_OK);
    CHECK_INT(store_open(path, &s, &err), RC_FORMAT);
    CHECK_INT(err.code, E3109);
    CHECK_HAS(err.msg, "file is not a database");
    CHECK(s == NULL);
    mem_free(path);
}

static void a_newer_store_is_refused(void)
{
    char *path = fs_join(temp, "newer.db");
    char *sql = mem_printf("sqlite3 '%s' \"update meta set value = '99'\"", path);
    const char *argv[] = {"sh", "-c", sql, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.seconds = 20, .max_bytes = 1000};
    struct proc_output out = {0};
    struct store *s = NULL;
    struct err err = {0};
    CHECK_INT(store_open(path, &s, &err), RC_OK);
    store_close(s);
    s = NULL;
    CHECK_INT(proc_capture(&spec, &limits, &out, NULL), RC_OK);
    if (out.exit.code == 127)
        tap_skip("sqlite3 is not installed");
    else {
        CHECK_INT(store_open(path, &s, &err), RC_UNSUPPORTED);
        CHECK_STR(err.msg, "the store has version 99, this program knows 5");
        CHECK_INT(err.code, E3105);
    }
    proc_output_release(&out);
    mem_free(sql);
    mem_free(path);
}

static void a_server_that_is_not_there_is_an_io_error(void)
{
    struct store *s = NULL;
    struct err err = {0};
    enum rc rc = store_open("postgresql://u:hush@127.0.0.1:1/x", &s, &err);
    CHECK(rc == RC_IO || rc == RC_UNSUPPORTED || rc == RC_NOTFOUND);
    CHECK(!strstr(err.msg, "hush"));
    CHECK(s == NULL);
}

static const struct tap_case cases[] = {
    TAP(sqlite_keeps_the_contract),
    TAP(postgresql_keeps_the_contract),
    TAP(a_file_that_is_no_store_is_refused),
    TAP(a_newer_store_is_refused),
    TAP(a_server_that_is_not_there_is_an_io_error),
};

int main(int argc, char **argv)
{
    if (fs_temp_dir("ty-store", &temp, NULL))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    if (fs_remove_all(temp, NULL))
        rc = 1;
    mem_free(temp);
    return rc;
}
