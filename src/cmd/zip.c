/* SPDX-License-Identifier: Apache-2.0 */
/* The format is PKWARE's: for each entry a local header and its bytes, then the directory of
 * all entries, then where that is. A reader starts at the end. Numbers are little-endian.
 */
#include "cmd/zip.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define LOCAL 0x04034b50u
#define CENTRAL 0x02014b50u
#define END 0x06054b50u
#define LOCAL_SIZE 30
#define CENTRAL_SIZE 46
#define END_SIZE 22
#define ARCHIVE_MAX ((size_t)4000 << 20)

static void put2(struct buf *b, uint32_t v)
{
    buf_putc(b, (char)(v & 0xff));
    buf_putc(b, (char)(v >> 8 & 0xff));
}

static void put4(struct buf *b, uint32_t v)
{
    put2(b, v & 0xffff);
    put2(b, v >> 16);
}

/* What the two kinds of headers share: version to read with up to the length of the name. */
static void put_common(struct buf *b, const struct zip_entry *e)
{
    put2(b, 10);
    put2(b, 0x0800);     /* names are UTF-8 */
    put2(b, 0);          /* stored */
    put4(b, 0x00210000); /* the first of January 1980 */
    put4(b, e->crc);
    put4(b, e->size);
    put4(b, e->size);
    put2(b, (uint32_t)strlen(e->name));
    put2(b, 0);
}

void zip_begin(struct zip_writer *w)
{
    *w = (struct zip_writer){0};
    buf_init(&w->out, ARCHIVE_MAX);
}

void zip_add(struct zip_writer *w, const char *name, const char *data, size_t n)
{
    struct zip_entry e = {.name = mem_strdup(name),
                          .crc = hash_crc32(0, data, n),
                          .size = (uint32_t)n,
                          .at = (uint32_t)w->out.n};
    put4(&w->out, LOCAL);
    put_common(&w->out, &e);
    buf_puts(&w->out, name);
    buf_add(&w->out, data, n);
    VEC_PUSH(&w->entries, e);
}

void zip_end(struct zip_writer *w)
{
    uint32_t at = (uint32_t)w->out.n;
    for (size_t i = 0; i < w->entries.n; i++) {
        const struct zip_entry *e = &w->entries.at[i];
        put4(&w->out, CENTRAL);
        put2(&w->out, 0x0314); /* made on UNIX */
        put_common(&w->out, e);
        put2(&w->out, 0);
        put2(&w->out, 0);
        put2(&w->out, 0);
        put4(&w->out, 0100644u << 16);
        put4(&w->out, e->at);
        buf_puts(&w->out, e->name);
    }
    uint32_t size = (uint32_t)w->out.n - at;
    put4(&w->out, END);
    put4(&w->out, 0);
    put2(&w->out, (uint32_t)w->entries.n);
    put2(&w->out, (uint32_t)w->entries.n);
    put4(&w->out, size);
    put4(&w->out, at);
    put2(&w->out, 0);
}

void zip_release(struct zip_writer *w)
{
    for (size_t i = 0; i < w->entries.n; i++)
        mem_free(w->entries.at[i].name);
    VEC_RELEASE(&w->entries);
    buf_release(&w->out);
}

static uint32_t get2(const char *p)
{
    return (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8;
}

static uint32_t get4(const char *p)
{
    return get2(p) | get2(p + 2) << 16;
}

static enum rc zip_bad(struct err *err, const char *what)
{
    return err_coded(err, RC_FORMAT, E4005, "not an archive of an experiment: %s", what);
}

/* Where the end record is: behind it there may be a comment. */
static const char *find_end(const char *data, size_t n)
{
    size_t least = n > END_SIZE + 65535 ? n - END_SIZE - 65535 : 0;
    for (size_t i = n < END_SIZE ? 0 : n - END_SIZE + 1; i > least; i--)
        if (get4(data + i - 1) == END)
            return data + i - 1;
    return NULL;
}

/* The bytes of the entry whose local header is at `at`. */
static enum rc take_entry(const char *data, size_t n, size_t at, const char *central,
                          struct str *out, struct err *err)
{
    uint32_t size = get4(central + 24);
    if (get2(central + 10) != 0 || get4(central + 20) != size)
        return zip_bad(err, "its files are compressed");
    if (at > n || n - at < LOCAL_SIZE || get4(data + at) != LOCAL)
        return zip_bad(err, "a header is missing");
    size_t start = at + LOCAL_SIZE + get2(data + at + 26) + get2(data + at + 28);
    if (start > n || n - start < size)
        return zip_bad(err, "it is cut short");
    *out = str_of(data + start, size);
    return hash_crc32(0, out->p, out->n) == get4(central + 16)
               ? RC_OK
               : zip_bad(err, "a checksum does not match");
}

enum rc zip_find(const char *data, size_t n, const char *name, struct str *out,
                 struct err *err)
{
    const char *end = find_end(data, n);
    size_t at = end ? get4(end + 16) : 0;
    if (!end)
        return zip_bad(err, "no ZIP file");
    for (uint32_t i = 0; i < get2(end + 10); i++) {
        if (at > n || n - at < CENTRAL_SIZE || get4(data + at) != CENTRAL)
            return zip_bad(err, "its directory is damaged");
        const char *c = data + at;
        size_t n_name = get2(c + 28);
        if (n - at - CENTRAL_SIZE < n_name)
            return zip_bad(err, "its directory is damaged");
        if (str_is(str_of(c + CENTRAL_SIZE, n_name), name))
            return take_entry(data, n, get4(c + 42), c, out, err);
        at += CENTRAL_SIZE + n_name + get2(c + 30) + get2(c + 32);
    }
    return err_coded(err, RC_NOTFOUND, E4005, "the archive has no '%s'", name);
}
