/* SPDX-License-Identifier: Apache-2.0 */
/* The values for AWS are those of its documentation and test suite; those for OSS were
 * made with its Python client (tests/interop/oss_sign.py).
 */
#include "io/sign.h"

#include "base/clock.h"
#include "io/digest.h"
#include "tap.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static int64_t at(const char *text)
{
    int64_t ns = 0;
    CHECK(clock_from_rfc3339(str_c(text), &ns));
    return ns;
}

struct vector {
    const char *what, *signature;
    struct sign_key key;
    struct sign_request q;
    struct sign_header h[6];
    const char *date;
};

static const struct sign_key suite = {
    .id = "AKIDEXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
    .service = "service",
};
static const struct sign_key guide = {
    .id = "AKIAIOSFODNN7EXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
    .service = "s3",
};
#define SUITE_DATE "2015-08-30T12:36:00Z"
#define SUITE_HEADERS                                                             \
    .h = {{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}}, \
    .date = SUITE_DATE
#define GUIDE_DATE "2013-05-24T00:00:00Z"

static void check_vectors(const struct vector *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sign_request q = v[i].q;
        struct buf out;
        buf_init(&out, 10000);
        q.headers = v[i].h;
        q.wall_ns = at(v[i].date);
        while (q.n_headers < 6 && v[i].h[q.n_headers].name)
            q.n_headers++;
        sign_authorize(&v[i].key, &q, &out);
        CHECK_HAS(buf_str(&out), v[i].signature);
        if (!strstr(buf_str(&out), v[i].signature))
            printf("# %s\n", v[i].what);
        buf_release(&out);
    }
}

static void vectors_of_the_aws_test_suite(void)
{
    const struct vector v[] = {
        {.what = "get-vanilla",
         .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
         .key = suite,
         .q = {.method = "GET", .path = "/", .query = "", .payload = EMPTY},
         SUITE_HEADERS},
        {.what = "get-vanilla-query-order-key-case",
         .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
         .key = suite,
         .q = {.method = "GET",
               .path = "/",
               .query = "Param1=value1&Param2=value2",
               .payload = EMPTY},
         SUITE_HEADERS},
        {.what = "post-vanilla",
         .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
         .key = suite,
         .q = {.method = "POST", .path = "/", .query = "", .payload = EMPTY},
         SUITE_HEADERS},
        {.what = "get-utf8",
         .signature = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
         .key = suite,
         .q = {.method = "GET", .path = "/%E1%88%B4", .query = "", .payload = EMPTY},
         SUITE_HEADERS},
    };
    check_vectors(v, sizeof(v) / sizeof(v[0]));
}

static void vectors_of_the_s3_guide(void)
{
    const struct vector v[] = {
        {.what = "GET Object with a range",
         .signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
         .key = guide,
         .q = {.method = "GET", .path = "/test.txt", .query = "", .payload = EMPTY},
         .h = {{"host", "examplebucket.s3.amazonaws.com"},
               {"range", "bytes=0-9"},
               {"x-amz-content-sha256", EMPTY},
               {"x-amz-date", "20130524T000000Z"}},
         .date = GUIDE_DATE},
        {.what = "GET bucket lifecycle",
         .signature = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
         .key = guide,
         .q = {.method = "GET", .path = "/", .query = "lifecycle=", .payload = EMPTY},
         .h = {{"host", "examplebucket.s3.amazonaws.com"},
               {"x-amz-content-sha256", EMPTY},
               {"x-amz-date", "20130524T000000Z"}},
         .date = GUIDE_DATE},
        {.what = "GET bucket, list of objects",
         .signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
         .key = guide,
         .q = {.method = "GET",
               .path = "/",
               .query = "max-keys=2&prefix=J",
               .payload = EMPTY},
         .h = {{"host", "examplebucket.s3.amazonaws.com"},
               {"x-amz-content-sha256", EMPTY},
               {"x-amz-date", "20130524T000000Z"}},
         .date = GUIDE_DATE},
        {.what = "PUT Object",
         .signature = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
         .key = guide,
         .q = {.method = "PUT",
               .path = "/test%24file.text",
               .query = "",
               .payload =
                   "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
         .h = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
               {"host", "examplebucket.s3.amazonaws.com"},
               {"x-amz-content-sha256",
                "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
               {"x-amz-date", "20130524T000000Z"},
               {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
         .date = GUIDE_DATE},
    };
    check_vectors(v, sizeof(v) / sizeof(v[0]));
}

static void the_header_has_the_form_of_the_suite(void)
{
    struct sign_header h[] = {{"host", "example.amazonaws.com"},
                              {"x-amz-date", "20150830T123600Z"}};
    struct sign_request q = {.method = "GET",
                             .path = "/",
                             .query = "",
                             .headers = h,
                             .n_headers = 2,
                             .payload = EMPTY,
                             .wall_ns = at(SUITE_DATE)};
    struct buf out;
    buf_init(&out, 10000);
    sign_authorize(&suite, &q, &out);
    CHECK_STR(buf_str(&out),
              "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
              "aws4_request, SignedHeaders=host;x-amz-date, Signature="
              "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    buf_clear(&out);
    sign_canonical(&suite, &q, &out);
    CHECK_STR(buf_str(&out), "GET\n/\n\nhost:example.amazonaws.com\n"
                             "x-amz-date:20150830T123600Z\n\nhost;x-amz-date\n" EMPTY);
    buf_release(&out);
}

static void blanks_in_header_values_are_folded(void)
{
    struct sign_header h[] = {{"host", "  a   b "}};
    struct sign_request q = {.method = "GET",
                             .path = "/",
                             .query = "",
                             .headers = h,
                             .n_headers = 1,
                             .payload = EMPTY};
    struct buf out;
    buf_init(&out, 10000);
    sign_canonical(&suite, &q, &out);
    CHECK_HAS(buf_str(&out), "host:a b\n");
    buf_release(&out);
}

static void oss_signatures_are_those_of_its_client(void)
{
    static const struct sign_key key = {.kind = SIGN_OSS4,
                                        .id = "LTAIEXAMPLE",
                                        .secret = "SecretEXAMPLE",
                                        .region = "cn-hangzhou",
                                        .service = "oss"};
#define OSS_DATE                         \
    {                                    \
        "x-oss-date", "20231203T121212Z" \
    }
#define OSS_UNSIGNED                               \
    {                                              \
        "x-oss-content-sha256", "UNSIGNED-PAYLOAD" \
    }
    const struct vector v[] = {
        {.what = "get",
         .signature = "cbfab8a7981ccf9a9b31c92d9db765bf8859465aa9b05e93a8f7286c430c423f",
         .key = key,
         .q = {.method = "GET",
               .path = "/examplebucket/dir/a%20b%2Bc.parquet",
               .query = "",
               .payload = "UNSIGNED-PAYLOAD"},
         .h = {OSS_UNSIGNED, OSS_DATE, {"x-oss-range-behavior", "standard"}},
         .date = "2023-12-03T12:12:12Z"},
        {.what = "list",
         .signature = "5574230ada5cdd2be246289ec3e75a76d3ead7d86701900f5966cfe87597babb",
         .key = key,
         .q = {.method = "GET",
               .path = "/examplebucket/",
               .query = "list-type=2&max-keys=1000&prefix=a%2Fb",
               .payload = "UNSIGNED-PAYLOAD"},
         .h = {OSS_UNSIGNED, OSS_DATE},
         .date = "2023-12-03T12:12:12Z"},
        {.what = "begin",
         .signature = "5d33b8f05cd4a41ded8ba054448b48f004d5fdcfc38d0bd2cf1629216afa6a75",
         .key = key,
         .q = {.method = "POST",
               .path = "/examplebucket/k",
               .query = "uploads",
               .payload = "UNSIGNED-PAYLOAD"},
         .h = {{"content-type", "application/octet-stream"}, OSS_UNSIGNED, OSS_DATE},
         .date = "2023-12-03T12:12:12Z"},
        {.what = "token",
         .signature = "fbcd6085ac6926c49b0214c923deb9a88dc9e154ac78c24b2b0316c34064d307",
         .key = key,
         .q = {.method = "PUT",
               .path = "/examplebucket/k",
               .query = "",
               .payload = "UNSIGNED-PAYLOAD"},
         .h = {{"content-md5", "kAFQmDzST7DWlj99KOF/cg=="},
               {"content-type", "application/octet-stream"},
               OSS_UNSIGNED,
               OSS_DATE,
               {"x-oss-security-token", "TOKEN"}},
         .date = "2023-12-03T12:12:12Z"},
    };
    check_vectors(v, sizeof(v) / sizeof(v[0]));
}

static void digests_are_the_published_ones(void)
{
    unsigned char d[DIGEST_SHA256];
    char text[DIGEST_HEX];
    digest_sha256("abc", 3, d);
    digest_hex(d, 32, text);
    CHECK_STR(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_md5("abc", 3, d);
    digest_base64(d, 16, text);
    CHECK_STR(text, "kAFQmDzST7DWlj99KOF/cg==");
    digest_hmac_sha1("key", 3, str_c("The quick brown fox jumps over the lazy dog"), d);
    digest_hex(d, 20, text);
    CHECK_STR(text, "de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9");
    digest_hmac_sha256("key", 3, str_c("The quick brown fox jumps over the lazy dog"), d);
    digest_hex(d, 32, text);
    CHECK_STR(text, "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

static const struct tap_case cases[] = {
    TAP(vectors_of_the_aws_test_suite),          TAP(vectors_of_the_s3_guide),
    TAP(the_header_has_the_form_of_the_suite),   TAP(blanks_in_header_values_are_folded),
    TAP(oss_signatures_are_those_of_its_client), TAP(digests_are_the_published_ones),
};
TAP_MAIN(cases)
