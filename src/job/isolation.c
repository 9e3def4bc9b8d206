/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts lie in one file, a number and a name per line, in the order in which they were given
 * out; a line is never removed, so that no number is given to two names. What a job runs under
 * is written beside it when it is submitted, for its supervisor.
 */
#include "job/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/file.h"
#include "job/status.h"

#define ACCOUNTS_MAX ((size_t)16 << 20)

/* The number of `name` in the text; -1: none. *used counts those that were given. */
static int64_t look_up(struct str text, const char *name, int64_t *used)
{
    struct str line, number;
    int64_t uid, found = -1;
    *used = 0;
    while (text.n && str_split(&text, '\n', &line)) {
        if (!str_split(&line, ' ', &number) || !str_to_i64(number, &uid))
            continue;
        ++*used;
        if (str_is(line, name))
            found = uid;
    }
    return found;
}

static enum rc add_line(int fd, int64_t uid, const char *name, struct err *err)
{
    char *line = mem_printf("%jd %s\n", (intmax_t)uid, name);
    size_t n = strlen(line);
    enum rc rc = RC_OK;
    if (lseek(fd, 0, SEEK_END) < 0 || write(fd, line, n) != (ssize_t)n || fsync(fd) < 0)
        rc = err_sys(err, errno, "cannot write the accounts of jobs");
    mem_free(line);
    return rc;
}

enum rc job_isolation_account(const char *dir, const struct job_isolation *x,
                              const char *name, int64_t *uid, struct err *err)
{
    char *path = fs_join(dir, "accounts"), *text = NULL;
    size_t n = 0;
    int64_t used = 0;
    enum rc rc = RC_OK;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        rc = err_sys(err, errno, "cannot open '%s'", path);
    if (!rc)
        rc = fs_read(path, ACCOUNTS_MAX, &text, &n, err);
    int64_t found = rc ? -1 : look_up(str_of(text ? text : "", n), name, &used);
    if (!rc && (!*name || strchr(name, '\n')))
        rc = err_coded(err, RC_INVAL, E3206, "'%.100s' cannot have an account", name);
    if (!rc && found < 0 && used >= x->count)
        rc = err_coded(err, RC_INVAL, E3206,
                       "all %jd accounts of jobs are given out; --job-uids takes a "
                       "larger range",
                       (intmax_t)x->count);
    if (!rc && found < 0) {
        found = x->first + used;
        rc = add_line(fd, found, name, err);
    }
    if (!rc)
        *uid = found;
    if (fd >= 0)
        close(fd);
    mem_free(text);
    mem_free(path);
    return rc;
}

/* Writes '#', which no name holds, over the name; a number keeps its line. */
static enum rc strike_out(int fd, struct str text, const char *name, struct err *err)
{
    const char *start = text.p;
    struct str line, number;
    while (text.n && str_split(&text, '\n', &line)) {
        if (!str_split(&line, ' ', &number) || !str_is(line, name))
            continue;
        for (size_t i = 0; i < line.n; i++)
            if (pwrite(fd, "#", 1, (off_t)(line.p - start) + (off_t)i) != 1)
                return err_sys(err, errno, "cannot write the accounts of jobs");
    }
    return RC_OK;
}

enum rc job_isolation_retire(const char *dir, const char *name, struct err *err)
{
    char *path = fs_join(dir, "accounts"), *text = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) {
        rc = fs_read(path, ACCOUNTS_MAX, &text, &n, err);
        if (!rc)
            rc = strike_out(fd, str_of(text, n), name, err);
    } else if (errno != ENOENT) {
        rc = err_sys(err, errno, "cannot open '%s'", path);
    }
    if (fd >= 0)
        close(fd);
    mem_free(text);
    mem_free(path);
    return rc;
}

enum rc job_isolation_write(const char *dir, const struct job_isolation *x,
                            const char *owner, const char *job, struct err *err)
{
    int64_t uid = 0;
    enum rc rc = x->own     ? (uid = x->first, RC_OK)
                 : x->count ? job_isolation_account(dir, x, owner, &uid, err)
                            : RC_OK;
    if (rc)
        return rc;
    char *path = fs_join(job, "isolation.json");
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_printf(&b,
               "{\"uid\": %jd, \"processes\": %jd, \"file_bytes\": %jd, "
               "\"disk_bytes\": %jd, "
               "\"no_network\": %d, \"own\": %d, \"held_cpu\": %d, "
               "\"held_memory\": %d, \"held_processes\": %d, \"hide\": ",
               (intmax_t)uid, (intmax_t)x->processes, (intmax_t)x->file_bytes,
               (intmax_t)x->disk_bytes, (int)x->no_network, (int)x->own, (int)x->held.cpu,
               (int)x->held.memory, (int)x->held.processes);
    buf_json_str(&b, x->hide ? x->hide : "", x->hide ? strlen(x->hide) : 0);
    buf_puts(&b, "}\n");
    rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(path, buf_str(&b), b.n, 0600, err);
    buf_release(&b);
    mem_free(path);
    return rc;
}

enum rc job_isolation_read(const char *job, struct job_isolation_job *out, bool *found,
                           struct err *err)
{
    char *path = fs_join(job, "isolation.json"), *text = NULL;
    struct doc doc = {0};
    size_t n = 0;
    *found = fs_exists(path);
    enum rc rc = *found ? fs_read(path, 1 << 16, &text, &n, err) : RC_OK;
    const struct node *map = text ? job_json_open(text, &doc) : NULL;
    if (!rc && *found && (!map || !node_find(map, "uid")))
        rc = err_set(err, RC_IO, "'%s' is damaged", path);
    if (!rc && *found)
        *out = (struct job_isolation_job){
            .uid = node_get_int(map, "uid", -1),
            .processes = node_get_int(map, "processes", 0),
            .file_bytes = node_get_int(map, "file_bytes", 0),
            .disk_bytes = node_get_int(map, "disk_bytes", 0),
            .no_network = node_get_int(map, "no_network", 0) != 0,
            .own = node_get_int(map, "own", 0) != 0,
            .held = {node_get_int(map, "held_cpu", 0) != 0,
                     node_get_int(map, "held_memory", 0) != 0,
                     node_get_int(map, "held_processes", 0) != 0}};
    if (!rc && *found)
        snprintf(out->hide, sizeof(out->hide), "%s", node_get_text(map, "hide", ""));
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    mem_free(path);
    return rc;
}
