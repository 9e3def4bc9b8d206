/* SPDX-License-Identifier: Apache-2.0 */
/* job/table.h - tables of MaxCompute as inputs: the job gets an address and a key, and
 * reads the rows itself.
 */
#ifndef JOB_TABLE_H
#define JOB_TABLE_H

#include "job/environ.h"
#include "job/inputs.h"

/* Writes meta.json into the directory of each such channel below `ml`, and the key, if
 * `access` has one, to input/credential/odps.json (0600).
 */
enum rc job_table_stage(const char *ml, const struct job_channels *c,
                        const struct job_environ_list *access,
                        struct err *err) MUST_CHECK;

#endif
