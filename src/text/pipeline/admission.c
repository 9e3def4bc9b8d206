/* SPDX-License-Identifier: Apache-2.0 */
/* A parser by precedence that writes operations for a stack as it goes; Python's order,
 * where & and | bind tighter than comparisons. A value over all ids (x.mean()) is known
 * before any id is looked at: its operations are closed off by a skip in front of them and
 * listed as a sum.
 */
#include "text/pipeline/admission.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

#define STACK PC_ADMISSION_OPS
#define DEPTH 32

struct admission_parser {
    const char *p;
    struct str x; /* the name of the lambda's argument */
    struct pc_admission *out;
    int depth;
};

/* What a part is: where its operations begin, and whether it is true or false. */
struct admission_part {
    int from;
    bool truth;
};

static void blanks(struct admission_parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

static bool eat(struct admission_parser *s, const char *word)
{
    blanks(s);
    if (!str_starts(s->p, word))
        return false;
    s->p += strlen(word);
    return true;
}

static bool emit(struct admission_parser *s, enum pc_admission_kind kind, double at)
{
    struct pc_admission *a = s->out;
    if (a->n == PC_ADMISSION_OPS)
        return false;
    a->ops[a->n++] = (struct pc_admission_op){kind, at};
    a->random = a->random || kind == ADMIT_CHANCE;
    return true;
}

static struct str name_at(const char *p)
{
    size_t n = 0;
    if (isalpha((unsigned char)*p) || *p == '_')
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
    return str_of(p, n);
}

static bool comparison(struct admission_parser *s, struct admission_part *out);

static const struct {
    const char *name;
    enum pc_admission_over over;
} overs[] = {{"mean", ADMIT_MEAN},   {"sum", ADMIT_TOTAL}, {"max", ADMIT_MOST},
             {"amax", ADMIT_MOST},   {"min", ADMIT_LEAST}, {"amin", ADMIT_LEAST},
             {"numel", ADMIT_COUNT}, {"std", ADMIT_STD}};

static const struct {
    const char *name;
    enum pc_admission_kind kind;
} ones[] = {{"abs", ADMIT_ABS},    {"log", ADMIT_LOG},     {"sqrt", ADMIT_SQRT},
            {"exp", ADMIT_EXP},    {"floor", ADMIT_FLOOR}, {"ceil", ADMIT_CEIL},
            {"long", ADMIT_TRUNC}, {"int", ADMIT_TRUNC},   {"logical_not", ADMIT_NOT}};

/* Names that change nothing here: numbers are doubles. */
static bool is_nothing(struct str name)
{
    static const char *const names[] = {"float", "double", "item"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* The operations from part->from on become a sum. */
static bool sum_up(struct admission_parser *s, struct admission_part *part,
                   enum pc_admission_over over)
{
    struct pc_admission *a = s->out;
    int from = part->from, n = a->n - from;
    if (a->n_sums == PC_ADMISSION_SUMS || !emit(s, ADMIT_SKIP, n))
        return false;
    memmove(&a->ops[from + 1], &a->ops[from], (size_t)n * sizeof(*a->ops));
    a->ops[from] = (struct pc_admission_op){ADMIT_SKIP, n};
    for (int i = 0; i < a->n_sums; i++)
        if (a->sums[i].from >= from) {
            a->sums[i].from++;
            a->sums[i].to++;
        }
    a->sums[a->n_sums] =
        (struct pc_admission_sum){.over = over, .from = from + 1, .to = from + 1 + n};
    part->truth = false;
    return emit(s, ADMIT_SUM, a->n_sums++);
}

/* What a method or function of one value does to it. */
static bool apply(struct admission_parser *s, struct str name,
                  struct admission_part *part)
{
    if (is_nothing(name)) {
        part->truth = false;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(overs); i++)
        if (str_is(name, overs[i].name))
            return sum_up(s, part, overs[i].over);
    for (size_t i = 0; i < ARRAY_LEN(ones); i++)
        if (str_is(name, ones[i].name)) {
            part->truth = ones[i].kind == ADMIT_NOT;
            return emit(s, ones[i].kind, 0);
        }
    return false;
}

/* ".mean()", ".size(0)", ".shape[0]" behind a value. */
static bool methods(struct admission_parser *s, struct admission_part *part)
{
    while (eat(s, ".")) {
        struct str name = name_at(s->p);
        s->p += name.n;
        bool size = str_is(name, "size"), shape = str_is(name, "shape");
        if (shape ? !eat(s, "[") : !eat(s, "("))
            return false;
        if (size || shape) {
            if (!eat(s, "0") || !sum_up(s, part, ADMIT_COUNT))
                return false;
        } else if (!apply(s, name, part)) {
            return false;
        }
        if (shape ? !eat(s, "]") : !eat(s, ")"))
            return false;
    }
    return true;
}

static bool number(struct admission_parser *s)
{
    size_t n = 0;
    double v;
    while (isdigit((unsigned char)s->p[n]) || s->p[n] == '.' || s->p[n] == '_' ||
           ((s->p[n] == 'e' || s->p[n] == 'E') && n) ||
           ((s->p[n] == '-' || s->p[n] == '+') && n &&
            (s->p[n - 1] == 'e' || s->p[n - 1] == 'E')))
        n++;
    if (!n || !str_to_f64(str_of(s->p, n), &v))
        return false;
    s->p += n;
    return emit(s, ADMIT_NUMBER, v);
}

/* "torch.sqrt(..)", "len(x)", "torch.rand_like(..)", or the argument itself. */
static bool named(struct admission_parser *s, struct admission_part *out)
{
    bool torch = eat(s, "torch.");
    struct str name = name_at(s->p);
    s->p += name.n;
    if (!torch && name.n == s->x.n && memcmp(name.p, s->x.p, name.n) == 0)
        return emit(s, ADMIT_X, 0);
    if (!name.n || !eat(s, "("))
        return false;
    struct admission_part arg = {0};
    int from = s->out->n;
    if (!comparison(s, &arg))
        return false;
    arg.from = from;
    if (torch && str_is(name, "rand_like")) {
        s->out->n = from;
        out->truth = false;
        return emit(s, ADMIT_CHANCE, 0) && eat(s, ")");
    }
    bool good = str_is(name, "len") ? sum_up(s, &arg, ADMIT_COUNT) : apply(s, name, &arg);
    out->truth = arg.truth;
    return good && eat(s, ")");
}

static bool primary(struct admission_parser *s, struct admission_part *out)
{
    *out = (struct admission_part){.from = s->out->n};
    blanks(s);
    if (++s->depth > DEPTH)
        return false;
    bool good;
    if (eat(s, "(")) {
        good = comparison(s, out) && eat(s, ")");
    } else if (isdigit((unsigned char)*s->p) || *s->p == '.') {
        good = number(s);
    } else {
        good = named(s, out);
    }
    s->depth--;
    return good && methods(s, out);
}

static bool unary(struct admission_parser *s, struct admission_part *out);

static bool power(struct admission_parser *s, struct admission_part *out)
{
    struct admission_part right;
    if (!primary(s, out))
        return false;
    if (!eat(s, "**"))
        return true;
    out->truth = false;
    return unary(s, &right) && emit(s, ADMIT_POW, 0);
}

static bool unary(struct admission_parser *s, struct admission_part *out)
{
    int from = s->out->n;
    bool not = eat(s, "~"), minus = !not &&eat(s, "-");
    if (!not &&!minus)
        return power(s, out);
    if (++s->depth > DEPTH || !unary(s, out))
        return false;
    s->depth--;
    out->from = from;
    if (not &&!out->truth)
        return false;
    out->truth = not ;
    return emit(s, not ? ADMIT_NOT : ADMIT_NEGATE, 0);
}

/* Levels of two operands, the tightest first. */
static const struct {
    const char *word;
    enum pc_admission_kind kind;
    int level;
    bool truths; /* its operands are, and its value is */
} twos[] = {{"//", ADMIT_FLOOR_DIV, 0, false}, {"*", ADMIT_MUL, 0, false},
            {"/", ADMIT_DIV, 0, false},        {"%", ADMIT_MOD, 0, false},
            {"+", ADMIT_ADD, 1, false},        {"-", ADMIT_SUB, 1, false},
            {"&", ADMIT_AND, 2, true},         {"^", ADMIT_XOR, 3, true},
            {"|", ADMIT_OR, 4, true}};

static bool level(struct admission_parser *s, int at, struct admission_part *out)
{
    if (at < 0)
        return unary(s, out);
    if (!level(s, at - 1, out))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(twos);) {
        struct admission_part right;
        if (twos[i].level != at || !eat(s, twos[i].word)) {
            i++;
            continue;
        }
        if (!level(s, at - 1, &right) ||
            (twos[i].truths && (!out->truth || !right.truth)))
            return false;
        out->truth = twos[i].truths;
        if (!emit(s, twos[i].kind, 0))
            return false;
        i = 0;
    }
    return true;
}

static bool comparison(struct admission_parser *s, struct admission_part *out)
{
    static const struct {
        const char *word;
        enum pc_admission_kind kind;
    } words[] = {{">=", ADMIT_GE}, {"<=", ADMIT_LE}, {"==", ADMIT_EQ},
                 {"!=", ADMIT_NE}, {">", ADMIT_GT},  {"<", ADMIT_LT}};
    struct admission_part right;
    if (!level(s, 4, out))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (eat(s, words[i].word)) {
            out->truth = true;
            return level(s, 4, &right) && emit(s, words[i].kind, 0);
        }
    return true;
}

/* The threshold that is shown; nothing depends on it, but it must be a value. */
static bool shown(struct admission_parser *s)
{
    struct pc_admission other = {0};
    struct admission_part part;
    struct pc_admission *keep = s->out;
    s->out = &other;
    bool good = comparison(s, &part);
    s->out = keep;
    return good;
}

bool pc_admission_parse(const char *text, struct pc_admission *out)
{
    struct admission_parser s = {.p = text, .out = out};
    struct admission_part part;
    *out = (struct pc_admission){0};
    if (!eat(&s, "lambda"))
        return false;
    blanks(&s);
    s.x = name_at(s.p);
    s.p += s.x.n;
    if (!s.x.n || !eat(&s, ":") || !eat(&s, "(") || !comparison(&s, &part) ||
        !part.truth || !eat(&s, ",") || !shown(&s) || !eat(&s, ")"))
        return false;
    blanks(&s);
    return *s.p == '\0';
}

static double one_value(enum pc_admission_kind kind, double a)
{
    switch (kind) {
    case ADMIT_NEGATE:
        return -a;
    case ADMIT_NOT:
        return a == 0;
    case ADMIT_ABS:
        return fabs(a);
    case ADMIT_LOG:
        return log(a);
    case ADMIT_SQRT:
        return sqrt(a);
    case ADMIT_EXP:
        return exp(a);
    case ADMIT_FLOOR:
        return floor(a);
    case ADMIT_CEIL:
        return ceil(a);
    default:
        return trunc(a);
    }
}

static double of_truths(enum pc_admission_kind kind, double a, double b)
{
    switch (kind) {
    case ADMIT_AND:
        return a != 0 && b != 0;
    case ADMIT_OR:
        return a != 0 || b != 0;
    case ADMIT_XOR:
        return (a != 0) != (b != 0);
    case ADMIT_GT:
        return a > b;
    case ADMIT_GE:
        return a >= b;
    case ADMIT_LT:
        return a < b;
    case ADMIT_LE:
        return a <= b;
    case ADMIT_EQ:
        return a == b;
    default:
        return a != b;
    }
}

static double two_values(enum pc_admission_kind kind, double a, double b)
{
    switch (kind) {
    case ADMIT_ADD:
        return a + b;
    case ADMIT_SUB:
        return a - b;
    case ADMIT_MUL:
        return a * b;
    case ADMIT_DIV:
        return a / b;
    case ADMIT_FLOOR_DIV:
        return floor(a / b);
    case ADMIT_MOD:
        return a - b * floor(a / b);
    case ADMIT_POW:
        return pow(a, b);
    default:
        return of_truths(kind, a, b);
    }
}

double pc_admission_run(const struct pc_admission *a, int from, int to, double x,
                        double chance, const double *sums)
{
    double stack[STACK] = {0};
    int n = 0;
    for (int i = from; i < to; i++) {
        const struct pc_admission_op *op = &a->ops[i];
        if (op->kind == ADMIT_SKIP)
            i += (int)op->at;
        else if (op->kind <= ADMIT_SUM)
            stack[n++] = op->kind == ADMIT_NUMBER   ? op->at
                         : op->kind == ADMIT_X      ? x
                         : op->kind == ADMIT_CHANCE ? chance
                                                    : sums[(int)op->at];
        else if (op->kind < ADMIT_ADD)
            stack[n - 1] = one_value(op->kind, stack[n - 1]);
        else {
            stack[n - 2] = two_values(op->kind, stack[n - 2], stack[n - 1]);
            n--;
        }
    }
    return stack[0];
}
