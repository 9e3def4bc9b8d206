/* SPDX-License-Identifier: Apache-2.0 */
/* compat/paddlerec_submit.h - a runner of class cluster_train as a job of PaddleCloud: what
 * config.yaml and backend.yaml must say together, and the four files that are made for the
 * submission folder. cmd/paddlerec_submit.c makes the folder and calls the client.
 *
 * Keys (ak, sk) are in none of the four: job.sh reads them from PADDLEREC_KEYS_FILE, which is
 * hidden, so that it is not uploaded with the rest.
 */
#ifndef COMPAT_PADDLEREC_SUBMIT_H
#define COMPAT_PADDLEREC_SUBMIT_H

#include "base/err.h"
#include "base/str.h"
#include "text/diag.h"
#include "text/paddlerec/paddlerec.h"

#define PADDLEREC_KEYS_FILE ".keys"

enum paddlerec_cloud { PADDLEREC_MPI_PS, PADDLEREC_K8S_COLLECTIVE, PADDLEREC_K8S_PS };

/* All borrowed. */
struct paddlerec_submission {
    const struct prec_Config *c;
    const struct prec_Runner *r;
    const struct prec_Backend *b;
    enum paddlerec_cloud cluster;
    int64_t threads; /* CPU_NUM: the most of the runner's phases */
};

/* Fills *out; false: `diags` say what does not go together. Both files are checked by
 * themselves before.
 */
bool paddlerec_submission(const struct prec_Config *c, const struct prec_Runner *r,
                          const struct prec_Backend *b, struct paddlerec_submission *out,
                          struct diags *diags);
/* K8S with one trainer of one card: nodes run it as class train. */
bool paddlerec_submission_is_single(const struct paddlerec_submission *s);

/* A file that is made: its name, what is said of it, its text. */
struct paddlerec_made {
    const char *name; /* "config.ini" */
    const char *told; /* "mpi_config.ini" */
    void (*put)(const struct paddlerec_submission *s, struct buf *out);
};
#define PADDLEREC_MADE 4
/* In the order in which they are made. */
void paddlerec_submission_files(const struct paddlerec_submission *s,
                                struct paddlerec_made out[PADDLEREC_MADE]);
/* The lines of PADDLEREC_KEYS_FILE. */
void paddlerec_submission_keys(const struct paddlerec_submission *s, struct buf *out);

/* Settings that travel to nodes: name and value, in the order of config.ini. Secrets are
 * told by `secret`.
 */
typedef void paddlerec_setting_fn(void *arg, const char *name, const char *value,
                                  bool secret);
void paddlerec_submission_settings(const struct paddlerec_submission *s,
                                   paddlerec_setting_fn *fn, void *arg);

#endif
