/* SPDX-License-Identifier: Apache-2.0 */
/* The choice is made when a job is submitted and lies in its access.json, where the
 * variable TRAINYARD_KEYS says which it was: a dataset can be deleted and registered by
 * somebody else before the job is prepared, so a supervisor asks job_access_check() again.
 *
 * Of what a job brings, only keys and regions count. Addresses come from the server's own
 * environment: a request must not lead the server to a host of the requester's choice.
 */
#include "job/access.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/bucket.h"
#include "store/users.h"

#define KEYS "TRAINYARD_KEYS"

static bool among(const char *variable, const char *const *names, size_t n)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == length && strncmp(variable, names[i], length) == 0)
            return true;
    return false;
}

static bool is_key(const char *variable)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "OSS_ACCESS_KEY_ID",
                                        "OSS_ACCESS_KEY_SECRET",
                                        "OSS_SESSION_TOKEN",
                                        "OSS_SECURITY_TOKEN",
                                        "ALIBABA_CLOUD_ACCESS_KEY_ID",
                                        "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
                                        "ALIBABA_CLOUD_SECURITY_TOKEN",
                                        "ODPS_ACCESS_ID",
                                        "ODPS_ACCESS_KEY",
                                        "ODPS_STS_TOKEN"};
    return among(variable, names, ARRAY_LEN(names));
}

/* Where stores are, and how they are reached: nothing that opens one. */
static bool is_address(const char *variable)
{
    static const char *const names[] = {
        "PATH",           "http_proxy",       "https_proxy",
        "no_proxy",       "HTTP_PROXY",       "HTTPS_PROXY",
        "NO_PROXY",       "SSL_CERT_DIR",     "SSL_CERT_FILE",
        "CURL_CA_BUNDLE", "AWS_REGION",       "AWS_DEFAULT_REGION",
        "OSS_REGION",     "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
        "OSS_ENDPOINT",   "ODPS_ENDPOINT",    "AWS_MAX_ATTEMPTS"};
    return str_starts(variable, "TRAINYARD_S3_") ||
           str_starts(variable, "TRAINYARD_OSS_") ||
           str_starts(variable, "TRAINYARD_HTTP_") ||
           among(variable, names, ARRAY_LEN(names));
}

bool job_access_is_guest(const struct job_place *p)
{
    struct store_users users = {0};
    bool known = p->served && store_user_get(p->store, p->owner, &users, NULL) == RC_OK;
    store_users_release(&users);
    return known;
}

static bool brings_keys(const char *const *secrets)
{
    for (; secrets && *secrets; secrets++)
        if (is_key(*secrets))
            return true;
    return false;
}

static enum rc refuse_channel(const struct job_channel *c, struct err *err)
{
    const char *what = c->kind == CHANNEL_INPUT    ? "input"
                       : c->kind == CHANNEL_OUTPUT ? "output"
                                                   : "dataset";
    if (c->is_table)
        return err_coded(err, RC_INVAL, E3302,
                         "%s '%.100s' is a table, which the job reads itself: send a key "
                         "of its own as secrets, ODPS_ACCESS_ID and ODPS_ACCESS_KEY",
                         what, c->name);
    if (c->guarded)
        return err_coded(err, RC_INVAL, E3302,
                         "%s '%.100s': no administrator registered this dataset, so the "
                         "server's keys do not open it; send your own as secrets",
                         what, c->name);
    return err_coded(err, RC_INVAL, E3302,
                     "%s '%.100s': the dataset is not marked writable; an administrator "
                     "can register it with --writable",
                     what, c->name);
}

/* The server's keys are no good for it. */
static bool is_refused(const struct job_channel *c)
{
    if (!c->uri || c->is_upload)
        return false;
    return c->is_table || c->guarded || (c->kind == CHANNEL_OUTPUT && !c->writable);
}

enum rc job_access_choose(const struct job_place *p, const struct job_channels *c,
                          const char *const *secrets, enum job_access *out,
                          struct err *err)
{
    bool any = false, guest = job_access_is_guest(p);
    const struct job_channel *bad = NULL;
    for (size_t i = 0; i < c->list.n; i++) {
        any |= c->list.at[i].uri && !c->list.at[i].is_upload;
        if (!bad && is_refused(&c->list.at[i]))
            bad = &c->list.at[i];
    }
    if (!any)
        *out = ACCESS_NONE;
    else if (!guest)
        *out = ACCESS_SUBMITTER;
    else if (brings_keys(secrets))
        *out = ACCESS_JOB;
    else if (bad)
        return refuse_channel(bad, err);
    else
        *out = ACCESS_SERVER;
    return RC_OK;
}

typedef VEC(const char *) variables;

static void add_all(variables *to, const char *const *from, job_environ_wanted_fn *wanted)
{
    for (; from && *from; from++)
        if (wanted(*from))
            VEC_PUSH(to, *from);
}

enum rc job_access_keep(enum job_access a, const char *path, const char *const *env,
                        const char *const *secrets, struct err *err)
{
    variables all = {0};
    if (a == ACCESS_NONE)
        return RC_OK;
    if (a == ACCESS_JOB) {
        add_all(&all, env, is_address);
        add_all(&all, secrets, is_key);
        VEC_PUSH(&all, "HOME=/nonexistent"); /* the server's profiles lie in its home */
        VEC_PUSH(&all, KEYS "=job");
    } else {
        add_all(&all, env, job_environ_is_access);
        VEC_PUSH(&all, a == ACCESS_SERVER ? KEYS "=server" : KEYS "=submitter");
    }
    VEC_PUSH(&all, NULL);
    enum rc rc = job_environ_write(path, all.at, NULL, err);
    VEC_RELEASE(&all);
    return rc;
}

enum rc job_access_check(const struct job_channels *c,
                         const struct job_environ_list *kept, struct err *err)
{
    const char *whose = job_environ_get(kept, KEYS);
    if (!whose || strcmp(whose, "server") != 0)
        return RC_OK;
    for (size_t i = 0; i < c->list.n; i++)
        if (is_refused(&c->list.at[i]))
            return refuse_channel(&c->list.at[i], err);
    return RC_OK;
}
