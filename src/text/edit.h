/* SPDX-License-Identifier: Apache-2.0 */
/* text/edit.h - changing a normal tree by paths: `--set`, `--edit-config-json`. */
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
