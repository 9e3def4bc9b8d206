/* SPDX-License-Identifier: Apache-2.0 */
/* io/xml.h - the little of XML that object stores answer with.
 *
 * Elements and their texts, entities and character references resolved; attributes,
 * comments, declarations and namespaces are passed over. No document type is read, so
 * nothing expands.
 */
#ifndef IO_XML_H
#define IO_XML_H

#include "base/str.h"

/* The text of the first element `name` in `in`, as it stands there (unresolved);
 * *rest, which may be NULL, is what follows it. False when there is none.
 */
bool xml_find(struct str in, const char *name, struct str *inside, struct str *rest);
/* Resolved text, to mem_free(). NULL when there is none. */
char *xml_text(struct str in, const char *name);

#endif
