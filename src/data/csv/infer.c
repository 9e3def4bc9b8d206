/* SPDX-License-Identifier: Apache-2.0 */
/* Every column starts as "nothing but nulls" and only ever moves towards text: whole
 * numbers, numbers, text. Words such as true or a date are text: the systems that would
 * call them bool or date refuse such columns, and text can at least be hashed. So are
 * whole numbers beyond 64 bits: they are ids, and as floats many would become one. Where
 * it must be exact, so are numbers that would be written otherwise: 007, +5.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "data/csv/csv_private.h"
#include "data/csv/num.h"

#define EXACT_DIGITS 15 /* a double holds every whole number of so many */

enum guess { GUESS_NULL, GUESS_INT, GUESS_FLOAT, GUESS_TEXT };

static enum guess guess_number(struct str s, enum guess so_far)
{
    int64_t i;
    double d;
    enum num whole = so_far <= GUESS_INT ? num_i64(s.p, s.n, &i) : NUM_BAD;
    if (whole != NUM_BAD)
        return whole == NUM_OK ? GUESS_INT : GUESS_TEXT;
    return num_f64(s.p, s.n, &d) == NUM_OK ? GUESS_FLOAT : GUESS_TEXT;
}

/* A whole number as it would be written, and none that a double rounds: what most fields
 * of a column of numbers are.
 */
static bool is_usual_number(const unsigned char *p, size_t n)
{
    if (n == 0 || n > EXACT_DIGITS || (p[0] == '0' && n > 1))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned)p[i] - '0' > 9)
            return false;
    return true;
}

static enum guess guess_field(const unsigned char *p, size_t n, char quote,
                              struct csv_column *c, enum guess so_far)
{
    if (LIKELY(is_usual_number(p, n)))
        return so_far == GUESS_FLOAT ? GUESS_FLOAT : GUESS_INT;
    struct str s = csv_number_text(p, n, quote);
    if (csv_is_null_word(s))
        return so_far;
    enum guess guess = guess_number(s, so_far);
    if (!c->exact || guess == GUESS_TEXT)
        return guess;
    c->large = c->large || csv_is_large_number(s);
    return !csv_is_plain_number(s) || (guess == GUESS_FLOAT && c->large) ? GUESS_TEXT
                                                                         : guess;
}

static void guess_block(const struct csv_block *b, struct csv_column *columns,
                        size_t n_cols, enum guess *guess)
{
    for (struct csv_walk w = {0}; csv_walk_next(b, &w);) {
        if (w.blank || w.end - w.from != n_cols)
            continue;
        for (size_t k = 0; k < n_cols; k++) {
            const uint32_t *t = b->ends + w.from + k;
            size_t n = t[1] - t[0] - 1;
            if (k + 1 == n_cols && n && b->text[t[1] - 2] == '\r')
                n--;
            if (columns[k].inferred && guess[k] != GUESS_TEXT)
                guess[k] = guess_field(b->text + t[0], n, b->quoting ? '"' : '\0',
                                       &columns[k], guess[k]);
        }
    }
}

static void decide_type(struct csv_column *c, enum guess guess)
{
    c->unseen = guess == GUESS_NULL && !c->widens;
    if (c->widens) /* a text among its numbers is a fault, not another type */
        c->type = guess == GUESS_FLOAT ? TYPE_F64 : c->type;
    else
        c->type = guess == GUESS_INT     ? TYPE_I64
                  : guess == GUESS_FLOAT ? TYPE_F64
                                         : TYPE_STR;
}

bool csv_is_plain_number(struct str s)
{
    bool minus = s.n && *s.p == '-';
    if (minus)
        s = str_of(s.p + 1, s.n - 1);
    if (!s.n || *s.p != '0')
        return !s.n || *s.p != '+';
    return s.n == 1 ? !minus : s.p[1] < '0' || s.p[1] > '9';
}

bool csv_is_large_number(struct str s)
{
    size_t sign = s.n && *s.p == '-';
    if (s.n - sign <= EXACT_DIGITS)
        return false;
    for (size_t i = sign; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

enum rc csv_infer(struct csv_block *b, struct csv_column *columns, size_t n_cols,
                  int64_t max_bytes, struct err *err)
{
    enum guess *guess = mem_calloc(n_cols, sizeof(*guess));
    int64_t from = b->offset;
    enum rc rc = csv_block_fill(b, err);
    while (rc == RC_OK && b->n_ends > 0) {
        guess_block(b, columns, n_cols, guess);
        if (b->offset + (int64_t)b->whole - from >= max_bytes)
            break;
        b->used = b->whole;
        rc = csv_block_fill(b, err);
    }
    for (size_t k = 0; k < n_cols; k++)
        if (columns[k].inferred)
            decide_type(&columns[k], guess[k]);
    mem_free(guess);
    return rc;
}
