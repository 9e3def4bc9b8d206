/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/forkserver.h"

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

static enum backend_forkserver_answer next(struct backend_forkserver *n,
                                           struct backend_forkserver_end *e)
{
    struct pollfd fd = {.fd = backend_forkserver_fd(n), .events = POLLIN};
    return poll(&fd, 1, 60000) == 1 ? backend_forkserver_next(n, e) : FORKSERVER_NOTHING;
}

static void ends_are_told(void)
{
    static const struct {
        const char *id;
        int code, signal;
    } ids[] = {{"jb-a", 0, 0}, {"jb-f", 3, 0}, {"jb-k", -1, SIGKILL}};
    struct backend_forkserver *n = NULL;
    struct err err = {0};
    struct backend_forkserver_end e;
    char *log = fs_join(dir, "log"), *text = NULL;
    size_t size = 0;
    CHECK_INT(backend_forkserver_create(young, "hello", &n, &err), RC_OK);
    CHECK_INT(backend_forkserver_next(n, &e), FORKSERVER_NOTHING);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        CHECK(backend_forkserver_ask(n, ids[i].id, log));
        CHECK_INT(next(n, &e), FORKSERVER_END);
        CHECK_STR(e.id, ids[i].id);
        CHECK_INT(e.exit.code, ids[i].code);
        CHECK_INT(e.exit.signal, ids[i].signal);
    }
    backend_forkserver_destroy(n);
    CHECK_INT(fs_read(log, 1000, &text, &size, &err), RC_OK);
    CHECK_STR(text, "hello jb-a\nhello jb-f\n"); /* the one killed had not flushed */
    mem_free(text);
    mem_free(log);
}

static void many_may_live_at_once(void)
{
    struct backend_forkserver *n = NULL;
    struct err err = {0};
    struct backend_forkserver_end e;
    char *log = fs_join(dir, "log"), id[JOB_ID_SIZE];
    CHECK_INT(backend_forkserver_create(young, "x", &n, &err), RC_OK);
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof(id), "jb-%d-a", i);
        CHECK(backend_forkserver_ask(n, id, log));
    }
    for (int i = 0; i < 50; i++) {
        CHECK_INT(next(n, &e), FORKSERVER_END);
        CHECK_INT(e.exit.code, 0);
    }
    backend_forkserver_destroy(n);
    mem_free(log);
}

static void names_that_do_not_fit_are_refused(void)
{
    struct backend_forkserver *n = NULL;
    struct err err = {0};
    CHECK_INT(backend_forkserver_create(young, "x", &n, &err), RC_OK);
    CHECK(!backend_forkserver_ask(n, "jb-0123456789abcdef", "log"));
    backend_forkserver_destroy(n);
    backend_forkserver_destroy(NULL);
}

static const struct tap_case cases[] = {
    TAP(ends_are_told),
    TAP(many_may_live_at_once),
    TAP(names_that_do_not_fit_are_refused),
};

int main(int argc, char **argv)
{
    struct err err = {0};
    if (fs_temp_dir("forkserver", &dir, &err))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    enum rc gone = fs_remove_all(dir, NULL);
    (void)gone;
    mem_free(dir);
    return rc;
}
