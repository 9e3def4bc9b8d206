/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <sched.h>

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

static const struct tap_case cases[] = {
    TAP(features_are_those_of_the_kernel),
    TAP(a_limit_hides_what_is_above),
    TAP(levels_have_names),
    TAP(the_count_follows_the_binding),
};
TAP_MAIN(cases)
