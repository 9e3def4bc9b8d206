/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts are rows of the store, which all its servers share (store/accounts.h). What a job
 * runs under is written beside it when it is submitted, for its supervisor.
 */
#include "job/isolation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/file.h"
#include "job/status.h"
#include "store/accounts.h"

#define ACCOUNTS_MAX ((size_t)16 << 20)

/* "NUMBER NAME"; the name of a number that was given up is written over with '#'. */
static enum rc take_line(struct store *s, struct str line, struct err *err)
{
    struct str number;
    int64_t uid;
    if (!str_split(&line, ' ', &number) || !str_to_i64(number, &uid) || !line.n)
        return RC_OK;
    char *name = line.p[0] == '#' ? mem_printf("#%jd", (intmax_t)uid)
                                  : mem_strndup(line.p, line.n);
    struct store_account x = {.name = name, .uid = uid};
    enum rc rc = store_account_put(s, &x, err);
    mem_free(name);
    return rc;
}

/* Takes over what an earlier version kept in DIR/accounts. */
static enum rc take_file(const struct job_place *p, struct err *err)
{
    char *path = fs_join(p->dir, "accounts"), *text = NULL;
    size_t n = 0;
    enum rc rc = fs_exists(path) ? fs_read(path, ACCOUNTS_MAX, &text, &n, err) : RC_OK;
    struct str rest = str_of(text ? text : "", n), line;
    while (!rc && rest.n && str_split(&rest, '\n', &line))
        rc = take_line(p->store, line, err);
    if (!rc && text && unlink(path) < 0 && errno != ENOENT)
        rc = err_sys(err, errno, "cannot remove '%s'", path);
    mem_free(text);
    mem_free(path);
    return rc;
}

enum rc job_isolation_account(const struct job_place *p, const struct job_isolation *x,
                              const char *name, int64_t *uid, struct err *err)
{
    if (!*name || *name == '#')
        return err_coded(err, RC_INVAL, E3206, "'%.100s' cannot have an account", name);
    enum rc rc = take_file(p, err);
    if (!rc)
        rc = store_account_take(p->store, name, x->first, x->first + x->count - 1, uid,
                                err);
    return rc == RC_NOTFOUND
               ? err_coded(err, RC_INVAL, E3206,
                           "all %jd accounts of jobs are given out; --job-uids takes a "
                           "larger range",
                           (intmax_t)x->count)
               : rc;
}

enum rc job_isolation_retire(const struct job_place *p, const char *name, struct err *err)
{
    enum rc rc = take_file(p, err);
    return rc ? rc : store_account_retire(p->store, name, err);
}

enum rc job_isolation_write(const struct job_place *p, const struct job_isolation *x,
                            const char *job, struct err *err)
{
    int64_t uid = 0;
    enum rc rc = x->own     ? (uid = x->first, RC_OK)
                 : x->count ? job_isolation_account(p, x, p->owner, &uid, err)
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
