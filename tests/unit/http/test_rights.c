/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller may see and delete: role x ownership x project. */
#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "tap.h"

struct who {
    const char *name, *projects, *leads;
    enum http_role role;
};

static struct http_call call_of(const struct who *w)
{
    struct http_call c = {.who = {.role = w->role}};
    snprintf(c.who.name, sizeof(c.who.name), "%s", w->name);
    snprintf(c.who.projects, sizeof(c.who.projects), "%s", w->projects);
    snprintf(c.who.leads, sizeof(c.who.leads), "%s", w->leads);
    return c;
}

static const struct {
    struct who who;
    /* of ann's job in ads, of ann's without a project, of bob's in adsx: see, own */
    const char *want[3];
} rows[] = {
    {{"adam", "", "", ROLE_ADMIN}, {"so", "so", "so"}},
    {{"ann", "ads", "", ROLE_SUBMITTER}, {"so", "so", ""}},
    {{"ann", "", "", ROLE_SUBMITTER}, {"so", "so", ""}}, /* own jobs stay own */
    {{"ann", "ads", "", ROLE_VIEWER}, {"so", "so", ""}}, /* routes ask for the role */
    {{"bob", "ads,adsx", "", ROLE_SUBMITTER}, {"s", "", "so"}},
    {{"vera", "ads", "", ROLE_VIEWER}, {"s", "", ""}},
    {{"lena", "x,ads,y", "ads", ROLE_SUBMITTER}, {"so", "", ""}},
    {{"lena", "adsx", "adsx", ROLE_SUBMITTER}, {"", "", "so"}},
    {{"carl", "ad", "ad", ROLE_SUBMITTER}, {"", "", ""}},
    {{"carl", "", "", ROLE_SUBMITTER}, {"", "", ""}},
    {{"", "", "", ROLE_VIEWER}, {"", "", ""}},
};

static const struct store_job jobs[] = {
    {.id = "jb-aaaaaaaaaaaa", .owner = "ann", .project = "ads"},
    {.id = "jb-bbbbbbbbbbbb", .owner = "ann", .project = ""},
    {.id = "jb-cccccccccccc", .owner = "bob", .project = "adsx"},
};

static void fill(struct store *s)
{
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct store_job row = jobs[i];
        bool existed;
        row.name = row.queue = row.backend = row.node = row.reason = "x";
        row.state = "Queuing";
        row.status = "{}";
        struct store_event first = {.type = "Submitted", .worker = -1, .data = ""};
        struct store_new n = {.row = &row, .spec = "{}", .events = &first, .n_events = 1};
        CHECK_INT(store_create(s, &n, &existed, &err), RC_OK);
        CHECK_STR(err.msg, "");
    }
}

static void every_role_and_relation(void)
{
    char *dir = NULL;
    struct err err = {0};
    struct store *s = NULL;
    CHECK_INT(fs_temp_dir("ty-rights", &dir, &err), RC_OK);
    char *db = fs_join(dir, "jobs.db");
    CHECK_INT(store_open(db, &s, &err), RC_OK);
    fill(s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(jobs); k++) {
            struct http_call c = call_of(&rows[i].who);
            struct store_jobs got = {0};
            struct err why = {0};
            c.params[0] = jobs[k].id;
            c.place.store = s;
            enum rc rc = http_call_job(&c, &got, &why);
            bool sees = strchr(rows[i].want[k], 's'), owns = strchr(rows[i].want[k], 'o');
            if ((rc == RC_OK) != sees ||
                http_call_owns(&c, jobs[k].owner, jobs[k].project) != owns)
                printf("# %s of %s and job %zu\n", rows[i].who.name, rows[i].who.projects,
                       k);
            CHECK_INT(rc, sees ? RC_OK : RC_NOTFOUND);
            CHECK(http_call_owns(&c, jobs[k].owner, jobs[k].project) == owns);
            rc = http_call_need_owner(&c, "job", jobs[k].owner, jobs[k].project, &why);
            CHECK_INT(rc, owns ? RC_OK : RC_INVAL);
            CHECK_INT(c.status, owns ? 0 : 403);
            store_jobs_release(&got);
        }
    store_close(s);
    CHECK_INT(fs_remove_all(dir, NULL), RC_OK);
    mem_free(db);
    mem_free(dir);
}

static void names_of_projects_are_compared_whole(void)
{
    static const struct {
        const char *projects, *project;
        bool in, leads;
    } table[] = {
        {"ads", "ads", true, false},
        {"ads:admin", "ads", true, true},
        {"ads,feed:admin", "ads", true, false},
        {"a,ads:admin,b", "ads", true, true},
        {"adsx", "ads", false, false},
        {"xads:admin", "ads", false, false},
        {"ads:adminx", "ads", false, false},
        {"", "ads", false, false},
        {",,", "", false, false},
        {":admin", "", false, false},
        {"ads", "", false, false},
        {"ads:admin", "ads:admin", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        bool leads = !table[i].leads;
        CHECK(store_user_in_project(table[i].projects, table[i].project, &leads) ==
              table[i].in);
        CHECK(leads == table[i].leads);
    }
}

static const struct tap_case cases[] = {
    TAP(every_role_and_relation),
    TAP(names_of_projects_are_compared_whole),
};
TAP_MAIN(cases)
