/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of topics, kafka://brokers/topic?setting=value. Two settings are ours (where
 * to start, whether to stop at the end); the others go to librdkafka as they are.
 * Secrets are refused here, because addresses end up in logs and checkpoints; they come
 * from a file.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "data/kafka/kafka.h"

#define PREFIX "kafka://"

/* What nobody should find in a log. */
static const char *const secrets[] = {"sasl.password",
                                      "ssl.key.password",
                                      "ssl.keystore.password",
                                      "ssl.key.pem",
                                      "sasl.oauthbearer.client.secret",
                                      "sasl.oauthbearer.config"};

bool kafka_is_url(const char *path)
{
    return str_starts(path, PREFIX);
}

void kafka_path_release(struct kafka_path *p)
{
    for (size_t i = 0; i < p->settings.n; i++) {
        mem_free(p->settings.at[i].name);
        mem_free(p->settings.at[i].value);
    }
    VEC_RELEASE(&p->settings);
    mem_free(p->url);
    mem_free(p->brokers);
    mem_free(p->topic);
    *p = (struct kafka_path){0};
}

static enum rc kafka_path_malformed(const char *url, const char *why, struct err *err)
{
    return err_coded(err, RC_INVAL, E1801,
                     "'%.300s': %s; write kafka://broker:port/topic?group.id=name", url,
                     why);
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* %XX and '+' resolved, as in any query. */
static char *unescape(struct str s)
{
    struct buf out;
    buf_init(&out, s.n + 1);
    for (size_t i = 0; i < s.n; i++) {
        int hi = i + 2 < s.n && s.p[i] == '%' ? hex(s.p[i + 1]) : -1;
        int lo = hi >= 0 ? hex(s.p[i + 2]) : -1;
        if (lo >= 0) {
            buf_putc(&out, (char)(hi << 4 | lo));
            i += 2;
        } else {
            buf_putc(&out, s.p[i] == '+' ? ' ' : s.p[i]);
        }
    }
    return buf_take(&out);
}

static enum rc take_ours(struct kafka_path *p, const char *url,
                         const struct kafka_setting *s, bool *ours, struct err *err)
{
    *ours = true;
    if (strcmp(s->name, "start.timestamp.ms") == 0) {
        if (!str_to_i64(str_c(s->value), &p->start_ms) || p->start_ms < 0)
            return kafka_path_malformed(
                url, "start.timestamp.ms is not a number of milliseconds", err);
        return RC_OK;
    }
    if (strcmp(s->name, "stop.at.end") == 0) {
        p->stop_at_end = strcmp(s->value, "true") == 0;
        if (!p->stop_at_end && strcmp(s->value, "false") != 0)
            return kafka_path_malformed(url, "stop.at.end is neither true nor false",
                                        err);
        return RC_OK;
    }
    *ours = false;
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        if (strcmp(s->name, secrets[i]) == 0)
            return err_coded(
                err, RC_INVAL, E1801,
                "%s does not belong in an address, which is shown and stored: "
                "write it to the file that TRAINYARD_KAFKA_CONFIG names",
                s->name);
    return RC_OK;
}

static enum rc take_settings(struct kafka_path *p, struct str query, const char *url,
                             struct err *err)
{
    struct str part;
    enum rc rc = RC_OK;
    while (!rc && query.n && str_split(&query, '&', &part)) {
        const char *eq = part.n ? memchr(part.p, '=', part.n) : NULL;
        if (!part.n)
            continue;
        if (!eq)
            return kafka_path_malformed(url, "a setting is not name=value", err);
        struct kafka_setting s = {
            .name = unescape(str_of(part.p, (size_t)(eq - part.p))),
            .value = unescape(str_of(eq + 1, part.n - (size_t)(eq + 1 - part.p)))};
        bool ours;
        rc = take_ours(p, url, &s, &ours, err);
        if (rc || ours) {
            mem_free(s.name);
            mem_free(s.value);
        } else {
            VEC_PUSH(&p->settings, s);
        }
    }
    return rc;
}

static bool has_group(const struct kafka_path *p)
{
    for (size_t i = 0; i < p->settings.n; i++)
        if (strcmp(p->settings.at[i].name, "group.id") == 0)
            return true;
    return false;
}

/* The address without its settings, when they may hold a secret. */
static enum rc kafka_path_split(const char *url, struct kafka_path *p, struct err *err)
{
    struct str rest = str_c(url + strlen(PREFIX)), brokers, topic, query = {0};
    const char *hash = strrchr(url, '#'), *mark = strchr(url, '?');
    int64_t partition;
    if (hash) {
        rest.n = (size_t)(hash - rest.p);
        if (!str_to_i64(str_c(hash + 1), &partition) || partition < 0 ||
            partition > INT32_MAX)
            return kafka_path_malformed(url, "the partition behind '#' is not a number",
                                        err);
        p->partition = (int32_t)partition;
    }
    if (mark && (!hash || mark < hash)) {
        query = str_of(mark + 1, rest.n - (size_t)(mark + 1 - rest.p));
        rest.n = (size_t)(mark - rest.p);
    }
    if (!str_split(&rest, '/', &brokers) || !brokers.n)
        return kafka_path_malformed(url, "it names no broker", err);
    topic = rest;
    if (!topic.n || memchr(topic.p, '/', topic.n))
        return kafka_path_malformed(url, "it names no topic", err);
    p->brokers = mem_strndup(brokers.p, brokers.n);
    p->topic = mem_strndup(topic.p, topic.n);
    enum rc rc = take_settings(p, query, url, err);
    if (!rc && !has_group(p))
        rc = kafka_path_malformed(url, "it has no group.id", err);
    return rc;
}

enum rc kafka_path_parse(const char *url, struct kafka_path *out, struct err *err)
{
    if (!kafka_is_url(url))
        return kafka_path_malformed(url, "it is not the address of a topic", err);
    struct kafka_path p = {.url = mem_strdup(url), .partition = -1, .start_ms = -1};
    enum rc rc = kafka_path_split(url, &p, err);
    if (rc) {
        kafka_path_release(&p);
        return rc;
    }
    *out = p;
    return RC_OK;
}
