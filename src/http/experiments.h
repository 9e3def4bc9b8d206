/* SPDX-License-Identifier: Apache-2.0 */
/* http/experiments.h - the experiments of the server's directory.
 *
 * Each is a folder there, or a link to one, as `trainyard tune` makes them. They are read
 * anew for every request, one at a time.
 */
#ifndef HTTP_EXPERIMENTS_H
#define HTTP_EXPERIMENTS_H

#include "base/vec.h"
#include "http/call.h"
#include "tune/experiment.h"

struct experiments_one {
    char *dir; /* owned */
    char id[EXP_ID_SIZE];
    int64_t created;
};
struct experiments {
    VEC(struct experiments_one) all;
};

/* All that can be read, newest first; none without a directory. RC_IO. */
enum rc experiments_find(const struct call *c, struct experiments *out,
                         struct err *err) MUST_CHECK;
void experiments_release(struct experiments *l);

/* The folder of `id`, by its name or by the experiment's; NULL: of the newest. The
 * caller's. RC_NOTFOUND (E4008). */
enum rc experiments_dir(const struct call *c, const char *id, char **out,
                        struct err *err) MUST_CHECK;

/* Reads the experiment in `dir`, lets `fn` answer, forgets it. E4005, E4015. */
typedef enum rc experiments_fn(struct call *c, const struct experiment *e, bool alive,
                               struct err *err);
enum rc experiments_read(struct call *c, const char *dir, experiments_fn *fn,
                         struct err *err) MUST_CHECK;
/* The same by id, as experiments_dir() has it. */
enum rc experiments_with(struct call *c, const char *id, experiments_fn *fn,
                         struct err *err) MUST_CHECK;
/* Between entries of a list: a comma unless the list was opened just now. */
void experiments_comma(struct call *c);

#endif
