/* SPDX-License-Identifier: Apache-2.0 */
#include "train/events.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tap.h"

static uint64_t little(const unsigned char *p, int n)
{
    uint64_t v = 0;
    for (int i = n; i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

static uint32_t masked(const void *p, size_t n)
{
    uint32_t crc = hash_crc32c_plain(0, p, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/* The i-th record of a file, checked; NULL behind the last. */
static const unsigned char *record(const unsigned char *file, size_t size, int i,
                                   size_t *n)
{
    size_t at = 0;
    for (;; i--) {
        if (at == size)
            return NULL;
        uint64_t len = little(file + at, 8);
        CHECK(len + 16 <= size - at);
        CHECK_INT(little(file + at + 8, 4), masked(file + at, 8));
        CHECK_INT(little(file + at + 12 + len, 4), masked(file + at + 12, (size_t)len));
        if (i == 0) {
            *n = (size_t)len;
            return file + at + 12;
        }
        at += (size_t)len + 16;
    }
}

static void records_are_framed_and_checked(void)
{
    char *dir = NULL, *data = NULL;
    struct train_events *e = NULL;
    size_t size = 0, n = 0;
    CHECK(fs_temp_dir("events", &dir, NULL) == RC_OK);
    CHECK(train_events_open(dir, &e, NULL) == RC_OK);
    train_events_scalar(e, 300, "loss", 0.5);
    CHECK(train_events_flush(e, NULL) == RC_OK);
    CHECK(fs_read(train_events_path(e), 1 << 20, &data, &size, NULL) == RC_OK);
    const unsigned char *file = (const unsigned char *)data;
    const unsigned char *r = record(file, size, 0, &n);
    /* time, step 0, version */
    CHECK_INT(n, 9 + 2 + 2 + 13);
    CHECK_INT(r[0], 0x09);
    CHECK(memcmp(r + 9,
                 "\x10\x00\x1a\x0d"
                 "brain.Event:2",
                 17) == 0);
    r = record(file, size, 1, &n);
    CHECK_INT(n, 9 + 3 + 15);
    CHECK(memcmp(r + 9, "\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f",
                 18) == 0);
    CHECK(record(file, size, 2, &n) == NULL);
    train_events_close(e);
    mem_free(data);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static void values_that_are_not_finite_stay_out_of_histograms(void)
{
    const float v[] = {1, 2, NAN, INFINITY, 4}, none[] = {NAN};
    char *dir = NULL, *data = NULL;
    struct train_events *e = NULL;
    size_t size = 0, n = 0;
    CHECK(fs_temp_dir("events", &dir, NULL) == RC_OK);
    CHECK(train_events_open(dir, &e, NULL) == RC_OK);
    train_events_histogram(e, 0, "h", v, 5);
    train_events_histogram(e, 0, "none", none, 1); /* nothing to show */
    CHECK(train_events_flush(e, NULL) == RC_OK);
    CHECK(fs_read(train_events_path(e), 1 << 20, &data, &size, NULL) == RC_OK);
    const unsigned char *r = record((unsigned char *)data, size, 1, &n);
    double min, max, num;
    /* time 9, step 2, summary 1+2, value 1+2, tag 3, histogram 1+2, then fields of 9 */
    const unsigned char *h = r + 9 + 2 + 3 + 3 + 3 + 3;
    memcpy(&min, h + 1, 8);
    memcpy(&max, h + 10, 8);
    memcpy(&num, h + 19, 8);
    CHECK(min == 1 && max == 4 && num == 3);
    CHECK(record((unsigned char *)data, size, 2, &n) == NULL);
    train_events_close(e);
    mem_free(data);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static void a_place_that_cannot_be_written_is_told_once(void)
{
    struct train_events *e = NULL;
    struct err err = {0};
    CHECK(train_events_open("/dev/null/x", &e, &err) != RC_OK);
    CHECK_HAS(err.msg, "/dev/null");
    train_events_close(NULL);
    CHECK(train_events_flush(NULL, NULL) == RC_OK);
}

static const struct tap_case cases[] = {
    TAP(records_are_framed_and_checked),
    TAP(values_that_are_not_finite_stay_out_of_histograms),
    TAP(a_place_that_cannot_be_written_is_told_once),
};
TAP_MAIN(cases)
