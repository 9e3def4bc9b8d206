/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a key are joined: null gives way to anything, whole numbers to numbers, and
 * unlike scalars to text. Lists and objects join element by element; a list and a scalar
 * do not fit together.
 */
#include "data/csv/num.h"
#include "data/jsonl/jsonl_private.h"

#define COLUMNS_MAX 100000
#define INFER_DEPTH 8 /* lists and maps within each other */

enum guess_kind {
    GUESS_NULL,
    GUESS_BOOL,
    GUESS_INT,
    GUESS_FLOAT,
    GUESS_TEXT,
    GUESS_LIST,
    GUESS_MAP
};

struct guess {
    enum guess_kind kind;
    bool large;        /* a whole number was one that a double rounds */
    struct guess *kid; /* element of a list, value of a map */
};

static enum guess_kind joined(enum guess_kind a, enum guess_kind b)
{
    if (a == b || b == GUESS_NULL)
        return a;
    if (a == GUESS_NULL)
        return b;
    bool numbers =
        (a == GUESS_INT || a == GUESS_FLOAT) && (b == GUESS_INT || b == GUESS_FLOAT);
    return numbers ? GUESS_FLOAT : GUESS_TEXT;
}

static bool guess_value(struct jsonl_tokens *j, struct guess *g, struct arena *mem,
                        int depth);

static bool guess_nested(struct jsonl_tokens *j, struct guess *g, struct arena *mem,
                         int depth)
{
    bool first = true, list = *j->p == '[';
    enum guess_kind kind = list ? GUESS_LIST : GUESS_MAP;
    struct str key;
    if (g->kind != GUESS_NULL && g->kind != kind)
        return jsonl_token_fault(j, j->p, E1158, "does not fit the values before");
    if (depth <= 0)
        return jsonl_token_fault(j, j->p, E1154, "nested too deeply to infer a type");
    g->kind = kind;
    if (!g->kid)
        g->kid = arena_alloc(mem, sizeof(*g->kid));
    j->p++;
    while (jsonl_token_more(j, list ? ']' : '}', &first)) {
        if (!list) {
            if (jsonl_token_peek(j) != '"')
                return jsonl_token_fault(j, j->p, E1150, "expected a key in quotes");
            if (!jsonl_token_string(j, &key) || !jsonl_token_take(j, ':', "expected ':'"))
                return false;
        }
        if (!guess_value(j, g->kid, mem, depth - 1))
            return false;
    }
    return !j->fault;
}

static bool guess_number(struct jsonl_tokens *j, struct guess *g, enum guess_kind *kind)
{
    struct str s;
    int64_t i;
    if (!jsonl_token_number(j, &s))
        return false;
    enum num whole = num_i64(s.p, s.n, &i);
    /* whole numbers beyond 64 bits are ids: as floats many would become one */
    g->large = g->large || (whole == NUM_OK && csv_is_large_number(s));
    *kind = whole == NUM_OK ? GUESS_INT : whole == NUM_RANGE ? GUESS_TEXT : GUESS_FLOAT;
    return true;
}

static bool guess_value(struct jsonl_tokens *j, struct guess *g, struct arena *mem,
                        int depth)
{
    enum guess_kind kind = GUESS_NULL;
    unsigned char c = jsonl_token_peek(j);
    const unsigned char *at = j->p;
    struct str s;
    bool ok;
    switch (c) {
    case '[':
    case '{':
        return guess_nested(j, g, mem, depth);
    case '"':
        ok = jsonl_token_string(j, &s);
        kind = ok && jsonl_token_is_number_word(s) ? GUESS_FLOAT : GUESS_TEXT;
        break;
    case 't':
    case 'f':
        kind = GUESS_BOOL;
        ok = jsonl_token_word(j, c == 't' ? "true" : "false");
        break;
    case 'n':
        ok = jsonl_token_word(j, "null");
        break;
    default:
        ok = guess_number(j, g, &kind);
    }
    if (!ok)
        return false;
    if (g->kind >= GUESS_LIST && kind != GUESS_NULL)
        return jsonl_token_fault(j, at, E1158, "does not fit the values before");
    if (g->kind < GUESS_LIST)
        g->kind = joined(g->kind, kind);
    return true;
}

static bool guess_line(struct jsonl_tokens *j, struct map *found, struct arena *mem,
                       const char **name)
{
    bool first = true;
    struct str key;
    *name = "";
    if (jsonl_token_peek(j) != '{')
        return jsonl_token_fault(j, j->p, E1151, "expected an object");
    j->p++;
    while (jsonl_token_more(j, '}', &first)) {
        *name = "";
        if (jsonl_token_peek(j) != '"')
            return jsonl_token_fault(j, j->p, E1150, "expected a key in quotes");
        const unsigned char *at = j->p;
        if (!jsonl_token_string(j, &key))
            return false;
        if (memchr(key.p, '\0', key.n))
            return jsonl_token_fault(j, at, E1153, "a key cannot hold a zero byte");
        if (found->n >= COLUMNS_MAX && !map_find(found, key))
            return jsonl_token_fault(j, at, E1158, "too many different keys");
        struct map_entry *e = map_put(found, key);
        if (!e->value)
            e->value = arena_alloc(mem, sizeof(struct guess));
        *name = e->key;
        if (!jsonl_token_take(j, ':', "expected ':'") ||
            !guess_value(j, e->value, mem, INFER_DEPTH))
            return false;
    }
    *name = "";
    if (!j->fault && jsonl_token_peek(j) != '\n')
        return jsonl_token_fault(j, j->p, E1150, "expected the end of the line");
    return !j->fault;
}

static struct type type_of_guess(const struct guess *g, bool exact, struct arena *mem)
{
    switch (g->kind) {
    case GUESS_BOOL:
        return type_of(TYPE_BOOL, true);
    case GUESS_INT:
        return type_of(TYPE_I64, true);
    case GUESS_FLOAT:
        return type_of(exact && g->large ? TYPE_STR : TYPE_F64, true);
    case GUESS_LIST:
        return type_list(mem, type_of_guess(g->kid, exact, mem), true);
    case GUESS_MAP:
        return type_map(mem, type_of(TYPE_STR, false), type_of_guess(g->kid, exact, mem),
                        true);
    default:
        return type_of(TYPE_STR, true);
    }
}

static enum rc guess_block(struct csv_block *b, struct jsonl_tokens *j, bool skip_bad,
                           int64_t *rows_left, struct map *found, struct arena *mem,
                           struct err *err)
{
    const char *name;
    for (struct csv_walk w = {0}; *rows_left > 0 && csv_walk_next(b, &w);) {
        if (w.blank)
            continue;
        jsonl_token_line(j, b->text + w.start, b->text + b->ends[w.end] - 1);
        if (!guess_line(j, found, mem, &name) &&
            (!skip_bad || j->code == E1158 || j->code == E0001))
            return jsonl_fault_error(b, j, name, err);
        --*rows_left;
    }
    return RC_OK;
}

enum rc jsonl_infer(struct csv_block *b, struct jsonl_tokens *j,
                    const struct jsonl_infer_conf *conf, struct data_schema *schema,
                    struct err *err)
{
    struct map found = {0};
    struct arena mem = {0};
    int64_t rows = conf->rows;
    enum rc rc = csv_block_fill(b, err);
    while (rc == RC_OK && b->n_ends > 0) {
        rc = guess_block(b, j, conf->skip_bad, &rows, &found, &mem, err);
        if (rc || rows <= 0 || b->offset >= conf->bytes)
            break;
        b->used = b->whole;
        rc = csv_block_fill(b, err);
    }
    for (size_t i = 0; rc == RC_OK && i < found.n; i++) {
        struct type t = type_of_guess(found.at[i].value, conf->exact, &mem);
        struct str name = str_of(found.at[i].key, found.at[i].key_len);
        data_schema_add(schema, name, &t)->unseen =
            ((const struct guess *)found.at[i].value)->kind == GUESS_NULL;
    }
    map_release(&found);
    arena_release(&mem);
    return rc;
}
