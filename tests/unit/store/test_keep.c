/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept beyond jobs, and the removal of jobs, on both databases. */
#include "databases.h"
#include "store/models.h"
#include "store/projects.h"
#include "store/retention.h"
#include "store/servers.h"

static void a_job_goes_with_its_events_and_its_use_stays(void)
{
    struct store *s = open_store();
    struct err err = {0};
    struct store_jobs got = {0};
    struct store_events events = {0};
    struct store_usages use = {0};
    const struct store_event first[] = {{.time = 5, .type = "Submitted", .worker = -1},
                                        {.time = 6, .type = "Ended", .worker = -1}};
    struct store_job row = {.id = "jb-gone",
                            .owner = "gone",
                            .state = "Succeeded",
                            .started = INT64_C(1000000000),
                            .finished = INT64_C(3000000000),
                            .cpu_milli = 1000};
    struct store_new job = {.row = &row, .spec = "{}", .events = first, .n_events = 2};
    bool existed;
    CHECK_INT(store_create(s, &job, &existed, &err), RC_OK);
    CHECK_INT(store_delete(s, "jb-gone", 1, &err), RC_CANCELED);
    CHECK_INT(err.code, E3104);
    CHECK_INT(store_get(s, "jb-gone", &got, &err), RC_OK);
    store_jobs_release(&got);
    CHECK_INT(store_delete(s, "jb-gone", 2, &err), RC_OK);
    CHECK_INT(store_get(s, "jb-gone", &got, &err), RC_NOTFOUND);
    CHECK_INT(store_events_get(s, "jb-gone", 0, 0, &events, &err), RC_OK);
    CHECK_INT(events.n, 0);
    store_events_release(&events);
    CHECK_INT(store_usage_get(s, STORE_BY_OWNER, 1, INT64_C(9000000000), &use, &err),
              RC_OK);
    int64_t cpu = 0;
    for (size_t i = 0; i < use.n; i++)
        if (strcmp(use.at[i].name, "gone") == 0)
            cpu = use.at[i].cpu_milli_s;
    CHECK_INT(cpu, 2000);
    store_usages_release(&use);
    store_close(s);
}

static void versions_are_counted_and_never_come_back(void)
{
    struct store *s = open_store();
    struct err err = {0};
    struct store_models got = {0};
    struct store_model m = {
        .name = "ctr", .owner = "ann", .project = "ads", .job = "jb-a"};
    int64_t v = 0;
    CHECK_INT(store_model_create(s, &m, &v, &err), RC_OK);
    CHECK_INT(v, 1);
    CHECK_INT(store_model_create(s, &m, &v, &err), RC_OK);
    CHECK_INT(v, 2);
    CHECK_INT(store_model_delete(s, "ctr", 2, &err), RC_OK);
    CHECK_INT(store_model_delete(s, "ctr", 2, &err), RC_NOTFOUND);
    m.owner = "bob"; /* of the same project */
    CHECK_INT(store_model_create(s, &m, &v, &err), RC_OK);
    CHECK_INT(v, 3);
    m.owner = "eve";
    m.project = "";
    CHECK_INT(store_model_create(s, &m, &v, &err), RC_INVAL);
    CHECK_INT(err.code, E3110);
    CHECK_INT(store_model_get(s, "ctr", -1, &got, &err), RC_OK);
    CHECK_INT(got.n, 1);
    CHECK_INT(got.at[0].version, 3);
    CHECK_STR(got.at[0].owner, "bob");
    store_models_release(&got);
    CHECK_INT(store_model_get(s, "ctr", 0, &got, &err), RC_OK);
    CHECK_INT(got.n, 2);
    store_models_release(&got);
    CHECK_INT(store_model_get(s, "none", 0, &got, &err), RC_NOTFOUND);
    CHECK_INT(err.code, E3111);
    store_close(s);
}

static void policies_and_addresses_are_replaced(void)
{
    struct store *s = open_store();
    struct err err = {0};
    struct store_retentions got = {0};
    struct store_servers servers = {0};
    struct store_retention x = {.name = "user:ann", .age_s = 1, .jobs = 2, .bytes = -1};
    CHECK_INT(store_retention_put(s, &x, &err), RC_OK);
    x.jobs = 5;
    CHECK_INT(store_retention_put(s, &x, &err), RC_OK);
    CHECK_INT(store_retention_get(s, "user:ann", &got, &err), RC_OK);
    CHECK_INT(got.at[0].jobs, 5);
    store_retentions_release(&got);
    CHECK_INT(store_retention_delete(s, "user:ann", &err), RC_OK);
    CHECK_INT(store_retention_delete(s, "user:ann", &err), RC_NOTFOUND);
    struct store_server a = {.node = "m:/d", .url = "http://one", .started = 1};
    CHECK_INT(store_server_put(s, &a, &err), RC_OK);
    a.url = "http://two";
    CHECK_INT(store_server_put(s, &a, &err), RC_OK);
    CHECK_INT(store_server_get(s, "m:/d", &servers, &err), RC_OK);
    CHECK_INT(servers.n, 1);
    CHECK_STR(servers.at[0].url, "http://two");
    store_servers_release(&servers);
    CHECK_INT(store_server_get(s, "m:/other", &servers, &err), RC_OK);
    CHECK_INT(servers.n, 0);
    store_servers_release(&servers);
    store_close(s);
}

static void (*const contract[])(void) = {
    a_job_goes_with_its_events_and_its_use_stays,
    versions_are_counted_and_never_come_back,
    policies_and_addresses_are_replaced,
};

static void sqlite_keeps_and_removes(void)
{
    char *path = fs_join(temp, "keep.db");
    where = path;
    run_contract(contract, ARRAY_LEN(contract));
    mem_free(path);
}

static void postgresql_keeps_and_removes(void)
{
    on_postgresql(contract, ARRAY_LEN(contract));
}

static const struct tap_case cases[] = {
    TAP(sqlite_keeps_and_removes),
    TAP(postgresql_keeps_and_removes),
};

int main(int argc, char **argv)
{
    if (fs_temp_dir("ty-keep", &temp, NULL))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    if (fs_remove_all(temp, NULL))
        rc = 1;
    mem_free(temp);
    return rc;
}
