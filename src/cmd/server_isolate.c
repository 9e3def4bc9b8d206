/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/server_isolate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"

#define UID_LEAST 1000 /* below it are the system's own */
#define UID_MOST INT64_C(4294967293)

static enum rc read_range(const char *text, struct job_isolation *out, struct err *err)
{
    struct str rest = str_c(text), first;
    int64_t from = 0, to = 0;
    if (!str_split(&rest, '-', &first) || !str_to_i64(first, &from) ||
        !str_to_i64(rest, &to) || from < UID_LEAST || to < from || to > UID_MOST)
        return err_coded(
            err, RC_INVAL, E0603,
            "--job-uids: '%.60s' is not a range of user ids from %d up, such as %d-%d",
            text, UID_LEAST, ISOLATION_FIRST, ISOLATION_FIRST + ISOLATION_COUNT - 1);
    out->first = from;
    out->count = to - from + 1;
    return RC_OK;
}

static void hide_path(struct buf *b, const char *path)
{
    char *real = path && *path ? realpath(path, NULL) : NULL;
    if (real && !strchr(real, '\n'))
        buf_printf(b, "%s%s", b->n ? "\n" : "", real);
    free(real);
}

/* One id for all: what is this user's alone must not be in the view. */
static void share_id(struct server_isolate *s,
                     const char *const keys[SERVER_ISOLATE_KEYS])
{
    static const char *const places[] = {"HOME",
                                         "XDG_CONFIG_HOME",
                                         "XDG_STATE_HOME",
                                         "AWS_SHARED_CREDENTIALS_FILE",
                                         "AWS_CONFIG_FILE",
                                         "ODPS_CONFIG_FILE_PATH",
                                         "PGPASSFILE",
                                         "PGSERVICEFILE",
                                         "PIP_CONFIG_FILE",
                                         "NETRC",
                                         "KUBECONFIG",
                                         "DOCKER_CONFIG",
                                         "REGISTRY_AUTH_FILE"};
    struct buf b;
    buf_init(&b, ISOLATION_HIDE_SIZE - 1);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        hide_path(&b, env_get(places[i]));
    for (size_t i = 0; i < SERVER_ISOLATE_KEYS; i++)
        hide_path(&b, keys[i]);
    s->jobs.own = true;
    s->jobs.first = (int64_t)geteuid();
    s->jobs.count = 1;
    s->hide = buf_take(&b);
    s->jobs.hide = s->hide;
}

void server_isolate_release(struct server_isolate *s)
{
    mem_free(s->hide);
    s->hide = NULL;
}

enum rc server_isolate_find(const char *dir, const struct server_isolate_conf *c,
                            struct server_isolate *out, struct err *err)
{
    *out = (struct server_isolate){
        .jobs = {.processes = c->job_processes,
                 .file_bytes = c->job_file_size,
                 .disk_bytes = c->job_disk,
                 .no_network = strcmp(c->job_network, "none") == 0}};
    enum rc rc = read_range(c->job_uids, &out->jobs, err);
    if (rc)
        return rc;
    char *scratch = fs_join(dir, "isolation");
    if (!c->trust_submitters)
        isolate_find(scratch, &out->found);
    out->jobs.held = (struct job_isolation_held){
        .cpu = out->found.cpu, .memory = out->found.memory, .processes = out->found.pids};
    rc = fs_remove_all(scratch, NULL);
    mem_free(scratch);
    out->on = !c->trust_submitters && out->found.mode != ISOLATE_NONE;
    out->others = c->trust_submitters || out->on;
    out->images_only = out->found.mode == ISOLATE_CONTAINERS;
    if (out->found.mode == ISOLATE_NAMESPACES)
        share_id(out, c->keys);
    if (out->images_only)
        out->jobs.count = 0;
    return RC_OK;
}

void server_isolate_tell(const struct server_isolate *s, bool trust)
{
    struct buf b;
    buf_init(&b, 4096);
    if (trust)
        buf_puts(&b, "none: whoever may submit a job runs it as this user "
                     "(--trust-submitters)");
    else
        isolate_words(&s->found, &b);
    fprintf(stderr, "isolation: %s\n", buf_str(&b));
    buf_release(&b);
    if (geteuid() != 0)
        return;
    if (trust)
        fprintf(stderr, "warning: this server is root, and so is every job\n");
    else
        fprintf(stderr,
                "warning: this server is root, to give jobs accounts of their own; "
                "keep its directory and its tokens as you would keep root's\n");
}
