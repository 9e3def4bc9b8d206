/* SPDX-License-Identifier: Apache-2.0 */
/* Whose keys open what a job names, and what it may write to: submitter x whoever registered
 * the dataset x kind of channel.
 */
#include "job/access.h"

#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "store/users.h"
#include "tap.h"

#define OK 0

struct yard {
    struct job_place p;
    char *dir, *db;
    struct job_spec spec; /* that channels of the last resolve() borrow from */
    bool has_spec;
};

static void add_user(struct yard *y, const char *name, const char *role, int64_t disabled)
{
    struct err err = {0};
    struct store_user u = {.name = name, .role = role, .projects = ""};
    CHECK_INT(store_user_create(y->p.store, &u, &err), RC_OK);
    u.disabled = disabled;
    CHECK_INT(store_user_update(y->p.store, &u, &err), RC_OK);
}

static void add_dataset(struct yard *y, const char *owner, const char *kind,
                        const char *uri, bool writable)
{
    struct err err = {0};
    char *name = mem_printf("%s-%s%s", owner, kind, writable ? "-w" : "");
    struct store_dataset d = {.name = name,
                              .id = name,
                              .type = kind,
                              .uri = uri,
                              .mount = "/mnt/data",
                              .options = writable ? STORE_DATASET_WRITABLE : "",
                              .owner = owner};
    CHECK_INT(store_dataset_create(y->p.store, &d, &err), RC_OK);
    CHECK_STR(err.msg, "");
    mem_free(name);
}

/* Everybody registers one of each: "OWNER-s3", "OWNER-s3-w", "OWNER-odps", "OWNER-local". */
static void open_yard(struct yard *y)
{
    static const char *const owners[] = {"adam", "sam", "dora", "gone", "op", "root"};
    struct err err = {0};
    *y = (struct yard){0};
    CHECK_INT(fs_temp_dir("ty-access", &y->dir, &err), RC_OK);
    y->db = fs_join(y->dir, "jobs.db");
    y->p = (struct job_place){.dir = y->dir,
                              .where = y->db,
                              .owner = "sam",
                              .account = "op",
                              .node = "here",
                              .served = true};
    CHECK_INT(store_open(y->db, &y->p.store, &err), RC_OK);
    add_user(y, "adam", "admin", 0);
    add_user(y, "sam", "submitter", 0);
    add_user(y, "dora", "admin", 1);
    add_user(y, "gone", "admin", 0);
    CHECK_INT(store_user_delete(y->p.store, "gone", &err), RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        add_dataset(y, owners[i], "s3", "s3://bucket/x", false);
        add_dataset(y, owners[i], "s3", "s3://bucket/x", true);
        add_dataset(y, owners[i], "odps", "odps://p/tables/t", false);
        add_dataset(y, owners[i], "local", y->dir, false);
        add_dataset(y, owners[i], "local", y->dir, true);
    }
}

static void close_yard(struct yard *y)
{
    store_close(y->p.store);
    CHECK_INT(fs_remove_all(y->dir, NULL), RC_OK);
    if (y->has_spec)
        job_spec_release(&y->spec);
    mem_free(y->db);
    mem_free(y->dir);
}

/* The channels of a job of p->owner whose `field` ("input", "output", "data") is `dataset`. */
static enum rc resolve(struct yard *y, const char *field, const char *dataset,
                       struct job_channels *out, struct err *err)
{
    bool list = strcmp(field, "data") == 0;
    char *text =
        list ? mem_printf("{\"command\": \"true\", \"data\": [\"%s:/mnt/d\"]}", dataset)
             : mem_printf("{\"command\": \"true\", \"%s\": {\"model\": \"dataset:%s\"}}",
                          field, dataset);
    if (y->has_spec)
        job_spec_release(&y->spec);
    CHECK_INT(job_spec_from_json(text, &y->spec, err), RC_OK);
    y->has_spec = true;
    enum rc rc = job_channels_resolve(&y->p, y->p.owner, &y->spec, "/", NULL, out, err);
    mem_free(text);
    return rc;
}

/* The code of the refusal, or OK and the kind of keys in *access. */
static int64_t choose(struct yard *y, const char *field, const char *dataset,
                      const char *const *secrets, enum job_access *access)
{
    struct job_channels c = {0};
    struct err err = {0};
    enum rc rc = resolve(y, field, dataset, &c, &err);
    if (!rc)
        rc = job_access_choose(&y->p, &c, secrets, access, &err);
    job_channels_release(&c);
    return rc ? (int64_t)err.code : OK;
}

static void the_servers_keys_open_what_admins_registered(void)
{
    static const struct {
        const char *dataset;
        int64_t input, output; /* of a submitter without keys of their own */
    } rows[] = {
        {"adam-s3", OK, E3302},      {"adam-s3-w", OK, OK},
        {"sam-s3", E3302, E3302},    {"sam-s3-w", E3302, E3302},
        {"dora-s3", E3302, E3302},   {"dora-s3-w", E3302, E3302},
        {"gone-s3", E3302, E3302},   {"gone-s3-w", E3302, E3302},
        {"op-s3", OK, E3302},        {"op-s3-w", OK, OK},
        {"root-s3", OK, E3302},      {"root-s3-w", OK, OK},
        {"adam-odps", E3302, E3006}, {"sam-odps", E3302, E3006},
    };
    static const char *const who[] = {"sam", "adam"};
    struct yard y;
    open_yard(&y);
    for (size_t k = 0; k < ARRAY_LEN(who); k++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            enum job_access in = ACCESS_NONE, out = ACCESS_NONE;
            y.p.owner = who[k];
            int64_t got = choose(&y, "input", rows[i].dataset, NULL, &in);
            if (got != rows[i].input)
                printf("# input %s of %s\n", rows[i].dataset, who[k]);
            CHECK_INT(got, rows[i].input);
            CHECK(got || in == ACCESS_SERVER);
            got = choose(&y, "output", rows[i].dataset, NULL, &out);
            if (got != rows[i].output)
                printf("# output %s of %s\n", rows[i].dataset, who[k]);
            CHECK_INT(got, rows[i].output);
            CHECK(got || out == ACCESS_SERVER);
        }
    close_yard(&y);
}

static void keys_of_the_job_take_the_place_of_the_servers(void)
{
    static const char *const own[] = {"AWS_ACCESS_KEY_ID=k", NULL},
                             *const other[] = {"AWS_ACCESS_KEY_IDX=k", "PASSWORD=p",
                                               "AWS_ENDPOINT_URL=http://x", NULL};
    struct yard y;
    enum job_access a = ACCESS_NONE;
    open_yard(&y);
    CHECK_INT(choose(&y, "output", "sam-s3", own, &a), OK);
    CHECK_INT(a, ACCESS_JOB);
    CHECK_INT(choose(&y, "input", "adam-s3", own, &a), OK);
    CHECK_INT(a, ACCESS_JOB);
    CHECK_INT(choose(&y, "input", "sam-s3", other, &a), E3302);
    CHECK_INT(choose(&y, "input", "adam-local", own, &a), OK);
    CHECK_INT(a, ACCESS_NONE);
    close_yard(&y);
}

static void outside_a_server_keys_are_the_submitters(void)
{
    struct yard y;
    enum job_access a = ACCESS_NONE;
    open_yard(&y);
    y.p.owner = "op";
    CHECK_INT(choose(&y, "output", "sam-s3", NULL, &a), OK);
    CHECK_INT(a, ACCESS_SUBMITTER);
    y.p.owner = "sam";
    y.p.served = false;
    CHECK_INT(choose(&y, "output", "sam-s3", NULL, &a), OK);
    CHECK_INT(a, ACCESS_SUBMITTER);
    CHECK(!job_access_is_guest(&y.p));
    y.p.served = true;
    CHECK(job_access_is_guest(&y.p));
    close_yard(&y);
}

/* Anybody registers those of other types; whatever their address is, it is no path. */
static void a_directory_is_named_by_its_type_alone(void)
{
    struct yard y;
    struct job_channels c = {0};
    struct err err = {0};
    open_yard(&y);
    char *path = mem_printf("%s/a://../..", y.dir);
    add_dataset(&y, "sam", "oss", path, false);
    CHECK_INT(resolve(&y, "data", "sam-oss", &c, &err), RC_INVAL);
    CHECK_INT(err.code, E3006);
    job_channels_release(&c);
    CHECK_INT(resolve(&y, "input", "sam-oss", &c, &err), RC_INVAL);
    job_channels_release(&c);
    CHECK(!job_dataset_uri_ok("oss", path));
    CHECK(!job_dataset_uri_ok("oss", "file:///etc"));
    CHECK(!job_dataset_uri_ok("oss", "s3://b/x"));
    CHECK(!job_dataset_uri_ok("oss", "oss:/etc://x"));
    CHECK(!job_dataset_uri_ok("", "://x"));
    CHECK(job_dataset_uri_ok("oss", "oss://b/x"));
    CHECK(job_dataset_uri_ok("s3", "s3://b"));
    CHECK(job_dataset_uri_ok("odps", "odps://p/tables/t"));
    mem_free(path);
    close_yard(&y);
}

static void places_of_the_system_are_no_mount_paths(void)
{
    static const char *const bad[] = {"/proc",     "/proc/self", "//proc",
                                      "/./proc/x", "/sys",       "/dev/shm",
                                      "/run/x",    "/",          "/a/../b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!job_inputs_place_ok(bad[i]));
    CHECK(job_inputs_place_ok("/mnt/proc"));
    CHECK(job_inputs_place_ok("/process"));
    CHECK(job_inputs_place_ok("/mnt/data"));
}

static void directories_are_for_reading_unless_they_are_marked(void)
{
    static const struct {
        const char *who, *dataset;
        bool read_only;
    } rows[] = {
        {"sam", "adam-local", true},     {"sam", "adam-local-w", false},
        {"adam", "adam-local", true},    {"adam", "adam-local-w", false},
        {"gone", "adam-local", true},    {"nobody", "adam-local", true},
        {"op", "adam-local", false},     {"root", "adam-local", false},
        {"root", "adam-local-w", false}, {"sam", "op-local", true},
    };
    struct yard y;
    open_yard(&y);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job_channels c = {0};
        struct err err = {0};
        y.p.owner = rows[i].who;
        CHECK_INT(resolve(&y, "data", rows[i].dataset, &c, &err), RC_OK);
        CHECK(c.list.n && c.list.at[c.list.n - 1].read_only == rows[i].read_only);
        job_channels_release(&c);
        enum rc rc = resolve(&y, "output", rows[i].dataset, &c, &err);
        CHECK_INT(rc ? (int64_t)err.code : OK, rows[i].read_only ? E3303 : OK);
        if (!rc)
            job_channels_release(&c);
    }
    close_yard(&y);
}

/* Between the submission and the start a dataset may have become somebody else's. */
static void a_dataset_that_was_registered_anew_is_asked_about_again(void)
{
    static const char *const env[] = {"PATH=/bin", "AWS_ACCESS_KEY_ID=server",
                                      "AWS_SECRET_ACCESS_KEY=s", NULL};
    struct yard y;
    struct err err = {0};
    struct stat st;
    struct job_channels c = {0};
    struct job_environ_list kept = {0};
    open_yard(&y);
    char *path = fs_join(y.dir, "access.json");
    CHECK_INT(job_access_keep(ACCESS_SERVER, path, env, NULL, &err), RC_OK);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    job_environ_read(path, &kept);
    CHECK_STR(job_environ_get(&kept, "AWS_ACCESS_KEY_ID"), "server");
    CHECK_INT(resolve(&y, "input", "adam-s3", &c, &err), RC_OK);
    CHECK_INT(job_access_check(&c, &kept, &err), RC_OK);
    job_channels_release(&c);
    CHECK_INT(store_dataset_delete(y.p.store, "adam-s3", &err), RC_OK);
    struct store_dataset d = {.name = "adam-s3",
                              .id = "d",
                              .type = "s3",
                              .uri = "s3://secret/x",
                              .mount = "/mnt",
                              .options = "",
                              .owner = "sam"};
    CHECK_INT(store_dataset_create(y.p.store, &d, &err), RC_OK);
    CHECK_INT(resolve(&y, "input", "adam-s3", &c, &err), RC_OK);
    CHECK_INT(job_access_check(&c, &kept, &err), RC_INVAL);
    CHECK_INT(err.code, E3302);
    job_channels_release(&c);
    job_environ_release(&kept);
    mem_free(path);
    close_yard(&y);
}

static void a_job_with_keys_of_its_own_gets_none_of_the_servers(void)
{
    static const char *const env[] = {
        "PATH=/bin",  "AWS_ACCESS_KEY_ID=server",      "AWS_SECRET_ACCESS_KEY=server",
        "HOME=/root", "AWS_ENDPOINT_URL=http://minio", NULL};
    static const char *const secrets[] = {
        "AWS_ACCESS_KEY_ID=mine", "AWS_ENDPOINT_URL=http://evil", "OTHER=x", NULL};
    struct yard y;
    struct err err = {0};
    struct job_environ_list kept = {0};
    open_yard(&y);
    char *path = fs_join(y.dir, "access.json");
    CHECK_INT(job_access_keep(ACCESS_JOB, path, env, secrets, &err), RC_OK);
    job_environ_read(path, &kept);
    CHECK_STR(job_environ_get(&kept, "AWS_ACCESS_KEY_ID"), "mine");
    CHECK_STR(job_environ_get(&kept, "AWS_SECRET_ACCESS_KEY"), NULL);
    CHECK_STR(job_environ_get(&kept, "AWS_ENDPOINT_URL"), "http://minio");
    CHECK_STR(job_environ_get(&kept, "HOME"), "/nonexistent");
    CHECK_STR(job_environ_get(&kept, "OTHER"), NULL);
    job_environ_release(&kept);
    mem_free(path);
    close_yard(&y);
}

static const struct tap_case cases[] = {
    TAP(the_servers_keys_open_what_admins_registered),
    TAP(keys_of_the_job_take_the_place_of_the_servers),
    TAP(outside_a_server_keys_are_the_submitters),
    TAP(a_directory_is_named_by_its_type_alone),
    TAP(places_of_the_system_are_no_mount_paths),
    TAP(directories_are_for_reading_unless_they_are_marked),
    TAP(a_dataset_that_was_registered_anew_is_asked_about_again),
    TAP(a_job_with_keys_of_its_own_gets_none_of_the_servers),
};
TAP_MAIN(cases)
