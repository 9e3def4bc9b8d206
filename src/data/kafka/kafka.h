/* SPDX-License-Identifier: Apache-2.0 */
/* data/kafka/kafka.h - messages of one partition of a Kafka topic, in order.
 *
 *     kafka://broker:9092,broker2:9092/topic?group.id=g&auto.offset.reset=earliest#3
 *
 * Behind '?' stand settings of librdkafka, and two of ours: start.timestamp.ms (begin at
 * the first message of that time or later), stop.at.end=true (end where the partition
 * ended when it was opened; without it the stream never ends). Behind '#' stands the
 * partition. Partitions are assigned by their number, not by the group's coordinator:
 * which rows a rank reads follows from the settings alone. Secrets are refused in an
 * address, which appears in messages and checkpoints: they belong in the file that
 * TRAINYARD_KAFKA_CONFIG names.
 */
#ifndef DATA_KAFKA_KAFKA_H
#define DATA_KAFKA_KAFKA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fs.h"
#include "base/vec.h"

struct kafka_setting {
    char *name, *value; /* owned */
};

struct kafka_path {
    char *url, *brokers, *topic; /* owned */
    VEC(struct kafka_setting) settings;
    int32_t partition; /* -1: not told */
    int64_t start_ms;  /* -1: not told */
    bool stop_at_end;
};

bool kafka_is_url(const char *path);
/* RC_INVAL E1801. */
enum rc kafka_path_parse(const char *url, struct kafka_path *out,
                         struct err *err) MUST_CHECK;
void kafka_path_release(struct kafka_path *p);

/* One URL per partition of the topic, asked from the brokers; added to `out`. RC_INVAL
 * E1801, E1802 (a setting), RC_IO E1803 (no broker answers), RC_NOTFOUND E1804 (topic).
 */
enum rc kafka_expand(const char *url, struct fs_names *out, struct err *err) MUST_CHECK;

/* A consumer of one partition; used by one thread at a time. */
struct kafka;
enum rc kafka_open(const struct kafka_path *path, struct kafka **out,
                   struct err *err) MUST_CHECK;
void kafka_close(struct kafka *k); /* NULL is fine */

struct kafka_message {
    const void *p; /* borrowed, valid until the next call with the same consumer */
    size_t n;
    int64_t offset;
    int64_t time_ms; /* of its making or arrival, Unix; 0: it has none */
};

/* To the message with this offset; -1: where reading starts by default (the time asked
 * for, the group's committed offset, or auto.offset.reset). RC_IO E1807 when the broker
 * does not have that offset any more.
 */
enum rc kafka_seek(struct kafka *k, int64_t offset, struct err *err) MUST_CHECK;
/* The next message; m->p is NULL at the end, where there is one. Waits for it, unless
 * *stop becomes true (it may be NULL): RC_CANCELED.
 */
enum rc kafka_next(struct kafka *k, const atomic_bool *stop, struct kafka_message *m,
                   struct err *err) MUST_CHECK;
/* The newest message of the partition. RC_NOTFOUND E1804 when there is none. */
enum rc kafka_newest(struct kafka *k, struct kafka_message *m,
                     struct err *err) MUST_CHECK;

#endif
