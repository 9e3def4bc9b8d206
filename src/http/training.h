/* SPDX-License-Identifier: Apache-2.0 */
/* http/training.h - what was found in the directories of training runs, looked for again when
 * somebody asks and some time has passed.
 */
#ifndef HTTP_TRAINING_H
#define HTTP_TRAINING_H

#include <stdint.h>

struct http_run_list;

/* `roots`: NULL behind the last; borrowed; NULL: none. */
struct http_run_list *http_run_list_create(const char *const *roots);
void http_run_list_destroy(struct http_run_list *l); /* NULL is fine */
/* Another number after something changed. */
uint64_t http_run_list_revision(struct http_run_list *l);

#endif
