/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/attr.h - attributes of an item: from a piece of text to a value of the
 * training column that it stands for.
 */
#ifndef DATA_SAMPLER_ATTR_H
#define DATA_SAMPLER_ATTR_H

#include "data/column.h"

/* Elements of lists and entries of maps are separated by this, whatever attr_delimiter is. */
#define ATTR_LIST_SEP '\x1d'

/* Can a column of that type be filled from text? Numbers, texts, and lists and maps of
 * them. */
bool attr_accepts(const struct type *t);
/* Adds a row. An empty text is null, except in a column of texts. RC_FORMAT: the text is
 * no value of that type, `err` says which part; RC_NOMEM.
 */
enum rc attr_add(struct column *c, struct str text, struct err *err) MUST_CHECK;

#endif
