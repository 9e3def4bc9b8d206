/* SPDX-License-Identifier: Apache-2.0 */
/* What tables are called in a checkpoint, and texts that say where their initial values
 * come from and how their ids come and go. Such a text is compared as a whole; that of
 * initial values is also read back, to work out rows that a checkpoint leaves out.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

static const enum ckpt_st_type stored[] = {
    [DT_F32] = ST_F32, [DT_F16] = ST_F16, [DT_BF16] = ST_BF16};

enum ckpt_st_type ckpt_stored_type(enum dtype t)
{
    return stored[t];
}

const struct ckpt_list_name ckpt_list_names[LOOKUP_LISTS] = {
    [LOOKUP_ROW_IDS] = {"row_ids", CKPT_MODEL},
    [LOOKUP_KEYS] = {"keys", CKPT_MODEL},
    [LOOKUP_COUNTS] = {"counts", CKPT_STATE},
    [LOOKUP_LAST] = {"last", CKPT_STATE},
    [LOOKUP_WAITING_KEYS] = {"waiting.keys", CKPT_STATE},
    [LOOKUP_WAITING_COUNTS] = {"waiting.counts", CKPT_STATE},
    [LOOKUP_WAITING_LAST] = {"waiting.last", CKPT_STATE},
    [LOOKUP_HISTORY_IDS] = {"history.ids", CKPT_STATE},
    [LOOKUP_HISTORY_TIMES] = {"history.times", CKPT_STATE},
    [LOOKUP_TOUCHED] = {"touched", CKPT_STATE},
};

/* A model may name its tables by the whole path of their weights, as others do. */
static char *weight_name(const struct embed_table_conf *t)
{
    return str_ends(t->name, ".weight") ? mem_strdup(t->name)
                                        : mem_printf("embedding.%s.weight", t->name);
}

char *ckpt_column_name(const struct embed_table_conf *t, const struct lookup_column *c)
{
    char *weight = weight_name(t);
    if (!c || !c->state)
        return weight;
    char *name = mem_printf("optimizer.%s.%s", weight, c->state);
    mem_free(weight);
    return name;
}

char *ckpt_table_name(const struct embed_table_conf *t)
{
    return weight_name(t);
}

char *ckpt_table_part_name(const struct embed_table_conf *t, const char *what)
{
    char *weight = weight_name(t), *name = mem_printf("%s.%s", weight, what);
    mem_free(weight);
    return name;
}

static const char *const kinds[] = {[EMBED_UNIFORM] = "uniform",
                                    [EMBED_NORMAL] = "normal",
                                    [EMBED_CONST] = "constant",
                                    [EMBED_TRUNCATED] = "truncated"};

char *ckpt_origin_text(const struct embed_table_conf *t)
{
    const struct embed_table_conf *c = t;
    char *cut = c->init == EMBED_TRUNCATED ? mem_printf(", %a, %a", c->lo, c->hi)
                                           : mem_strdup("");
    char *text =
        mem_printf("%s(%a, %a%s), seed %ju, stream %016jx", kinds[c->init], c->a, c->b,
                   cut, (uintmax_t)c->seed, (uintmax_t)embed_table_stream(t));
    mem_free(cut);
    return text;
}

/* The text between `before` and the next `stop`; moves *at behind it. */
static bool between(const char **at, const char *before, char stop, struct str *out)
{
    if (!str_starts(*at, before))
        return false;
    const char *from = *at + strlen(before), *to = strchr(from, stop);
    if (!to)
        return false;
    *out = str_of(from, (size_t)(to - from));
    *at = to + 1;
    return true;
}

/* As %a prints it: [-]0x1.8p+3 */
static bool hex_f64(struct str s, double *out)
{
    bool minus = s.n && s.p[0] == '-';
    size_t i = minus ? 1 : 0, p = 0;
    double v = 0, unit = 1;
    uint64_t exponent = 0;
    if (s.n < i + 4 || s.p[i] != '0' || s.p[i + 1] != 'x')
        return false;
    for (i += 2, p = i; p < s.n && s.p[p] != 'p'; p++) {
        int digit = s.p[p] >= 'a' ? s.p[p] - 'a' + 10 : s.p[p] - '0';
        if (s.p[p] == '.')
            continue;
        if (digit < 0 || digit > 15)
            return false;
        unit = p == i ? 1 : unit / 16;
        v += digit * unit;
    }
    if (p + 2 >= s.n || !str_to_u64(str_of(s.p + p + 2, s.n - p - 2), &exponent) ||
        exponent > 2000)
        return false;
    v = ldexp(v, s.p[p + 1] == '-' ? -(int)exponent : (int)exponent);
    *out = minus ? -v : v;
    return true;
}

static bool hex_u64(const char *s, uint64_t *out)
{
    uint64_t v = 0;
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        int digit = s[i] >= 'a' ? s[i] - 'a' + 10 : s[i] - '0';
        if (digit < 0 || digit > 15)
            return false;
        v = v << 4 | (uint64_t)digit;
    }
    *out = v;
    return n == 16;
}

bool ckpt_origin_parse(const char *text, struct lookup_origin *out)
{
    struct str kind, args, seed, part;
    *out = (struct lookup_origin){0};
    double *const to[] = {&out->values.a, &out->values.b, &out->values.lo,
                          &out->values.hi};
    if (!between(&text, "", '(', &kind) || !between(&text, "", ')', &args) ||
        !between(&text, ", seed ", ',', &seed) || !str_starts(text, " stream "))
        return false;
    size_t k = 0, n = 0;
    while (k < ARRAY_LEN(kinds) && !str_is(kind, kinds[k]))
        k++;
    for (; str_split(&args, ',', &part); n++)
        if (n >= ARRAY_LEN(to) || !hex_f64(str_trim(part), to[n]))
            return false;
    out->values.init = (enum embed_init)k;
    return k < ARRAY_LEN(kinds) && n == (k == EMBED_TRUNCATED ? 4 : 2) &&
           str_to_u64(seed, &out->seed) &&
           hex_u64(text + strlen(" stream "), &out->stream);
}

char *ckpt_rule_text(const struct embed_table_conf *t)
{
    static const char *const worths[] = {[WORTH_COUNT] = "count",
                                         [WORTH_RECENT] = "recent",
                                         [WORTH_COUNT_BY_AGE] = "count by age",
                                         [WORTH_ALL] = "all stay"};
    const struct embed_keyed_conf *c = &t->keyed;
    if (c->kind == KEYED_NONE)
        return mem_strdup("");
    if (c->kind == KEYED_ZCH)
        return mem_printf("zch of %jd ids, %s, power %g, every %jd batches",
                          (intmax_t)c->capacity, worths[c->worth], c->decay,
                          (intmax_t)c->interval);
    return mem_printf("growing to %jd ids, %s, buckets of %jd, after %jd of %jd",
                      (intmax_t)c->capacity, worths[c->worth], (intmax_t)c->bucket,
                      (intmax_t)c->admit, (intmax_t)c->counters);
}
