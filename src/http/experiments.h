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
    struct exp_peek is;
};
struct http_experiments {
    VEC(struct http_experiments_one) all;
};

/* All that can be read and that the caller may see, newest first; none without a
 * directory. RC_IO. */
/* The server that has the experiment params[0], when that is another one (in the arena);
 * NULL: this one, or none.
 */
const char *http_experiments_away(struct http_call *c);
enum rc http_experiments_find(const struct http_call *c, struct http_experiments *out,
                              struct err *err) MUST_CHECK;
void http_experiments_release(struct http_experiments *l);

/* The folder of `id`, by its name or by the experiment's; NULL: of the newest. The
 * caller's. RC_NOTFOUND (E4008), also for what is not the caller's to see. */
enum rc http_experiments_dir(const struct http_call *c, const char *id, char **out,
                             struct err *err) MUST_CHECK;

/* The same for who wants to change it; *is (may be NULL) tells whose it is. Those without
 * an owner are for admins. RC_INVAL (E5010). */
/* Experiments of a name, for admins: RC_INVAL (E3112) when there are any. */
enum rc http_experiments_left(struct http_call *c, const char *name,
                              struct err *err) MUST_CHECK;
/* Deletes them; *any: there were some. RC_CANCELED (E5022) when one runs. */
enum rc http_experiments_purge(struct http_call *c, const char *name, bool *any,
                               struct err *err) MUST_CHECK;
enum rc http_experiments_own(struct http_call *c, char **dir, struct exp_peek *is,
                             struct err *err) MUST_CHECK;
void http_experiments_asked(struct http_call *c, bool alive);
/* Whether something runs the experiment in `dir`: this server, from the moment it was asked
 * to, or a process. */
bool http_experiments_alive(const struct http_call *c, const char *dir);

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
/* Adds those of other servers on the database to the list in c->out and returns how many;
 * `silent` gets a JSON text for each server that does not answer.
 */
int64_t http_experiments_list_away(struct http_call *c, struct buf *silent);

#endif
