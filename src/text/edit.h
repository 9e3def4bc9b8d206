/* SPDX-License-Identifier: Apache-2.0 */
/* text/edit.h - changing a normal tree by paths: `--set`, `--edit-config-json`.
 *
 * The language is described for users in docs/config-edits.md. What is ours, next to
 * TorchEasyRec's: under a slice or condition a path never changes which member of a oneof
 * is set, and a condition through a member that is not set never holds; an index equal to
 * the length appends; JSON null removes; `;` pairs only where there are several paths.
 */
#ifndef TEXT_EDIT_H
#define TEXT_EDIT_H

#include "text/conf.h"

/* Applies one edit to c->doc.root, which is in normal form for c->kind->root. Values
 * become nodes whose spans point into a source named after the edit's origin (kept in
 * c->sources), so that the schema check that follows can point at them. Problems of the
 * path or of the value's text go to `diags`, naming the bad segment; the tree is then
 * unchanged. RC_OK or RC_FORMAT.
 */
enum rc edit_apply(struct conf *c, const struct conf_edit *edit,
                   struct diags *diags) MUST_CHECK;

#endif
