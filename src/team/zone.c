/* SPDX-License-Identifier: Apache-2.0 */
/* The files are those of RFC 8536: a table of changes, and behind it a rule for all later
 * years. Some machines have tables up to 2037, others leave out what the rule says.
 */
#include "team/zone.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "team/zone_rule.h"

#define ZONES_DIR "/usr/share/zoneinfo"
#define FILE_MAX (1 << 20)
#define HEADER 44

struct change {
    int64_t at, offset; /* from then on */
};

struct team_zone {
    struct change *changes; /* owned, in order */
    size_t n;
    int64_t first; /* offset before the first change */
    bool has_rule; /* for what lies behind the last change */
    struct team_zone_rule rule;
};

static int64_t be32(const unsigned char *p)
{
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
                     p[3]);
}

static int64_t be64(const unsigned char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | (uint32_t)be32(p + 4));
}

/* One of the two blocks of a file. */
struct block {
    int64_t isut, isstd, leap, times, types, chars;
    size_t size; /* of what follows the header */
    size_t wide; /* bytes of a time */
};

static bool read_header(const unsigned char *p, size_t n, size_t wide, struct block *b)
{
    if (n < HEADER || memcmp(p, "TZif", 4) != 0)
        return false;
    *b = (struct block){.isut = be32(p + 20),
                        .isstd = be32(p + 24),
                        .leap = be32(p + 28),
                        .times = be32(p + 32),
                        .types = be32(p + 36),
                        .chars = be32(p + 40),
                        .wide = wide};
    const int64_t counts[] = {b->isut, b->isstd, b->leap, b->times, b->types, b->chars};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (counts[i] < 0 || counts[i] > FILE_MAX)
            return false;
    b->size = (size_t)b->times * (wide + 1) + (size_t)b->types * 6 + (size_t)b->chars +
              (size_t)b->leap * (wide + 4) + (size_t)b->isstd + (size_t)b->isut;
    return b->types > 0 && b->size <= n - HEADER;
}

static bool read_block(struct team_zone *z, const unsigned char *p, const struct block *b)
{
    const unsigned char *index = p + (size_t)b->times * b->wide;
    const unsigned char *types = index + b->times;
    z->first = be32(types);
    z->changes = mem_calloc((size_t)b->times + 1, sizeof(*z->changes));
    for (int64_t i = 0; i < b->times; i++) {
        const unsigned char *at = p + (size_t)i * b->wide;
        if (index[i] >= b->types)
            return false;
        struct change c = {b->wide == 8 ? be64(at) : be32(at),
                           be32(types + 6 * (size_t)index[i])};
        if (z->n && c.at <= z->changes[z->n - 1].at)
            return false;
        z->changes[z->n++] = c;
    }
    return true;
}

static bool read_file(struct team_zone *z, const unsigned char *p, size_t n)
{
    struct block b;
    if (!read_header(p, n, 4, &b))
        return false;
    if (p[4] < '2')
        return b.leap == 0 && read_block(z, p + HEADER, &b);
    p += HEADER + b.size;
    n -= HEADER + b.size;
    if (!read_header(p, n, 8, &b) || b.leap || !read_block(z, p + HEADER, &b))
        return false;
    struct str rest = str_of((const char *)p + HEADER + b.size, n - HEADER - b.size);
    struct str rule = str_trim(rest);
    z->has_rule = rule.n > 0;
    return !rule.n || team_zone_rule_parse(rule, &z->rule);
}

static enum rc load(const char *path, const char *name, struct team_zone *z,
                    struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    struct err why = {0};
    enum rc rc = fs_read(path, FILE_MAX, &text, &n, &why);
    if (rc == RC_NOTFOUND)
        return err_coded(err, RC_INVAL, E5102, "no time zone '%.60s' on this machine",
                         name);
    if (rc)
        return err_coded(err, rc, E5102, "time zone '%.60s': %s", name, why.msg);
    if (!read_file(z, (const unsigned char *)text, n))
        rc = err_coded(err, RC_FORMAT, E5102, "time zone '%.60s': '%s' is damaged", name,
                       path);
    mem_free(text);
    return rc;
}

/* "+08:00", "-0330", "+8" */
static bool fixed_offset(const char *name, int64_t *offset)
{
    struct str s, hour;
    int64_t h, m = 0;
    if (name[0] != '+' && name[0] != '-')
        return false;
    s = str_c(name + 1);
    if (s.n == 4 && !strchr(name, ':')) {
        hour = str_of(s.p, 2);
        s = str_of(s.p + 2, 2);
    } else if (!str_split(&s, ':', &hour)) {
        return false;
    }
    if (hour.n > 2 || !str_to_i64(hour, &h) || h < 0 || h > 14 ||
        (s.n && (s.n != 2 || !str_to_i64(s, &m) || m < 0 || m > 59)))
        return false;
    *offset = (h * 3600 + m * 60) * (name[0] == '-' ? -1 : 1);
    return true;
}

static bool name_ok(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_+-/";
    size_t n = strlen(name);
    return n && n <= 64 && strspn(name, allowed) == n && name[0] != '/' &&
           name[0] != '-' && name[0] != '+' && !strstr(name, "//");
}

enum rc team_zone_open(const char *name, struct team_zone **out, struct err *err)
{
    struct team_zone *z = mem_calloc(1, sizeof(*z));
    enum rc rc = RC_OK;
    if (strcmp(name, "local") == 0) {
        if (fs_exists("/etc/localtime"))
            rc = load("/etc/localtime", name, z, err);
    } else if (strcmp(name, "UTC") != 0 && !fixed_offset(name, &z->first)) {
        if (!name_ok(name)) {
            rc = err_coded(err, RC_INVAL, E5102,
                           "'%.60s' is not a time zone such as Asia/Shanghai or +08:00",
                           name);
        } else {
            char *path = fs_join(ZONES_DIR, name);
            rc = load(path, name, z, err);
            mem_free(path);
        }
    }
    if (rc) {
        team_zone_close(z);
        return rc;
    }
    *out = z;
    return RC_OK;
}

void team_zone_close(struct team_zone *z)
{
    if (!z)
        return;
    mem_free(z->changes);
    mem_free(z);
}

struct team_zone_span team_zone_at(const struct team_zone *z, int64_t t)
{
    size_t low = 0, high = z->n; /* changes[low - 1] <= t < changes[high] */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (z->changes[mid].at <= t)
            low = mid + 1;
        else
            high = mid;
    }
    struct team_zone_span span = {INT64_MIN, INT64_MAX, z->first};
    if (low) {
        span.from = z->changes[low - 1].at;
        span.offset = z->changes[low - 1].offset;
    }
    if (low < z->n) {
        span.to = z->changes[low].at;
    } else if (z->has_rule) {
        struct team_zone_span ruled = team_zone_rule_at(&z->rule, t);
        span.offset = ruled.offset;
        span.to = ruled.to;
        if (ruled.from > span.from)
            span.from = ruled.from;
    }
    return span;
}
