/* SPDX-License-Identifier: Apache-2.0 */
/* feature/fg_json.h - the features of a config as fg.json, and back.
 *
 * fg.json is what other feature generators and online services read: one object per
 * feature, grouped sequences as objects that hold theirs.
 */
#ifndef FEATURE_FG_JSON_H
#define FEATURE_FG_JSON_H

#include "base/arena.h"
#include "base/str.h"
#include "text/diag.h"
#include "text/node.h"
#include "text/pipeline/pipeline.h"

/* Indented by 4. Vocabularies are written with their reserved entries. */
void fg_json_print(const struct pc_EasyRecConfig *conf, struct buf *out);

/* The features of the parsed fg.json `root` as a tree of the kind pipeline that holds
 * nothing but feature_configs, ready for schema_normalise() with SCHEMA_JSON. What
 * fg.json does not know (embedding_dim, ...) is left out. Nodes keep their places in the
 * JSON. NULL with an error in `diags` when it is no fg.json; all lies in `a`.
 */
struct node *fg_json_tree(const struct node *root, struct arena *a, struct diags *diags);

#endif
