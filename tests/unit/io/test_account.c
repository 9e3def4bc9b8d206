/* SPDX-License-Identifier: Apache-2.0 */
#include "io/account.h"
#include "io/object_store.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/xml.h"
#include "tap.h"

static void check_owned(char *got, const char *want)
{
    CHECK_STR(got, want);
    mem_free(got);
}

static void files_of_sections_are_read(void)
{
    struct str t = str_c("a = 0\n# c\n[default]\nkey = one # two\n; x = 1\n"
                         "empty =\n[profile p]\r\nkey=  three \r\nKEY = x\n[open\n");
    check_owned(io_ini_get(t, "default", "key", false), "one # two");
    check_owned(io_ini_get(t, "profile p", "key", false), "three");
    check_owned(io_ini_get(t, "profile p", "KEY", false), "x");
    check_owned(io_ini_get(t, "PROFILE P", "Key", true), "three");
    check_owned(io_ini_get(t, "", "a", false), "0");
    CHECK(io_ini_get(t, "default", "empty", false) == NULL);
    CHECK(io_ini_get(t, "default", "x", false) == NULL);
    CHECK(io_ini_get(t, "none", "key", false) == NULL);
    CHECK(io_ini_get(str_c(""), "default", "key", false) == NULL);
}

static void members_of_flat_json_are_found(void)
{
    struct str t =
        str_c("{\"n\": 1, \"a\" : \"x\\\"y\\u00e9\\n\", \"b\":\"a\", \"c\": \"z\"}");
    check_owned(io_json_get(t, "a"), "x\"y\xc3\xa9\n");
    check_owned(io_json_get(t, "b"), "a");
    check_owned(io_json_get(t, "c"), "z");
    CHECK(io_json_get(t, "n") == NULL);
    CHECK(io_json_get(str_c("{\"a"), "a") == NULL);
    CHECK(io_json_get(str_c("{\"a\":\"b\\"), "x") == NULL);
}

static void elements_of_xml_are_found(void)
{
    struct str t = str_c(
                   "<?xml version='1.0'?><R xmlns='u'><Keys/><Key>a&amp;b&#x41;&#66;"
                   "&odd;</Key><Key>2</Key><E /></R>"),
               inside, rest;
    check_owned(xml_text(t, "Key"), "a&bAB&odd;");
    CHECK(xml_find(t, "Key", &inside, &rest) && xml_find(rest, "Key", &inside, &rest));
    CHECK(str_is(inside, "2"));
    CHECK(!xml_find(rest, "Key", &inside, NULL));
    check_owned(xml_text(t, "E"), "");
    check_owned(xml_text(t, "Keys"), "");
    CHECK(xml_text(t, "None") == NULL);
    CHECK(xml_text(str_c("<Key>never closed"), "Key") == NULL);
    CHECK(xml_text(str_c("<Key"), "Key") == NULL);
    CHECK(xml_text(str_c("</Key>"), "Key") == NULL);
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void clear_all(void)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_S3",
                                        "AWS_PROFILE",
                                        "AWS_NO_SIGN_REQUEST",
                                        "OSS_ENDPOINT",
                                        "OSS_REGION",
                                        "OSS_ACCESS_KEY_ID",
                                        "OSS_ACCESS_KEY_SECRET",
                                        "OSS_SESSION_TOKEN",
                                        "ALIBABA_CLOUD_ACCESS_KEY_ID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        set(names[i], NULL);
    set("HOME", "/nonexistent");
}

static void s3_has_the_usual_defaults(void)
{
    struct io_account a;
    clear_all();
    set("AWS_ACCESS_KEY_ID", "k");
    set("AWS_SECRET_ACCESS_KEY", "s");
    CHECK(io_account_load(&object_store_s3, NULL, &a, NULL) == RC_OK);
    CHECK_STR(a.scheme, "https");
    CHECK_STR(a.host, "s3.us-east-1.amazonaws.com");
    CHECK(a.virtual_host && !a.anonymous && !a.who.token);
    CHECK_INT(a.attempts, 5);
    io_account_release(&a);
    set("AWS_REGION", "cn-north-1");
    CHECK(io_account_load(&object_store_s3, NULL, &a, NULL) == RC_OK);
    CHECK_STR(a.host, "s3.cn-north-1.amazonaws.com.cn");
    io_account_release(&a);
    set("AWS_ENDPOINT_URL", "http://minio:9000/");
    CHECK(io_account_load(&object_store_s3, NULL, &a, NULL) == RC_OK);
    CHECK_STR(a.scheme, "http");
    CHECK_STR(a.host, "minio:9000");
    CHECK(!a.virtual_host);
    io_account_release(&a);
    set("AWS_ENDPOINT_URL", "https://s3.oss-cn-hangzhou.aliyuncs.com");
    CHECK(io_account_load(&object_store_s3, NULL, &a, NULL) == RC_OK);
    CHECK(a.virtual_host);
    io_account_release(&a);
}

static void oss_learns_its_region_from_the_endpoint(void)
{
    struct io_account a;
    clear_all();
    set("OSS_ACCESS_KEY_ID", "k");
    set("OSS_ACCESS_KEY_SECRET", "s");
    set("OSS_ENDPOINT", "oss-cn-beijing-internal.aliyuncs.com");
    CHECK(io_account_load(&object_store_oss, NULL, &a, NULL) == RC_OK);
    CHECK_STR(a.scheme, "https");
    CHECK_STR(a.host, "oss-cn-beijing-internal.aliyuncs.com");
    CHECK_STR(a.region, "cn-beijing");
    CHECK(a.virtual_host);
    io_account_release(&a);
    CHECK(io_account_load(&object_store_oss, "oss-cn-shanghai.aliyuncs.com", &a, NULL) ==
          RC_OK);
    CHECK_STR(a.region, "cn-shanghai");
    io_account_release(&a);
    set("OSS_ENDPOINT", NULL);
    set("OSS_REGION", "cn-hangzhou");
    CHECK(io_account_load(&object_store_oss, NULL, &a, NULL) == RC_OK);
    CHECK_STR(a.host, "oss-cn-hangzhou.aliyuncs.com");
    io_account_release(&a);
}

static void credentials_are_renewed_in_time(void)
{
    struct io_credentials c = {0};
    CHECK(io_credentials_fresh(&c));
    c.expires_ns = clock_wall_ns() + 3600 * CLOCK_SECOND;
    CHECK(io_credentials_fresh(&c));
    c.expires_ns = clock_wall_ns() + 10 * CLOCK_SECOND;
    CHECK(!io_credentials_fresh(&c));
}

static const struct tap_case cases[] = {
    TAP(files_of_sections_are_read),
    TAP(members_of_flat_json_are_found),
    TAP(elements_of_xml_are_found),
    TAP(s3_has_the_usual_defaults),
    TAP(oss_learns_its_region_from_the_endpoint),
    TAP(credentials_are_renewed_in_time),
};
TAP_MAIN(cases)
