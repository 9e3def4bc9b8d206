/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the settings, then up to a line end stand the columns, the rest is
 * the file. Blocks of 64 bytes must give what one large block gives, message included.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/slots/slots.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

static enum rc print_all(const void *data, size_t n, const struct slots_conf *conf,
                         struct buf *out, struct err *err)
{
    struct slots_reader *r = NULL;
    enum rc rc = slots_open_memory("fuzz", data, n, conf, &r, err);
    if (rc)
        return rc;
    struct batch b;
    batch_init(&b, slots_schema(r));
    do {
        struct csv_cursor at;
        rc = slots_next(r, 3, &b, err);
        for (int64_t i = 0; i < b.n; i++) {
            batch_print_json(&b, i, out);
            buf_putc(out, '\n');
        }
        slots_tell(r, &at);
        must(at.offset >= 0 && (size_t)at.offset <= n && at.bad <= at.record);
        if (rc == RC_OK && b.n)
            must(slots_seek(r, &at, NULL) == RC_OK);
    } while (rc == RC_OK && b.n);
    batch_release(&b);
    slots_close(r);
    return rc;
}

/* The name of a form of lines, by number. */
static char *format_of(unsigned number)
{
    struct str rest = str_c(slots_formats()), part = {0};
    for (unsigned i = 0; i <= number % 8 && str_split(&rest, '|', &part); i++)
        ;
    return mem_strndup(part.p, part.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *line = n > 1 ? memchr(data + 1, '\n', n - 1) : NULL;
    if (!line || line - data > 4096)
        return 0;
    char *columns = mem_strndup((const char *)data + 1, (size_t)(line - data) - 1);
    char *format = format_of(data[0] >> 3);
    struct slots_conf conf = {.format = format,
                              .columns = data[0] & 4 ? NULL : columns,
                              .skip_bad = data[0] & 1,
                              .max_bad = data[0] & 2 ? 2 : 0,
                              .block = 1 << 13,
                              .max_record = 1 << 20};
    /* a column may ask for a million values per row: not of many rows */
    if (n > 1 << 16 || strstr(columns, "0000"))
        conf.columns = NULL;
    struct buf large, small;
    struct err large_err = {0}, small_err = {0};
    buf_init(&large, 1 << 26);
    buf_init(&small, 1 << 26);
    size_t rest = n - (size_t)(line + 1 - data);
    enum rc rc = print_all(line + 1, rest, &conf, &large, &large_err);
    conf.block = 64;
    must(print_all(line + 1, rest, &conf, &small, &small_err) == rc);
    must(strcmp(large_err.msg, small_err.msg) == 0);
    must(large.n == small.n && (!large.n || memcmp(large.p, small.p, large.n) == 0));
    buf_release(&large);
    buf_release(&small);
    mem_free(columns);
    mem_free(format);
    return 0;
}
