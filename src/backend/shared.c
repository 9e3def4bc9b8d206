/* SPDX-License-Identifier: Apache-2.0 */
/* Three files of the directory `shared`: NAME has the last answer, NAME.failed what went
 * wrong since, NAME.lock is held by who asks. The age of an answer is that of its file, so
 * that the time is written with it in one step. Failures are kept like answers: a service
 * that is down is asked by one process at a time too.
 */
#include "backend/shared.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define ANSWER_MAX (256 << 20)
#define NS INT64_C(1000000000)

/* When it was written, 0: it is not there. */
static int64_t written(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * NS + st.st_mtim.tv_nsec;
}

static bool fresh(int64_t at, int64_t age_ns)
{
    int64_t age = clock_wall_ns() - at;
    return at > 0 && age >= 0 && age < age_ns;
}

static enum rc read_answer(const char *path, char **out, int64_t *at, struct err *err)
{
    size_t n = 0;
    *at = written(path);
    return fs_read(path, ANSWER_MAX, out, &n, err);
}

static enum rc read_failure(const char *path, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    if (fs_read(path, ERR_MSG_SIZE, &text, &n, NULL))
        return err_set(err, RC_CANCELED, "there is no answer yet");
    enum rc rc = err_set(err, RC_CANCELED, "%s", text);
    mem_free(text);
    return rc;
}

/* We hold the lock: nobody else asks. */
static enum rc ask_now(const struct backend_shared *s, const char *path,
                       const char *failed, struct err *err)
{
    struct err why = {0};
    char *text = NULL;
    if (fresh(written(path), s->age_ns) || fresh(written(failed), s->age_ns))
        return RC_OK; /* somebody did before we got it */
    enum rc rc = s->ask(s->arg, &text, &why);
    if (rc) {
        rc = job_file_put(failed, why.msg, strlen(why.msg), 0600, err);
    } else {
        unlink(failed);
        rc = job_file_put(path, text, strlen(text), 0600, err);
    }
    mem_free(text);
    return rc;
}

enum rc backend_shared_get(const struct backend_shared *s, char **out, int64_t *at,
                           struct err *err)
{
    char *dir = fs_join(s->dir, "shared"), *path = fs_join(dir, s->name);
    char *failed = mem_printf("%s.failed", path), *lock = mem_printf("%s.lock", path);
    enum rc rc = fs_mkdirs(dir, 0700, err);
    if (!rc && !fresh(written(path), s->age_ns) && !fresh(written(failed), s->age_ns)) {
        int fd = job_lock_take(lock);
        if (fd >= 0) {
            rc = ask_now(s, path, failed, err);
            close(fd);
        }
    }
    if (!rc && fs_exists(path) && (!fs_exists(failed) || written(failed) < written(path)))
        rc = read_answer(path, out, at, err);
    else if (!rc)
        rc = read_failure(failed, err);
    mem_free(lock);
    mem_free(failed);
    mem_free(path);
    mem_free(dir);
    return rc;
}
