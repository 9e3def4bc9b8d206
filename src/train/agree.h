/* SPDX-License-Identifier: Apache-2.0 */
/* train/agree.h - whether ranks that work together were started with the same things.
 *
 *     train_agree(comm, names, n, &facts, err)   names[] = {"version", "config"}
 *
 * Ranks with different programs, configs or data would compute nonsense together, or wait for
 * each other. So each tells the others what it has, in words that a person can compare.
 */
#ifndef TRAIN_AGREE_H
#define TRAIN_AGREE_H

#include "base/str.h"

struct comm;
struct conf;

/* `facts`: n texts, each with its zero byte. Collective. RC_INVAL E2503: another rank has
 * something else; those of comm.h.
 */
enum rc train_agree(struct comm *comm, const char *const *names, int n,
                    const struct buf *facts, struct err *err) MUST_CHECK;

/* A config, as a fact. */
void train_agree_config(const struct conf *conf, struct buf *out);

#endif
