/* SPDX-License-Identifier: Apache-2.0 */
/* A Kafka cluster for tests: the mock that librdkafka has built in, behind a real port.
 *
 *     kafka_mock READY_FILE
 *
 * Its address is written to READY_FILE. Commands on stdin, each answered with a line:
 *     topic NAME PARTITIONS       makes a topic
 *     send NAME PARTITION FILE [MS]
 *                                 one message with the bytes of FILE, of that Unix time
 * It ends with its input.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "kafka_mock: %s\n", what);
    return 1;
}

static rd_kafka_t *start(void)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    (void)rd_kafka_conf_set(conf, "log_level", "0", why, sizeof(why));
    if (rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", why, sizeof(why)) !=
        RD_KAFKA_CONF_OK)
        return NULL;
    return rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
}

static int announce(const char *path, rd_kafka_mock_cluster_t *cluster)
{
    char other[4096];
    (void)snprintf(other, sizeof(other), "%s.new", path);
    FILE *f = fopen(other, "w");
    if (!f || fprintf(f, "%s", rd_kafka_mock_cluster_bootstraps(cluster)) < 0 ||
        fclose(f) || rename(other, path))
        return fail("cannot write the address");
    return 0;
}

static const char *send_file(rd_kafka_t *rk, const char *topic, int partition,
                             const char *path, long long ms)
{
    static char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f)
        return "no such file";
    size_t n = fread(bytes, 1, sizeof(bytes), f);
    (void)fclose(f);
    rd_kafka_resp_err_t e =
        rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                          RD_KAFKA_V_VALUE(bytes, n), RD_KAFKA_V_TIMESTAMP(ms),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (!e)
        e = rd_kafka_flush(rk, 10000);
    return e ? rd_kafka_err2str(e) : "ok";
}

int main(int argc, char **argv)
{
    char line[5000], name[256], path[4096];
    int n;
    rd_kafka_t *rk = argc == 2 ? start() : NULL;
    if (!rk)
        return fail("usage: kafka_mock READY_FILE");
    rd_kafka_mock_cluster_t *cluster = rd_kafka_handle_mock_cluster(rk);
    if (!cluster || announce(argv[1], cluster))
        return 1;
    while (fgets(line, sizeof(line), stdin)) {
        const char *answer = "what?";
        long long ms = 0; /* now */
        if (sscanf(line, "topic %255s %d", name, &n) == 2)
            answer = rd_kafka_mock_topic_create(cluster, name, n, 1) ? "failed" : "ok";
        else if (sscanf(line, "send %255s %d %4095s %lld", name, &n, path, &ms) >= 3)
            answer = send_file(rk, name, n, path, ms);
        printf("%s\n", answer);
        (void)fflush(stdout);
    }
    rd_kafka_destroy(rk);
    return 0;
}
