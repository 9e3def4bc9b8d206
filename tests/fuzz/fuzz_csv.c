/* SPDX-License-Identifier: Apache-2.0 */
/* The first two bytes choose the settings, the rest is the file. Whatever it holds,
 * blocks of 64 bytes must give what one large block gives, message included, and a second
 * reader must go on exactly where the first one stood.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/csv/csv.h"

#define ROWS 5

static enum rc print_batch(struct csv_reader *r, struct batch *b, struct buf *out,
                           struct err *err)
{
    enum rc rc = csv_next(r, ROWS, b, err);
    for (int64_t i = 0; i < b->n; i++) {
        batch_print_json(b, i, out);
        buf_putc(out, '\n');
    }
    return rc;
}

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* Everything with one reader; at each step a fresh one reads the next batch as well. */
static enum rc read_all(const uint8_t *data, size_t n, const struct csv_conf *conf,
                        bool again, struct buf *out, struct err *err)
{
    struct csv_reader *r = NULL, *second = NULL;
    enum rc rc = csv_open_memory("fuzz", data, n, conf, &r, err);
    if (rc)
        return rc;
    struct batch b, b2;
    batch_init(&b, csv_schema(r));
    for (int step = 0; step < 1000; step++) {
        struct csv_cursor at, end, end2;
        size_t before = out->n;
        csv_tell(r, &at);
        rc = print_batch(r, &b, out, err);
        if (rc || b.n == 0)
            break;
        csv_tell(r, &end);
        must(end.offset >= at.offset && (size_t)end.offset <= n);
        must(end.record - end.bad - (at.record - at.bad) == b.n);
        if (!again || step > 20)
            continue;
        struct buf out2;
        buf_init(&out2, 1 << 24);
        must(csv_open_memory("fuzz", data, n, conf, &second, NULL) == RC_OK);
        batch_init(&b2, csv_schema(second));
        must(csv_seek(second, &at, NULL) == RC_OK);
        must(print_batch(second, &b2, &out2, NULL) == RC_OK);
        csv_tell(second, &end2);
        must(out2.n == out->n - before && memcmp(out2.p, out->p + before, out2.n) == 0);
        must(memcmp(&end, &end2, sizeof(end)) == 0);
        batch_release(&b2);
        csv_close(second);
        buf_release(&out2);
    }
    batch_release(&b);
    csv_close(r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char delims[] = {',', '\t', '\x01', '-'};
    static const struct csv_field fields[] = {{.name = "a", .type = TYPE_I32},
                                              {.name = "b", .type = TYPE_I64},
                                              {.name = "c", .type = TYPE_F32},
                                              {.name = "d", .type = TYPE_F64},
                                              {.name = "e", .type = TYPE_STR}};
    if (n < 2)
        return 0;
    struct csv_conf conf = {.delim = delims[data[0] & 3],
                            .no_quotes = data[0] >> 2 & 1,
                            .names = (enum csv_names)((data[0] >> 3 & 3) % 3),
                            .skip_bad = data[0] >> 5 & 1,
                            .empty_is_null = data[0] >> 6 & 1,
                            .block = 1 << 13,
                            .max_record = 1 << 20};
    if (data[1] >> 1 & 1) {
        conf.fields = fields;
        conf.n_fields = 1 + (data[1] >> 2) % 5;
    }
    struct buf large, small;
    struct err large_err = {0}, small_err = {0};
    buf_init(&large, 1 << 26);
    buf_init(&small, 1 << 26);
    enum rc rc = read_all(data + 2, n - 2, &conf, true, &large, &large_err);
    conf.block = 64;
    must(read_all(data + 2, n - 2, &conf, false, &small, &small_err) == rc);
    must(strcmp(large_err.msg, small_err.msg) == 0);
    must(large.n == small.n && (!large.n || memcmp(large.p, small.p, large.n) == 0));
    buf_release(&large);
    buf_release(&small);
    return 0;
}
