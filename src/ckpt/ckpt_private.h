/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/ckpt_private.h - what the files of this room share. */
#ifndef CKPT_CKPT_PRIVATE_H
#define CKPT_CKPT_PRIVATE_H

#include "base/code.h"
#include "base/err.h"
#include "text/node.h"

#define CKPT_PREFIX "model.ckpt-"
#define CKPT_MANIFEST "manifest.json"
#define CKPT_TMP ".tmp"

/* JSON into `doc`, which the caller releases in any case. What is wrong becomes one
 * message with `code`: "header: line 1, column 7: ...".
 */
enum rc ckpt_parse_json(const char *what, const char *text, size_t n, enum code code,
                        struct doc *doc, struct err *err) MUST_CHECK;

/* A list of sizes, none negative, into dims[ST_DIMS_MAX]; false when it is not that. */
bool ckpt_parse_shape(const struct node *list, int64_t *dims, int *n_dims) MUST_CHECK;
/* Bytes of a tensor; false when they do not fit an int64_t. */
bool ckpt_shape_bytes(const int64_t *dims, int n_dims, size_t item,
                      int64_t *bytes) MUST_CHECK;

/* N of "model.ckpt-N"; false for any other name. */
bool ckpt_parse_step(const char *name, int64_t *step) MUST_CHECK;

#endif
