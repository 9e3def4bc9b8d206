/* SPDX-License-Identifier: Apache-2.0 */
/* One item of a list is a name whose parts in brackets stand for several. It is a number in
 * a mixed radix: item number k takes k modulo the size of the last bracket from that one,
 * the rest from those before it. So nothing is expanded, and a list can be of any length.
 */
#include "backend/slurm_hosts.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define BRACKETS_MAX 8
#define COUNT_MAX 1000000

/* The next range of "1-3,07", and the digits of its beginning; false behind the last and at
 * something else, which leaves *set unchanged.
 */
static bool next_range(struct str *set, int64_t *from, int64_t *to, int *digits)
{
    struct str left = *set, part, first;
    if (!left.n || !str_split(&left, ',', &part) || !str_split(&part, '-', &first) ||
        !str_to_i64(first, from))
        return false;
    *to = *from;
    if ((part.n && !str_to_i64(part, to)) || *from < 0 || *to < *from ||
        *to - *from > COUNT_MAX)
        return false;
    *digits = (int)first.n;
    *set = left;
    return true;
}

/* "1-3,07": how many it stands for, -1: it is none. */
static int64_t count_of(struct str set)
{
    int64_t n = 0, from, to;
    int digits;
    while (n <= COUNT_MAX && next_range(&set, &from, &to, &digits))
        n += to - from + 1;
    return n && !set.n ? n : -1;
}

/* Number k of a set, with the zeros that its range begins with. */
static int put_number(struct str set, int64_t k, char *out, size_t size)
{
    int64_t from, to;
    int digits;
    while (next_range(&set, &from, &to, &digits)) {
        if (k <= to - from)
            return snprintf(out, size, "%0*jd", digits, (intmax_t)(from + k));
        k -= to - from + 1;
    }
    return -1;
}

/* An item up to a comma outside of brackets; false when nothing is left. */
static bool next_item(struct str *list, struct str *item)
{
    size_t i = 0;
    bool inside = false;
    if (!list->n)
        return false;
    for (; i < list->n && (inside || list->p[i] != ','); i++)
        if (list->p[i] == '[' || list->p[i] == ']')
            inside = list->p[i] == '[';
    *item = str_of(list->p, i);
    size_t used = i < list->n ? i + 1 : i;
    *list = str_of(list->p + used, list->n - used);
    return true;
}

struct brackets {
    struct str set[BRACKETS_MAX];
    int64_t size[BRACKETS_MAX];
    size_t n;
    int64_t total; /* names of the item */
};

static bool find_brackets(struct str item, struct brackets *out)
{
    *out = (struct brackets){.total = 1};
    for (size_t i = 0; i < item.n; i++) {
        if (item.p[i] != '[')
            continue;
        const char *end = memchr(item.p + i, ']', item.n - i);
        if (!end || out->n == BRACKETS_MAX)
            return false;
        struct str set = str_of(item.p + i + 1, (size_t)(end - item.p) - i - 1);
        int64_t size = count_of(set);
        if (size < 0 || size > COUNT_MAX / out->total)
            return false;
        out->set[out->n] = set;
        out->size[out->n++] = size;
        out->total *= size;
        i = (size_t)(end - item.p);
    }
    return item.n > 0;
}

static bool put_name(struct str item, const struct brackets *b, int64_t k,
                     char out[SLURM_HOST_SIZE])
{
    size_t used = 0, bracket = 0;
    int64_t radix = b->total;
    for (size_t i = 0; i < item.n && used + 1 < SLURM_HOST_SIZE; i++) {
        if (item.p[i] != '[') {
            out[used++] = item.p[i];
            continue;
        }
        radix /= b->size[bracket];
        int n =
            put_number(b->set[bracket], k / radix, out + used, SLURM_HOST_SIZE - used);
        k %= radix;
        if (n < 0 || used + (size_t)n >= SLURM_HOST_SIZE)
            return false;
        used += (size_t)n;
        i += b->set[bracket++].n + 1;
    }
    out[used] = '\0';
    return used + 1 < SLURM_HOST_SIZE;
}

bool slurm_host_at(const char *list, int64_t index, char out[SLURM_HOST_SIZE])
{
    struct str rest = str_c(list), item;
    struct brackets b;
    while (index >= 0 && next_item(&rest, &item)) {
        if (!find_brackets(item, &b))
            return false;
        if (index < b.total)
            return put_name(item, &b, index, out);
        index -= b.total;
    }
    return false;
}

int64_t slurm_node_of_task(const char *layout, int64_t task)
{
    struct str rest = str_c(layout), part;
    int64_t node = 0;
    while (task >= 0 && rest.n && str_split(&rest, ',', &part)) {
        struct str times = part, head;
        int64_t tasks, nodes = 1;
        if (!str_split(&times, '(', &head) || !str_to_i64(head, &tasks) || tasks < 1)
            return -1;
        if (times.n > 2 && times.p[0] == 'x' &&
            !str_to_i64(str_of(times.p + 1, times.n - 2), &nodes))
            return -1;
        if (nodes < 1 || nodes > COUNT_MAX || tasks > COUNT_MAX)
            return -1;
        if (task < tasks * nodes)
            return node + task / tasks;
        task -= tasks * nodes;
        node += nodes;
    }
    return -1;
}
