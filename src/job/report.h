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
    int64_t stored_bytes; /* uploads and models; of users alone */
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
void job_report_release(struct job_report *r);

#endif
