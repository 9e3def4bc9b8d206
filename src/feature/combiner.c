/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/combiner.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"

bool combiner_find(const char *word, enum combiner *out)
{
    static const struct {
        const char *word;
        enum combiner how;
    } words[] = {{"", COMBINE_NONE},          {"sum", COMBINE_SUM},
                 {"mean", COMBINE_MEAN},      {"avg", COMBINE_MEAN},
                 {"min", COMBINE_MIN},        {"max", COMBINE_MAX},
                 {"count", COMBINE_COUNT},    {"gap_min", COMBINE_GAP_MIN},
                 {"gap_max", COMBINE_GAP_MAX}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(word ? word : "", words[i].word) == 0) {
            *out = words[i].how;
            return true;
        }
    return false;
}

void combined_add(struct combined *c, double v)
{
    if (c->n) {
        double gap = fabs(v - c->last);
        c->gap_min = c->n == 1 || gap < c->gap_min ? gap : c->gap_min;
        c->gap_max = c->n == 1 || gap > c->gap_max ? gap : c->gap_max;
    }
    c->sum += v;
    c->min = c->n == 0 || v < c->min ? v : c->min;
    c->max = c->n == 0 || v > c->max ? v : c->max;
    c->last = v;
    c->n++;
}

double combined_value(const struct combined *c, enum combiner how)
{
    switch (how) {
    case COMBINE_MEAN:
        return c->sum / (double)c->n;
    case COMBINE_MIN:
        return c->min;
    case COMBINE_MAX:
        return c->max;
    case COMBINE_COUNT:
        return (double)c->n;
    case COMBINE_GAP_MIN:
        return c->gap_min;
    case COMBINE_GAP_MAX:
        return c->gap_max;
    default:
        return c->sum;
    }
}
