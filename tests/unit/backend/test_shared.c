/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/shared.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

#define SECOND INT64_C(1000000000)

static struct {
    int asked;
    enum rc rc;
} service;

static enum rc ask(void *arg, char **out, struct err *err)
{
    service.asked++;
    if (service.rc)
        return err_set(err, service.rc, "slurmctld does not answer (%d)", service.asked);
    *out = mem_printf("answer %d", service.asked);
    return RC_OK;
}

static char *place(void)
{
    char *dir = NULL;
    memset(&service, 0, sizeof(service));
    CHECK(fs_temp_dir("ty-shared", &dir, NULL) == RC_OK);
    return dir;
}

static void leave(char *dir)
{
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static void get(const char *dir, int64_t age_ns, const char *want)
{
    struct backend_shared s = {.dir = dir, .name = "jobs", .age_ns = age_ns, .ask = ask};
    char *text = NULL;
    int64_t at = 0;
    CHECK_INT(backend_shared_get(&s, &text, &at, NULL), RC_OK);
    CHECK_STR(text ? text : "", want);
    CHECK(at > 0);
    mem_free(text);
}

static void an_answer_is_good_for_its_age(void)
{
    char *dir = place();
    get(dir, 100 * SECOND, "answer 1");
    get(dir, 100 * SECOND, "answer 1");
    CHECK_INT(service.asked, 1);
    get(dir, 1, "answer 2");
    leave(dir);
}

static void a_failure_is_shared_for_as_long_and_then_asked_again(void)
{
    char *dir = place();
    struct backend_shared s = {
        .dir = dir, .name = "jobs", .age_ns = 100 * SECOND, .ask = ask};
    struct err err = {0};
    char *text = NULL;
    int64_t at = 0;
    service.rc = RC_IO;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(backend_shared_get(&s, &text, &at, &err), RC_CANCELED);
        CHECK_STR(err.msg, "slurmctld does not answer (1)");
    }
    CHECK_INT(service.asked, 1);
    service.rc = RC_OK;
    get(dir, 1, "answer 2");
    get(dir, 100 * SECOND, "answer 2");
    leave(dir);
}

/* Asks so slowly that others come meanwhile. */
static enum rc ask_slowly(void *arg, char **out, struct err *err)
{
    atomic_int *asked = arg;
    atomic_fetch_add(asked, 1);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    *out = mem_strdup("new");
    return RC_OK;
}

static void of_many_processes_one_asks_and_nobody_waits_for_it(void)
{
    enum { PROCESSES = 8 };
    char *dir = place();
    int good = 0, status;
    atomic_int *asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    get(dir, 100 * SECOND, "answer 1");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    struct backend_shared s = {
        .dir = dir, .name = "jobs", .age_ns = 10000000, .ask = ask_slowly, .arg = asked};
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            char *text = NULL;
            int64_t at = 0;
            enum rc rc = backend_shared_get(&s, &text, &at, NULL);
            bool fine =
                !rc && (strcmp(text, "answer 1") == 0 || strcmp(text, "new") == 0);
            _exit(fine ? 0 : 1);
        }
    while (wait(&status) > 0)
        good += status == 0;
    CHECK_INT(good, PROCESSES);
    CHECK(atomic_load(asked) >= 1 && atomic_load(asked) < PROCESSES);
    munmap(asked, sizeof(*asked));
    leave(dir);
}

static const struct tap_case cases[] = {
    TAP(an_answer_is_good_for_its_age),
    TAP(a_failure_is_shared_for_as_long_and_then_asked_again),
    TAP(of_many_processes_one_asks_and_nobody_waits_for_it),
};
TAP_MAIN(cases)
