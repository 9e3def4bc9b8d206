/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "data/jsonl/jsonl.h"
#include "io/out.h"

#define FLUSH_BYTES ((size_t)1 << 20)
#define TEXT_MAX ((size_t)1 << 30)

struct jsonl_writer {
    struct io_out *file;
    struct buf text;
};

enum rc jsonl_create(const char *path, struct jsonl_writer **out, struct err *err)
{
    struct io_out *file = NULL;
    enum rc rc = io_create(path, &file, err);
    if (rc)
        return rc;
    struct jsonl_writer *w = mem_calloc(1, sizeof(*w));
    w->file = file;
    buf_init(&w->text, TEXT_MAX);
    *out = w;
    return RC_OK;
}

static enum rc jsonl_writer_flush(struct jsonl_writer *w, struct err *err)
{
    enum rc rc = buf_check(&w->text, err);
    if (rc == RC_OK)
        rc = io_append(w->file, buf_str(&w->text), w->text.n, err);
    buf_clear(&w->text);
    return rc;
}

enum rc jsonl_write(struct jsonl_writer *w, const struct batch *b, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; rc == RC_OK && i < b->n; i++) {
        batch_print_json(b, i, &w->text);
        buf_putc(&w->text, '\n');
        if (w->text.n >= FLUSH_BYTES || w->text.failed)
            rc = jsonl_writer_flush(w, err);
    }
    return rc;
}

enum rc jsonl_commit(struct jsonl_writer *w, struct err *err)
{
    enum rc rc = jsonl_writer_flush(w, err);
    if (rc == RC_OK) {
        rc = io_commit(w->file, err);
        w->file = NULL;
    }
    jsonl_abandon(w);
    return rc;
}

void jsonl_abandon(struct jsonl_writer *w)
{
    if (!w)
        return;
    io_abandon(w->file);
    buf_release(&w->text);
    mem_free(w);
}
