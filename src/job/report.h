/* SPDX-License-Identifier: Apache-2.0 */
/* job/report.h - who takes how much room in a jobs directory. */
#ifndef JOB_REPORT_H
#define JOB_REPORT_H

#include "base/vec.h"
#include "job/place.h"
#include "job/space.h"

struct job_report_row {
    const char *name; /* user, or project; "": jobs without one */
    int64_t jobs, job_bytes;
    int64_t models;
    int64_t stored_bytes;                  /* uploads and models; of users alone */
    int64_t experiments, experiment_bytes; /* as tune/retain.h adds them */
};
struct job_report {
    struct arena arena;
    struct job_space disk;
    int64_t here_bytes; /* contents of jobs that were submitted on the machine itself */
    VEC(struct job_report_row) rows; /* largest first */
};
/* Of the jobs of this place, by owner or by project. */
enum rc job_report_read(const struct job_place *p, bool by_project,
                        struct job_report *out, struct err *err) MUST_CHECK;
/* The row of this name, made when there is none. Rows may move at the next call. */
struct job_report_row *job_report_row_of(struct job_report *r, const char *name);
void job_report_sort(struct job_report *r); /* largest first */
void job_report_release(struct job_report *r);

#endif
