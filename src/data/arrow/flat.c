/* SPDX-License-Identifier: Apache-2.0 */
#include "data/arrow/flat.h"

#include <string.h>

static bool arrow_flat_get(const struct flat *f, size_t at, void *out, size_t n)
{
    if (at > f->n || n > f->n - at)
        return false;
    memcpy(out, f->p + at, n);
    return true;
}

/* Where the offset at `at` points to. */
static size_t follow(const struct flat *f, size_t at)
{
    uint32_t off;
    if (!at || !arrow_flat_get(f, at, &off, sizeof(off)) || off == 0 || off > f->n - at)
        return 0;
    return at + off;
}

size_t flat_root(const struct flat *f)
{
    uint32_t off;
    if (!arrow_flat_get(f, 0, &off, sizeof(off)) || off == 0 || off >= f->n)
        return 0;
    return off;
}

/* A table begins with the distance to its list of fields. */
static size_t field(const struct flat *f, size_t t, unsigned id)
{
    int32_t back;
    uint16_t size, off;
    if (!t || !arrow_flat_get(f, t, &back, sizeof(back)))
        return 0;
    int64_t list = (int64_t)t - back;
    if (list < 0 || (uint64_t)list >= f->n ||
        !arrow_flat_get(f, (size_t)list, &size, sizeof(size)))
        return 0;
    size_t entry = 4 + 2 * (size_t)id;
    if (entry + 2 > size || !arrow_flat_get(f, (size_t)list + entry, &off, sizeof(off)) ||
        off == 0 || off > f->n - t)
        return 0;
    return t + off;
}

int64_t flat_i64(const struct flat *f, size_t t, unsigned id, int64_t preset)
{
    size_t at = field(f, t, id);
    int64_t v;
    return at && arrow_flat_get(f, at, &v, sizeof(v)) ? v : preset;
}

int32_t flat_i32(const struct flat *f, size_t t, unsigned id, int32_t preset)
{
    size_t at = field(f, t, id);
    int32_t v;
    return at && arrow_flat_get(f, at, &v, sizeof(v)) ? v : preset;
}

int16_t flat_i16(const struct flat *f, size_t t, unsigned id, int16_t preset)
{
    size_t at = field(f, t, id);
    int16_t v;
    return at && arrow_flat_get(f, at, &v, sizeof(v)) ? v : preset;
}

uint8_t flat_u8(const struct flat *f, size_t t, unsigned id, uint8_t preset)
{
    size_t at = field(f, t, id);
    uint8_t v;
    return at && arrow_flat_get(f, at, &v, sizeof(v)) ? v : preset;
}

size_t flat_table(const struct flat *f, size_t t, unsigned id)
{
    return follow(f, field(f, t, id));
}

size_t flat_vector(const struct flat *f, size_t t, unsigned id, size_t width, size_t *at)
{
    size_t place = follow(f, field(f, t, id));
    uint32_t n;
    if (!place || !arrow_flat_get(f, place, &n, sizeof(n)) ||
        n > (f->n - place - 4) / width)
        return 0;
    *at = place + 4;
    return n;
}

struct str flat_text(const struct flat *f, size_t t, unsigned id)
{
    size_t at = 0, n = flat_vector(f, t, id, 1, &at);
    return n ? str_of((const char *)f->p + at, n) : str_of("", 0);
}

size_t flat_element(const struct flat *f, size_t at, size_t i)
{
    return follow(f, at + 4 * i);
}

int64_t flat_at_i64(const struct flat *f, size_t place)
{
    int64_t v;
    return arrow_flat_get(f, place, &v, sizeof(v)) ? v : -1;
}
