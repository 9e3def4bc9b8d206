/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of MaxCompute behind the common table. Rows are fetched some thousands at a
 * time, so many that an answer has about CHUNK_BYTES; the next ones come while these are
 * decoded.
 */
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "data/odps/odps.h"
#include "data/odps/wire.h"
#include "data/reader.h"

#define CHUNK_BYTES ((int64_t)8 << 20)
#define CHUNK_MAX ((size_t)512 << 20)
#define FIRST_ROWS 1024
#define ROWS_MAX 1000000

/* Rows [from, from + n) in wire form. */
struct chunk {
    int64_t from, n;
    struct buf bytes;
    enum rc rc;
    struct err err;
};

struct odps_reader {
    struct odps_path path;
    struct odps *client;
    struct odps_session session;
    struct data_schema schema;
    char *columns;           /* names that are asked for, or NULL for all */
    struct odps_type *types; /* [n_wire] */
    size_t n_wire;
    size_t *wire_at;      /* [schema.n]: number on the wire, or n_wire: a key */
    char **keys;          /* [schema.n]: value of a key, or NULL */
    struct column **cols; /* [n_wire], of the batch being filled */
    int64_t row;          /* the next one */
    int64_t per_chunk;
    struct chunk now, next;
    struct odps_wire wire; /* of `now` */
    int64_t wire_row;      /* the next one in it; -1: nothing is there */
    bool fetching;         /* `next` is on its way */
    pthread_t fetcher;
};

static int reader_odps_probe(const unsigned char *head, size_t n, const char *path)
{
    return 0; /* by its scheme, never by bytes */
}

static void *fetch(void *arg)
{
    struct odps_reader *r = arg;
    r->next.rc = odps_rows(r->client, &r->path, r->session.id, r->columns, r->next.from,
                           r->next.n, &r->next.bytes, &r->next.err);
    return NULL;
}

static void wait_next(struct odps_reader *r)
{
    if (r->fetching)
        pthread_join(r->fetcher, NULL);
    r->fetching = false;
}

static void close_odps(void *state)
{
    struct odps_reader *r = state;
    if (!r)
        return;
    wait_next(r);
    buf_release(&r->now.bytes);
    buf_release(&r->next.bytes);
    for (size_t i = 0; r->keys && i < r->schema.n; i++)
        mem_free(r->keys[i]);
    mem_free(r->keys);
    mem_free(r->columns);
    mem_free(r->types);
    mem_free(r->wire_at);
    mem_free(r->cols);
    data_schema_release(&r->schema);
    odps_session_release(&r->session);
    odps_close(r->client);
    odps_path_release(&r->path);
    mem_free(r);
}

static bool is_wanted(const struct reader_conf *conf, const char *name)
{
    for (size_t i = 0; conf->want && i < conf->n_want; i++)
        if (strcasecmp(conf->want[i], name) == 0)
            return true;
    return !conf->want;
}

static enum rc check_wanted(const struct odps_reader *r, const struct reader_conf *conf,
                            struct err *err)
{
    for (size_t i = 0; conf->want && i < conf->n_want; i++) {
        bool found = false;
        const char **names = mem_calloc(r->session.n, sizeof(*names));
        for (size_t k = 0; k < r->session.n; k++) {
            names[k] = r->session.columns[k].name;
            found |= strcasecmp(names[k], conf->want[i]) == 0;
        }
        const char *near =
            found ? NULL : str_nearest(str_c(conf->want[i]), names, r->session.n);
        mem_free(names);
        if (!found)
            return err_coded(err, RC_INVAL, E1011, "'%s': no column '%.100s'%s%s%s",
                             r->path.url, conf->want[i], near ? "; did you mean '" : "",
                             near ? near : "", near ? "'?" : "");
    }
    return RC_OK;
}

/* The value that the path gives to a key; NULL when it gives none. */
static char *key_value(const char *partition, const char *name)
{
    struct str rest = str_c(partition ? partition : ""), part;
    size_t n = strlen(name);
    while (rest.n && str_split(&rest, ',', &part))
        if (part.n > n && part.p[n] == '=' && strncasecmp(part.p, name, n) == 0)
            return mem_strndup(part.p + n + 1, part.n - n - 1);
    return NULL;
}

static void choose_columns(struct odps_reader *r, const struct reader_conf *conf)
{
    const struct odps_session *s = &r->session;
    struct buf names;
    buf_init(&names, (size_t)1 << 20);
    r->types = mem_calloc(s->n, sizeof(*r->types));
    r->wire_at = mem_calloc(s->n, sizeof(*r->wire_at));
    r->keys = mem_calloc(s->n, sizeof(*r->keys));
    r->cols = mem_calloc(s->n, sizeof(struct column *));
    for (size_t i = 0; i < s->n; i++) {
        const struct odps_column *c = &s->columns[i];
        if (!is_wanted(conf, c->name))
            continue;
        struct type t = odps_type_ours(&c->type, &r->schema.mem);
        data_schema_add(&r->schema, str_c(c->name), &t);
        size_t at = r->schema.n - 1;
        r->wire_at[at] = SIZE_MAX;
        if (c->is_key) {
            r->keys[at] = key_value(r->path.partition, c->name);
            continue;
        }
        buf_printf(&names, "%s%s", names.n ? "," : "", c->name);
        r->wire_at[at] = r->n_wire;
        r->types[r->n_wire++] = c->type;
    }
    /* Only keys are wanted: some column must come, to tell the rows. */
    if (!r->n_wire) {
        buf_puts(&names, s->columns[0].name);
        r->types[r->n_wire++] = s->columns[0].type;
    }
    r->columns = conf->want ? buf_take(&names) : NULL;
    buf_release(&names);
}

static enum rc open_odps(const char *path, const struct reader_conf *conf, void **state,
                         struct err *err)
{
    struct odps_reader *r = mem_calloc(1, sizeof(*r));
    r->wire_row = -1;
    r->per_chunk = FIRST_ROWS;
    buf_init(&r->now.bytes, CHUNK_MAX);
    buf_init(&r->next.bytes, CHUNK_MAX);
    enum rc rc = odps_path_parse(path, &r->path, err);
    if (!rc)
        rc = odps_open(
            &(struct odps_conf){.quota = conf->quota, .compression = conf->compression},
            &r->client, err);
    if (!rc)
        rc = odps_download(r->client, &r->path, &r->session, err);
    if (!rc)
        rc = check_wanted(r, conf, err);
    if (rc) {
        close_odps(r);
        return rc;
    }
    choose_columns(r, conf);
    *state = r;
    return RC_OK;
}

static const struct data_schema *schema_of(const void *state)
{
    return &((const struct odps_reader *)state)->schema;
}

static int64_t rows_of(const void *state)
{
    return ((const struct odps_reader *)state)->session.rows;
}

static int64_t chunk_rows(const struct odps_reader *r, int64_t from)
{
    int64_t left = r->session.rows - from;
    return r->per_chunk < left ? r->per_chunk : left;
}

/* So many rows that the next answer is of the usual size. */
static void adapt(struct odps_reader *r)
{
    int64_t per_row = (int64_t)r->now.bytes.n / (r->now.n ? r->now.n : 1) + 1;
    int64_t n = CHUNK_BYTES / per_row;
    if (n > 4 * r->per_chunk)
        n = 4 * r->per_chunk;
    r->per_chunk = n < 1 ? 1 : n > ROWS_MAX ? ROWS_MAX : n;
}

static void start_next(struct odps_reader *r)
{
    int64_t from = r->now.from + r->now.n;
    if (r->fetching || from >= r->session.rows || r->next.n > 0)
        return;
    r->next.from = from;
    r->next.n = chunk_rows(r, from);
    r->next.err = (struct err){0};
    r->fetching = pthread_create(&r->fetcher, NULL, fetch, r) == 0;
    if (!r->fetching)
        r->next.n = 0; /* fetched when it is needed */
}

/* Fetches the rows from r->row on, fewer when they are too large together. */
static enum rc fetch_now(struct odps_reader *r, struct err *err)
{
    for (;;) {
        r->now.from = r->row;
        r->now.n = chunk_rows(r, r->row);
        enum rc rc = odps_rows(r->client, &r->path, r->session.id, r->columns,
                               r->now.from, r->now.n, &r->now.bytes, err);
        if (!rc || err_code_of(err, rc) != E1090 || r->per_chunk == 1)
            return rc;
        r->per_chunk = r->per_chunk > 4 ? r->per_chunk / 4 : 1;
    }
}

/* The chunk with r->row, from its first row on. */
static enum rc reader_odps_load(struct odps_reader *r, struct err *err)
{
    enum rc rc = RC_OK;
    wait_next(r);
    if (r->next.n && r->next.from == r->row && r->next.rc == RC_OK) {
        struct chunk swap = r->now;
        r->now = r->next;
        r->next = swap;
    } else {
        rc = fetch_now(r, err);
    }
    r->next.n = 0;
    if (rc)
        return rc;
    adapt(r);
    odps_wire_init(&r->wire, buf_str(&r->now.bytes), r->now.bytes.n);
    r->wire_row = r->now.from;
    return RC_OK;
}

static enum rc add_key(struct column *c, const char *value, struct err *err)
{
    int64_t n;
    if (!value)
        return column_add_null(c, err);
    if (c->type->id == TYPE_STR)
        return column_add_str(c, str_c(value), err);
    if (!str_to_i64(str_c(value), &n))
        return column_add_null(c, err);
    return c->type->id == TYPE_I64 ? column_add_i64(c, n, err)
                                   : column_add_i32(c, (int32_t)n, err);
}

static enum rc next_row(struct odps_reader *r, struct batch *b, struct err *err)
{
    enum rc rc = odps_wire_row(&r->wire, r->types, r->cols, r->n_wire, err);
    if (!rc && r->wire.ended)
        rc = err_coded(err, RC_FORMAT, E1707, "%jd rows came where %jd were asked for",
                       (intmax_t)r->wire.rows, (intmax_t)r->now.n);
    for (size_t i = 0; !rc && i < b->n_cols; i++)
        if (r->wire_at[i] == SIZE_MAX)
            rc = add_key(&b->cols[i], r->keys[i], err);
    return rc;
}

/* Behind the last row of a chunk stands the checksum over all. */
static enum rc finish_chunk(struct odps_reader *r, struct err *err)
{
    enum rc rc = odps_wire_row(&r->wire, r->types, r->cols, r->n_wire, err);
    if (!rc && !r->wire.ended)
        rc = err_coded(err, RC_FORMAT, E1707, "more rows came than the %jd asked for",
                       (intmax_t)r->now.n);
    r->wire_row = -1;
    return rc;
}

static enum rc reader_odps_next(void *state, int64_t max, struct batch *b,
                                struct err *err)
{
    struct odps_reader *r = state;
    enum rc rc = RC_OK;
    int64_t n = 0;
    batch_clear(b);
    for (size_t i = 0; i < b->n_cols; i++)
        if (r->wire_at[i] != SIZE_MAX)
            r->cols[r->wire_at[i]] = &b->cols[i];
    while (!rc && n < max && r->row < r->session.rows) {
        if (r->wire_row < 0) {
            rc = reader_odps_load(r, err);
            continue;
        }
        rc = next_row(r, b, err);
        if (rc)
            break;
        r->row++;
        r->wire_row++;
        n++;
        if (r->row == r->now.from + r->now.n / 2 + 1)
            start_next(r);
        if (r->row == r->now.from + r->now.n)
            rc = finish_chunk(r, err);
    }
    if (rc) {
        batch_clear(b);
        r->wire_row = -1;
        enum code code = err_code_of(err, rc);
        if (code == E1708)
            odps_forget(r->path.url); /* whoever opens it anew gets another one */
        return code == E1707 ? err_wrap(err, rc, "'%s'", r->path.url) : rc;
    }
    b->n = n;
    return RC_OK;
}

static void reader_odps_tell(const void *state, struct reader_cursor *at)
{
    *at = (struct reader_cursor){.row = ((const struct odps_reader *)state)->row,
                                 .offset = -1};
}

static enum rc reader_odps_seek(void *state, const struct reader_cursor *at,
                                struct err *err)
{
    struct odps_reader *r = state;
    if (r->row == at->row)
        return RC_OK;
    wait_next(r);
    r->next.n = 0;
    r->row = at->row;
    r->wire_row = -1;
    return RC_OK;
}

const struct reader_ops reader_odps = {
    .name = "odps",
    .title = "MaxCompute",
    .scheme = "odps",
    .expand = odps_expand,
    .suffixes = "",
    .probe = reader_odps_probe,
    .open = open_odps,
    .schema = schema_of,
    .rows = rows_of,
    .next = reader_odps_next,
    .tell = reader_odps_tell,
    .seek = reader_odps_seek,
    .close = close_odps,
};
