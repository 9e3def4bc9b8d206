/* SPDX-License-Identifier: Apache-2.0 */
#include "data/odps/client.h"
#include "data/odps/odps.h"
#include "tap.h"

static void paths_are_taken_apart(void)
{
    struct odps_path p;
    CHECK(odps_path_parse("odps://proj/tables/t", &p, NULL) == RC_OK);
    CHECK_STR(p.project, "proj");
    CHECK_STR(p.table, "t");
    CHECK(!p.schema && !p.partition && !p.append);
    odps_path_release(&p);
    CHECK(odps_path_parse("odps://p/tables/s.t/dt=2024/h='1'/", &p, NULL) == RC_OK);
    CHECK_STR(p.schema, "s");
    CHECK_STR(p.table, "t");
    CHECK_STR(p.partition, "dt=2024,h=1");
    odps_path_release(&p);
    CHECK(odps_path_parse("odps://p/tables/t/a=b?overwrite=false", &p, NULL) == RC_OK);
    CHECK_STR(p.partition, "a=b");
    CHECK(p.append);
    odps_path_release(&p);
}

static void malformed_paths_are_told(void)
{
    static const struct {
        const char *url, *msg;
    } at[] = {
        {"x", "it is not the address of a table"},
        {"odps://", "it names no project"},
        {"odps://p", "'tables' does not follow the project"},
        {"odps://p/views/t", "'tables' does not follow the project"},
        {"odps://p/tables", "it names no table"},
        {"odps://p/tables/", "it names no table"},
        {"odps://p/tables/s.", "it names no table"},
        {"odps://p/tables/.t", "it names no table"},
        {"odps://p/tables/t/x", "a part of the partition is not key=value"},
        {"odps://p/tables/t/=x", "a part of the partition is not key=value"},
        {"odps://p/tables/t?x=1", "behind '?' only overwrite=true or false is known"},
        {"odps://p q/tables/t", "it names no project"},
    };
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        struct odps_path p;
        struct err err = {0};
        CHECK(odps_path_parse(at[i].url, &p, &err) == RC_INVAL);
        CHECK(err.code == E1701);
        CHECK_HAS(err.msg, at[i].msg);
    }
}

static void partitions_become_paths_of_their_own(void)
{
    struct fs_names n = {0};
    CHECK(odps_expand("odps://p/tables/s.t/d=1/h=1&d=1/h=2&d=2/h=1", &n, NULL) == RC_OK);
    CHECK_INT(n.n, 3);
    CHECK_STR(n.at[0], "odps://p/tables/s.t/d=1/h=1");
    CHECK_STR(n.at[1], "odps://p/tables/s.t/d=1/h=2");
    CHECK_STR(n.at[2], "odps://p/tables/s.t/d=2/h=1");
    fs_names_release(&n);
}

static void types_are_read_in_any_form(void)
{
    static const struct {
        const char *text, *ours;
    } at[] = {
        {"BIGINT", "int64"},
        {" tinyint ", "int32"},
        {"varchar(255)", "string"},
        {"ARRAY<ARRAY<FLOAT>>", "list<list<float>>"},
        {"map< string , array<int> >", "map<string,list<int32>>"},
        {"datetime", "timestamp[ms]"},
        {"timestamp_ntz", "timestamp[ns]"},
    };
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        struct arena mem = {0};
        struct odps_type t;
        struct buf out;
        buf_init(&out, 1000);
        CHECK(odps_type_parse(str_c(at[i].text), &mem, &t, NULL) == RC_OK);
        struct type ours = odps_type_ours(&t, &mem);
        type_print(&ours, &out);
        CHECK_STR(buf_str(&out), at[i].ours);
        buf_release(&out);
        arena_release(&mem);
    }
    static const char *const bad[] = {
        "",         "array",     "array<",     "array<int", "array<int>>",
        "map<int>", "struct<a>", "decimal(x)", "blob",      "interval_day_time",
        "char(10"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct arena mem = {0};
        struct odps_type t;
        struct err err = {0};
        CHECK(odps_type_parse(str_c(bad[i]), &mem, &t, &err) == RC_UNSUPPORTED);
        CHECK(err.code == E1706);
        arena_release(&mem);
    }
    char deep[400] = "";
    size_t n = 0;
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(deep + n, sizeof(deep) - n, "array<");
    struct arena mem = {0};
    struct odps_type t;
    CHECK(odps_type_parse(str_of(deep, n), &mem, &t, NULL) == RC_UNSUPPORTED);
    arena_release(&mem);
}

static void the_text_that_is_signed(void)
{
    static const char *const lines[] = {"x-odps-a:1", "x-odps-b:2"};
    const struct odps_param params[] = {
        {"curr_project", "p"}, {"downloads", ""}, {"partition", "dt=1,h=a b"}};
    struct buf out;
    buf_init(&out, 1000);
    odps_canonical("POST", "", "Thu, 01 Jan 1970 00:00:00 GMT", lines, 2,
                   "/projects/p/tables/t", params, 3, &out);
    CHECK_STR(buf_str(&out),
              "POST\n\n\nThu, 01 Jan 1970 00:00:00 GMT\nx-odps-a:1\nx-odps-b:2\n"
              "/projects/p/tables/t?curr_project=p&downloads&partition=dt=1,h=a b");
    buf_release(&out);
}

static const struct tap_case cases[] = {
    TAP(paths_are_taken_apart),
    TAP(malformed_paths_are_told),
    TAP(partitions_become_paths_of_their_own),
    TAP(types_are_read_in_any_form),
    TAP(the_text_that_is_signed),
};
TAP_MAIN(cases)
