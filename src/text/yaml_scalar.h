/* SPDX-License-Identifier: Apache-2.0 */
/* text/yaml_scalar.h - the type of a plain scalar by the YAML 1.2 core schema.
 *
 *   null      (nothing) ~ null Null NULL
 *   boolean   true True TRUE false False FALSE
 *   integer   [-+]?[0-9]+ (007 is 7, 010 is 10: octal is written 0o10), 0o[0-7]+,
 *             0x[0-9a-fA-F]+; decimal beyond 64 bits is a number with rounding
 *   number    1. .5 1e-3 -2.5E+7, .inf -.Inf .NaN
 *   string    all else: yes, no, on, off, 1_000, 1:30, 2020-01-01, and what no double or
 *             64-bit integer can hold (1e999, 0x of 17 digits)
 */
#ifndef TEXT_YAML_SCALAR_H
#define TEXT_YAML_SCALAR_H

#include "text/node.h"

/* The kind of `text`, which is none of NODE_LIST and NODE_MAP. */
enum node_kind yaml_kind(struct str text);
/* The node; `text` is copied. */
struct node *yaml_scalar(struct arena *a, struct str text, struct span at);

#endif
