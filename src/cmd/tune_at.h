/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/tune_at.h - an experiment to look at or to change: in a folder of this machine, or at
 * a server.
 *
 * Of a server's there is a copy of its two files here while a command runs, so that all
 * that is shown is worked out by the same code. What changes it goes to the server.
 */
#ifndef CMD_TUNE_AT_H
#define CMD_TUNE_AT_H

#include "cmd/job_common.h"
#include "tune/experiment.h"

struct tune_at {
    char *dir;               /* owned: the folder, or the copy */
    bool alive;              /* something runs it */
    struct cmd_place server; /* its remote.url is NULL: of this machine */
    char id[EXP_ID_SIZE];    /* of a server's */
    char *answer;            /* owned: what the server says of it, JSON */
    int64_t have;            /* bytes of the log in the copy */
};

/* `dir` is --dir; `id` may be the beginning of one, or NULL: the one that was made last, of
 * a server the newest of one's own. `w` says which server, if any. E4008, E5019.
 */
enum rc tune_at_open(const struct job_where *w, const char *dir, const char *id,
                     struct tune_at *out, struct err *err) MUST_CHECK;
/* Opens it, for experiment_close(). Of a server's, `dir` and what follows from it are the
 * server's folders.
 */
enum rc tune_at_experiment(const struct tune_at *t, struct experiment **out,
                           struct err *err) MUST_CHECK;
/* Looks again: what happened since, and whether something runs it. */
enum rc tune_at_refresh(struct tune_at *t, struct err *err) MUST_CHECK;
void tune_at_close(struct tune_at *t);
/* True for an experiment of a server. */
bool tune_at_served(const struct tune_at *t);

/* Which server, if any: `dir` (--dir) means none. server->remote.url is NULL then. */
enum rc tune_at_server(const struct job_where *w, const char *dir,
                       struct cmd_place *server, struct err *err) MUST_CHECK;
/* A request below /api/v1/experiments; `tail` begins with '/' or is "". `body` and `doc` may
 * be NULL.
 */
enum rc tune_at_call(const struct cmd_place *server, const char *method, const char *tail,
                     const char *body, struct doc *doc, struct err *err) MUST_CHECK;
/* All that the caller may see, newest first: fn gets each as the server tells it. */
typedef enum rc tune_at_fn(void *arg, const struct node *experiment, struct err *err);
enum rc tune_at_each(const struct cmd_place *server, tune_at_fn *fn, void *arg,
                     struct err *err) MUST_CHECK;
/* Makes the experiment at the server; its code is sent first. */
enum rc tune_at_create(const struct cmd_place *server, const struct exp_settings *s,
                       char id[EXP_ID_SIZE], struct err *err) MUST_CHECK;

#define TUNE_SERVER_OPT(T)                                                       \
    {                                                                            \
        OPT_TEXT(T, where.server, NULL,                                          \
                 "URL of a server, or `local`; default: TRAINYARD_SERVER, else " \
                 "the one of `trainyard login`"),                                \
            .meta = "URL"                                                        \
    }

#endif
