/* SPDX-License-Identifier: Apache-2.0 */
/* recall/faiss.h - an index as a file of faiss: IndexFlat, IndexIVFFlat, IndexHNSWFlat. */
#ifndef RECALL_FAISS_H
#define RECALL_FAISS_H

#include "recall/index.h"

/* faiss.read_index() opens it; vectors have the numbers of their rows. nprobe is 1 and
 * efSearch 16 there, as faiss leaves them. RC_IO and what io/out.h lists.
 */
enum rc recall_faiss_write(const struct recall_index *x, const char *path,
                           struct err *err) MUST_CHECK;

#endif
