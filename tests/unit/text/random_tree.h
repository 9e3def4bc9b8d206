/* SPDX-License-Identifier: Apache-2.0 */
/* Random trees for round-trip tests, the same on every run. */
#ifndef RANDOM_TREE_H
#define RANDOM_TREE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/node.h"

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state;
}

static inline size_t random_below(struct random *r, size_t n)
{
    return (size_t)(random_next(r) >> 11) % n;
}

/* Pieces that printers and parsers get wrong most easily. */
static const char *const random_pieces[] = {
    "a",
    "Z9",
    "_",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    ":",
    ": ",
    " #",
    "#",
    "-",
    "- ",
    "---",
    "...",
    "'",
    "\"",
    "\\",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    "?",
    "? ",
    "~",
    "null",
    "true",
    "No",
    "y",
    "1",
    "-1",
    "0x1f",
    "0o17",
    "1e-3",
    ".inf",
    ".5",
    "1.",
    "<<",
    "=",
    "\x01",
    "\x7f",
    "\xc2\x85",
    "\xc2\xa0",
    "\xe2\x80\xa8",
    "\xe2\x80\xa9",
    "\xef\xbb\xbf",
    "\xc3\xa9",
    "\xe4\xb8\xad",
    "\xf0\x9f\x98\x80",
    "\x1b",
    "2020-01-01",
    "1:30",
    "\b\f",
    "/",
};

static inline size_t random_text(struct random *r, char *out, size_t room)
{
    size_t n = 0, pieces = random_below(r, 4);
    if (random_below(r, 40) == 0) {
        pieces = 300;
    }
    for (size_t i = 0; i < pieces; i++) {
        const char *p = random_pieces[random_below(r, sizeof(random_pieces) /
                                                          sizeof(random_pieces[0]))];
        size_t len = strlen(p);
        if (n + len + 1 > room)
            break;
        memcpy(out + n, p, len);
        n += len;
        if (random_below(r, 60) == 0)
            out[n++] = '\0';
    }
    return n;
}

static inline double random_real(struct random *r)
{
    static const double picks[] = {0,      -0.0, 1,  -1,   0.1,  1e-3, 1e300,
                                   5e-324, 1e15, 90, 1e20, 1e22, -2.5, 123456789.125};
    if (random_below(r, 2))
        return picks[random_below(r, sizeof(picks) / sizeof(picks[0]))];
    uint64_t bits = random_next(r);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return isfinite(v) ? v : 0.5;
}

static inline struct node *random_scalar(struct random *r, struct arena *a)
{
    char text[2048];
    struct span none = {0};
    struct node *n;
    switch (random_below(r, 7)) {
    case 0:
        return node_create(a, NODE_NULL, none);
    case 1:
        return node_bool(a, random_below(r, 2), none);
    case 2:
        n = node_uint(a, random_next(r) >> random_below(r, 64), none);
        n->num.neg = random_below(r, 2);
        return n;
    case 3:
        return node_real(a, random_real(r), none);
    default:
        return node_str(a, text, random_text(r, text, sizeof(text)), none);
    }
}

/* At most `depth` lists and maps inside each other; keys of a map differ. */
static inline struct node *random_tree(struct random *r, struct arena *a, unsigned depth)
{
    size_t kind = depth ? random_below(r, 3) : 0;
    if (kind == 0)
        return random_scalar(r, a);
    struct node *n = node_create(a, kind == 1 ? NODE_LIST : NODE_MAP, (struct span){0});
    size_t items = random_below(r, 5);
    for (size_t i = 0; i < items; i++) {
        struct node *item = random_tree(r, a, depth - 1);
        if (kind == 1) {
            node_push(a, n, item);
            continue;
        }
        char key[2100];
        size_t len = random_text(r, key, 2048);
        len += (size_t)snprintf(key + len, sizeof(key) - len, "%s",
                                i == 0 ? ""
                                       : (const char *[]){"", "k", "x y", "3", "<<"}[i]);
        bool there = false;
        for (size_t k = 0; k < n->map.n; k++)
            there |= str_eq(n->map.at[k].key, str_of(key, len));
        if (!there)
            node_add(a, n, str_of(key, len), (struct span){0}, item);
    }
    return n;
}

#endif
