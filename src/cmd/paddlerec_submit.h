/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/paddlerec_submit.h - the submission folder of a job, and the client that takes it. */
#ifndef CMD_PADDLEREC_SUBMIT_H
#define CMD_PADDLEREC_SUBMIT_H

#include "base/fs.h"
#include "compat/paddlerec_submit.h"

struct paddlerec_submit {
    struct paddlerec_submission job;
    const char *config, *backend; /* paths of both files; borrowed */
    struct fs_names files;        /* that submit.files stands for */
};

/* What submit.files stands for here, and the client: errors in `diags`; both files fit.
 * Release in any case.
 */
bool paddlerec_submit_check(struct paddlerec_submit *s, struct diags *diags);
void paddlerec_submit_release(struct paddlerec_submit *s);

/* Makes the folder and submits it, and prints what PaddleRec prints. RC_IO; E0538: the
 * client failed; the folder is left.
 */
enum rc paddlerec_submit_run(const struct paddlerec_submit *s,
                             struct err *err) MUST_CHECK;

#endif
