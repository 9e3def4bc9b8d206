/* SPDX-License-Identifier: Apache-2.0 */
/* model/reference.h - where a run may do as TorchEasyRec does although we would not:
 * `train --like-reference`, docs/compat.md.
 */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H

/* Bits. */
enum model_reference {
    /* The gradient of mean pooling with weights is that of a sum (fbgemm on CPU). */
    REFERENCE_MEAN = 1,
    /* Without num_workers eight of them decide the order of batches. */
    REFERENCE_WORKERS = 2,
    /* Learning-rate schedules begin anew in a resumed run. */
    REFERENCE_SCHEDULES = 4,
    REFERENCE_ALL = 7,
};

#endif
