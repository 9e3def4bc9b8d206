/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the settings, the rest is the file. What was read is printed,
 * read again, and must print the same; blocks of 64 bytes must give what one large block
 * gives, message included.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/jsonl/jsonl.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

static enum rc print_all(const void *data, size_t n, const struct jsonl_conf *conf,
                         struct data_schema *schema, struct buf *out, struct err *err)
{
    struct jsonl_reader *r = NULL;
    enum rc rc = jsonl_open_memory("fuzz", data, n, conf, &r, err);
    if (rc)
        return rc;
    struct batch b;
    if (schema)
        data_schema_copy(schema, jsonl_schema(r));
    batch_init(&b, jsonl_schema(r));
    do {
        struct csv_cursor at;
        rc = jsonl_next(r, 3, &b, err);
        for (int64_t i = 0; i < b.n; i++) {
            batch_print_json(&b, i, out);
            buf_putc(out, '\n');
        }
        jsonl_tell(r, &at);
        must(at.offset >= 0 && (size_t)at.offset <= n && at.bad <= at.record);
        if (rc == RC_OK && b.n)
            must(jsonl_seek(r, &at, NULL) == RC_OK);
    } while (rc == RC_OK && b.n);
    batch_release(&b);
    jsonl_close(r);
    return rc;
}

static void declare(struct data_schema *s)
{
    struct type i32 = type_of(TYPE_I32, true), f32 = type_of(TYPE_F32, true);
    struct type list = type_list(&s->mem, f32, true);
    struct type lists = type_list(&s->mem, list, true);
    struct type map = type_map(&s->mem, type_of(TYPE_I64, false), list, true);
    struct data_field kids[] = {{.name = "x", .type = i32}, {.name = "y", .type = list}};
    struct type parts = {.id = TYPE_STRUCT, .nullable = true, .kids = kids, .n_kids = 2};
    data_schema_add(s, str_c("a"), &i32);
    data_schema_add(s, str_c("b"), &lists);
    data_schema_add(s, str_c("c"), &map);
    data_schema_add(s, str_c("d"), &parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct data_schema declared = {0}, found = {0};
    if (n < 1)
        return 0;
    struct jsonl_conf conf = {.skip_bad = data[0] & 1,
                              .infer_rows = data[0] & 2 ? 1 : 0,
                              .block = 1 << 13,
                              .max_record = 1 << 20};
    if (data[0] & 4) {
        declare(&declared);
        conf.schema = &declared;
    }
    struct buf large, small, back;
    struct err large_err = {0}, small_err = {0};
    buf_init(&large, 1 << 26);
    buf_init(&small, 1 << 26);
    buf_init(&back, 1 << 26);
    enum rc rc = print_all(data + 1, n - 1, &conf, &found, &large, &large_err);
    conf.block = 64;
    must(print_all(data + 1, n - 1, &conf, NULL, &small, &small_err) == rc);
    must(strcmp(large_err.msg, small_err.msg) == 0);
    must(large.n == small.n && (!large.n || memcmp(large.p, small.p, large.n) == 0));
    if (large.n && !large.failed) {
        struct jsonl_conf same = {.schema = &found};
        must(print_all(large.p, large.n, &same, NULL, &back, NULL) == RC_OK);
        must(back.n == large.n && memcmp(back.p, large.p, large.n) == 0);
    }
    buf_release(&large);
    buf_release(&small);
    buf_release(&back);
    data_schema_release(&declared);
    data_schema_release(&found);
    return 0;
}
