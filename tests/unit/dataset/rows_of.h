/* SPDX-License-Identifier: Apache-2.0 */
/* rows_of.h - small data files for tests: columns id, label, cost, name. */
#ifndef ROWS_OF_H
#define ROWS_OF_H

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/writer.h"
#include "tap.h"

#define OK(x) rows_ok((x), &err, #x, __FILE__, __LINE__)

static inline bool rows_ok(enum rc rc, const struct err *err, const char *what,
                           const char *file, int line)
{
    if (rc)
        printf("# %s:%d: %s: %s\n", file, line, what, err->msg);
    tap_check(rc == RC_OK, what, file, line);
    return rc == RC_OK;
}

static inline void rows_schema(struct data_schema *s)
{
    struct type i64 = type_of(TYPE_I64, true), str = type_of(TYPE_STR, true);
    data_schema_add(s, str_c("id"), &i64);
    data_schema_add(s, str_c("label"), &i64);
    data_schema_add(s, str_c("cost"), &i64);
    data_schema_add(s, str_c("name"), &str);
}

static inline void rows_fill(struct batch *b, int64_t first, int64_t n)
{
    char text[32];
    struct err err = {0};
    batch_clear(b);
    for (int64_t i = first; i < first + n; i++) {
        snprintf(text, sizeof(text), i % 7 ? "row \"%05jd\",\n" : "r%011jd", (intmax_t)i);
        OK(column_add_i64(&b->cols[0], i, &err));
        OK(column_add_i64(&b->cols[1], i % 2, &err));
        OK(column_add_i64(&b->cols[2], i % 5, &err));
        OK(column_add_str(&b->cols[3], str_c(text), &err));
    }
    OK(batch_finish(b, &err));
}

/* Rows with ids first .. first + n to DIR/NAME.FORMAT. */
static inline void rows_write(const char *dir, const char *name, const char *format,
                              int64_t first, int64_t n)
{
    struct data_schema s = {0};
    struct batch b;
    struct writer *w = NULL;
    struct err err = {0};
    char *path = mem_printf("%s/%s.%s", dir, name, format);
    struct writer_conf conf = {.group_rows = 37};
    rows_schema(&s);
    batch_init(&b, &s);
    if (OK(writer_open(path, writer_find(format), &s, &conf, &w, &err))) {
        rows_fill(&b, first, n);
        OK(writer_add(w, &b, &err));
        OK(writer_commit(w, &err));
    }
    batch_release(&b);
    data_schema_release(&s);
    mem_free(path);
}

static inline char *rows_dir(void)
{
    struct err err = {0};
    char *dir = NULL;
    OK(fs_temp_dir("trainyard-test", &dir, &err));
    return dir;
}

static inline void rows_drop(char *dir)
{
    struct err err = {0};
    OK(fs_remove_all(dir, &err));
    mem_free(dir);
}

#endif
