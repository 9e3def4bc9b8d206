/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are files in DIR/requests, each written whole: "stop", "kill-ID", "limits". */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "text/json.h"
#include "tune/manager_private.h"

static enum rc put(const char *dir, const char *name, const char *text, struct err *err)
{
    char *folder = fs_join(dir, "requests"), *path = fs_join(folder, name);
    enum rc rc = fs_mkdirs(folder, 0755, err);
    if (!rc)
        rc = fs_write(path, text, strlen(text), 0644, err);
    mem_free(folder);
    mem_free(path);
    return rc;
}

enum rc manager_request_stop(const char *dir, struct err *err)
{
    return put(dir, "stop", "{}\n", err);
}

enum rc manager_request_kill(const char *dir, const char *trial, struct err *err)
{
    if (!*trial || strlen(trial) >= TRIAL_ID_SIZE ||
        strspn(trial, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                      "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(trial))
        return err_coded(err, RC_INVAL, E4008, "'%s' is not the id of a trial", trial);
    char *name = mem_printf("kill-%s", trial);
    enum rc rc = put(dir, name, "{}\n", err);
    mem_free(name);
    return rc;
}

enum rc manager_request_limits(const char *dir, const struct exp_limits *l,
                               struct err *err)
{
    char *text =
        mem_printf("{\"concurrency\": %" PRId64 ", \"trials\": %" PRId64
                   ", \"seconds\": %" PRId64 ", \"trial_seconds\": %" PRId64 "}\n",
                   l->concurrency, l->trials, l->seconds, l->trial_seconds);
    enum rc rc = put(dir, "limits", text, err);
    mem_free(text);
    return rc;
}

static int64_t limit(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_find(map, key);
    int64_t v;
    return n && node_i64(n, &v) && v >= 0 ? v : otherwise;
}

static enum rc take_limits(struct manager *m, const char *path, struct err *err)
{
    struct doc d = {0};
    struct diags unheard = {0};
    struct exp_limits l = m->e->limits;
    enum rc rc = source_open(path, &d.src, err);
    if (!rc && json_parse(&d, &unheard) == RC_OK) {
        l = (struct exp_limits){
            .concurrency = limit(d.root, "concurrency", l.concurrency),
            .trials = limit(d.root, "trials", l.trials),
            .seconds = limit(d.root, "seconds", l.seconds),
            .trial_seconds = limit(d.root, "trial_seconds", l.trial_seconds)};
        rc = experiment_limits(m->e, &l, err);
    }
    diags_release(&unheard);
    doc_release(&d);
    return rc;
}

static enum rc take(struct manager *m, const char *name, const char *path,
                    struct err *err)
{
    enum rc rc = RC_OK;
    if (strcmp(name, "stop") == 0)
        m->stop = true;
    else if (strcmp(name, "limits") == 0)
        rc = take_limits(m, path, err);
    for (size_t i = 0; str_starts(name, "kill-") && i < m->e->trials.n && !rc; i++)
        if (strcmp(m->e->trials.at[i].id, name + 5) == 0 &&
            !trial_status_ended(m->e->trials.at[i].status))
            rc = trial_stop(m, (int64_t)i, TS_USER_CANCELED, err);
    return rc;
}

enum rc requests_take(struct manager *m, struct err *err)
{
    char *folder = fs_join(m->e->dir, "requests");
    struct fs_names names = {0};
    enum rc rc = fs_is_dir(folder) ? fs_list(folder, &names, err) : RC_OK;
    for (size_t i = 0; i < names.n && !rc; i++) {
        if (names.at[i][0] == '.')
            continue; /* being written */
        char *path = fs_join(folder, names.at[i]);
        rc = take(m, names.at[i], path, err);
        if (!rc)
            unlink(path);
        mem_free(path);
    }
    fs_names_release(&names);
    mem_free(folder);
    return rc;
}

bool manager_alive(const char *dir)
{
    char *path = fs_join(dir, "lock");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool alive = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return alive;
}
