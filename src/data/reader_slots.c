/* SPDX-License-Identifier: Apache-2.0 */
/* Slot files behind the common table. */
#include "base/mem.h"
#include "data/jsonl/jsonl.h"
#include "data/reader_lines.h"
#include "data/slots/slots.h"

struct slots_state {
    struct slots_reader *r;
    struct csv_cursor start;
};

static int reader_slots_probe(const unsigned char *head, size_t n, const char *path)
{
    return slots_probe(head, n);
}

static enum rc open_slots(const char *path, const struct reader_conf *conf, void **state,
                          struct err *err)
{
    struct slots_conf c = {.format = conf->line_format,
                           .columns = conf->line_columns,
                           .padding = conf->line_padding,
                           .fields = conf->fields,
                           .n_fields = conf->n_fields,
                           .want = conf->want,
                           .n_want = conf->n_want,
                           .skip_bad = conf->skip_bad,
                           .max_bad = conf->max_bad,
                           .read_ahead = conf->read_ahead,
                           .end = conf->end};
    struct slots_reader *r = NULL;
    enum rc rc = slots_open(path, &c, &r, err);
    if (rc)
        return rc;
    struct slots_state *s = mem_calloc(1, sizeof(*s));
    s->r = r;
    slots_tell(r, &s->start);
    *state = s;
    return RC_OK;
}

static const struct data_schema *schema_of(const void *state)
{
    return slots_schema(((const struct slots_state *)state)->r);
}

static int64_t reader_slots_rows(const void *state)
{
    return -1;
}

static enum rc reader_slots_next(void *state, int64_t max, struct batch *b,
                                 struct err *err)
{
    return slots_next(((struct slots_state *)state)->r, max, b, err);
}

static void reader_slots_tell(const void *state, struct reader_cursor *at)
{
    struct csv_cursor c;
    slots_tell(((const struct slots_state *)state)->r, &c);
    *at = lines_cursor(&c);
}

static enum rc reader_slots_seek(void *state, const struct reader_cursor *at,
                                 struct err *err)
{
    struct slots_state *s = state;
    struct csv_cursor c = lines_place(at);
    return slots_seek(s->r, at->offset < 0 ? &s->start : &c, err);
}

static enum rc split_lines(const char *path, const struct reader_conf *conf, size_t n,
                           struct csv_cursor *cuts, struct err *err)
{
    return jsonl_split(path, n, cuts, err);
}

static enum rc index_slots(const char *path, const struct reader_conf *conf,
                           struct reader_index *out, struct err *err)
{
    return lines_index(path, conf, split_lines, out, err);
}

static const char *first_bad(const void *state)
{
    return slots_first_bad(((const struct slots_state *)state)->r);
}

static void close_slots(void *state)
{
    struct slots_state *s = state;
    if (!s)
        return;
    slots_close(s->r);
    mem_free(s);
}

const struct reader_ops reader_slots = {
    .name = "slots",
    .title = "slots",
    .text = true,
    .suffixes = "slots",
    .probe = reader_slots_probe,
    .open = open_slots,
    .schema = schema_of,
    .rows = reader_slots_rows,
    .next = reader_slots_next,
    .tell = reader_slots_tell,
    .seek = reader_slots_seek,
    .index = index_slots,
    .first_bad = first_bad,
    .close = close_slots,
};
