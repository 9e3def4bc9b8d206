/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are files in DIR/requests, each written whole: "stop", "kill-ID", "limits",
 * "space".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "text/json.h"
#include "tune/manager_private.h"

#define LOG_AREA "tune"

static enum rc requests_put(const char *dir, const char *name, const char *text,
                            struct err *err)
{
    char *folder = fs_join(dir, "requests"), *path = fs_join(folder, name);
    enum rc rc = fs_mkdirs(folder, 0755, err);
    if (!rc)
        rc = fs_write(path, text, strlen(text), 0644, err);
    mem_free(folder);
    mem_free(path);
    return rc;
}

enum rc tune_manager_request_stop(const char *dir, struct err *err)
{
    return requests_put(dir, "stop", "{}\n", err);
}

enum rc tune_manager_request_kill(const char *dir, const char *trial, struct err *err)
{
    if (!*trial || strlen(trial) >= TRIAL_ID_SIZE ||
        strspn(trial, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                      "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(trial))
        return err_coded(err, RC_INVAL, E4008, "'%s' is not the id of a trial", trial);
    char *name = mem_printf("kill-%s", trial);
    enum rc rc = requests_put(dir, name, "{}\n", err);
    mem_free(name);
    return rc;
}

static int64_t requests_limit(const struct node *map, const char *key, int64_t otherwise)
{
    int64_t v = node_get_int(map, key, otherwise);
    return v >= 0 ? v : otherwise;
}

/* What is not asked for now may have been asked for a moment ago, and still waits. */
static struct exp_limits with_waiting(const char *dir, const struct exp_limits *l)
{
    struct exp_limits all = *l;
    char *path = fs_join(dir, "requests/limits"), *json = NULL;
    size_t n = 0;
    struct doc d = {0};
    if (fs_read(path, SOURCE_MAX, &json, &n, NULL) == RC_OK &&
        json_read("limits", json, n, &d, NULL) == RC_OK) {
        if (l->concurrency < 0)
            all.concurrency = requests_limit(d.root, "concurrency", -1);
        if (l->trials < 0)
            all.trials = requests_limit(d.root, "trials", -1);
        if (l->seconds < 0)
            all.seconds = requests_limit(d.root, "seconds", -1);
        if (l->trial_seconds < 0)
            all.trial_seconds = requests_limit(d.root, "trial_seconds", -1);
    }
    doc_release(&d);
    mem_free(json);
    mem_free(path);
    return all;
}

enum rc tune_manager_request_limits(const char *dir, const struct exp_limits *limits,
                                    struct err *err)
{
    struct exp_limits all = with_waiting(dir, limits), *l = &all;
    char *text =
        mem_printf("{\"concurrency\": %" PRId64 ", \"trials\": %" PRId64
                   ", \"seconds\": %" PRId64 ", \"trial_seconds\": %" PRId64 "}\n",
                   l->concurrency, l->trials, l->seconds, l->trial_seconds);
    enum rc rc = requests_put(dir, "limits", text, err);
    mem_free(text);
    return rc;
}

enum rc tune_manager_request_space(const char *dir, const char *json, struct err *err)
{
    return requests_put(dir, "space", json, err);
}

/* Who asked has checked it already; one that does not fit after all is left out. */
static enum rc take_space(struct tune_manager *m, const char *path, struct err *err)
{
    char *json = NULL;
    size_t n = 0;
    struct err why = {0};
    enum rc rc = fs_read(path, SOURCE_MAX, &json, &n, err);
    if (!rc)
        rc = experiment_space(m->e, json, &why);
    if (rc && why.code == E4012) {
        log_warn("%s", why.msg);
        rc = RC_OK;
    } else if (rc && why.msg[0]) {
        *err = why;
    }
    mem_free(json);
    return rc;
}

static enum rc take_limits(struct tune_manager *m, const char *path, struct err *err)
{
    char *json = NULL;
    size_t n = 0;
    struct doc d = {0};
    struct exp_limits l = m->e->limits;
    enum rc rc = fs_read(path, SOURCE_MAX, &json, &n, err);
    if (!rc && json_read("limits", json, n, &d, NULL) == RC_OK) {
        l = (struct exp_limits){
            .concurrency = requests_limit(d.root, "concurrency", l.concurrency),
            .trials = requests_limit(d.root, "trials", l.trials),
            .seconds = requests_limit(d.root, "seconds", l.seconds),
            .trial_seconds = requests_limit(d.root, "trial_seconds", l.trial_seconds)};
        rc = experiment_limits(m->e, &l, err);
    }
    mem_free(json);
    doc_release(&d);
    return rc;
}

static enum rc take_one(struct tune_manager *m, const char *name, const char *path,
                        struct err *err)
{
    enum rc rc = RC_OK;
    if (strcmp(name, "stop") == 0)
        m->stop = true;
    else if (strcmp(name, "limits") == 0)
        rc = take_limits(m, path, err);
    else if (strcmp(name, "space") == 0)
        rc = take_space(m, path, err);
    for (size_t i = 0; str_starts(name, "kill-") && i < m->e->trials.n && !rc; i++)
        if (strcmp(m->e->trials.at[i].id, name + 5) == 0 &&
            !trial_status_ended(m->e->trials.at[i].status))
            rc = tune_trial_stop(m, (int64_t)i, TS_USER_CANCELED, false, err);
    return rc;
}

enum rc tune_requests_take(struct tune_manager *m, struct err *err)
{
    char *folder = fs_join(m->e->dir, "requests");
    struct fs_names names = {0};
    enum rc rc = fs_is_dir(folder) ? fs_list(folder, &names, err) : RC_OK;
    for (size_t i = 0; i < names.n && !rc; i++) {
        if (names.at[i][0] == '.')
            continue; /* being written */
        char *path = fs_join(folder, names.at[i]);
        rc = take_one(m, names.at[i], path, err);
        if (!rc)
            unlink(path);
        mem_free(path);
    }
    fs_names_release(&names);
    mem_free(folder);
    return rc;
}

bool tune_manager_alive(const char *dir)
{
    char *path = fs_join(dir, "lock");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool alive = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return alive;
}
