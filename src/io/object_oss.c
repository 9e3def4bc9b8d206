/* SPDX-License-Identifier: Apache-2.0 */
/* Alibaba Cloud OSS. Settings are those of ossutil: variables first, then ~/.ossutilconfig;
 * keys also from the variables and the service that all tools of that cloud share. Requests
 * are signed with its version 4, which leaves the body out; an MD5 guards that.
 */
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "io/account_private.h"
#include "io/digest.h"
#include "io/object_private.h"

static bool is_address(const char *host)
{
    return host[0] == '[' || strspn(host, "0123456789.:") == strlen(host) ||
           strcmp(host, "localhost") == 0 || str_starts(host, "localhost:");
}

/* "oss-cn-hangzhou-internal.aliyuncs.com": "cn-hangzhou". NULL when it does not tell. */
static char *region_of(const char *host)
{
    const char *at = str_starts(host, "oss-")      ? host + 4
                     : str_starts(host, "s3.oss-") ? host + 7
                                                   : NULL;
    const char *dot = at ? strchr(at, '.') : NULL;
    if (!dot || !str_ends(host, ".aliyuncs.com"))
        return NULL;
    size_t n = (size_t)(dot - at), inner = strlen("-internal");
    if (n > inner && memcmp(dot - inner, "-internal", inner) == 0)
        n -= inner;
    return mem_strndup(at, n);
}

static enum rc oss_keys(struct io_account *a, const char *conf, struct err *err)
{
    static const char *const section = "Credentials";
    if (env_get("OSS_ACCESS_KEY_ID") && env_get("OSS_ACCESS_KEY_SECRET")) {
        static const char *const tokens[] = {"OSS_SESSION_TOKEN", "OSS_SECURITY_TOKEN",
                                             NULL};
        a->who.id = account_env("OSS_ACCESS_KEY_ID");
        a->who.secret = account_env("OSS_ACCESS_KEY_SECRET");
        a->who.token = account_first_env(tokens);
        return RC_OK;
    }
    enum rc rc = io_credentials_aliyun(&a->who, err);
    if (rc || a->who.id)
        return rc;
    a->who.id = io_ini_get(str_c(conf), section, "accessKeyID", true);
    a->who.secret = io_ini_get(str_c(conf), section, "accessKeySecret", true);
    a->who.token = io_ini_get(str_c(conf), section, "stsToken", true);
    return RC_OK;
}

static enum rc oss_load(struct io_account *a, const char *host, struct err *err)
{
    static const char *const section = "Credentials";
    char *conf = account_file("OSSUTIL_CONFIG_FILE", ".ossutilconfig");
    char *endpoint = host ? mem_strdup(host) : account_env("OSS_ENDPOINT");
    account_settle(&endpoint, io_ini_get(str_c(conf), section, "endpoint", true));
    a->region = account_env("OSS_REGION");
    account_settle(&a->region, io_ini_get(str_c(conf), section, "region", true));
    if (!endpoint && a->region)
        endpoint = mem_printf("https://oss-%s.aliyuncs.com", a->region);
    enum rc rc = oss_keys(a, conf, err);
    mem_free(conf);
    if (!rc && !endpoint)
        rc = err_coded(err, RC_INVAL, E1603,
                       "no endpoint for oss://: set OSS_ENDPOINT, such as "
                       "https://oss-cn-hangzhou.aliyuncs.com, or OSS_REGION");
    if (!rc)
        rc = account_endpoint(a, endpoint, "OSS_ENDPOINT", err);
    mem_free(endpoint);
    if (rc)
        return rc;
    account_settle(&a->region, region_of(a->host));
    account_style(a, "TRAINYARD_OSS_ADDRESSING", NULL, !is_address(a->host));
    a->anonymous = env_is_true("OSS_NO_SIGN_REQUEST");
    if (!a->anonymous && (!a->who.id || !a->who.secret))
        return account_no_credentials(
            "oss://",
            "OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET, or write them "
            "to ~/.ossutilconfig",
            err);
    if (!a->anonymous && !a->region)
        return err_coded(
            err, RC_INVAL, E1603,
            "the endpoint '%.100s' does not tell its region: set OSS_REGION, "
            "such as cn-hangzhou",
            a->host);
    return RC_OK;
}

static void oss_hash(struct object_signing *s)
{
    const struct object_call *c = s->call;
    unsigned char hash[DIGEST_MD5];
    (void)memcpy(s->payload, "UNSIGNED-PAYLOAD", sizeof("UNSIGNED-PAYLOAD"));
    if (c->body && c->n_body) {
        digest_md5(c->body, c->n_body, hash);
        digest_base64(hash, DIGEST_MD5, s->md5);
    }
}

static size_t oss_headers(const struct object_signing *s,
                          const struct io_credentials *who, const char *date,
                          struct sign_header *h)
{
    const struct object_call *c = s->call;
    size_t n = 0;
    if (s->md5[0])
        h[n++] = (struct sign_header){"content-md5", s->md5};
    if (c->body)
        h[n++] = (struct sign_header){"content-type", "application/octet-stream"};
    h[n++] = (struct sign_header){"x-oss-content-sha256", s->payload};
    h[n++] = (struct sign_header){"x-oss-date", date};
    if (c->range)
        h[n++] = (struct sign_header){"x-oss-range-behavior", "standard"};
    if (who->token)
        h[n++] = (struct sign_header){"x-oss-security-token", who->token};
    return n;
}

const struct object_store object_store_oss = {
    .scheme = "oss",
    .region_variable = "OSS_ENDPOINT",
    .own_hosts = ".aliyuncs.com",
    .sign = SIGN_OSS4,
    .signs_bucket = true,
    .bare_names = true,
    .load = oss_load,
    .hash = oss_hash,
    .headers = oss_headers,
};
