/* SPDX-License-Identifier: Apache-2.0 */
/* model/reference.h - where a run may do as TorchEasyRec does although we would not:
 * `train --like-reference`, docs/compat.md.
 */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H

/* Bits. */
enum model_reference {
    /* The gradient of mean pooling with weights is that of a sum (fbgemm on CPU). A feature
     * with weights gives weights to all that are looked up with it.
     */
    REFERENCE_MEAN = 1,
    /* Without num_workers eight of them decide the order of batches. */
    REFERENCE_WORKERS = 2,
    /* Learning-rate schedules begin anew in a resumed run. */
    REFERENCE_SCHEDULES = 4,
    /* Tables that its planner makes data_parallel, and on CPU those of sequences, have the
     * dense optimizer.
     */
    REFERENCE_TABLES = 8,
    /* Sequences of a group that are longer than the first count up to its longest in the
     * batch, and self-attention divides by the length before truncation.
     */
    REFERENCE_STEPS = 16,
    REFERENCE_ALL = 31,
};

#endif
