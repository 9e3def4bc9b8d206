/* SPDX-License-Identifier: Apache-2.0 */
/* train/model_lock.h - one writer per model_dir, or per output directory of a prediction.
 *
 * The file .lock in it is locked (flock) for as long as a run lasts; the kernel
 * lets go of it when the process ends, however it ends. In it stand process and host, for
 * the message that the next one gets. A run that is refused leaves neither the file nor a
 * model_dir that was made for it.
 */
#ifndef TRAIN_MODEL_LOCK_H
#define TRAIN_MODEL_LOCK_H

#include "base/err.h"

struct train_model_lock;

/* Makes the directory when it is absent and removes what a killed run left half written
 * there. `what` it is for a person: "model_dir", "output". *out is the caller's, to
 * train_model_lock_release(). RC_INVAL E1410: another process has it; RC_IO.
 */
enum rc train_model_lock_take(const char *dir, const char *what,
                              struct train_model_lock **out, struct err *err) MUST_CHECK;
void train_model_lock_release(struct train_model_lock *l); /* NULL is fine */

#endif
