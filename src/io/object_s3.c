/* SPDX-License-Identifier: Apache-2.0 */
/* Amazon S3 and the stores that speak its language. Settings are those of the aws tool:
 * variables first, then ~/.aws. Requests are signed with AWS Signature Version 4, the hash
 * of the body and every header included.
 */
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "io/account_private.h"
#include "io/digest.h"
#include "io/object_private.h"

/* The keys of `nested` lines ("  addressing_style = path" below "s3 =") are found like
 * any other: no other name of the file is spelt alike.
 */
static enum rc s3_load(struct io_account *a, const char *host, struct err *err)
{
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
                                            NULL};
    const char *profile = env_get("AWS_PROFILE");
    profile = profile ? profile : "default";
    bool is_default = strcmp(profile, "default") == 0;
    char *section =
        is_default ? mem_strdup("default") : mem_printf("profile %s", profile);
    char *keys = account_file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    char *conf = account_file("AWS_CONFIG_FILE", ".aws/config");
    a->region = account_first_env(regions);
    account_settle(&a->region, io_ini_get(str_c(conf), section, "region", false));
    account_settle(&a->region, mem_strdup("us-east-1"));
    if (env_get("AWS_ACCESS_KEY_ID") && env_get("AWS_SECRET_ACCESS_KEY")) {
        a->who.id = account_env("AWS_ACCESS_KEY_ID");
        a->who.secret = account_env("AWS_SECRET_ACCESS_KEY");
        a->who.token = account_env("AWS_SESSION_TOKEN");
    } else {
        a->who.id = io_ini_get(str_c(keys), profile, "aws_access_key_id", false);
        a->who.secret = io_ini_get(str_c(keys), profile, "aws_secret_access_key", false);
        a->who.token = io_ini_get(str_c(keys), profile, "aws_session_token", false);
        account_settle(&a->who.id,
                       io_ini_get(str_c(conf), section, "aws_access_key_id", false));
        account_settle(&a->who.secret,
                       io_ini_get(str_c(conf), section, "aws_secret_access_key", false));
    }
    char *endpoint = account_first_env(endpoints);
    account_settle(&endpoint, io_ini_get(str_c(conf), section, "endpoint_url", false));
    enum rc rc = RC_OK;
    if (endpoint)
        rc = account_endpoint(a, endpoint, "AWS_ENDPOINT_URL", err);
    account_settle(&a->scheme, mem_strdup("https"));
    account_settle(&a->host, mem_printf("s3.%s.amazonaws.com%s", a->region,
                                        str_starts(a->region, "cn-") ? ".cn" : ""));
    char *style = io_ini_get(str_c(conf), section, "addressing_style", false);
    account_style(a, "TRAINYARD_S3_ADDRESSING", style,
                  !endpoint || str_ends(a->host, ".aliyuncs.com"));
    mem_free(style);
    mem_free(endpoint);
    mem_free(section);
    mem_free(keys);
    mem_free(conf);
    a->anonymous = env_is_true("AWS_NO_SIGN_REQUEST");
    if (!rc && !a->anonymous && (!a->who.id || !a->who.secret))
        rc = account_no_credentials(
            "s3://",
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them "
            "to ~/.aws/credentials",
            err);
    return rc;
}

static void s3_hash(struct object_signing *s)
{
    const struct object_call *c = s->call;
    unsigned char hash[DIGEST_SHA256];
    digest_sha256(c->body ? c->body : "", c->body ? c->n_body : 0, hash);
    digest_hex(hash, sizeof(hash), s->payload);
}

static size_t s3_headers(const struct object_signing *s, const struct io_credentials *who,
                         const char *date, struct sign_header *h)
{
    const struct object_call *c = s->call;
    size_t n = 0;
    h[n++] = (struct sign_header){"host", buf_str(&s->host)};
    if (c->if_match)
        h[n++] = (struct sign_header){"if-match", c->if_match};
    if (c->range)
        h[n++] = (struct sign_header){"range", c->range};
    h[n++] = (struct sign_header){"x-amz-content-sha256", s->payload};
    h[n++] = (struct sign_header){"x-amz-date", date};
    if (who->token)
        h[n++] = (struct sign_header){"x-amz-security-token", who->token};
    return n;
}

const struct object_store object_store_s3 = {
    .scheme = "s3",
    .region_variable = "AWS_REGION",
    .sign = SIGN_AWS4,
    .signs_all = true,
    .load = s3_load,
    .hash = s3_hash,
    .headers = s3_headers,
};
