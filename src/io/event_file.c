/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers below are the field numbers of TensorFlow's event.proto, summary.proto and
 * tensor.proto. Every length is checked against what is left of the message around it.
 */
#include "io/event_file.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#define MASK_DELTA 0xa282ead8U
#define HEAD 12 /* length and its checksum */
#define BLOCK ((size_t)256 << 10)

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum event_field { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum value_field { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_TENSOR = 8 };
enum tensor_field {
    TENSOR_TYPE = 1,
    TENSOR_CONTENT = 4,
    TENSOR_FLOATS = 5,
    TENSOR_DOUBLES = 6
};
enum { TYPE_FLOAT = 1, TYPE_DOUBLE = 2, SESSION_START = 1 };

/* A message that is walked field by field. */
struct walk {
    const uint8_t *p, *end;
};
struct field {
    uint64_t number;
    enum wire wire;
    uint64_t v;       /* of a number: its bits */
    const uint8_t *p; /* of bytes */
    size_t n;
};

static bool take_varint(struct walk *w, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && w->p < w->end; shift += 7) {
        uint8_t b = *w->p++;
        *out |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return true;
    }
    return false;
}

static uint64_t little(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static bool take_fixed(struct walk *w, size_t n, uint64_t *out)
{
    if ((size_t)(w->end - w->p) < n)
        return false;
    *out = little(w->p, n);
    w->p += n;
    return true;
}

/* False: the message is over (w->p == w->end), or is none. */
static bool take_field(struct walk *w, struct field *f)
{
    uint64_t key;
    *f = (struct field){0};
    if (w->p >= w->end || !take_varint(w, &key))
        return false;
    f->number = key >> 3;
    f->wire = (enum wire)(key & 7);
    switch (f->wire) {
    case WIRE_VARINT:
        return take_varint(w, &f->v);
    case WIRE_64:
        return take_fixed(w, 8, &f->v);
    case WIRE_32:
        return take_fixed(w, 4, &f->v);
    case WIRE_BYTES:
        if (!take_varint(w, &f->v) || f->v > (uint64_t)(w->end - w->p))
            return false;
        f->p = w->p;
        f->n = (size_t)f->v;
        w->p += f->n;
        return true;
    }
    return false;
}

static double of_bits(uint64_t bits, size_t n)
{
    double d;
    float f;
    uint32_t low = (uint32_t)bits;
    if (n == sizeof(float)) {
        memcpy(&f, &low, sizeof(f));
        return (double)f;
    }
    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* The first number of a tensor of floats; false: it has none. */
static bool tensor_value(const uint8_t *p, size_t n, double *out)
{
    struct walk w = {p, p + n};
    struct field f;
    uint64_t type = 0;
    bool found = false;
    while (take_field(&w, &f)) {
        size_t size = type == TYPE_FLOAT ? 4 : type == TYPE_DOUBLE ? 8 : 0;
        if (f.number == TENSOR_TYPE && f.wire == WIRE_VARINT)
            type = f.v;
        else if (f.number == TENSOR_CONTENT && f.wire == WIRE_BYTES && size &&
                 f.n == size) {
            *out = of_bits(little(f.p, size), size);
            found = true;
        } else if (f.number == TENSOR_FLOATS && f.wire == WIRE_BYTES && f.n == 4) {
            *out = of_bits(little(f.p, 4), 4);
            found = true;
        } else if (f.number == TENSOR_FLOATS && f.wire == WIRE_32) {
            *out = of_bits(f.v, 4);
            found = true;
        } else if (f.number == TENSOR_DOUBLES && f.wire == WIRE_BYTES && f.n == 8) {
            *out = of_bits(little(f.p, 8), 8);
            found = true;
        } else if (f.number == TENSOR_DOUBLES && f.wire == WIRE_64) {
            *out = of_bits(f.v, 8);
            found = true;
        }
    }
    return found;
}

static bool take_value(const uint8_t *p, size_t n, struct io_event *e, io_event_fn *fn,
                       void *arg)
{
    struct walk w = {p, p + n};
    struct field f;
    char tag[EVENT_TAG_MAX + 1] = "";
    bool found = false;
    while (take_field(&w, &f)) {
        if (f.number == VALUE_TAG && f.wire == WIRE_BYTES) {
            size_t k = f.n < EVENT_TAG_MAX ? f.n : EVENT_TAG_MAX;
            memcpy(tag, f.p, k);
            tag[k] = '\0';
        } else if (f.number == VALUE_SIMPLE && f.wire == WIRE_32) {
            e->value = of_bits(f.v, 4);
            found = true;
        } else if (f.number == VALUE_TENSOR && f.wire == WIRE_BYTES) {
            found = tensor_value(f.p, f.n, &e->value) || found;
        }
    }
    if (w.p != w.end)
        return false;
    e->tag = tag;
    if (found && *tag)
        fn(arg, e);
    e->tag = NULL;
    return true;
}

static bool take_summary(const uint8_t *p, size_t n, struct io_event *e, io_event_fn *fn,
                         void *arg)
{
    struct walk w = {p, p + n};
    struct field f;
    bool good = true;
    while (good && take_field(&w, &f))
        if (f.number == 1 && f.wire == WIRE_BYTES)
            good = take_value(f.p, f.n, e, fn, arg);
    return good && w.p == w.end;
}

static bool is_start(const uint8_t *p, size_t n)
{
    struct walk w = {p, p + n};
    struct field f;
    bool start = false;
    while (take_field(&w, &f))
        start |= f.number == 1 && f.wire == WIRE_VARINT && f.v == SESSION_START;
    return start;
}

bool io_event_parse(const uint8_t *p, size_t n, io_event_fn *fn, void *arg)
{
    struct walk w = {p, p + n};
    struct field f, summary = {0}, session = {0};
    struct io_event e = {0};
    while (take_field(&w, &f)) {
        double seconds =
            f.number == EVENT_TIME && f.wire == WIRE_64 ? of_bits(f.v, 8) : 0;
        if (seconds > 0 && seconds < 9e9)
            e.time = (int64_t)(seconds * 1e9);
        if (f.number == EVENT_STEP && f.wire == WIRE_VARINT)
            e.step = (int64_t)f.v;
        if (f.number == EVENT_SUMMARY && f.wire == WIRE_BYTES)
            summary = f;
        if (f.number == EVENT_SESSION && f.wire == WIRE_BYTES)
            session = f;
    }
    if (w.p != w.end)
        return false;
    if (session.p && is_start(session.p, session.n)) {
        e.restart = true;
        fn(arg, &e);
        e.restart = false;
    }
    return !summary.p || take_summary(summary.p, summary.n, &e, fn, arg);
}

static uint32_t masked_crc(const void *p, size_t n)
{
    uint32_t crc = hash_crc32c(0, p, n);
    return (crc >> 15 | crc << 17) + MASK_DELTA;
}

/* Bytes of the record at `p`, of which `n` are there; 0: not all of it; -1: it is none. */
static int64_t take_record(const uint8_t *p, size_t n, io_event_fn *fn, void *arg)
{
    if (n < HEAD)
        return 0;
    uint64_t length = little(p, 8);
    if (masked_crc(p, 8) != (uint32_t)little(p + 8, 4) || length > EVENT_RECORD_MAX)
        return -1;
    if (n < HEAD + length + 4)
        return 0;
    if (masked_crc(p + HEAD, length) != (uint32_t)little(p + HEAD + length, 4) ||
        !io_event_parse(p + HEAD, length, fn, arg))
        return -1;
    return (int64_t)(HEAD + length + 4);
}

enum rc io_event_read(int fd, int64_t *offset, io_event_fn *fn, void *arg,
                      struct err *err)
{
    size_t room = BLOCK, n = 0;
    uint8_t *block = mem_alloc(room);
    enum rc rc = RC_OK;
    for (;;) {
        ssize_t got = pread(fd, block + n, room - n, *offset + (int64_t)n);
        if (got <= 0)
            break;
        n += (size_t)got;
        size_t at = 0;
        int64_t one = 0;
        while ((one = take_record(block + at, n - at, fn, arg)) > 0)
            at += (size_t)one;
        *offset += (int64_t)at;
        memmove(block, block + at, n - at);
        n -= at;
        if (one < 0) {
            rc = err_set(err, RC_FORMAT, "byte %jd: this is no record of events",
                         (intmax_t)*offset);
            break;
        }
        if (n == room)
            block = mem_realloc(block, room *= 2, 1);
    }
    mem_free(block);
    return rc;
}
