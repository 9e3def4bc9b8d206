/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps.h - parameter servers: who keeps what, and how trainers and servers take turns.
 *
 * Rows of tables are dealt to the servers by id; a dense parameter is cut along its first
 * dimension into blocks, which go round the servers. A server keeps the optimizer state of
 * what it has, and runs the optimizer. Trainers compute gradients.
 */
#ifndef DIST_PS_H
#define DIST_PS_H

#include "embed/lookup.h"
#include "nn/graph.h"

#define DIST_PS_SERVERS_MAX 256
#define DIST_PS_WORKERS_MAX 1024

enum dist_ps_mode {
    PS_SYNC,       /* one update of all trainers' mean gradient, for which all wait */
    PS_HALF_ASYNC, /* an update per trainer and step, which the trainer waits for */
    PS_ASYNC,      /* updates as they come; a trainer goes on at once */
    PS_GEO_MODE,   /* trainers update by themselves and exchange differences */
    PS_MODES
};
const char *dist_ps_mode_name(enum dist_ps_mode m); /* "half_async" */
/* By name; PS_MODES: none. */
enum dist_ps_mode dist_ps_mode_find(const char *name);

/* The same in all processes of a run. */
struct dist_ps_job {
    int servers, workers;
    enum dist_ps_mode mode;
};

/* What is trained; all borrowed. The same shapes in all processes of a run. */
struct dist_ps_model {
    struct lookup *lookup; /* a local one: its tables */
    struct param *const *params;
    size_t n_params; /* those that are not trainable do not travel */
};

/* Tables whose rows have no numbers cannot be dealt: RC_UNSUPPORTED (E2704). */
enum rc dist_ps_model_check(const struct dist_ps_model *m, struct err *err) MUST_CHECK;
#define DIST_PS_DIGEST 65
/* Names, shapes, and the job's own: processes that have different ones do not fit. */
void dist_ps_digest(const struct dist_ps_job *job, const struct dist_ps_model *m,
                    char out[DIST_PS_DIGEST]);

static inline int dist_ps_owner(const struct dist_ps_job *job, int64_t id)
{
    return (int)(id % job->servers);
}

/* A stretch of a dense parameter. */
struct dist_ps_block {
    size_t param;
    int64_t at, n; /* values */
    int64_t rows;  /* of its first dimension */
    int server;
};
/* All blocks, in the order of parameters; *n of them; the caller's, to mem_free(). */
struct dist_ps_block *dist_ps_blocks(const struct dist_ps_job *job,
                                     const struct dist_ps_model *m, size_t *n);
/* Values of all blocks of one server, or of all (-1). */
int64_t dist_ps_blocks_total(const struct dist_ps_block *b, size_t n, int server);

#endif
