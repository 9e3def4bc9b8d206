/* SPDX-License-Identifier: Apache-2.0 */
/* databases.h - runs cases on SQLite and on a PostgreSQL server that the test starts. */
#ifndef DATABASES_H
#define DATABASES_H

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "store/store.h"
#include "tap.h"

static const char *where;   /* of the database under test */
static const char *missing; /* why there is none */
static char *temp;          /* directory of this test */
static int round_number;

static struct store *open_store(void)
{
    struct store *s = NULL;
    struct err err = {0};
    enum rc rc = store_open(where, &s, &err);
    if (rc)
        printf("# %s\n", err.msg);
    CHECK_INT(rc, RC_OK);
    return s;
}

static char *pg(const char *verb, int *status)
{
    const char *argv[] = {TY_TESTS_DIR "/pg", verb, temp, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.seconds = 60, .max_bytes = 1 << 16};
    struct proc_output out = {0};
    struct err err = {0};
    if (proc_capture(&spec, &limits, &out, &err)) {
        printf("# %s\n", err.msg);
        return NULL;
    }
    *status = out.exit.code;
    if (out.exit.code && out.exit.code != 77)
        printf("# %s%s\n", out.out, out.err);
    out.out[strcspn(out.out, "\n")] = '\0';
    char *line = mem_strdup(out.out);
    proc_output_release(&out);
    return line;
}

static void run_contract(void (*const contract[])(void), size_t n)
{
    if (missing) {
        tap_skip(missing);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        round_number++;
        contract[i]();
    }
}

static void on_postgresql(void (*const contract[])(void), size_t n)
{
    int status = 1;
    char *line = pg("start", &status), *done;
    CHECK(status == 0 || status == 77);
    where = line;
    missing = status == 77 ? line : NULL;
    if (status == 0 || status == 77)
        run_contract(contract, n);
    if (status == 0) {
        done = pg("stop", &status);
        mem_free(done);
    }
    missing = NULL;
    if (!tap_skip_reason)
        mem_free(line);
}

#endif
