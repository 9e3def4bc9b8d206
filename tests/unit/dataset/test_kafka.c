/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets over topics: every row once, also when reading stops within a message and goes
 * on elsewhere. The cluster is librdkafka's mock; messages rows0 .. rows5 have three rows
 * each, ids 0 .. 17 (tests/golden/arrow).
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "tap.h"

#define ALL "group.id=g&auto.offset.reset=earliest&stop.at.end=true"

static rd_kafka_t *cluster;
static char *address; /* "kafka://127.0.0.1:1234" */

static void start(void)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    (void)rd_kafka_conf_set(conf, "log_level", "0", why, sizeof(why));
    (void)rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", why, sizeof(why));
    cluster = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
    CHECK(cluster != NULL);
    address = mem_printf("kafka://%s", rd_kafka_mock_cluster_bootstraps(
                                           rd_kafka_handle_mock_cluster(cluster)));
}

static void finish(void)
{
    rd_kafka_destroy(cluster);
    mem_free(address);
}

static void make_topic(const char *name, int partitions)
{
    CHECK(rd_kafka_mock_topic_create(rd_kafka_handle_mock_cluster(cluster), name,
                                     partitions, 1) == 0);
}

static void send_rows(const char *topic, int partition, int message)
{
    char *path = mem_printf("%s/rows%d.stream", GOLDEN_ARROW, message), *data = NULL;
    size_t n = 0;
    CHECK(fs_read(path, 1 << 20, &data, &n, NULL) == RC_OK);
    CHECK(rd_kafka_producev(cluster, RD_KAFKA_V_TOPIC(topic),
                            RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_VALUE(data, n),
                            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                            RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
    CHECK(rd_kafka_flush(cluster, 10000) == RD_KAFKA_RESP_ERR_NO_ERROR);
    mem_free(data);
    mem_free(path);
}

static void six_messages(const char *topic, int partitions)
{
    make_topic(topic, partitions);
    for (int k = 0; k < 6; k++)
        send_rows(topic, k % partitions, k);
}

/* Reads up to `most` batches; counts each id. */
static int64_t read_some(struct dataset *d, int64_t most, int *seen)
{
    int64_t batches = 0;
    const struct batch *b = NULL;
    struct err err = {0};
    while (batches < most) {
        enum rc rc = dataset_next(d, &b, &err);
        CHECK(rc == RC_OK);
        if (rc)
            printf("# %s\n", err.msg);
        if (rc || !b)
            break;
        for (int64_t i = 0; i < b->n; i++) {
            int64_t id = column_i64(batch_find(b, str_c("id")), i);
            CHECK(id >= 0 && id < 18);
            if (id >= 0 && id < 18)
                seen[id]++;
        }
        batches++;
    }
    return batches;
}

static struct dataset *open_topic(const char *topic, const char *settings, int64_t batch,
                                  int64_t rank, int64_t world, const char *cursor)
{
    struct dataset *d = NULL;
    struct err err = {0};
    char *url = mem_printf("%s/%s?%s", address, topic, settings);
    struct dataset_conf conf = {.input = url,
                                .batch_size = batch,
                                .rank = rank,
                                .world = world,
                                .threads = 1,
                                .every_row = true,
                                .cursor = cursor};
    CHECK(dataset_open(&conf, &d, &err) == RC_OK);
    if (err.msg[0])
        printf("# %s\n", err.msg);
    mem_free(url);
    return d;
}

static void all_once(const int *seen)
{
    for (int i = 0; i < 18; i++)
        CHECK_INT(seen[i], 1);
}

static void reading_goes_on_within_a_message(void)
{
    six_messages("split", 1);
    for (int64_t stop = 1; stop < 9; stop += 3) {
        int seen[18] = {0};
        struct buf at;
        buf_init(&at, 1 << 20);
        struct dataset *d = open_topic("split", ALL, 2, 0, 1, NULL);
        CHECK_INT(read_some(d, stop, seen), stop);
        dataset_tell(d, &at);
        dataset_close(d);
        d = open_topic("split", ALL, 2, 0, 1, buf_str(&at));
        CHECK_INT(read_some(d, 100, seen), 9 - stop);
        dataset_close(d);
        all_once(seen);
        buf_release(&at);
    }
}

static void partitions_go_to_ranks_and_back(void)
{
    six_messages("ranks", 3);
    int seen[18] = {0};
    struct buf at[2], merged;
    buf_init(&merged, 1 << 20);
    for (int64_t rank = 0; rank < 2; rank++) {
        struct dataset *d = open_topic("ranks", ALL, 2, rank, 2, NULL);
        buf_init(&at[rank], 1 << 20);
        CHECK_INT(read_some(d, 2, seen), 2);
        dataset_tell(d, &at[rank]);
        dataset_close(d);
    }
    const char *texts[] = {buf_str(&at[0]), buf_str(&at[1])};
    CHECK(dataset_merge(texts, 2, &merged, NULL) == RC_OK);
    struct dataset *d = open_topic("ranks", ALL, 4, 0, 1, buf_str(&merged));
    (void)read_some(d, 100, seen);
    dataset_close(d);
    all_once(seen);
    buf_release(&at[0]);
    buf_release(&at[1]);
    buf_release(&merged);
}

static void a_stream_without_end_can_be_closed(void)
{
    int seen[18] = {0};
    six_messages("endless", 2);
    struct dataset *d =
        open_topic("endless", "group.id=g&auto.offset.reset=earliest", 3, 0, 1, NULL);
    CHECK_INT(read_some(d, 6, seen), 6);
    dataset_close(d); /* its threads wait for messages now */
    all_once(seen);
}

static void one_idle_partition_holds_nobody_up(void)
{
    int seen[18] = {0};
    make_topic("idle", 3);
    for (int k = 0; k < 6; k++)
        send_rows("idle", k % 2 * 2, k); /* nothing goes to partition 1 */
    struct dataset *d =
        open_topic("idle", "group.id=g&auto.offset.reset=earliest", 3, 0, 1, NULL);
    CHECK_INT(read_some(d, 6, seen), 6);
    dataset_close(d);
    all_once(seen);
}

static void an_offset_that_is_gone_is_an_error(void)
{
    struct dataset *d = NULL;
    struct err err = {0};
    const struct batch *b = NULL;
    make_topic("gone", 1);
    send_rows("gone", 0, 0);
    char *url = mem_printf("%s/gone?" ALL, address);
    char *cursor = mem_printf(
        "{\"version\": 1, \"epoch\": 0, \"world\": 1, \"readers\": 1, \"batch_size\": 2, "
        "\"batch_cost\": 0, \"shuffle\": 0, \"seed\": 0, \"drop_remainder\": false, "
        "\"files\": [{\"path\": \"%s#0\", \"rows\": -1}], \"ranks\": [{\"rank\": 0, \"turn\": "
        "0, \"slots\": [{\"drawn\": 0, \"held\": [], \"left\": [[0, 90, 30, 0, 0, -1]]}]}]}",
        url);
    struct dataset_conf conf = {.input = url, .batch_size = 2, .cursor = cursor};
    enum rc rc = dataset_open(&conf, &d, &err);
    if (!rc)
        rc = dataset_next(d, &b, &err);
    CHECK(rc == RC_IO);
    CHECK(err.code == E1807);
    CHECK_HAS(err.msg, "offset 30 is not there any more: the partition has 0 to 1");
    dataset_close(d);
    mem_free(cursor);
    mem_free(url);
}

static const struct tap_case cases[] = {
    TAP(start),
    TAP(reading_goes_on_within_a_message),
    TAP(partitions_go_to_ranks_and_back),
    TAP(a_stream_without_end_can_be_closed),
    TAP(one_idle_partition_holds_nobody_up),
    TAP(an_offset_that_is_gone_is_an_error),
    TAP(finish),
};
TAP_MAIN(cases)
