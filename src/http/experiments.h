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

struct http_experiments_one {
    char *dir; /* owned */
    char id[EXP_ID_SIZE];
    int64_t created;
};
struct http_experiments {
    VEC(struct http_experiments_one) all;
};

/* All that can be read, newest first; none without a directory. RC_IO. */
enum rc http_experiments_find(const struct http_call *c, struct http_experiments *out,
                              struct err *err) MUST_CHECK;
void http_experiments_release(struct http_experiments *l);

/* The folder of `id`, by its name or by the experiment's; NULL: of the newest. The
 * caller's. RC_NOTFOUND (E4008). */
enum rc http_experiments_dir(const struct http_call *c, const char *id, char **out,
                             struct err *err) MUST_CHECK;

/* Reads the experiment in `dir`, lets `fn` answer, forgets it. E4005, E4015. */
typedef enum rc http_experiments_fn(struct http_call *c, const struct experiment *e,
                                    bool alive, struct err *err);
enum rc http_experiments_read(struct http_call *c, const char *dir,
                              http_experiments_fn *fn, struct err *err) MUST_CHECK;
/* The same by id, as http_experiments_dir() has it. */
enum rc http_experiments_with(struct http_call *c, const char *id,
                              http_experiments_fn *fn, struct err *err) MUST_CHECK;
/* Between entries of a list: a comma unless the list was opened just now. */
void http_experiments_comma(struct http_call *c);

#endif
