/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/paddlerec_cluster.h - parameter servers and trainers as processes of this machine:
 * class local_cluster_train.
 */
#ifndef CMD_PADDLEREC_CLUSTER_H
#define CMD_PADDLEREC_CLUSTER_H

#include "dist/ps.h"

struct paddlerec_cluster {
    struct dist_ps_job job;
    const char *const
        *args;       /* of every process, behind the program's name; NULL behind the
                                last; borrowed */
    int64_t threads; /* CPU_NUM */
};

/* Starts them, their output below logs/, and waits for the trainers. RC_IO (E2705): one of
 * them failed; in the modes that do not wait for each other the others trained on.
 */
enum rc paddlerec_cluster_run(const struct paddlerec_cluster *c,
                              struct err *err) MUST_CHECK;

#endif
