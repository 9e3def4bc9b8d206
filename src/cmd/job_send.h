/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/job_send.h - a job from here to a server: its code by content, the values of its
 * secrets beside the specification, a token so that trying again is safe.
 */
#ifndef CMD_JOB_SEND_H
#define CMD_JOB_SEND_H

#include "cmd/job_common.h"

enum rc job_send(const struct cmd_place *p, struct job_spec *spec, const char *cwd,
                 struct job_submit_result *out, struct err *err) MUST_CHECK;
/* The files and secrets of a job alone: afterwards `spec` names snapshots that the server has,
 * and the values of secrets stand in it as secret_values.
 */
enum rc job_send_files(const struct cmd_place *p, struct job_spec *spec, const char *cwd,
                       struct job_submit_result *out, struct err *err) MUST_CHECK;
/* Is the input a path of this machine, rather than something the server knows? */
bool job_send_is_path(const char *value);
/* A directory by content, as a snapshot that the server has then. */
enum rc job_send_dir(const struct cmd_place *p, const char *dir, struct job_snapshot *out,
                     struct err *err) MUST_CHECK;

/* job_remote.c: a list of outputs in an answer; `out` is released by the caller. */
void remote_take_outputs(const struct node *list, struct job_outputs *out);

#endif
