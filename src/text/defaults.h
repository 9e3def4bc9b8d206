/* SPDX-License-Identifier: Apache-2.0 */
/* text/defaults.h - a config with everything that it leaves unsaid. */
#ifndef TEXT_DEFAULTS_H
#define TEXT_DEFAULTS_H

#include "text/schema.h"

/* Adds to a normal tree of `def` each scalar that is not set and has a default, in all
 * messages that are there. What it adds lies in `a`.
 */
void schema_fill_defaults(const struct msg_def *def, struct node *root, struct arena *a);

#endif
