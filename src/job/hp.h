/* SPDX-License-Identifier: Apache-2.0 */
/* job/hp.h - hyper-parameters as texts: what Python's str() would make of them. */
#ifndef JOB_HP_H
#define JOB_HP_H

#include "base/arena.h"
#include "base/str.h"
#include "job/spec.h"
#include "text/node.h"

/* `map` may be NULL. The result lies in `a`. */
void job_hp_read(const struct node *map, struct arena *a, struct job_spec_hp **out,
                 size_t *n);
/* {"lr": "0.1", ...}: values as strings, ASCII only, on one line. */
void job_hp_json(const struct job_spec_hp *hp, size_t n, struct buf *out);
/* --lr 0.1 --name 'a b': each value quoted once for a shell. */
void job_hp_args(const struct job_spec_hp *hp, size_t n, struct buf *out);
/* The same words as a JSON list. */
void job_hp_args_json(const struct job_spec_hp *hp, size_t n, struct buf *out);

#endif
