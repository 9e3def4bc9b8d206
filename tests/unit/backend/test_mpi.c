/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/mpirun_slots.h"

#include "backend/mpirun_hosts.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static struct mpirun_hosts hosts_of(const char *text)
{
    struct mpirun_hosts h;
    struct err err = {0};
    CHECK(mpirun_hosts_parse(str_c(text), "hosts", &h, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return h;
}

static void a_hostfile_has_hosts_in_its_order(void)
{
    struct mpirun_hosts h =
        hosts_of("# two\n\n b slots=2 # fast\na\nb\tslots=3 max_slots=9\n10.0.0.1");
    CHECK(h.at.n == 3);
    CHECK_STR(h.at.at[0].name, "b");
    CHECK(h.at.at[0].slots == 5);
    CHECK_STR(h.at.at[1].name, "a");
    CHECK(h.at.at[1].slots == 1);
    CHECK_STR(h.at.at[2].name, "10.0.0.1");
    CHECK(mpirun_hosts_slots(&h) == 7);
    CHECK(mpirun_slots_most(&h, 0) == 7);
    CHECK(mpirun_slots_most(&h, 2) == 4);
    mpirun_hosts_release(&h);
}

static void a_bad_line_is_named(void)
{
    static const char *const cases[][2] = {
        {"", "'hosts' names no host"},
        {"# none\n", "'hosts' names no host"},
        {"a\n-b\n", "'hosts' line 2: '-b' is not the name or address of a host"},
        {"a,b", "'hosts' line 1: 'a,b' is not the name or address of a host"},
        {"a:2", "'hosts' line 1: 'a:2' is not the name or address of a host"},
        {"a b", "'hosts' line 1: 'b' is not understood; behind a host there is slots=N"},
        {"a slots=0", "'hosts' line 1: 'slots=0' is not from 1 to 4096"},
        {"a slots=", "'hosts' line 1: 'slots=' is not from 1 to 4096"},
        {"a slots=1x", "'hosts' line 1: 'slots=1x' is not from 1 to 4096"},
        {"a slots=99999999999999999999",
         "'hosts' line 1: 'slots=99999999999999999999' is not from 1 to 4096"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mpirun_hosts h;
        struct err err = {0};
        CHECK(mpirun_hosts_parse(str_c(cases[i][0]), "hosts", &h, &err) == RC_INVAL);
        CHECK_STR(err.msg, cases[i][1]);
        mpirun_hosts_release(&h);
    }
}

static struct mpirun_slots *wait_for(const char *dir, const struct mpirun_hosts *h,
                                     const char *hostfile, const char *tag,
                                     int64_t workers)
{
    struct mpirun_slots *s = NULL;
    struct err err = {0};
    struct mpirun_slots_want w = {
        .dir = dir, .hostfile = hostfile, .hosts = h, .tag = tag, .workers = workers};
    CHECK(mpirun_slots_open(&w, &s, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return s;
}

static void slots_go_to_who_came_first(void)
{
    struct mpirun_hosts h = hosts_of("a slots=2\nb slots=2\n");
    int64_t n[2];
    char text[MPIRUN_TEXT_SIZE], *dir = NULL;
    CHECK(fs_temp_dir("ty-mpi", &dir, NULL) == RC_OK);
    struct mpirun_slots *one = wait_for(dir, &h, "f", "jb-one.1", 3);
    struct mpirun_slots *two = wait_for(dir, &h, "f", "jb-two.1", 2);
    struct mpirun_slots *three = wait_for(dir, &h, "f", "jb-three.1", 1);
    CHECK(!mpirun_slots_take(two, n, text));
    CHECK_STR(text, "jb-one waits for these hosts before it");
    CHECK(!mpirun_slots_take(three, n, text));
    CHECK_STR(text, "2 jobs wait for these hosts before it");
    CHECK(mpirun_slots_take(one, n, text));
    CHECK(n[0] == 2 && n[1] == 1);
    CHECK(!mpirun_slots_take(two, n, text));
    CHECK_STR(text, "1 of its 2 workers find no slot: 3 of the 4 slots of its hosts are "
                    "taken, by jb-one");
    mpirun_slots_close(one);
    CHECK(mpirun_slots_take(two, n, text));
    CHECK(n[0] == 2 && n[1] == 0);
    CHECK(mpirun_slots_take(three, n, text));
    CHECK(n[0] == 0 && n[1] == 1);
    mpirun_slots_close(three);
    mpirun_slots_close(two);
    mpirun_hosts_release(&h);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static void hostfiles_share_hosts_and_not_the_line(void)
{
    struct mpirun_hosts h = hosts_of("a slots=2\n"), other = hosts_of("c\na slots=2\n");
    int64_t n[2];
    char text[MPIRUN_TEXT_SIZE], *dir = NULL;
    CHECK(fs_temp_dir("ty-mpi", &dir, NULL) == RC_OK);
    struct mpirun_slots *one = wait_for(dir, &h, "f", "jb-one.1", 2);
    struct mpirun_slots *two = wait_for(dir, &other, "g", "jb-two.1", 2);
    CHECK(mpirun_slots_take(two, n, text)); /* nobody waits in its own line */
    CHECK(n[0] == 1 && n[1] == 1);
    CHECK(!mpirun_slots_take(one, n, text));
    CHECK_STR(text, "1 of its 2 workers find no slot: 1 of the 2 slots of its hosts are "
                    "taken, by jb-two");
    mpirun_slots_close(two);
    CHECK(mpirun_slots_take(one, n, text));
    mpirun_slots_close(one);
    mpirun_hosts_release(&h);
    mpirun_hosts_release(&other);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

/* A file that nobody has locked any more. */
static void what_a_dead_runner_had_is_free(void)
{
    struct mpirun_hosts h = hosts_of("a\n");
    int64_t n[1];
    char text[MPIRUN_TEXT_SIZE], *dir = NULL;
    CHECK(fs_temp_dir("ty-mpi", &dir, NULL) == RC_OK);
    struct mpirun_slots *s = wait_for(dir, &h, "f", "jb-new.1", 1);
    char *left = mem_printf("%s/mpi/slots/have-0000000000000001-jb-old.1", dir);
    CHECK(fs_write(left, "a 1\n", 4, 0600, NULL) == RC_OK);
    CHECK(mpirun_slots_take(s, n, text));
    CHECK(!fs_exists(left));
    mpirun_slots_close(s);
    mem_free(left);
    mpirun_hosts_release(&h);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(a_hostfile_has_hosts_in_its_order), TAP(a_bad_line_is_named),
    TAP(slots_go_to_who_came_first),        TAP(hostfiles_share_hosts_and_not_the_line),
    TAP(what_a_dead_runner_had_is_free),
};
TAP_MAIN(cases)
