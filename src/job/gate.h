/* SPDX-License-Identifier: Apache-2.0 */
/* job/gate.h - what a server asks before it takes a job of one of its users. */
#ifndef JOB_GATE_H
#define JOB_GATE_H

#include "job/isolation.h"
#include "job/place.h"
#include "job/spec.h"

struct job_gate {
    /* `x`, what the job will run under, may be made stricter; NULL: it is not isolated.
     * RC_INVAL (E5010) with the rule in the message.
     */
    enum rc (*check)(void *arg, const struct job_place *p, const struct job_spec *s,
                     struct job_isolation *x, struct err *err);
    void *arg;
};

#endif
