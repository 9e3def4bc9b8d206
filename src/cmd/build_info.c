/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/build_info.h"

#include <curl/curl.h>
#include <gnu/libc-version.h>
#include <lz4.h>
#include <stdio.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

#ifdef TY_KAFKA
#include <librdkafka/rdkafka.h>
#define KAFKA_LINE {"librdkafka", "Kafka topics", rd_kafka_version_str},
#else
#define KAFKA_LINE
#endif

#include "ty_revision.h" /* made by cmake/TrainyardRevision.cmake at every build */

const char *build_revision(void)
{
    return TY_REVISION;
}

const char *build_compiler(void)
{
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

const char *build_libc(void)
{
    static char text[32];
    snprintf(text, sizeof(text), "glibc %s", gnu_get_libc_version());
    return text;
}

static const char *xxhash_version(void)
{
    static char text[32];
    unsigned v = XXH_versionNumber();
    snprintf(text, sizeof(text), "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
    return text;
}

static const char *curl_version_number(void)
{
    return curl_version_info(CURLVERSION_NOW)->version;
}

/* The library has no call for it. */
static const char *snappy_version(void)
{
    return TY_SNAPPY_VERSION;
}

const struct build_library *build_libraries(void)
{
    static const struct build_library libraries[] = {
        {"libcurl", "object stores", curl_version_number},
        {"liblz4", "LZ4-compressed data", LZ4_versionString},
        KAFKA_LINE{"libsnappy", "Snappy-compressed data", snappy_version},
        {"libxxhash", "hashing", xxhash_version},
        {"libyaml", "YAML files", yaml_get_version_string},
        {"libzstd", "zstd-compressed data", ZSTD_versionString},
        {"zlib", "gzip-compressed data", zlibVersion},
        {0},
    };
    return libraries;
}
