/* SPDX-License-Identifier: Apache-2.0 */
/* http/run_files.h - the files of a training run, wherever it keeps them: in a directory of
 * its own, or in an output channel of a job. No link is followed, so nobody who may write there
 * shows a file that is not of the run.
 */
#ifndef HTTP_RUN_FILES_H
#define HTTP_RUN_FILES_H

#include "http/call.h"
#include "job/outputs.h"

#define RUN_ID_SIZE 17
#define RUN_FILES_MAX 20000 /* looked at in one directory */
#define RUNS_SHOWN_MAX 2000

struct http_run_file {
    const char *path; /* below the run's directory */
    int64_t bytes, changed;
};
struct http_run_files {
    struct arena arena;
    VEC(struct http_run_file) list;
    /* Where they are: */
    const char *root; /* a directory; NULL: of a job: */
    const char *channel;
    const char *below; /* and below it: "" or "runs/one/" */
};
void http_run_files_release(struct http_run_files *f);

/* Of a place that was found. */
struct http_run_place;
enum rc http_run_files_of_dir(const struct http_run_place *at, struct http_run_files *out,
                              struct err *err) MUST_CHECK;
/* Of the job params[0]: the model_dir in its outputs that changed last. RC_NOTFOUND (E5007):
 * it has none.
 */
enum rc http_run_files_of_job(struct http_call *c, const struct job_outputs *all,
                              struct http_run_files *out, struct err *err) MUST_CHECK;
const struct http_run_file *http_run_files_find(const struct http_run_files *f,
                                                const char *path);
/* -1: it is not there. */
int http_run_files_open(struct http_call *c, const struct http_run_files *f,
                        const char *path);
/* A text of at most `most` bytes in `a`; NULL: it is not there, or longer. */
const char *http_run_files_text(struct http_call *c, const struct http_run_files *f,
                                const char *path, size_t most);

/* A directory in which a run was found. */
struct http_run_place {
    char id[RUN_ID_SIZE];
    const char *root; /* under which of the given directories */
    const char *name; /* its path below that; "." for itself */
    const char *dir;  /* both together */
    int64_t changed;  /* its newest file */
};
struct http_run_places {
    struct arena arena;
    VEC(struct http_run_place) list;
    bool more; /* there were too many to look at */
};
/* All below `roots` (NULL behind the last), the newest first. */
void http_run_places_find(const char *const *roots, struct http_run_places *out);
void http_run_places_release(struct http_run_places *p);

#endif
