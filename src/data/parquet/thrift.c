/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol: as much of it as Parquet's metadata needs. Reading is by
 * pull: the caller asks for the next field and takes or skips it. The first fault
 * sticks: from then on everything returns zero, so that a parser checks once at its end.
 * Lengths are compared with the bytes that are left and nesting is bounded before
 * anything is entered. Writing keeps a stack of field numbers, because numbers are
 * stored as differences.
 */
#include "data/parquet/thrift.h"

#include <assert.h>
#include <string.h>

void thrift_init(struct thrift *t, const void *p, size_t n)
{
    *t = (struct thrift){.start = p, .p = p, .end = (const uint8_t *)p + n};
}

static void pq_thrift_fail(struct thrift *t, const char *why)
{
    if (!t->failed)
        t->failed = why;
}

enum rc thrift_check(const struct thrift *t, uint64_t base, struct err *err)
{
    if (!t->failed)
        return RC_OK;
    return err_coded(err, RC_FORMAT, E1004, "%s at byte %ju", t->failed,
                     (uintmax_t)(base + (uint64_t)(t->p - t->start)));
}

static uint8_t byte(struct thrift *t)
{
    if (t->failed)
        return 0;
    if (t->p == t->end) {
        pq_thrift_fail(t, "metadata ends too early");
        return 0;
    }
    return *t->p++;
}

static uint64_t pq_thrift_varint(struct thrift *t)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b = byte(t);
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return t->failed ? 0 : v;
    }
    pq_thrift_fail(t, "metadata holds a number of more than 64 bits");
    return 0;
}

static int64_t zigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

struct thrift_struct thrift_struct_begin(struct thrift *t)
{
    return (struct thrift_struct){0};
}

int thrift_field(struct thrift *t, struct thrift_struct *s)
{
    uint8_t b = byte(t);
    if (t->failed || (b & 0xf) == THRIFT_STOP)
        return 0;
    s->type = (enum thrift_type)(b & 0xf);
    int64_t id = s->last_id + (b >> 4);
    if (!(b >> 4))
        id = zigzag(pq_thrift_varint(t));
    if (id < 1 || id > INT16_MAX)
        pq_thrift_fail(t, "metadata holds a field id out of range");
    if (t->failed)
        return 0;
    s->last_id = (int32_t)id;
    return (int)id;
}

bool thrift_bool(struct thrift *t, const struct thrift_struct *s)
{
    if (s->type != THRIFT_TRUE && s->type != THRIFT_FALSE)
        pq_thrift_fail(t, "metadata holds another type where a bool belongs");
    return s->type == THRIFT_TRUE;
}

int64_t thrift_i64(struct thrift *t, const struct thrift_struct *s)
{
    if (s->type == THRIFT_I8)
        return (int8_t)byte(t);
    if (s->type != THRIFT_I16 && s->type != THRIFT_I32 && s->type != THRIFT_I64) {
        pq_thrift_fail(t, "metadata holds another type where an integer belongs");
        return 0;
    }
    return zigzag(pq_thrift_varint(t));
}

int32_t thrift_i32(struct thrift *t, const struct thrift_struct *s)
{
    int64_t v = thrift_i64(t, s);
    if (v < INT32_MIN || v > INT32_MAX) {
        pq_thrift_fail(t, "metadata holds a number of more than 32 bits");
        return 0;
    }
    return (int32_t)v;
}

struct str thrift_item_binary(struct thrift *t)
{
    uint64_t n = pq_thrift_varint(t);
    if (t->failed || n > (uint64_t)(t->end - t->p)) {
        pq_thrift_fail(t, "metadata holds a text that runs past its end");
        return str_of("", 0);
    }
    const char *p = (const char *)t->p;
    t->p += n;
    return str_of(p, n);
}

struct str thrift_binary(struct thrift *t, const struct thrift_struct *s)
{
    if (s->type != THRIFT_BINARY) {
        pq_thrift_fail(t, "metadata holds another type where a text belongs");
        return str_of("", 0);
    }
    return thrift_item_binary(t);
}

static size_t list_head(struct thrift *t, enum thrift_type *type)
{
    uint8_t b = byte(t);
    uint64_t n = b >> 4;
    *type = (enum thrift_type)(b & 0xf);
    if (n == 15)
        n = pq_thrift_varint(t);
    if (n > (uint64_t)(t->end - t->p))
        pq_thrift_fail(t, "metadata holds a list that runs past its end");
    return t->failed ? 0 : n;
}

size_t thrift_list(struct thrift *t, const struct thrift_struct *s, enum thrift_type want)
{
    enum thrift_type type;
    if (s->type != THRIFT_LIST && s->type != THRIFT_SET) {
        pq_thrift_fail(t, "metadata holds another type where a list belongs");
        return 0;
    }
    size_t n = list_head(t, &type);
    bool same = type == want || (want == THRIFT_TRUE && type == THRIFT_FALSE);
    if (n && !same)
        pq_thrift_fail(t, "metadata holds a list of another type than it should");
    return t->failed ? 0 : n;
}

int64_t thrift_item_i64(struct thrift *t)
{
    return zigzag(pq_thrift_varint(t));
}

bool thrift_item_bool(struct thrift *t)
{
    return byte(t) == THRIFT_TRUE;
}

struct thrift_struct thrift_enter(struct thrift *t, const struct thrift_struct *s)
{
    if (s->type != THRIFT_STRUCT)
        pq_thrift_fail(t, "metadata holds another type where a struct belongs");
    return thrift_struct_begin(t);
}

static void skip_bytes(struct thrift *t, uint64_t n)
{
    if (t->failed || n > (uint64_t)(t->end - t->p))
        pq_thrift_fail(t, "metadata ends too early");
    else
        t->p += n;
}

static void skip_struct(struct thrift *t)
{
    struct thrift_struct s = thrift_struct_begin(t);
    while (thrift_field(t, &s) > 0)
        thrift_skip(t, s.type);
}

/* Of a bool in a list; as a field, its value is in the type. */
static void skip_item(struct thrift *t, enum thrift_type type)
{
    if (type == THRIFT_TRUE || type == THRIFT_FALSE)
        skip_bytes(t, 1);
    else
        thrift_skip(t, type);
}

static void skip_list(struct thrift *t)
{
    enum thrift_type type;
    size_t n = list_head(t, &type);
    for (size_t i = 0; i < n && !t->failed; i++)
        skip_item(t, type);
}

static void skip_map(struct thrift *t)
{
    uint64_t n = pq_thrift_varint(t);
    if (!n || t->failed)
        return;
    uint8_t types = byte(t);
    if (n > (uint64_t)(t->end - t->p))
        pq_thrift_fail(t, "metadata holds a map that runs past its end");
    for (uint64_t i = 0; i < n && !t->failed; i++) {
        skip_item(t, (enum thrift_type)(types >> 4));
        skip_item(t, (enum thrift_type)(types & 0xf));
    }
}

void thrift_skip(struct thrift *t, enum thrift_type type)
{
    if (t->depth >= THRIFT_DEPTH_MAX) {
        pq_thrift_fail(t, "metadata is nested too deeply");
        return;
    }
    t->depth++;
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        break;
    case THRIFT_I8:
        skip_bytes(t, 1);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        pq_thrift_varint(t);
        break;
    case THRIFT_DOUBLE:
        skip_bytes(t, 8);
        break;
    case THRIFT_UUID:
        skip_bytes(t, 16);
        break;
    case THRIFT_BINARY:
        thrift_item_binary(t);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        skip_list(t);
        break;
    case THRIFT_MAP:
        skip_map(t);
        break;
    case THRIFT_STRUCT:
        skip_struct(t);
        break;
    default:
        pq_thrift_fail(t, "metadata holds a value of unknown type");
    }
    t->depth--;
}

void thrift_out_init(struct thrift_out *o, struct buf *buf)
{
    *o = (struct thrift_out){.buf = buf};
}

static void put_varint(struct thrift_out *o, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_putc(o->buf, (char)(v | 0x80));
    buf_putc(o->buf, (char)v);
}

static void put_zigzag(struct thrift_out *o, int64_t v)
{
    put_varint(o, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_head(struct thrift_out *o, int id, enum thrift_type type)
{
    int32_t delta = id - o->last_id[o->depth];
    if (delta > 0 && delta <= 15) {
        buf_putc(o->buf, (char)(delta << 4 | (int)type));
    } else {
        buf_putc(o->buf, (char)type);
        put_zigzag(o, id);
    }
    o->last_id[o->depth] = id;
}

void thrift_put_bool(struct thrift_out *o, int id, bool v)
{
    put_head(o, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_i8(struct thrift_out *o, int id, int8_t v)
{
    put_head(o, id, THRIFT_I8);
    buf_putc(o->buf, (char)v);
}

void thrift_put_i32(struct thrift_out *o, int id, int32_t v)
{
    put_head(o, id, THRIFT_I32);
    put_zigzag(o, v);
}

void thrift_put_i64(struct thrift_out *o, int id, int64_t v)
{
    put_head(o, id, THRIFT_I64);
    put_zigzag(o, v);
}

void thrift_put_item_binary(struct thrift_out *o, struct str s)
{
    put_varint(o, s.n);
    buf_add(o->buf, s.p, s.n);
}

void thrift_put_binary(struct thrift_out *o, int id, struct str s)
{
    put_head(o, id, THRIFT_BINARY);
    thrift_put_item_binary(o, s);
}

void thrift_put_list(struct thrift_out *o, int id, enum thrift_type of, size_t n)
{
    put_head(o, id, THRIFT_LIST);
    buf_putc(o->buf, (char)((n < 15 ? n : 15) << 4 | of));
    if (n >= 15)
        put_varint(o, n);
}

void thrift_put_item_i64(struct thrift_out *o, int64_t v)
{
    put_zigzag(o, v);
}

void thrift_put_item_bool(struct thrift_out *o, bool v)
{
    buf_putc(o->buf, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_struct(struct thrift_out *o, int id)
{
    if (id)
        put_head(o, id, THRIFT_STRUCT);
    assert(o->depth + 1 < THRIFT_DEPTH_MAX);
    o->last_id[++o->depth] = 0;
}

void thrift_put_end(struct thrift_out *o)
{
    buf_putc(o->buf, THRIFT_STOP);
    o->depth--;
}
