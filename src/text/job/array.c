/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: one specification, many jobs that differ by an index. */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "text/job/job.h"

#define INDEX_MAX 1000000000

typedef VEC(int64_t) index_list;

static bool read_index(struct str text, int64_t *out)
{
    return text.n && text.p[0] >= '0' && text.p[0] <= '9' && str_to_i64(text, out) &&
           *out <= INDEX_MAX;
}

/* "4", "1-8", "1-9:2" */
static bool read_part(struct str text, index_list *out)
{
    struct str range = text, step_text = text, first;
    int64_t from, to, step = 1;
    str_split(&step_text, ':', &range);
    if (range.n < text.n && (!read_index(step_text, &step) || step < 1))
        return false;
    struct str rest = range;
    str_split(&rest, '-', &first);
    if (!read_index(first, &from))
        return false;
    to = from;
    if (first.n < range.n && (!read_index(rest, &to) || to < from))
        return false;
    for (int64_t i = from; i <= to && out->n <= JOB_ARRAY_MAX; i += step)
        VEC_PUSH(out, i);
    return out->n <= JOB_ARRAY_MAX;
}

static bool read_list(struct str list, index_list *out)
{
    struct str part;
    int64_t count;
    if (read_index(list, &count)) { /* a number alone is a count */
        for (int64_t i = 0; i < count && i <= JOB_ARRAY_MAX; i++)
            VEC_PUSH(out, i);
        return count > 0 && count <= JOB_ARRAY_MAX;
    }
    while (list.n && str_split(&list, ',', &part))
        if (!read_part(part, out))
            return false;
    return out->n > 0;
}

bool jobspec_array_read(struct str text, struct jobspec_array *out)
{
    index_list indexes = {0};
    struct str limit = text, list;
    *out = (struct jobspec_array){.limit = 0};
    str_split(&limit, '%', &list);
    bool good = list.n == text.n || (read_index(limit, &out->limit) && out->limit > 0);
    good = good && read_list(list, &indexes);
    if (!good) {
        VEC_RELEASE(&indexes);
        return false;
    }
    out->at = indexes.at;
    out->n = indexes.n;
    return true;
}

bool jobspec_array_element_read(struct str text, struct jobspec_array_element *out)
{
    struct str id, index, count;
    *out = (struct jobspec_array_element){.index = 0};
    if (!str_split(&text, ',', &id) || id.n != 15 || memcmp(id.p, "ja-", 3) != 0 ||
        !str_split(&text, ',', &index) || !str_split(&text, ',', &count))
        return false;
    for (size_t i = 3; i < id.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789", id.p[i]) || !id.p[i])
            return false;
    memcpy(out->id, id.p, id.n);
    return read_index(index, &out->index) && read_index(count, &out->count) &&
           read_index(text, &out->limit);
}

const char *jobspec_check_array(struct str value)
{
    struct jobspec_array a;
    if (!jobspec_array_read(value, &a))
        return "indexes are written 10 (0 to 9), 1-8, 1-9:2 or 1,4,7, with %4 behind them "
               "for four at a time; 10000 at most";
    mem_free(a.at);
    return NULL;
}

const char *jobspec_check_array_element(struct str value)
{
    struct jobspec_array_element e;
    return jobspec_array_element_read(value, &e) ? NULL : "not ID,INDEX,COUNT,LIMIT";
}
