/* SPDX-License-Identifier: Apache-2.0 */
/* Event files are read from where they were left, as far as they are whole. */
#include "io/event_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/str.h"

#include "tap.h"

/* Event {wall_time 1.5, step 7, summary {value {tag "loss" simple_value 0.25}}} */
static const char scalar[] =
    "\x09\0\0\0\0\0\0\xf8\x3f\x10\x07\x2a\x0d\x0a\x0b\x0a\x04loss"
    "\x15\0\0\x80\x3e";
/* The same with a tensor {dtype DT_FLOAT, tensor_content 0.5}, tag "auc", step 8 */
static const char tensor[] = "\x09\0\0\0\0\0\0\xf8\x3f\x10\x08\x2a\x11\x0a\x0f\x0a\x03"
                             "auc\x42\x08\x08\x01\x22\x04\0\0\0\x3f";
/* Event {step 5, session_log {status START}} */
static const char start[] = "\x10\x05\x3a\x02\x08\x01";

struct seen {
    struct io_event at[8];
    char tags[8][16];
    size_t n;
};

static void take(void *arg, const struct io_event *e)
{
    struct seen *s = arg;
    if (s->n == ARRAY_LEN(s->at))
        return;
    snprintf(s->tags[s->n], sizeof(s->tags[0]), "%s", e->tag ? e->tag : "");
    s->at[s->n++] = *e;
}

static uint32_t masked(const void *p, size_t n)
{
    uint32_t crc = hash_crc32c(0, p, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

static void put(struct buf *b, const char *message, size_t n)
{
    uint64_t length = n;
    uint32_t crc = masked(&length, sizeof(length));
    buf_add(b, &length, sizeof(length));
    buf_add(b, &crc, sizeof(crc));
    buf_add(b, message, n);
    crc = masked(message, n);
    buf_add(b, &crc, sizeof(crc));
}

static void scalars_and_tensors_are_values(void)
{
    struct seen s = {0};
    CHECK(io_event_parse((const uint8_t *)scalar, sizeof(scalar) - 1, take, &s));
    CHECK(io_event_parse((const uint8_t *)tensor, sizeof(tensor) - 1, take, &s));
    CHECK(io_event_parse((const uint8_t *)start, sizeof(start) - 1, take, &s));
    CHECK_INT(s.n, 3);
    CHECK_STR(s.tags[0], "loss");
    CHECK(s.at[0].value == 0.25);
    CHECK_INT(s.at[0].step, 7);
    CHECK_INT(s.at[0].time, 1500000000);
    CHECK_STR(s.tags[1], "auc");
    CHECK(s.at[1].value == 0.5);
    CHECK(s.at[2].restart);
    CHECK_INT(s.at[2].step, 5);
}

static void a_cut_message_is_none(void)
{
    for (size_t n = 1; n < sizeof(scalar) - 1; n++) {
        struct seen s = {0};
        bool good = io_event_parse((const uint8_t *)scalar, n, take, &s);
        CHECK(s.n == 0 || !good);
    }
}

static void reading_goes_on_where_it_ended(void)
{
    struct seen s = {0};
    struct buf b;
    char path[] = "/tmp/eventsXXXXXX";
    int64_t at = 0;
    int fd = mkstemp(path);
    buf_init(&b, 4096);
    put(&b, scalar, sizeof(scalar) - 1);
    size_t first = b.n;
    put(&b, tensor, sizeof(tensor) - 1);
    CHECK(fd >= 0 && pwrite(fd, b.p, b.n - 3, 0) == (ssize_t)b.n - 3);
    CHECK_INT(io_event_read(fd, &at, take, &s, NULL), RC_OK);
    CHECK_INT(s.n, 1); /* the second is not whole yet */
    CHECK_INT(at, first);
    CHECK(pwrite(fd, b.p, b.n, 0) == (ssize_t)b.n);
    CHECK_INT(io_event_read(fd, &at, take, &s, NULL), RC_OK);
    CHECK_INT(s.n, 2);
    CHECK_INT(at, b.n);
    close(fd);
    unlink(path);
    buf_release(&b);
}

static void what_is_no_record_is_told_with_its_place(void)
{
    struct seen s = {0};
    struct err err = {0};
    struct buf b;
    char path[] = "/tmp/eventsXXXXXX";
    int64_t at = 0;
    int fd = mkstemp(path);
    buf_init(&b, 4096);
    put(&b, scalar, sizeof(scalar) - 1);
    size_t first = b.n;
    put(&b, tensor, sizeof(tensor) - 1);
    b.p[first + 14] ^= 1;
    CHECK(fd >= 0 && pwrite(fd, b.p, b.n, 0) == (ssize_t)b.n);
    CHECK_INT(io_event_read(fd, &at, take, &s, &err), RC_FORMAT);
    CHECK_INT(s.n, 1);
    CHECK_INT(at, first);
    CHECK(strstr(err.msg, "no record of events"));
    close(fd);
    unlink(path);
    buf_release(&b);
}

static const struct tap_case cases[] = {
    TAP(scalars_and_tensors_are_values),
    TAP(a_cut_message_is_none),
    TAP(reading_goes_on_where_it_ended),
    TAP(what_is_no_record_is_told_with_its_place),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
