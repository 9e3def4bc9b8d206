/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of a topic. librdkafka fetches ahead in threads of its own; here
 * messages are only taken, in the order of their offsets. Where to start is settled
 * once: a stored place, a time, or what the group committed. Errors of brokers that pass
 * are waited out, others become messages that name the broker or the topic.
 */
#include "data/kafka/kafka.h"

#include <librdkafka/rdkafka.h>
#include <string.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/str.h"

#define CONF_MAX ((size_t)1 << 20)
#define POLL_MS 100
#define TIMEOUT_S 30

struct kafka {
    char *url, *topic;
    int32_t partition;
    int64_t start_ms;
    bool stop_at_end;
    int64_t end; /* with stop_at_end: the offset behind the last message */
    int timeout_ms;
    rd_kafka_t *rk;
    rd_kafka_message_t *message; /* what was handed out */
    bool assigned;
    int64_t next;    /* offset of the next message; -1: not known yet */
    int64_t down_ns; /* since when no broker answers; 0: they do */
};

static void no_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf)
{
    /* What matters comes back as an error of a call or an event. */
}

void kafka_close(struct kafka *k)
{
    if (!k)
        return;
    if (k->message)
        rd_kafka_message_destroy(k->message);
    if (k->rk) {
        (void)rd_kafka_consumer_close(k->rk);
        rd_kafka_destroy(k->rk);
    }
    mem_free(k->url);
    mem_free(k->topic);
    mem_free(k);
}

static enum rc kafka_set(rd_kafka_conf_t *conf, const char *name, const char *value,
                         struct err *err)
{
    char why[256] = "";
    if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
        return RC_OK;
    return err_coded(err, RC_INVAL, E1802, "Kafka: %s", why);
}

/* Lines name=value of the file for secrets. */
static enum rc set_from_file(rd_kafka_conf_t *conf, struct err *err)
{
    const char *path = env_get("TRAINYARD_KAFKA_CONFIG");
    char *text = NULL;
    size_t n;
    if (!path)
        return RC_OK;
    enum rc rc = fs_read(path, CONF_MAX, &text, &n, err);
    if (rc)
        return err_wrap(err, rc, "TRAINYARD_KAFKA_CONFIG");
    struct str rest = str_of(text, n), line;
    while (!rc && rest.n && str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        const char *eq = line.n ? memchr(line.p, '=', line.n) : NULL;
        if (!line.n || line.p[0] == '#' || !eq)
            continue;
        struct str a = str_trim(str_of(line.p, (size_t)(eq - line.p)));
        struct str b = str_trim(str_of(eq + 1, line.n - (size_t)(eq + 1 - line.p)));
        char *name = mem_strndup(a.p, a.n), *value = mem_strndup(b.p, b.n);
        rc = kafka_set(conf, name, value, err);
        if (rc) /* the library's own words may repeat the value */
            rc = err_coded(err, RC_INVAL, E1802,
                           "TRAINYARD_KAFKA_CONFIG: '%.100s' is not known to the Kafka "
                           "library, or its value is refused",
                           name);
        mem_free(name);
        mem_free(value);
    }
    mem_free(text);
    return rc;
}

static enum rc configure(const struct kafka_path *path, rd_kafka_conf_t *conf,
                         struct err *err)
{
    static const char *const always[][2] = {{"client.id", "trainyard"},
                                            {"enable.auto.commit", "false"},
                                            {"enable.partition.eof", "true"},
                                            {"allow.auto.create.topics", "false"}};
    enum rc rc = RC_OK;
    rd_kafka_conf_set_log_cb(conf, no_log);
    for (size_t i = 0; !rc && i < ARRAY_LEN(always); i++)
        rc = kafka_set(conf, always[i][0], always[i][1], err);
    if (!rc)
        rc = set_from_file(conf, err);
    if (!rc)
        rc = kafka_set(conf, "bootstrap.servers", path->brokers, err);
    for (size_t i = 0; !rc && i < path->settings.n; i++)
        rc = kafka_set(conf, path->settings.at[i].name, path->settings.at[i].value, err);
    return rc;
}

static enum rc make_client(const struct kafka_path *path, struct kafka **out,
                           struct err *err)
{
    struct kafka *k = mem_calloc(1, sizeof(*k));
    char why[256] = "";
    k->url = mem_strdup(path->url);
    k->topic = mem_strdup(path->topic);
    k->partition = path->partition;
    k->start_ms = path->start_ms;
    k->stop_at_end = path->stop_at_end;
    k->timeout_ms = (int)env_int("TRAINYARD_KAFKA_TIMEOUT", 1, 86400, TIMEOUT_S) * 1000;
    k->next = -1;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    enum rc rc = configure(path, conf, err);
    if (!rc) {
        k->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
        if (!k->rk)
            rc = err_coded(err, RC_INVAL, E1802, "Kafka: %s", why);
        else
            (void)rd_kafka_poll_set_consumer(k->rk);
    }
    if (!k->rk)
        rd_kafka_conf_destroy(conf);
    if (rc) {
        kafka_close(k);
        return rc;
    }
    *out = k;
    return RC_OK;
}

static enum rc no_broker(const struct kafka *k, const char *why, struct err *err)
{
    return err_coded(err, RC_IO, E1803, "'%.300s': no broker answers within %d s: %s",
                     k->url, k->timeout_ms / 1000, why);
}

static enum rc no_topic(const struct kafka *k, const char *why, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E1804, "'%.300s': topic '%.100s': %s", k->url,
                     k->topic, why);
}

/* The number of partitions of the topic. */
static enum rc count_partitions(struct kafka *k, int32_t *n, struct err *err)
{
    const struct rd_kafka_metadata *md = NULL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(k->rk, k->topic, NULL);
    rd_kafka_resp_err_t e = rd_kafka_metadata(k->rk, 0, topic, &md, k->timeout_ms);
    enum rc rc = RC_OK;
    if (e)
        rc = no_broker(k, rd_kafka_err2str(e), err);
    else if (md->topic_cnt < 1 || md->topics[0].err)
        rc = no_topic(k,
                      rd_kafka_err2str(md->topic_cnt < 1
                                           ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
                                           : md->topics[0].err),
                      err);
    else
        *n = md->topics[0].partition_cnt;
    if (md)
        rd_kafka_metadata_destroy(md);
    rd_kafka_topic_destroy(topic);
    return rc;
}

enum rc kafka_expand(const char *url, struct fs_names *out, struct err *err)
{
    struct kafka_path p;
    struct kafka *k = NULL;
    int32_t n = 0;
    enum rc rc = kafka_path_parse(url, &p, err);
    if (rc)
        return rc;
    bool told = p.partition >= 0;
    if (!told)
        rc = make_client(&p, &k, err);
    if (!rc && !told)
        rc = count_partitions(k, &n, err);
    size_t more = told ? 1 : (size_t)(n > 0 ? n : 0);
    if (!rc && more == 0)
        rc = no_topic(k, "it has no partitions", err);
    if (!rc)
        out->at = mem_realloc(out->at, out->n + more, sizeof(*out->at));
    for (size_t i = 0; !rc && i < more; i++)
        out->at[out->n++] = told ? mem_strdup(url) : mem_printf("%s#%zu", url, i);
    kafka_close(k);
    kafka_path_release(&p);
    return rc;
}

static enum rc watermarks(struct kafka *k, int64_t *low, int64_t *high, struct err *err)
{
    rd_kafka_resp_err_t e = rd_kafka_query_watermark_offsets(
        k->rk, k->topic, k->partition, low, high, k->timeout_ms);
    if (!e)
        return RC_OK;
    if (e == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
        e == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
        e == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        return no_topic(k, rd_kafka_err2str(e), err);
    return no_broker(k, rd_kafka_err2str(e), err);
}

enum rc kafka_open(const struct kafka_path *path, struct kafka **out, struct err *err)
{
    struct kafka *k = NULL;
    int64_t low;
    enum rc rc = make_client(path, &k, err);
    if (!rc && k->partition < 0)
        k->partition = 0;
    if (!rc && k->stop_at_end)
        rc = watermarks(k, &low, &k->end, err);
    if (rc) {
        kafka_close(k);
        return rc;
    }
    *out = k;
    return RC_OK;
}

static enum rc kafka_assign(struct kafka *k, int64_t offset, struct err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, k->topic, k->partition)->offset = offset;
    rd_kafka_resp_err_t e = rd_kafka_assign(k->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (e)
        return no_broker(k, rd_kafka_err2str(e), err);
    k->assigned = true;
    k->next = offset >= 0 ? offset : -1;
    return RC_OK;
}

/* The first message of the time asked for, or later; none: at the reset position. */
static enum rc offset_for_time(struct kafka *k, int64_t *out, struct err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, k->topic, k->partition)->offset = k->start_ms;
    rd_kafka_resp_err_t e = rd_kafka_offsets_for_times(k->rk, list, k->timeout_ms);
    *out = list->elems[0].offset >= 0 ? list->elems[0].offset : RD_KAFKA_OFFSET_INVALID;
    rd_kafka_topic_partition_list_destroy(list);
    return e ? no_broker(k, rd_kafka_err2str(e), err) : RC_OK;
}

enum rc kafka_seek(struct kafka *k, int64_t offset, struct err *err)
{
    int64_t low = 0, high = 0;
    enum rc rc = RC_OK;
    if (offset < 0) {
        offset = RD_KAFKA_OFFSET_INVALID; /* the group's, else auto.offset.reset */
        if (k->start_ms >= 0)
            rc = offset_for_time(k, &offset, err);
        return rc ? rc : kafka_assign(k, offset, err);
    }
    rc = watermarks(k, &low, &high, err);
    if (rc)
        return rc;
    if (offset < low || offset > high)
        return err_coded(err, RC_IO, E1807,
                         "'%.300s': offset %jd is not there any more: the partition has "
                         "%jd to %jd",
                         k->url, (intmax_t)offset, (intmax_t)low, (intmax_t)high);
    return kafka_assign(k, offset, err);
}

/* An event that is no message: waits go on, or it is an error. */
static enum rc look_at(struct kafka *k, const rd_kafka_message_t *m, bool *end,
                       struct err *err)
{
    *end = false;
    switch (m->err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        k->down_ns = 0;
        *end = k->stop_at_end && m->offset >= k->end;
        if (k->next < 0)
            k->next = m->offset;
        return RC_OK;
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
        if (!k->down_ns)
            k->down_ns = clock_mono_ns();
        return RC_OK;
    /* a broker that has just started does not know yet who looks after a group: where
     * that group stands is asked for again
     */
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
        if (!k->down_ns)
            k->down_ns = clock_mono_ns();
        return k->next < 0 ? kafka_assign(k, RD_KAFKA_OFFSET_INVALID, err) : RC_OK;
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return no_topic(k, rd_kafka_err2str(m->err), err);
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        return err_coded(err, RC_IO, E1807, "'%.300s': %s", k->url,
                         rd_kafka_message_errstr(m));
    default:
        return err_coded(err, RC_IO, E1803, "'%.300s': %s", k->url,
                         rd_kafka_err2str(m->err));
    }
}

static int64_t time_of(const rd_kafka_message_t *m)
{
    rd_kafka_timestamp_type_t kind;
    int64_t ms = rd_kafka_message_timestamp(m, &kind);
    return kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || ms < 0 ? 0 : ms;
}

static bool gave_up(const struct kafka *k)
{
    return k->down_ns && clock_mono_ns() - k->down_ns > (int64_t)k->timeout_ms * 1000000;
}

enum rc kafka_next(struct kafka *k, const atomic_bool *stop, struct kafka_message *m,
                   struct err *err)
{
    enum rc rc = k->assigned ? RC_OK : kafka_seek(k, -1, err);
    bool end = false;
    *m = (struct kafka_message){0};
    if (k->message)
        rd_kafka_message_destroy(k->message);
    k->message = NULL;
    while (!rc && !end) {
        if (k->stop_at_end && k->next >= k->end)
            return RC_OK;
        rd_kafka_message_t *got = rd_kafka_consumer_poll(k->rk, POLL_MS);
        if (got && !got->err) {
            k->down_ns = 0;
            k->message = got;
            if (k->stop_at_end && got->offset >= k->end)
                return RC_OK;
            k->next = got->offset + 1;
            *m = (struct kafka_message){.p = got->payload ? got->payload : "",
                                        .n = got->len,
                                        .offset = got->offset,
                                        .time_ms = time_of(got)};
            return RC_OK;
        }
        if (got) {
            rc = look_at(k, got, &end, err);
            rd_kafka_message_destroy(got);
        }
        if (!rc && gave_up(k))
            rc = no_broker(k, "the connection is gone", err);
        if (!rc && stop && atomic_load(stop))
            rc = err_set(err, RC_CANCELED, "'%.300s': stopped", k->url);
    }
    return rc;
}

enum rc kafka_newest(struct kafka *k, struct kafka_message *m, struct err *err)
{
    int64_t low = 0, high = 0;
    bool at_end = k->stop_at_end;
    int64_t end = k->end;
    enum rc rc = watermarks(k, &low, &high, err);
    if (!rc && high <= low)
        rc = no_topic(k,
                      "it has no message that would tell the columns: declare them with "
                      "input_fields",
                      err);
    if (!rc)
        rc = kafka_assign(k, high - 1, err);
    k->stop_at_end = true;
    k->end = high;
    if (!rc)
        rc = kafka_next(k, NULL, m, err);
    if (!rc && !m->p)
        rc = no_topic(k, "its newest message cannot be read", err);
    k->stop_at_end = at_end;
    k->end = end;
    k->assigned = false;
    k->next = -1;
    return rc;
}
