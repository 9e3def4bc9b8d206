/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/admission.h"

#include "base/clock.h"
#include "store/leases.h"

#define LEASE "admission"
#define LEASE_MS 10000

enum rc backend_admission_take(struct backend_admission *a, const struct job_place *p,
                               bool *mine, struct err *err)
{
    int64_t asked = clock_mono_ns(), epoch = 0;
    enum rc rc = store_lease_take(p->store, LEASE, p->node, LEASE_MS, mine, &epoch, err);
    if (rc || !*mine)
        return rc;
    store_fence(p->store, LEASE, p->node, epoch);
    a->until = asked + LEASE_MS * INT64_C(1000000) / 2;
    return RC_OK;
}

void backend_admission_drop(struct backend_admission *a, const struct job_place *p)
{
    if (!a->until)
        return;
    a->until = 0;
    store_fence(p->store, NULL, NULL, 0);
    enum rc rc = store_lease_drop(p->store, LEASE, p->node, NULL);
    (void)rc; /* it ends by itself */
}

bool backend_admission_over(const struct backend_admission *a)
{
    return a->until && clock_mono_ns() > a->until;
}
