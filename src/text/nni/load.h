/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/load.h - the search space of an experiment, wherever it stands. */
#ifndef TEXT_NNI_LOAD_H
#define TEXT_NNI_LOAD_H

#include "text/conf.h"
#include "text/nni/space.h"

/* The space of `c`, an experiment whose data is bound: searchSpaceFile (seen from the
 * directory of the file) or, without one, searchSpace. A file's source is kept in
 * c->sources, so that diagnostics may point into it; *out lies in c->arena. RC_FORMAT:
 * the diagnostics say why.
 */
enum rc nni_space_load(struct conf *c, struct diags *diags,
                       struct nni_space *out) MUST_CHECK;
/* `path` as seen from the directory of the file. */
bool nni_dir_exists(struct conf *c, const char *path);

#endif
