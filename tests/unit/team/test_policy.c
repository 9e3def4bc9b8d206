/* SPDX-License-Identifier: Apache-2.0 */
/* Files of policies, good and bad, and jobs of each role held to one. */
#include "team/policy.h"

#include "base/fs.h"
#include "base/mem.h"
#include "store/users.h"
#include "tap.h"

static char *dir, *path;
static struct job_place place;

static void set_up(void)
{
    static const char *const users[][2] = {
        {"adam", "admin"}, {"sam", "submitter"}, {"vera", "viewer"}};
    struct err err = {0};
    CHECK_INT(fs_temp_dir("ty-policy", &dir, &err), RC_OK);
    path = fs_join(dir, "policy.yaml");
    char *db = fs_join(dir, "jobs.db");
    place = (struct job_place){.dir = dir, .node = "here", .served = true};
    CHECK_INT(store_open(db, &place.store, &err), RC_OK);
    mem_free(db);
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct store_user u = {.name = users[i][0], .role = users[i][1], .projects = ""};
        CHECK_INT(store_user_create(place.store, &u, &err), RC_OK);
    }
}

static void tear_down(void)
{
    store_close(place.store);
    CHECK_INT(fs_remove_all(dir, NULL), RC_OK);
    mem_free(path);
    mem_free(dir);
}

static enum rc open_text(const char *text, struct team_policy **out, struct err *err)
{
    CHECK_INT(fs_write(path, text, strlen(text), 0600, NULL), RC_OK);
    return team_policy_open(path, out, err);
}

static void a_bad_file_is_refused_with_its_line(void)
{
    static const struct {
        const char *text, *where;
    } bad[] = {
        {"", ""},
        {"- a\n- b\n", ""},
        {"submitter:\n  max_workers: 2\n", "`policy: NAME`"},
        {"policy:\nsubmitter:\n  max_workers: 2\n", ""},
        {"policy: ''\nsubmitter:\n  max_workers: 2\n", "`policy: NAME`"},
        {"policy: x\n", "restricts nobody"},
        {"policy: x\nsubmitter: 3\n", ":2:"},
        {"policy: x\nsubmitters:\n  max_workers: 2\n", ":2:1: "},
        {"policy: x\nsubmitter:\n  max_worker: 2\n", ":3:3: "},
        {"policy: x\nsubmitter:\n  max_workers: 0\n", ":3:"},
        {"policy: x\nsubmitter:\n  max_workers: 2000\n", ":3:"},
        {"policy: x\nsubmitter:\n  max_workers: many\n", ":3:"},
        {"policy: x\nsubmitter:\n  max_priority: 10\n", ":3:"},
        {"policy: x\nsubmitter:\n  network: some\n", ":3:"},
        {"policy: x\nsubmitter:\n  require_image: perhaps\n", ":3:"},
        {"policy: x\nsubmitter:\n  images: {a: b}\n", ":3:"},
        {"policy: x\nsubmitter:\n  max_workers: 2\n  max_workers: 3\n", ":4:"},
        {"policy: x\n\tsubmitter: y\n", ":2:"},
    };
    set_up();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct team_policy *p = NULL;
        struct err err = {0};
        enum rc rc = open_text(bad[i].text, &p, &err);
        if (rc == RC_OK)
            printf("# taken: %s\n", bad[i].text);
        CHECK(rc != RC_OK && !p);
        CHECK_HAS(err.msg, bad[i].where);
        CHECK_HAS(err.msg, path);
        team_policy_close(p);
    }
    struct team_policy *p = NULL;
    struct err err = {0};
    CHECK(team_policy_open("/no/such/policy.yaml", &p, &err) != RC_OK && !p);
    tear_down();
}

static const char *const rules = "policy: team\n"
                                 "submitter:\n"
                                 "  images: ['registry/team/*']\n"
                                 "  datasets: 'open-*'\n"
                                 "  max_priority: 5\n"
                                 "  max_workers: 2\n"
                                 "admin:\n"
                                 "  max_priority: 8\n";

static void jobs_are_held_to_the_rules_of_their_owners_role(void)
{
    static const struct {
        const char *job;       /* beside its command */
        const char *submitter; /* what the refusal begins with; NULL: taken */
        const char *admin;
    } rows[] = {
        {"", NULL, NULL},
        {", \"priority\": 5", NULL, NULL},
        {", \"priority\": 6", "submitter.max_priority: priority 6 is above 5", NULL},
        {", \"priority\": 9", "submitter.max_priority", "admin.max_priority: priority 9"},
        {", \"workers\": 2", NULL, NULL},
        {", \"workers\": 3", "submitter.max_workers: 3 workers are more than 2", NULL},
        {", \"image\": \"registry/team/a/b:1\"", NULL, NULL},
        {", \"image\": \"other/team/a:1\"",
         "submitter.images: the image 'other/team/a:1'", NULL},
        {", \"input\": {\"d\": \"dataset:open-1\"}", NULL, NULL},
        {", \"input\": {\"d\": \"open-1\"}", NULL, NULL},
        {", \"input\": {\"d\": \"dataset:closed\"}",
         "submitter.datasets: the dataset 'closed'", NULL},
        {", \"input\": {\"d\": \"pai://datasets/closed/0\"}",
         "submitter.datasets: the dataset 'closed'", NULL},
        {", \"output\": {\"model\": \"dataset:closed\"}", "submitter.datasets", NULL},
        {", \"data\": [\"open-2:/mnt/x\", \"closed:/mnt/y\"]", "submitter.datasets",
         NULL},
        {", \"data\": [\"snapshot:/mnt/x\"]",
         "submitter.datasets: the dataset 'snapshot'", NULL},
        {", \"input\": {\"d\": \"s3://bucket/x\"}", "submitter.datasets", NULL},
        {", \"input\": {\"d\": \"snapshot:"
         "0000000000000000000000000000000000000000000000000000000000000000\"}",
         NULL, NULL},
    };
    static const char *const who[] = {"sam", "adam", "vera"};
    struct team_policy *p = NULL;
    struct err err = {0};
    set_up();
    CHECK_INT(open_text(rules, &p, &err), RC_OK);
    CHECK_STR(err.msg, "");
    const struct job_gate *gate = team_policy_gate(p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(who); k++) {
            /* Who is no admin is held to the rules of submitters. */
            const char *want = k == 1 ? rows[i].admin : rows[i].submitter;
            char *text = mem_printf("{\"command\": \"true\"%s}", rows[i].job);
            struct job_spec s;
            struct err why = {0};
            CHECK_INT(job_spec_from_json(text, &s, &why), RC_OK);
            place.owner = who[k];
            enum rc rc = gate->check(gate->arg, &place, &s, NULL, &why);
            if ((rc != RC_OK) != (want != NULL))
                printf("# %s: %s: %s\n", who[k], rows[i].job, why.msg);
            CHECK((rc != RC_OK) == (want != NULL));
            if (want) {
                CHECK_INT(why.code, E5010);
                CHECK(strncmp(why.msg, want, strlen(want)) == 0);
            }
            job_spec_release(&s);
            mem_free(text);
        }
    team_policy_close(p);
    tear_down();
}

static void without_isolation_a_network_cannot_be_refused(void)
{
    struct team_policy *p = NULL;
    struct err err = {0};
    struct job_spec s;
    struct job_isolation x = {0};
    set_up();
    CHECK_INT(open_text("policy: x\nsubmitter: {network: none, require_image: true}\n",
                        &p, &err),
              RC_OK);
    const struct job_gate *gate = team_policy_gate(p);
    CHECK_INT(job_spec_from_json("{\"command\": \"true\", \"image\": \"a:1\"}", &s, &err),
              RC_OK);
    place.owner = "sam";
    CHECK_INT(gate->check(gate->arg, &place, &s, NULL, &err), RC_INVAL);
    CHECK_HAS(err.msg, "submitter.network: this server does not isolate jobs");
    CHECK_INT(gate->check(gate->arg, &place, &s, &x, &err), RC_OK);
    CHECK(x.no_network);
    job_spec_release(&s);
    CHECK_INT(job_spec_from_json("{\"command\": \"true\"}", &s, &err), RC_OK);
    CHECK_INT(gate->check(gate->arg, &place, &s, &x, &err), RC_INVAL);
    CHECK_STR(err.msg, "submitter.require_image: the job needs an image");
    place.owner = "nobody";
    CHECK_INT(gate->check(gate->arg, &place, &s, &x, &err), RC_NOTFOUND);
    job_spec_release(&s);
    team_policy_close(p);
    tear_down();
}

static const struct tap_case cases[] = {
    TAP(a_bad_file_is_refused_with_its_line),
    TAP(jobs_are_held_to_the_rules_of_their_owners_role),
    TAP(without_isolation_a_network_cannot_be_refused),
};
TAP_MAIN(cases)
