/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - the whole test framework: cases in a table, checks that go on, TAP on stdout.
 *
 *     static void missing_file_is_notfound(void) { CHECK(...); CHECK_STR(a, "b"); }
 *     static const struct tap_case cases[] = {TAP(missing_file_is_notfound)};
 *     TAP_MAIN(cases)
 *
 * `./test_x part-of-name` runs the cases whose name holds that text.
 */
#ifndef TAP_H
#define TAP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct tap_case {
    const char *name;
    void (*run)(void);
};
#define TAP(fn) \
    {           \
#fn, fn \
    }

static int tap_failed; /* checks of the current case */
static const char *tap_skip_reason;

static inline void tap_check(bool ok, const char *what, const char *file, int line)
{
    if (ok)
        return;
    tap_failed++;
    printf("# %s:%d: failed: %s\n", file, line, what);
}

static inline void tap_check_str(const char *got, const char *want, const char *file,
                                 int line)
{
    if (got && want ? strcmp(got, want) == 0 : got == want)
        return;
    tap_failed++;
    printf("# %s:%d: strings differ\n#   got  \"%s\"\n#   want \"%s\"\n", file, line,
           got ? got : "(null)", want ? want : "(null)");
}

static inline void tap_check_int(int64_t got, int64_t want, const char *file, int line)
{
    if (got == want)
        return;
    tap_failed++;
    printf("# %s:%d: got %jd, want %jd\n", file, line, (intmax_t)got, (intmax_t)want);
}

static inline void tap_check_has(const char *text, const char *part, const char *file,
                                 int line)
{
    if (text && strstr(text, part))
        return;
    tap_failed++;
    printf("# %s:%d: \"%s\" does not hold \"%s\"\n", file, line, text ? text : "(null)",
           part);
}

#define CHECK(x) tap_check((x), #x, __FILE__, __LINE__)
#define CHECK_STR(got, want) tap_check_str((got), (want), __FILE__, __LINE__)
#define CHECK_INT(got, want) \
    tap_check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__)
#define CHECK_HAS(text, part) tap_check_has((text), (part), __FILE__, __LINE__)
#define CHECK_NEAR(got, want, tol) CHECK(fabs((double)(got) - (double)(want)) <= (tol))

/* Marks the current case as skipped; return from it afterwards. */
static inline void tap_skip(const char *reason)
{
    tap_skip_reason = reason;
}

static inline int tap_run(const struct tap_case *cases, size_t n, int argc, char **argv)
{
    int bad = 0, number = 0;
    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && !strstr(cases[i].name, argv[1]))
            continue;
        tap_failed = 0;
        tap_skip_reason = NULL;
        cases[i].run();
        bad += tap_failed > 0;
        printf("%s %d - %s%s%s\n", tap_failed ? "not ok" : "ok", ++number, cases[i].name,
               tap_skip_reason ? " # SKIP " : "", tap_skip_reason ? tap_skip_reason : "");
        fflush(stdout);
    }
    printf("1..%d\n", number);
    return bad || number == 0 ? 1 : 0;
}

#define TAP_MAIN(cases)                                                        \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        return tap_run(cases, sizeof(cases) / sizeof((cases)[0]), argc, argv); \
    }

#endif
