/* SPDX-License-Identifier: Apache-2.0 */
/* backend/admission.h - one machine at a time admits jobs, where several share quotas. */
#ifndef BACKEND_ADMISSION_H
#define BACKEND_ADMISSION_H

#include "job/place.h"

/* Zeroed: nothing is shared, and admission is never over. */
struct admission {
    int64_t until; /* monotonic, ns; 0: no lease is needed */
};

/* *mine false: another machine admits at the moment. While it is ours, writes of the
 * store are refused once another has it (E5401), however long we were asleep.
 */
enum rc admission_take(struct admission *a, const struct place *p, bool *mine,
                       struct err *err) MUST_CHECK;
void admission_drop(struct admission *a, const struct place *p);
/* Too late to admit more with what was read. */
bool admission_over(const struct admission *a);

#endif
