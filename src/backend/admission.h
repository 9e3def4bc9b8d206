/* SPDX-License-Identifier: Apache-2.0 */
/* backend/admission.h - one machine at a time admits jobs, where several share quotas. */
#ifndef BACKEND_ADMISSION_H
#define BACKEND_ADMISSION_H

#include "job/place.h"

/* Zeroed: nothing is shared, and admission is never over. */
struct backend_admission {
    int64_t until; /* monotonic, ns; 0: no lease is needed */
};

/* *mine false: another machine admits at the moment. While it is ours, writes of the
 * store are refused once another has it (E5401), however long we were asleep.
 */
enum rc backend_admission_take(struct backend_admission *a, const struct job_place *p,
                               bool *mine, struct err *err) MUST_CHECK;
void backend_admission_drop(struct backend_admission *a, const struct job_place *p);
/* Too late to admit more with what was read. */
bool backend_admission_over(const struct backend_admission *a);

#endif
