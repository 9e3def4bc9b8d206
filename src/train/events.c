/* SPDX-License-Identifier: Apache-2.0 */
/* The messages are few and flat, so they are written by hand. Numbers below are the
 * field numbers of TensorFlow's event.proto, summary.proto and tensor.proto.
 */
#include "train/events.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"

#define EVENTS_MAX ((size_t)1 << 30)
#define BUCKETS 30
#define MASK_DELTA 0xa282ead8U
#define HOST_SIZE 256

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum event_field {
    EVENT_TIME = 1,
    EVENT_STEP = 2,
    EVENT_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION = 7
};
enum value_field {
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    VALUE_HISTO = 5,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9
};
enum histo_field {
    HISTO_MIN = 1,
    HISTO_MAX,
    HISTO_NUM,
    HISTO_SUM,
    HISTO_SQUARES,
    HISTO_LIMITS,
    HISTO_COUNTS
};
enum tensor_field { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRINGS = 8 };
enum { TYPE_STRING = 7, SESSION_START = 1 };

struct train_events {
    char *path;
    int fd;
    struct buf out; /* records that wait */
    bool failed;
};

static void put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_putc(b, (char)(v | 0x80));
    buf_putc(b, (char)v);
}

static void put_key(struct buf *b, int field, enum wire wire)
{
    put_varint(b, (uint64_t)field << 3 | wire);
}

static void put_int(struct buf *b, int field, int64_t v)
{
    put_key(b, field, WIRE_VARINT);
    put_varint(b, (uint64_t)v);
}

static void put_fixed(struct buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_putc(b, (char)(v >> (8 * i)));
}

static void put_raw_double(struct buf *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_fixed(b, bits, 8);
}

static void put_double(struct buf *b, int field, double v)
{
    put_key(b, field, WIRE_64);
    put_raw_double(b, v);
}

static void put_float(struct buf *b, int field, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    put_key(b, field, WIRE_32);
    put_fixed(b, bits, 4);
}

static void put_bytes(struct buf *b, int field, const char *p, size_t n)
{
    put_key(b, field, WIRE_BYTES);
    put_varint(b, n);
    buf_add(b, p, n);
}

static void put_text(struct buf *b, int field, const char *s)
{
    put_bytes(b, field, s, strlen(s));
}

/* A message as a field; empties it. */
static void put_message(struct buf *b, int field, struct buf *message)
{
    put_bytes(b, field, buf_str(message), message->n);
    buf_release(message);
}

static uint32_t masked_crc(const void *p, size_t n)
{
    uint32_t crc = hash_crc32c(0, p, n);
    return (crc >> 15 | crc << 17) + MASK_DELTA;
}

static void put_record(struct train_events *e, struct buf *event)
{
    struct buf length;
    buf_init(&length, 8);
    put_fixed(&length, event->n, 8);
    buf_add(&e->out, length.p, 8);
    put_fixed(&e->out, masked_crc(length.p, 8), 4);
    buf_add(&e->out, buf_str(event), event->n);
    put_fixed(&e->out, masked_crc(buf_str(event), event->n), 4);
    buf_release(&length);
    buf_release(event);
}

static void event_begin(struct buf *event, int64_t step)
{
    buf_init(event, EVENTS_MAX);
    put_double(event, EVENT_TIME, (double)clock_wall_ns() * 1e-9);
    put_int(event, EVENT_STEP, step);
}

/* One value as an event of its own; ends `value`. */
static void put_value(struct train_events *e, int64_t step, struct buf *value)
{
    struct buf summary, event;
    buf_init(&summary, EVENTS_MAX);
    put_message(&summary, 1, value);
    event_begin(&event, step);
    put_message(&event, EVENT_SUMMARY, &summary);
    put_record(e, &event);
}

static void value_begin(struct buf *value, const char *tag)
{
    buf_init(value, EVENTS_MAX);
    put_text(value, VALUE_TAG, tag);
}

void train_events_scalar(struct train_events *e, int64_t step, const char *tag, double v)
{
    struct buf value;
    if (!e || e->failed)
        return;
    value_begin(&value, tag);
    put_float(&value, VALUE_SIMPLE, v);
    put_value(e, step, &value);
}

struct histogram {
    double min, max, sum, squares;
    int64_t n;
    int64_t count[BUCKETS];
};

static void histogram_of(const float *v, int64_t n, struct histogram *h)
{
    *h = (struct histogram){.min = INFINITY, .max = -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        double x = (double)v[i];
        if (!isfinite(x))
            continue;
        h->n++;
        h->sum += x;
        h->squares += x * x;
        h->min = x < h->min ? x : h->min;
        h->max = x > h->max ? x : h->max;
    }
    double width = (h->max - h->min) / BUCKETS;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            continue;
        int at = width > 0 ? (int)(((double)v[i] - h->min) / width) : 0;
        h->count[at < BUCKETS ? at : BUCKETS - 1]++;
    }
}

void train_events_histogram(struct train_events *e, int64_t step, const char *tag,
                            const float *v, int64_t n)
{
    struct histogram h;
    struct buf value, histo, limits, counts;
    if (!e || e->failed)
        return;
    histogram_of(v, n, &h);
    if (h.n == 0)
        return;
    buf_init(&histo, EVENTS_MAX);
    buf_init(&limits, EVENTS_MAX);
    buf_init(&counts, EVENTS_MAX);
    put_double(&histo, HISTO_MIN, h.min);
    put_double(&histo, HISTO_MAX, h.max);
    put_double(&histo, HISTO_NUM, (double)h.n);
    put_double(&histo, HISTO_SUM, h.sum);
    put_double(&histo, HISTO_SQUARES, h.squares);
    for (int i = 0; i < BUCKETS; i++) {
        put_raw_double(&limits, h.min + (h.max - h.min) * (i + 1) / BUCKETS);
        put_raw_double(&counts, (double)h.count[i]);
    }
    put_message(&histo, HISTO_LIMITS, &limits);
    put_message(&histo, HISTO_COUNTS, &counts);
    value_begin(&value, tag);
    put_message(&value, VALUE_HISTO, &histo);
    put_value(e, step, &value);
}

void train_events_text(struct train_events *e, int64_t step, const char *tag,
                       const char *text)
{
    struct buf value, tensor, shape, dim, metadata, plugin;
    if (!e || e->failed)
        return;
    buf_init(&tensor, EVENTS_MAX);
    buf_init(&shape, EVENTS_MAX);
    buf_init(&dim, EVENTS_MAX);
    buf_init(&metadata, EVENTS_MAX);
    buf_init(&plugin, EVENTS_MAX);
    put_int(&dim, 1, 1);
    put_message(&shape, 2, &dim);
    put_int(&tensor, TENSOR_TYPE, TYPE_STRING);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_text(&tensor, TENSOR_STRINGS, text);
    put_text(&plugin, 1, "text");
    put_message(&metadata, 1, &plugin);
    value_begin(&value, tag);
    put_message(&value, VALUE_TENSOR, &tensor);
    put_message(&value, VALUE_METADATA, &metadata);
    put_value(e, step, &value);
}

void train_events_restart(struct train_events *e, int64_t step)
{
    struct buf event, session;
    if (!e || e->failed)
        return;
    buf_init(&session, 16);
    put_int(&session, 1, SESSION_START);
    event_begin(&event, step);
    put_message(&event, EVENT_SESSION, &session);
    put_record(e, &event);
}

enum rc train_events_open(const char *dir, struct train_events **out, struct err *err)
{
    char host[HOST_SIZE] = "";
    enum rc rc = fs_mkdirs(dir, 0755, err);
    if (rc)
        return rc;
    if (gethostname(host, sizeof(host) - 1) != 0 || !host[0] || strchr(host, '/'))
        snprintf(host, sizeof(host), "localhost");
    struct train_events *e = mem_calloc(1, sizeof(*e));
    int64_t now = clock_wall_ns();
    char *name = mem_printf("events.out.tfevents.%010jd.%s.%jd.%jd",
                            (intmax_t)(now / CLOCK_SECOND), host, (intmax_t)getpid(),
                            (intmax_t)(now % CLOCK_SECOND));
    e->path = fs_join(dir, name);
    mem_free(name);
    buf_init(&e->out, EVENTS_MAX);
    e->fd = open(e->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (e->fd < 0) {
        rc = err_sys(err, errno, "cannot make '%s'", e->path);
        train_events_close(e);
        return rc;
    }
    struct buf event;
    event_begin(&event, 0);
    put_text(&event, EVENT_VERSION, "brain.Event:2");
    put_record(e, &event);
    *out = e;
    return RC_OK;
}

enum rc train_events_flush(struct train_events *e, struct err *err)
{
    size_t done = 0;
    if (!e || e->failed)
        return RC_OK;
    while (done < e->out.n) {
        ssize_t n = write(e->fd, e->out.p + done, e->out.n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            e->failed = true;
            return err_sys(err, errno, "cannot write to '%s'", e->path);
        }
        done += (size_t)n;
    }
    buf_clear(&e->out);
    return RC_OK;
}

void train_events_close(struct train_events *e)
{
    if (!e)
        return;
    if (e->fd >= 0) {
        (void)!train_events_flush(e, NULL);
        close(e->fd);
    }
    buf_release(&e->out);
    mem_free(e->path);
    mem_free(e);
}

const char *train_events_path(const struct train_events *e)
{
    return e->path;
}
