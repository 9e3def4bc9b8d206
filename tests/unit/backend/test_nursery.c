/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/nursery.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *dir;

/* What a child does: it says its id, then ends as the id's last letter tells. */
static int young(void *arg, const char *id)
{
    printf("%s %s\n", (const char *)arg, id);
    switch (id[strlen(id) - 1]) {
    case 'k':
        raise(SIGKILL);
        return 0;
    case 'f':
        return 3;
    default:
        return getsid(0) == getpid() ? 0 : 1;
    }
}

static enum nursery_answer next(struct nursery *n, struct nursery_end *e)
{
    struct pollfd fd = {.fd = nursery_fd(n), .events = POLLIN};
    return poll(&fd, 1, 60000) == 1 ? nursery_next(n, e) : NURSERY_NOTHING;
}

static void ends_are_told(void)
{
    static const struct {
        const char *id;
        int code, signal;
    } ids[] = {{"jb-a", 0, 0}, {"jb-f", 3, 0}, {"jb-k", -1, SIGKILL}};
    struct nursery *n = NULL;
    struct err err = {0};
    struct nursery_end e;
    char *log = fs_join(dir, "log"), *text = NULL;
    size_t size = 0;
    CHECK_INT(nursery_create(young, "hello", &n, &err), RC_OK);
    CHECK_INT(nursery_next(n, &e), NURSERY_NOTHING);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        CHECK(nursery_ask(n, ids[i].id, log));
        CHECK_INT(next(n, &e), NURSERY_END);
        CHECK_STR(e.id, ids[i].id);
        CHECK_INT(e.exit.code, ids[i].code);
        CHECK_INT(e.exit.signal, ids[i].signal);
    }
    nursery_destroy(n);
    CHECK_INT(fs_read(log, 1000, &text, &size, &err), RC_OK);
    CHECK_STR(text, "hello jb-a\nhello jb-f\n"); /* the one killed had not flushed */
    mem_free(text);
    mem_free(log);
}

static void many_may_live_at_once(void)
{
    struct nursery *n = NULL;
    struct err err = {0};
    struct nursery_end e;
    char *log = fs_join(dir, "log"), id[PLACE_ID_SIZE];
    CHECK_INT(nursery_create(young, "x", &n, &err), RC_OK);
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof(id), "jb-%d-a", i);
        CHECK(nursery_ask(n, id, log));
    }
    for (int i = 0; i < 50; i++) {
        CHECK_INT(next(n, &e), NURSERY_END);
        CHECK_INT(e.exit.code, 0);
    }
    nursery_destroy(n);
    mem_free(log);
}

static void names_that_do_not_fit_are_refused(void)
{
    struct nursery *n = NULL;
    struct err err = {0};
    CHECK_INT(nursery_create(young, "x", &n, &err), RC_OK);
    CHECK(!nursery_ask(n, "jb-0123456789abcdef", "log"));
    nursery_destroy(n);
    nursery_destroy(NULL);
}

static const struct tap_case cases[] = {
    TAP(ends_are_told),
    TAP(many_may_live_at_once),
    TAP(names_that_do_not_fit_are_refused),
};

int main(int argc, char **argv)
{
    struct err err = {0};
    if (fs_temp_dir("nursery", &dir, &err))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    enum rc gone = fs_remove_all(dir, NULL);
    (void)gone;
    mem_free(dir);
    return rc;
}
