/* SPDX-License-Identifier: Apache-2.0 */
/* Field numbers are those of parquet.thrift. Lists grow as their elements are read, so
 * that a count in a broken file costs nothing.
 */
#include "data/parquet/meta.h"

#include <string.h>

#include "base/mem.h"
#include "data/parquet/thrift.h"

static const char *const physical_names[PQ_PHYSICAL_COUNT] = {
    "BOOLEAN", "INT32",  "INT64",      "INT96",
    "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};

static const char *const encoding_names[] = {
    [PQ_PLAIN] = "PLAIN",
    [PQ_PLAIN_DICTIONARY] = "PLAIN_DICTIONARY",
    [PQ_RLE] = "RLE",
    [PQ_BIT_PACKED] = "BIT_PACKED",
    [PQ_DELTA_BINARY_PACKED] = "DELTA_BINARY_PACKED",
    [PQ_DELTA_LENGTH_BYTE_ARRAY] = "DELTA_LENGTH_BYTE_ARRAY",
    [PQ_DELTA_BYTE_ARRAY] = "DELTA_BYTE_ARRAY",
    [PQ_RLE_DICTIONARY] = "RLE_DICTIONARY",
    [PQ_BYTE_STREAM_SPLIT] = "BYTE_STREAM_SPLIT"};

/* By ConvertedType. */
static const enum pq_meaning converted[] = {
    PQ_STRING,       PQ_MAP,       PQ_MAP,      PQ_LIST,     PQ_STRING,
    PQ_DECIMAL,      PQ_DATE,      PQ_TIME_MS,  PQ_TIME_US,  PQ_TIMESTAMP_MS,
    PQ_TIMESTAMP_US, PQ_UNSIGNED,  PQ_UNSIGNED, PQ_UNSIGNED, PQ_UNSIGNED,
    PQ_SIGNED,       PQ_SIGNED,    PQ_SIGNED,   PQ_SIGNED,   PQ_STRING,
    PQ_NO_MEANING,   PQ_NO_MEANING};

const char *pq_physical_name(int32_t physical)
{
    return physical >= 0 && physical < PQ_PHYSICAL_COUNT ? physical_names[physical] : "?";
}

const char *pq_encoding_name(int32_t encoding)
{
    if (encoding < 0 || encoding >= (int32_t)ARRAY_LEN(encoding_names) ||
        !encoding_names[encoding])
        return "unknown encoding";
    return encoding_names[encoding];
}

static int64_t parse_unit(struct thrift *t, const struct thrift_struct *outer)
{
    struct thrift_struct s = thrift_enter(t, outer);
    int unit = 0;
    for (int id; (id = thrift_field(t, &s)) > 0;) {
        unit = id;
        thrift_skip(t, s.type);
    }
    return unit;
}

/* TimeType and TimestampType. */
static void parse_time(struct thrift *t, const struct thrift_struct *outer,
                       enum pq_meaning ms, struct pq_element *e)
{
    struct thrift_struct s = thrift_enter(t, outer);
    int64_t unit = 0;
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            e->utc = thrift_bool(t, &s);
            break;
        case 2:
            unit = parse_unit(t, &s);
            break;
        default:
            thrift_skip(t, s.type);
        }
    e->meaning = PQ_NO_MEANING;
    if (unit >= 1 && unit <= 3)
        e->meaning = (enum pq_meaning)((int64_t)ms + unit - 1);
}

static void parse_integer(struct thrift *t, const struct thrift_struct *outer,
                          struct pq_element *e)
{
    struct thrift_struct s = thrift_enter(t, outer);
    bool is_signed = true;
    for (int id; (id = thrift_field(t, &s)) > 0;)
        if (id == 2)
            is_signed = thrift_bool(t, &s);
        else
            thrift_skip(t, s.type);
    e->meaning = is_signed ? PQ_SIGNED : PQ_UNSIGNED;
}

static void parse_decimal(struct thrift *t, const struct thrift_struct *outer,
                          struct pq_element *e)
{
    struct thrift_struct s = thrift_enter(t, outer);
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            e->scale = thrift_i32(t, &s);
            break;
        case 2:
            e->precision = thrift_i32(t, &s);
            break;
        default:
            thrift_skip(t, s.type);
        }
    e->meaning = PQ_DECIMAL;
}

/* A logical type wins over a converted one; one that we do not know changes nothing. */
static void parse_logical(struct thrift *t, const struct thrift_struct *outer,
                          struct pq_element *e)
{
    static const enum pq_meaning plain[] = {
        [1] = PQ_STRING,  [2] = PQ_MAP,   [3] = PQ_LIST,
        [4] = PQ_STRING,  [6] = PQ_DATE,  [11] = PQ_UNKNOWN,
        [12] = PQ_STRING, [14] = PQ_UUID, [15] = PQ_FLOAT16};
    struct thrift_struct s = thrift_enter(t, outer);
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 5:
            parse_decimal(t, &s, e);
            break;
        case 7:
            parse_time(t, &s, PQ_TIME_MS, e);
            break;
        case 8:
            parse_time(t, &s, PQ_TIMESTAMP_MS, e);
            break;
        case 10:
            parse_integer(t, &s, e);
            break;
        default:
            if (id < (int)ARRAY_LEN(plain) && plain[id])
                e->meaning = plain[id];
            thrift_skip(t, s.type);
        }
}

static const char *copy_text(struct arena *mem, struct str s, enum rc *rc)
{
    char *p = arena_try_alloc(mem, s.n + 1, 1);
    if (!p) {
        *rc = RC_NOMEM;
        return "";
    }
    memcpy(p, s.p, s.n);
    return p;
}

static void parse_element(struct thrift *t, struct arena *mem, struct pq_element *e,
                          enum rc *rc)
{
    struct thrift_struct s = thrift_struct_begin(t);
    int64_t physical = -1, convert = -1;
    *e = (struct pq_element){.name = "", .is_group = true, .utc = true};
    int64_t repetition = PQ_REQUIRED;
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            physical = thrift_i32(t, &s);
            e->is_group = false;
            break;
        case 2:
            e->type_length = thrift_i32(t, &s);
            break;
        case 3:
            repetition = thrift_i32(t, &s);
            break;
        case 4:
            e->name = copy_text(mem, thrift_binary(t, &s), rc);
            break;
        case 5:
            e->n_children = thrift_i32(t, &s);
            break;
        case 6:
            convert = thrift_i32(t, &s);
            if (convert >= 0 && convert < (int64_t)ARRAY_LEN(converted))
                e->meaning = converted[convert];
            break;
        case 7:
            e->scale = thrift_i32(t, &s);
            break;
        case 8:
            e->precision = thrift_i32(t, &s);
            break;
        case 10:
            parse_logical(t, &s, e);
            break;
        default:
            thrift_skip(t, s.type);
        }
    if (!e->is_group && (physical < 0 || physical >= PQ_PHYSICAL_COUNT))
        t->failed = t->failed ? t->failed : "a schema element has an unknown type";
    if (repetition < PQ_REQUIRED || repetition > PQ_REPEATED)
        t->failed = t->failed ? t->failed : "a schema element has an unknown repetition";
    e->physical = e->is_group ? PQ_BOOLEAN : (enum pq_physical)physical;
    e->repetition = (enum pq_repetition)repetition;
}

static enum rc parse_schema(struct thrift *t, struct thrift_struct *s,
                            struct pq_file_meta *m)
{
    size_t n = thrift_list(t, s, THRIFT_STRUCT), cap = 0;
    enum rc rc = RC_OK;
    m->n_elements = m->n_leaves = 0;
    for (size_t i = 0; !rc && i < n && !t->failed; i++) {
        if (i == cap) {
            cap = cap ? 2 * cap : 16;
            void *p = mem_try_realloc(m->elements, cap, sizeof(*m->elements));
            if (!p)
                return RC_NOMEM;
            m->elements = p;
        }
        parse_element(t, &m->mem, &m->elements[i], &rc);
        m->n_elements++;
        m->n_leaves += !m->elements[i].is_group;
    }
    return rc;
}

static void parse_column_meta(struct thrift *t, const struct thrift_struct *outer,
                              struct pq_chunk *c)
{
    struct thrift_struct s = thrift_enter(t, outer);
    c->has_meta = true;
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            c->physical = thrift_i32(t, &s);
            break;
        case 4:
            c->codec = thrift_i32(t, &s);
            break;
        case 5:
            c->n_values = thrift_i64(t, &s);
            break;
        case 7:
            c->compressed = thrift_i64(t, &s);
            break;
        case 9:
            c->data_at = thrift_i64(t, &s);
            break;
        case 11:
            c->dict_at = thrift_i64(t, &s);
            break;
        default:
            thrift_skip(t, s.type);
        }
}

static void parse_chunk(struct thrift *t, struct pq_chunk *c)
{
    struct thrift_struct s = thrift_struct_begin(t);
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            c->is_elsewhere = thrift_binary(t, &s).n > 0;
            break;
        case 3:
            parse_column_meta(t, &s, c);
            break;
        case 4:
            c->index_at = thrift_i64(t, &s);
            break;
        case 5:
            c->index_size = thrift_i32(t, &s);
            break;
        case 8:
            c->is_encrypted = true;
            thrift_skip(t, s.type);
            break;
        default:
            thrift_skip(t, s.type);
        }
}

static enum rc parse_group(struct thrift *t, struct pq_file_meta *m,
                           struct pq_row_group *g, struct err *err)
{
    struct thrift_struct s = thrift_struct_begin(t);
    *g = (struct pq_row_group){.n_rows = -1};
    for (int id; (id = thrift_field(t, &s)) > 0;)
        if (id == 1) {
            size_t n = thrift_list(t, &s, THRIFT_STRUCT);
            if (t->failed)
                break;
            if (n != m->n_leaves)
                return err_coded(err, RC_FORMAT, E1004,
                                 "row group %zu has %zu columns, the schema has %zu",
                                 m->n_groups, n, m->n_leaves);
            g->chunks = arena_try_alloc(&m->mem, n, sizeof(*g->chunks));
            if (!g->chunks)
                return err_set(err, RC_NOMEM, "out of memory for %zu columns", n);
            for (size_t i = 0; i < n; i++)
                parse_chunk(t, &g->chunks[i]);
        } else if (id == 3) {
            g->n_rows = thrift_i64(t, &s);
        } else {
            thrift_skip(t, s.type);
        }
    if (t->failed)
        return RC_OK; /* the caller asks */
    if (g->n_rows < 0 || (!g->chunks && m->n_leaves))
        return err_coded(err, RC_FORMAT, E1004, "row group %zu has no columns or rows",
                         m->n_groups);
    return RC_OK;
}

static enum rc parse_groups(struct thrift *t, struct thrift_struct *s,
                            struct pq_file_meta *m, struct err *err)
{
    size_t n = thrift_list(t, s, THRIFT_STRUCT), cap = m->n_groups;
    for (size_t i = 0; i < n && !t->failed; i++) {
        if (m->n_groups == cap) {
            cap = cap ? 2 * cap : 8;
            void *p = mem_try_realloc(m->groups, cap, sizeof(*m->groups));
            if (!p)
                return err_set(err, RC_NOMEM, "out of memory for %zu row groups", n);
            m->groups = p;
        }
        struct pq_row_group *g = &m->groups[m->n_groups];
        enum rc rc = parse_group(t, m, g, err);
        if (rc)
            return rc;
        if (t->failed)
            return RC_OK; /* the caller asks */
        g->first_row = m->n_rows;
        if (g->n_rows > INT64_MAX - m->n_rows)
            return err_coded(err, RC_FORMAT, E1004, "row groups hold too many rows");
        m->n_rows += g->n_rows;
        m->n_groups++;
    }
    return RC_OK;
}

enum rc pq_file_meta_parse(struct pq_file_meta *m, const void *p, size_t n, uint64_t base,
                           struct err *err)
{
    struct thrift t;
    thrift_init(&t, p, n);
    *m = (struct pq_file_meta){.created_by = ""};
    struct thrift_struct s = thrift_struct_begin(&t);
    enum rc rc = RC_OK;
    for (int id; !rc && (id = thrift_field(&t, &s)) > 0;)
        switch (id) {
        case 1:
            m->version = thrift_i32(&t, &s);
            break;
        case 2:
            rc = m->elements || m->n_groups ? RC_FORMAT : parse_schema(&t, &s, m);
            if (rc == RC_NOMEM)
                err_set(err, rc, "out of memory for the schema");
            if (rc == RC_FORMAT)
                err_coded(err, rc, E1004, "metadata holds two schemas");
            break;
        case 4:
            rc = parse_groups(&t, &s, m, err);
            break;
        case 6:
            m->created_by = copy_text(&m->mem, thrift_binary(&t, &s), &rc);
            if (rc)
                err_set(err, rc, "out of memory for metadata");
            break;
        case 8:
            rc = err_coded(err, RC_UNSUPPORTED, E1008, "the file is encrypted");
            break;
        default:
            thrift_skip(&t, s.type);
        }
    if (!rc)
        rc = thrift_check(&t, base, err);
    if (!rc && !m->n_elements)
        rc = err_coded(err, RC_FORMAT, E1004, "metadata holds no schema");
    return rc;
}

void pq_file_meta_release(struct pq_file_meta *m)
{
    mem_free(m->elements);
    mem_free(m->groups);
    arena_release(&m->mem);
    *m = (struct pq_file_meta){0};
}

static void parse_data_v1(struct thrift *t, const struct thrift_struct *outer,
                          struct pq_page *h)
{
    struct thrift_struct s = thrift_enter(t, outer);
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            h->n_values = thrift_i32(t, &s);
            break;
        case 2:
            h->encoding = thrift_i32(t, &s);
            break;
        case 3:
            h->def_encoding = thrift_i32(t, &s);
            break;
        case 4:
            h->rep_encoding = thrift_i32(t, &s);
            break;
        default:
            thrift_skip(t, s.type);
        }
}

static void parse_dictionary(struct thrift *t, const struct thrift_struct *outer,
                             struct pq_page *h)
{
    struct thrift_struct s = thrift_enter(t, outer);
    for (int id; (id = thrift_field(t, &s)) > 0;)
        if (id == 1)
            h->n_values = thrift_i32(t, &s);
        else if (id == 2)
            h->encoding = thrift_i32(t, &s);
        else
            thrift_skip(t, s.type);
}

static void parse_data_v2(struct thrift *t, const struct thrift_struct *outer,
                          struct pq_page *h)
{
    struct thrift_struct s = thrift_enter(t, outer);
    h->def_encoding = h->rep_encoding = PQ_RLE;
    for (int id; (id = thrift_field(t, &s)) > 0;)
        switch (id) {
        case 1:
            h->n_values = thrift_i32(t, &s);
            break;
        case 2:
            h->n_nulls = thrift_i32(t, &s);
            break;
        case 3:
            h->n_rows = thrift_i32(t, &s);
            break;
        case 4:
            h->encoding = thrift_i32(t, &s);
            break;
        case 5:
            h->def_bytes = thrift_i32(t, &s);
            break;
        case 6:
            h->rep_bytes = thrift_i32(t, &s);
            break;
        case 7:
            h->is_compressed = thrift_bool(t, &s);
            break;
        default:
            thrift_skip(t, s.type);
        }
}

static enum rc check_page(const struct pq_page *h, bool body, uint64_t base,
                          struct err *err)
{
    bool data = h->type != PQ_INDEX_PAGE;
    if (h->size < 0 || h->compressed < 0)
        return err_coded(err, RC_FORMAT, E1005,
                         "the page header at byte %ju has no sizes", (uintmax_t)base);
    if (data && (!body || h->n_values < 0))
        return err_coded(err, RC_FORMAT, E1005,
                         "the page header at byte %ju does not say how many values",
                         (uintmax_t)base);
    if (h->type == PQ_DATA_PAGE_V2 &&
        (h->def_bytes < 0 || h->rep_bytes < 0 || h->n_rows < 0 || h->n_nulls < 0 ||
         h->n_nulls > h->n_values || h->rep_bytes > h->compressed ||
         h->def_bytes > h->compressed - h->rep_bytes || h->rep_bytes > h->size ||
         h->def_bytes > h->size - h->rep_bytes))
        return err_coded(err, RC_FORMAT, E1005,
                         "the page header at byte %ju has levels larger than the page",
                         (uintmax_t)base);
    return RC_OK;
}

enum rc pq_page_parse(struct pq_page *h, const void *p, size_t n, uint64_t base,
                      size_t *used, bool *truncated, struct err *err)
{
    struct thrift t;
    int64_t type = -1;
    bool body = false;
    thrift_init(&t, p, n);
    struct thrift_struct s = thrift_struct_begin(&t);
    *h = (struct pq_page){
        .size = -1, .compressed = -1, .n_values = -1, .is_compressed = true};
    for (int id; (id = thrift_field(&t, &s)) > 0;) {
        body |= id == 5 || id == 7 || id == 8;
        switch (id) {
        case 1:
            type = thrift_i32(&t, &s);
            break;
        case 2:
            h->size = thrift_i32(&t, &s);
            break;
        case 3:
            h->compressed = thrift_i32(&t, &s);
            break;
        case 4:
            h->crc = (uint32_t)thrift_i32(&t, &s);
            h->has_crc = true;
            break;
        case 5:
            parse_data_v1(&t, &s, h);
            break;
        case 7:
            parse_dictionary(&t, &s, h);
            break;
        case 8:
            parse_data_v2(&t, &s, h);
            break;
        default:
            thrift_skip(&t, s.type);
        }
    }
    *truncated = t.failed && t.p == t.end;
    *used = (size_t)(t.p - t.start);
    enum rc rc = thrift_check(&t, base, err);
    if (rc)
        return rc;
    if (type < PQ_DATA_PAGE || type > PQ_DATA_PAGE_V2)
        return err_coded(err, RC_FORMAT, E1005,
                         "the page header at byte %ju has the unknown type %jd",
                         (uintmax_t)base, (intmax_t)type);
    h->type = (enum pq_page_type)type;
    return check_page(h, body, base, err);
}

static struct pq_location parse_location(struct thrift *t)
{
    struct thrift_struct s = thrift_struct_begin(t);
    struct pq_location l = {.at = -1, .first_row = -1};
    for (int id; (id = thrift_field(t, &s)) > 0;)
        if (id == 1)
            l.at = thrift_i64(t, &s);
        else if (id == 3)
            l.first_row = thrift_i64(t, &s);
        else
            thrift_skip(t, s.type);
    return l;
}

enum rc pq_offset_index_parse(const void *p, size_t n, uint64_t base,
                              struct pq_location **out, size_t *n_out, struct err *err)
{
    struct thrift t;
    struct pq_location *at = NULL;
    size_t count = 0;
    thrift_init(&t, p, n);
    struct thrift_struct s = thrift_struct_begin(&t);
    for (int id; (id = thrift_field(&t, &s)) > 0;) {
        if (id != 1 || at) {
            thrift_skip(&t, s.type);
            continue;
        }
        count = thrift_list(&t, &s, THRIFT_STRUCT);
        at = mem_try_alloc(count, sizeof(*at));
        if (!at)
            return err_set(err, RC_NOMEM, "out of memory for %zu page locations", count);
        for (size_t i = 0; i < count; i++)
            at[i] = parse_location(&t);
    }
    enum rc rc = thrift_check(&t, base, err);
    for (size_t i = 0; !rc && i < count; i++)
        if (at[i].at < 0 || at[i].first_row < 0 ||
            (i ? at[i].first_row < at[i - 1].first_row || at[i].at <= at[i - 1].at
               : at[i].first_row != 0))
            rc = err_coded(err, RC_FORMAT, E1004,
                           "the offset index at byte %ju is not in order at page %zu",
                           (uintmax_t)base, i);
    if (rc) {
        mem_free(at);
        return rc;
    }
    *out = at;
    *n_out = count;
    return RC_OK;
}
