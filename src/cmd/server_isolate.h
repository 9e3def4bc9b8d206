/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/server_isolate.h - how a server keeps the jobs of its users apart: decided at its
 * start by what the machine allows, and told.
 */
#ifndef CMD_SERVER_ISOLATE_H
#define CMD_SERVER_ISOLATE_H

#include "backend/isolate.h"
#include "job/isolation.h"
#include "team/policy.h"

#define SERVER_ISOLATE_KEYS 3
#define SERVER_ISOLATE_UIDS "1879100000-1879165535"

struct server_isolate_conf {
    const char *job_uids;                  /* "FIRST-LAST" */
    int64_t job_processes;                 /* of one worker */
    int64_t job_file_size;                 /* of one file; 0: no limit */
    int64_t job_disk;                      /* of all that a job writes; 0: no limit */
    const char *job_network;               /* "host" or "none" */
    bool trust_submitters;                 /* jobs of anybody run as the server */
    const char *keys[SERVER_ISOLATE_KEYS]; /* files that jobs must not see; NULL: none */
};

struct server_isolate {
    struct isolate_found found;
    struct job_isolation jobs;
    bool on;          /* jobs are isolated, as `jobs` says */
    bool others;      /* people beside the server's owner may be let in */
    bool images_only; /* jobs of others need an image */
    char *hide;       /* owned */
};
void server_isolate_release(struct server_isolate *s);

/* RC_INVAL (E0603): a range that is none. */
enum rc server_isolate_find(const char *dir, const struct server_isolate_conf *c,
                            struct server_isolate *out, struct err *err) MUST_CHECK;
/* One line on stderr for what was found, one for what is unwise. */
void server_isolate_tell(const struct server_isolate *s, bool trust);

#endif
