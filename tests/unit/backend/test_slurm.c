/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/slurm_hosts.h"
#include "backend/slurm_news.h"
#include "tap.h"

static void lists_of_nodes_are_read_as_slurm_writes_them(void)
{
    static const struct {
        const char *list;
        int64_t index;
        const char *name; /* NULL: there is none */
    } cases[] = {
        {"n1", 0, "n1"},
        {"n1", 1, NULL},
        {"n[1-3]", 2, "n3"},
        {"n[1-3,7]", 3, "n7"},
        {"login,n[08-10]", 2, "n09"},
        {"login,n[08-10]", 3, "n10"},
        {"a[1-2]b[3-4]", 0, "a1b3"},
        {"a[1-2]b[3-4]", 1, "a1b4"},
        {"a[1-2]b[3-4]-x,z", 3, "a2b4-x"},
        {"a[1-2]b[3-4]-x,z", 4, "z"},
        {"a[1-2]b[3-4]-x,z", 5, NULL},
        {"", 0, NULL},
        {"n[", 0, NULL},
        {"n[3-1]", 0, NULL},
        {"n[x]", 0, NULL},
        {"n[1-99999999999]", 0, NULL},
        {"n[1-3]", -1, NULL},
    };
    char name[SLURM_HOST_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool there = slurm_host_at(cases[i].list, cases[i].index, name);
        CHECK(there == (cases[i].name != NULL));
        if (there && cases[i].name)
            CHECK_STR(name, cases[i].name);
    }
}

static void tasks_fill_one_node_after_the_other(void)
{
    CHECK(slurm_node_of_task("1(x3)", 2) == 2);
    CHECK(slurm_node_of_task("1(x3)", 3) == -1);
    CHECK(slurm_node_of_task("2(x2),1", 1) == 0);
    CHECK(slurm_node_of_task("2(x2),1", 3) == 1);
    CHECK(slurm_node_of_task("2(x2),1", 4) == 2);
    CHECK(slurm_node_of_task("4", 3) == 0);
    CHECK(slurm_node_of_task("", 0) == -1);
    CHECK(slurm_node_of_task("0", 0) == -1);
    CHECK(slurm_node_of_task("x", 0) == -1);
}

static void states_and_reasons_mean_something_here(void)
{
    CHECK(slurm_state_find(str_c("CANCELLED by 1000"))->why == WHY_UserStopped);
    CHECK(slurm_state_find(str_c("NODE_FAIL"))->why == WHY_NodeFailure);
    CHECK(slurm_state_find(str_c("OUT_OF_MEMORY"))->why == WHY_OutOfMemory);
    CHECK(slurm_state_find(str_c("PREEMPTED"))->why == WHY_Preempted);
    CHECK(slurm_state_find(str_c("COMPLETING"))->phase == SLURM_RUNNING);
    CHECK(slurm_state_find(str_c("NEWER_THAN_WE"))->phase == SLURM_RUNNING);
    CHECK(slurm_reason_never("PartitionTimeLimit"));
    CHECK(!slurm_reason_never("Resources"));
    CHECK(!slurm_reason_never("QOSMaxJobsPerUserLimit"));
    struct buf b;
    buf_init(&b, 1000);
    slurm_reason_put("AssocGrpCpuLimit", &b);
    CHECK_STR(buf_str(&b), "AssocGrpCpuLimit: a limit of its account or user is reached");
    buf_clear(&b);
    slurm_reason_put("SomethingNew", &b);
    CHECK_STR(buf_str(&b), "SomethingNew: Slurm does not start it yet");
    buf_release(&b);
}

static void messages_tell_what_may_pass(void)
{
    static const char down[] = "sbatch: error: Batch job submission failed: Unable to "
                               "contact slurm controller (connect failure)\n";
    struct buf b;
    buf_init(&b, 1000);
    CHECK(slurm_failure_of(down) == SLURM_UNSENT);
    CHECK(slurm_failure_of("error: Socket timed out on send/recv operation") ==
          SLURM_AWAY);
    CHECK(slurm_failure_of("sbatch: error: invalid partition specified: x") ==
          SLURM_REFUSED);
    slurm_message_put(
        "sbatch: lua: hello\nsbatch: error: no\nsbatch: error: never\nmore\n", &b);
    CHECK_STR(buf_str(&b), "never");
    buf_clear(&b);
    slurm_message_put("", &b);
    CHECK_STR(buf_str(&b), "no message");
    buf_release(&b);
}

static void a_job_is_found_by_its_tag_and_nothing_else(void)
{
    static const char answer[] = "3|RUNNING|None|n1|a.jb-aaaaaaaaaaaa.11\n"
                                 "9|PENDING|Priority||b.jb-aaaaaaaaaaaa.1\n"
                                 "rubbish\n"
                                 "5|COMPLETED|None|n[1-2]|b.jb-aaaaaaaaaaaa.1\n"
                                 "7|RUNNING|None|n1|jb-aaaaaaaaaaaa.1\n"
                                 "8|RUNNING|None|n3|x|y.jb-bbbbbbbbbbbb.1";
    struct slurm_news n;
    CHECK(slurm_news_find(answer, 0, "jb-aaaaaaaaaaaa.1", &n));
    CHECK(n.number == 5); /* the oldest */
    CHECK(str_is(n.nodes, "n[1-2]"));
    CHECK(slurm_news_find(answer, 9, "jb-aaaaaaaaaaaa.1", &n));
    CHECK(n.state->phase == SLURM_PENDING && str_is(n.reason, "Priority"));
    CHECK(slurm_news_find(answer, 0, "jb-bbbbbbbbbbbb.1", &n) && n.number == 8);
    CHECK(!slurm_news_find(answer, 0, "jb-aaaaaaaaaaaa.2", &n));
    CHECK(!slurm_news_find(answer, 3, "jb-aaaaaaaaaaaa.1", &n)); /* another has it now */
    CHECK(!slurm_news_find("", 5, "jb-aaaaaaaaaaaa.1", &n));
}

static const struct tap_case cases[] = {
    TAP(lists_of_nodes_are_read_as_slurm_writes_them),
    TAP(tasks_fill_one_node_after_the_other),
    TAP(states_and_reasons_mean_something_here),
    TAP(messages_tell_what_may_pass),
    TAP(a_job_is_found_by_its_tag_and_nothing_else),
};
TAP_MAIN(cases)
