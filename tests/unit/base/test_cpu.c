/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu_share.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

/* The kernel's own list is the independent witness. */
static void features_are_those_of_the_kernel(void)
{
    char *text = NULL;
    size_t n;
    if (fs_read("/proc/cpuinfo", 64 << 20, &text, &n, NULL) || !strstr(text, "\nflags")) {
        tap_skip("no flags in /proc/cpuinfo");
        mem_free(text);
        return;
    }
    char *line = strstr(text, "\nflags") + 1;
    char *end = strchr(line, '\n');
    if (end) /* a blank ends the last flag too */
        memcpy(end, " ", 2);
    for (int i = 0; i < CPU_FEATURES; i++) {
        char word[32];
        snprintf(word, sizeof(word), " %s ", cpu_feature_name((enum cpu_feature)i));
        CHECK_INT(cpu_has((enum cpu_feature)i), strstr(line, word) != NULL);
    }
    mem_free(text);
}

static void a_limit_hides_what_is_above(void)
{
    enum cpu_level real = cpu_level();
    for (int i = 0; i < CPU_LEVELS; i++) {
        cpu_limit((enum cpu_level)i);
        CHECK_INT(cpu_level(), (int)real < i ? (int)real : i);
        if (i < CPU_LEVEL_AVX512)
            CHECK(!cpu_has(CPU_AVX512F) && !cpu_has(CPU_AVX512_BF16));
        if (i < CPU_LEVEL_AVX2)
            CHECK(!cpu_has(CPU_AVX2) && !cpu_has(CPU_FMA));
        if (i < CPU_LEVEL_AMX) {
            CHECK(!cpu_has(CPU_AMX_TILE));
            CHECK(!cpu_allow_amx());
        }
    }
    CHECK_INT(cpu_level(), real);
}

static void levels_have_names(void)
{
    enum cpu_level level = CPU_LEVEL_BASE;
    for (int i = 0; i < CPU_LEVELS; i++) {
        CHECK(cpu_level_find(cpu_level_name((enum cpu_level)i), &level));
        CHECK_INT(level, i);
    }
    CHECK(!cpu_level_find("mmx", &level));
    CHECK_INT(level, CPU_LEVEL_AMX);
    char model[CPU_MODEL_SIZE] = "";
    cpu_model(model);
    CHECK(model[0] != '\0' && model[0] != ' ');
}

static void the_count_follows_the_binding(void)
{
    cpu_set_t before, one;
    CHECK(cpu_count() >= 1);
    CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
    CHECK(cpu_count() <= CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK_INT(cpu_count(), 1);
    CHECK(sched_setaffinity(0, sizeof(before), &before) == 0);
}

/* Two sockets of four cores of two threads, numbered as servers do: all first threads first. */
static int server(struct cpu_place at[16])
{
    for (int i = 0; i < 16; i++)
        at[i] = (struct cpu_place){.cpu = i, .package = i % 8 / 4, .core = i % 4};
    return 16;
}

/* share(PART, PARTS): the numbers of its processors */
static const char *share(int part, int parts)
{
    static char text[128];
    struct cpu_place at[16];
    struct cpu_share s = cpu_share_of(at, server(at), part, parts);
    int n = 0;
    text[0] = '\0';
    for (int i = 0; i < s.n; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%d ", at[s.first + i].cpu);
    return text;
}

static void processes_get_whole_cores_of_one_socket(void)
{
    CHECK_STR(share(0, 1), "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15 ");
    CHECK_STR(share(0, 2), "0 8 1 9 2 10 3 11 ");
    CHECK_STR(share(1, 2), "4 12 5 13 6 14 7 15 ");
    CHECK_STR(share(1, 3), "2 10 3 11 4 12 ");
    CHECK_STR(share(7, 8), "7 15 ");
    CHECK_STR(share(0, 16), "0 ");
    CHECK_STR(share(1, 16), "8 ");
    CHECK_STR(share(0, 17), "");
    for (int parts = 1; parts <= 16; parts++) { /* none is left out or given twice */
        struct cpu_place at[16];
        int next = 0;
        for (int part = 0; part < parts; part++) {
            struct cpu_share s = cpu_share_of(at, server(at), part, parts);
            CHECK_INT(s.first, next);
            CHECK(s.n > 0);
            next += s.n;
        }
        CHECK_INT(next, 16);
    }
}

static void a_process_is_bound_to_its_share(void)
{
    cpu_set_t before, after;
    CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
    int n = CPU_COUNT(&before);
    if (n < 2) {
        tap_skip("one processor");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        int got = cpu_share_take(1, 2);
        bool fine = sched_getaffinity(0, sizeof(after), &after) == 0 &&
                    CPU_COUNT(&after) == got && got > 0 && got < n;
        CPU_AND(&after, &after, &before);
        _exit(fine && CPU_COUNT(&after) == got && cpu_share_take(0, n + 1) == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static const struct tap_case cases[] = {
    TAP(features_are_those_of_the_kernel),
    TAP(a_limit_hides_what_is_above),
    TAP(levels_have_names),
    TAP(the_count_follows_the_binding),
    TAP(processes_get_whole_cores_of_one_socket),
    TAP(a_process_is_bound_to_its_share),
};
TAP_MAIN(cases)
