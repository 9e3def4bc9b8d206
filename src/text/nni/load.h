/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/load.h - the search space of an experiment, wherever it stands. */
#ifndef TEXT_NNI_LOAD_H
#define TEXT_NNI_LOAD_H

#include "text/conf.h"
#include "text/nni/space.h"

/* The space of `c`, an experiment whose data is bound, as a tree: searchSpaceFile (seen
 * from the directory of the file) or, without one, searchSpace. A file's source is kept
 * in c->sources, so that diagnostics may point into it. NULL: the diagnostics say why.
 */
const struct node *nni_space_tree(struct conf *c, struct diags *diags);
/* The same, checked and flattened; *out lies in c->arena. Not for custom tuners, which
 * give the tree a meaning of their own. RC_FORMAT: the diagnostics say why.
 */
enum rc nni_space_load(struct conf *c, struct diags *diags,
                       struct nni_space *out) MUST_CHECK;
/* `path` as seen from the directory of the file. */
bool nni_dir_exists(struct conf *c, const char *path);

#endif
