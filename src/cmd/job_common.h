/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/job_common.h - what the commands about jobs share. */
#ifndef CMD_JOB_COMMON_H
#define CMD_JOB_COMMON_H

#include "base/opt.h"
#include "base/vec.h"
#include "cmd/job_ops.h"
#include "cmd/remote.h"
#include "job/place.h"
#include "text/json_out.h"

/* The flags that say which jobs are meant; first member of a command's conf. */
struct job_where {
    const char *dir, *store;
    const char *server; /* of commands that can use one */
};
#define JOB_WHERE_OPTS(T)                                                             \
    {OPT_HEADING("Which jobs")},                                                      \
        {OPT_TEXT(T, where.dir, NULL,                                                 \
                  "jobs directory; default: TRAINYARD_DIR, else trainyard in "        \
                  "XDG_STATE_HOME or ~/.local/state"),                                \
         .meta = "DIR"},                                                              \
    {                                                                                 \
        OPT_TEXT(T, where.store, NULL,                                                \
                 "job store: a file or postgresql:// URL; default: TRAINYARD_STORE, " \
                 "else jobs.db in the directory"),                                    \
            .meta = "WHERE"                                                           \
    }

#define JOB_SERVER_OPT(T)                                                        \
    {                                                                            \
        OPT_TEXT(T, where.server, NULL,                                          \
                 "URL of a server, or `local`; default: TRAINYARD_SERVER, else " \
                 "the one of `trainyard login`"),                                \
            .meta = "URL"                                                        \
    }

struct job_id {
    char text[JOB_ID_SIZE];
    int64_t index; /* of a job that was meant by its array; -1: named itself */
};

/* A store of this machine, or a server: then `p` has no store and no directory. */
struct cmd_place {
    struct job_place p;
    const struct job_ops *ops;
    struct remote remote;
    char *dir, *where, *owner, *node; /* owned */
};
/* The directory of `w`, made if need be; the caller's. RC_IO (E3201). */
enum rc cmd_place_dir(const struct job_where *w, char **out, struct err *err) MUST_CHECK;
/* Opens the store and makes the directory. E3201, E31xx. */
enum rc cmd_place_open(const struct job_where *w, struct cmd_place *out,
                       struct err *err) MUST_CHECK;
/* The same, or a server when one was chosen; see remote_server(). E5019. */
enum rc job_open(const struct job_where *w, struct cmd_place *out,
                 struct err *err) MUST_CHECK;
/* The server alone; its url is NULL when the store of this machine is meant. E5019. */
enum rc job_server(const struct job_where *w, struct remote *out,
                   struct err *err) MUST_CHECK;
void cmd_place_close(struct cmd_place *p);
/* Starts an agent when jobs of this machine are alive and none looks after them; nothing
 * to do for a server.
 */
void job_revive(const struct cmd_place *p);

/* What the submitter of a job asked for. On failure there is nothing to release. */
enum rc job_asked(const struct cmd_place *p, const char *id, struct job_spec *out,
                  struct err *err) MUST_CHECK;
/* The job that a person means: a whole id, or the beginning of one (with "jb-" or without)
 * that no other job has. E3103, E3020.
 */
enum rc job_pick(const struct cmd_place *p, const char *text, char out[JOB_ID_SIZE],
                 struct err *err) MUST_CHECK;

/* All that are meant, in the order given; an array stands for its jobs, by index. */
struct job_ids {
    VEC(struct job_id) list;
};
enum rc job_pick_all(const struct cmd_place *p, const char *const *texts, size_t n,
                     struct job_ids *out, struct err *err) MUST_CHECK;
void job_ids_release(struct job_ids *ids);

/* Seconds since `then` or between two moments, for people: "2m05s"; "-" for 0. */
void job_span(int64_t from, int64_t to, char out[32]);
/* The command's exit status for a job that ended: 0, its own, 3 when stopped. */
enum rc job_end_status(const struct store_job *j, struct err *err) MUST_CHECK;

/* Follows the logs of a job to stdout. */
#define JOB_FOLLOW_ALL (-1)
struct job_follow {
    int64_t worker;       /* JOB_FOLLOW_ALL: with a prefix when there are several;
                        JOB_LOG_PREPARE */
    int64_t attempt;      /* 0: all of them */
    int64_t tail;         /* lines at the end, -1: everything */
    int64_t since, until; /* wall clock, ms: written then or later, and before; 0: none */
    bool follow;          /* until the job has ended */
    bool raw;             /* also what a terminal would obey */
    bool program;         /* stdout is for the workers' output alone */
    int signals;          /* a signalfd that calls on_interrupt, or -1 */
    void (*on_interrupt)(void *arg);
    void *arg;
};
enum rc job_follow_run(const struct cmd_place *p, const char *id,
                       const struct job_follow *f, struct err *err) MUST_CHECK;

/* A server that is being started again is waited for; *since is 0 while it answers. False:
 * it has been away for too long, or `rc` means something else.
 */
bool job_wait_for_server(enum rc rc, const struct err *err, int64_t *since);

/* Waits for the end, at most `seconds` (0: as long as it takes): RC_CANCELED (E3013, exit
 * status 124) when that is over first.
 */
enum rc job_wait(const struct cmd_place *p, const char *id, double seconds,
                 struct err *err) MUST_CHECK;

/* One job as JSON; `whole`: with specification, status and metrics. */
enum rc job_json(const struct cmd_place *p, const struct store_job *j, bool whole,
                 bool events, struct buf *out, struct err *err) MUST_CHECK;
/* In the words of DLC's API. */
enum rc job_dlc_json(const struct cmd_place *p, const struct store_job *j,
                     struct buf *out, struct err *err) MUST_CHECK;
/* One of its pods: a worker's number, or "master-0". RC_NOTFOUND (E3103). */
enum rc job_dlc_pod_json(const struct cmd_place *p, const struct store_job *j,
                         const char *pod, struct buf *out, struct err *err) MUST_CHECK;

#endif
