/* SPDX-License-Identifier: Apache-2.0 */
/* What a file holds against what is read of it. A slot that the data spells otherwise is
 * filled with padding and trains a model on nothing, without a fault.
 */
#include <string.h>

#include "data/csv/num.h"
#include "data/slots/slots_private.h"

#define NAMES_SHOWN 5
#define LOOK_BYTES ((size_t)4 << 20)

static void add_name(struct buf *out, const char *name, size_t *n)
{
    if (++*n > NAMES_SHOWN + 1)
        return;
    if (*n == NAMES_SHOWN + 1)
        buf_puts(out, ", ...");
    else
        buf_printf(out, "%s%.60s", out->n ? ", " : "", name);
}

static void compare(const struct slots_set *there, const struct slots_set *read,
                    struct slots_look *out)
{
    size_t unknown = 0, missing = 0;
    for (size_t i = 0; i < there->list.n; i++)
        if (slots_set_find(read, str_c(there->list.at[i].name)) < 0)
            add_name(&out->unknown, there->list.at[i].name, &unknown);
    for (size_t i = 0; i < read->list.n; i++)
        if (slots_set_find(there, str_c(read->list.at[i].name)) < 0)
            add_name(&out->missing, read->list.at[i].name, &missing);
}

/* Slots of the first lines; a malformed one is told by whoever reads it. */
static void collect(const char *text, size_t n, int64_t lines, struct slots_set *there,
                    struct slots_look *out)
{
    const struct slots_format *f = slots_format_find(NULL);
    struct str rest = str_of(text, n), line;
    struct slots_fault fault;
    while (out->lines < lines && str_split(&rest, '\n', &line)) {
        if (!rest.p && n == LOOK_BYTES)
            break; /* the last one may be cut short */
        if (str_trim(line).n == 0)
            continue;
        out->lines++;
        (void)slots_line_read(f, line, true, there, &fault);
    }
}

enum rc slots_look(const char *path, const char *columns, int64_t lines,
                   struct slots_look *out, struct err *err)
{
    struct slots_set there = {0}, read = {0};
    struct slots_columns c = {0};
    struct stream *in = NULL;
    size_t n = 0;
    *out = (struct slots_look){0};
    buf_init(&out->unknown, 4096);
    buf_init(&out->missing, 4096);
    enum rc rc = slots_columns_parse(columns, &c, &read, err);
    char *text = rc ? NULL : mem_try_alloc(LOOK_BYTES, 1);
    if (!rc && !text)
        rc = err_set(err, RC_NOMEM, "'%s': no memory to look at it", path);
    if (!rc)
        rc = stream_open(path, 0, &in, err);
    if (!rc)
        rc = stream_read(in, text, LOOK_BYTES, &n, err);
    if (!rc)
        collect(text, n, lines, &there, out);
    if (!rc && out->lines)
        compare(&there, &read, out);
    stream_close(in);
    mem_free(text);
    slots_columns_release(&c);
    slots_set_release(&there);
    slots_set_release(&read);
    return rc;
}

void slots_look_release(struct slots_look *l)
{
    buf_release(&l->unknown);
    buf_release(&l->missing);
}

int slots_probe(const unsigned char *head, size_t n)
{
    const char *end = n ? memchr(head, '\n', n) : NULL;
    size_t length = end ? (size_t)(end - (const char *)head) : n;
    struct str rest = str_trim(str_of((const char *)head, length)), token;
    size_t tokens = 0;
    while (rest.n && str_split(&rest, ' ', &token)) {
        const char *colon = token.n ? memchr(token.p, ':', token.n) : NULL;
        double number;
        if (!end && !rest.p)
            break; /* cut short */
        if (!colon || colon == token.p)
            return 0;
        struct str value = str_of(colon + 1, token.n - (size_t)(colon + 1 - token.p));
        if (num_f64(value.p, value.n, &number) != NUM_OK)
            return 0;
        tokens++;
    }
    return tokens >= 3 ? 92 : 0;
}
