/* SPDX-License-Identifier: Apache-2.0 */
#include "text/nni/nni.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define UNITS_MAX 9e15 /* seconds or megabytes that a double holds exactly */

struct unit {
    const char *name;
    double factor;
};

static bool is_unit(struct str tail, const char *name)
{
    size_t n = strlen(name);
    if (tail.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)tail.p[i]) != name[i])
            return false;
    return true;
}

/* Longer unit names come first, so that "mb" is not read as "b" behind a bad number. */
static bool read_units(struct str text, const struct unit *units, int64_t *out)
{
    for (const struct unit *u = units; u->name; u++) {
        size_t n = strlen(u->name);
        double number;
        if (text.n <= n || !is_unit(str_of(text.p + text.n - n, n), u->name))
            continue;
        if (!str_to_f64(str_trim(str_of(text.p, text.n - n)), &number))
            return false;
        number = ceil(number * u->factor);
        if (!(number >= -UNITS_MAX && number <= UNITS_MAX))
            return false;
        *out = (int64_t)number;
        return true;
    }
    return false;
}

bool nni_duration(struct str text, int64_t *seconds)
{
    static const struct unit units[] = {
        {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {0}};
    return read_units(text, units, seconds);
}

bool nni_size(struct str text, int64_t *megabytes)
{
    static const struct unit units[] = {
        {"tb", 1048576},    {"gb", 1024},           {"mb", 1},
        {"kb", 1.0 / 1024}, {"b", 1.0 / 1048576.0}, {0}};
    return read_units(text, units, megabytes);
}

const char *nni_check_label(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        unsigned char next = i + 1 < value.n ? (unsigned char)value.p[i + 1] : 0;
        if (c < ' ' || c == 0x7f || (c == 0xc2 && next < 0xa0))
            return "a control character cannot be in it";
    }
    return NULL;
}

const char *nni_check_duration(struct str value)
{
    int64_t seconds;
    return nni_duration(value, &seconds) ? NULL
                                         : "bad unit, supported units are d, h, m, s";
}

const char *nni_check_size(struct str value)
{
    int64_t megabytes;
    return nni_size(value, &megabytes)
               ? NULL
               : "bad unit, supported units are tb, gb, mb, kb, b";
}

const char *nni_check_auto(struct str value)
{
    int64_t count;
    if (str_is(value, "auto") || (str_to_i64(value, &count) && count >= 1))
        return NULL;
    return "should be auto or an integer of at least 1";
}
