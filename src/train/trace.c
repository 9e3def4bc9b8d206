/* SPDX-License-Identifier: Apache-2.0 */
/* Trace Event Format: complete events ("X") with microseconds, metadata events ("M") for
 * the names of the rows.
 */
#include "train/trace.h"

#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define TRACE_MAX ((size_t)256 << 20)

struct train_trace {
    struct buf out;
    int64_t first_ns; /* the zero of its times */
};

struct train_trace *train_trace_create(void)
{
    struct train_trace *t = mem_calloc(1, sizeof(*t));
    buf_init(&t->out, TRACE_MAX);
    return t;
}

void train_trace_destroy(struct train_trace *t)
{
    if (!t)
        return;
    buf_release(&t->out);
    mem_free(t);
}

static void begin(struct train_trace *t, const char *phase, int row)
{
    buf_printf(&t->out, "%s  {\"ph\": \"%s\", \"pid\": %jd, \"tid\": %d, \"name\": ",
               t->out.n ? ",\n" : "", phase, (intmax_t)getpid(), row);
}

void train_trace_name(struct train_trace *t, int row, const char *name)
{
    begin(t, "M", row);
    buf_puts(&t->out, "\"thread_name\", \"args\": {\"name\": ");
    buf_json_str(&t->out, name, strlen(name));
    buf_puts(&t->out, "}}");
}

void train_trace_span(struct train_trace *t, int row, const char *name, int64_t from_ns,
                      int64_t to_ns)
{
    if (!t->first_ns)
        t->first_ns = from_ns;
    begin(t, "X", row);
    buf_json_str(&t->out, name, strlen(name));
    buf_printf(&t->out, ", \"ts\": %.3f, \"dur\": %.3f}",
               (double)(from_ns - t->first_ns) * 1e-3, (double)(to_ns - from_ns) * 1e-3);
}

enum rc train_trace_write(const struct train_trace *t, const char *path, struct err *err)
{
    struct buf b;
    buf_init(&b, TRACE_MAX + 100);
    buf_printf(&b, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n%s\n]}\n",
               buf_str(&t->out));
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = fs_write(path, b.p, b.n, 0644, err);
    buf_release(&b);
    return rc;
}
