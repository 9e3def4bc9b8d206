/* SPDX-License-Identifier: Apache-2.0 */
/* backend/depend.h - what a job waits for before it may stand in line: other jobs, or a
 * place among those of its array.
 */
#ifndef BACKEND_DEPEND_H
#define BACKEND_DEPEND_H

#include "base/map.h"
#include "job/place.h"

enum backend_depend_answer {
    DEPEND_NONE,   /* it waits for nobody */
    DEPEND_MET,    /* they have ended; to be recorded, once */
    DEPEND_WAITS,  /* `text` says for whom */
    DEPEND_FAILED, /* one that had to succeed did not */
};
#define DEPEND_TEXT 200

/* `rows`: jobs of this machine that live. */
enum backend_depend_answer backend_depend(const struct job_place *p,
                                          const struct store_jobs *rows,
                                          const struct store_job *j,
                                          char text[DEPEND_TEXT]);

/* How many jobs of each array have, or may get, a place. Zeroed at first. */
struct backend_depend_arrays {
    struct map counts;
};
void backend_depend_arrays_release(struct backend_depend_arrays *a);
/* Counts a job that runs. */
void backend_depend_array_runs(struct backend_depend_arrays *a,
                               const struct store_job *j);
/* Is there a place for one more? Then it has it. */
bool backend_depend_array_room(struct backend_depend_arrays *a, const struct store_job *j,
                               char text[DEPEND_TEXT]);

#endif
