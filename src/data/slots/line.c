/* SPDX-License-Identifier: Apache-2.0 */
/* One line into slots. Tokens name their slot; the other forms are parts in a fixed order,
 * those that the readers of PaddleRec's models take. Lines mostly have the same tokens in
 * the same order, so the slot of a token is first looked for where the line before had it.
 */
#include <stdio.h>
#include <string.h>

#include "data/slots/slots_private.h"

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct slots_format formats[] = {
    {.name = "slots", .sep = ' ', .tokens = true},
    {.name = "din",
     .sep = ';',
     .inner = ' ',
     .parts = PARTS("hist_item", "hist_cat", "target_item", "target_cat", "label")},
    {.name = "esmm",
     .sep = ',',
     .parts = PARTS("click", "conversion"),
     .skip = 1,
     .tokens = true},
    {.name = "items", .sep = '\n', .inner = ' ', .parts = PARTS("items")},
    {.name = "mmoe",
     .sep = ',',
     .parts = PARTS("marital", "income", "features"),
     .rest = true},
    {.name = "ncf", .sep = ',', .parts = PARTS("user", "item", "label")},
    {.name = "session", .sep = '\t', .inner = ',', .parts = PARTS("items", "label")},
    {.name = "tagspace", .sep = ',', .inner = ' ', .parts = PARTS("tag", "words")},
    {.name = "tdm",
     .sep = '\t',
     .inner = ' ',
     .parts = PARTS("input", "item"),
     .least = 1},
    {.name = "texts",
     .sep = '\t',
     .inner = ',',
     .parts = PARTS("query", "title", "others"),
     .rest = true,
     .least = 2},
    {.name = "youtube",
     .sep = ';',
     .inner = ',',
     .parts = PARTS("watch", "search", "other", "label")},
};

const char *slots_formats(void)
{
    return "slots|din|esmm|items|mmoe|ncf|session|tagspace|tdm|texts|youtube";
}

const struct slots_format *slots_format_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strcmp(formats[i].name, name ? name : "slots") == 0)
            return &formats[i];
    return NULL;
}

static bool bad_token(struct str token, struct slots_fault *fault)
{
    *fault = (struct slots_fault){.code = E1160, .at = token};
    snprintf(fault->what, sizeof(fault->what), "a token is written slot:value");
    return false;
}

static bool no_memory(struct slots_fault *fault)
{
    *fault = (struct slots_fault){.code = E0001};
    snprintf(fault->what, sizeof(fault->what), "no memory for the values of a line");
    return false;
}

/* The slot of the token at `place`; -1: it is not read. */
static int slot_of(struct slots_set *s, size_t place, struct str name, bool all)
{
    if (place < s->usual.n && s->usual.at[place] >= 0 &&
        str_is(name, s->list.at[s->usual.at[place]].name))
        return s->usual.at[place];
    int slot = all ? slots_set_add(s, name) : slots_set_find(s, name);
    if (place < s->usual.n)
        s->usual.at[place] = slot;
    else if (place == s->usual.n && place < SLOTS_COLUMNS_MAX)
        VEC_PUSH(&s->usual, slot);
    return slot;
}

/* A value ends at a second ':' or at the token's end. */
static bool read_token(struct str token, size_t place, bool all, struct slots_set *slots,
                       struct slots_fault *fault)
{
    const char *colon = memchr(token.p, ':', token.n);
    if (!colon || colon == token.p)
        return bad_token(token, fault);
    struct str name = str_of(token.p, (size_t)(colon - token.p));
    struct str value = str_of(colon + 1, token.n - name.n - 1);
    const char *second = value.n ? memchr(value.p, ':', value.n) : NULL;
    if (second)
        value.n = (size_t)(second - value.p);
    int slot = slot_of(slots, place, name, all);
    return slot < 0 || slots_slot_add(&slots->list.at[slot], value) || no_memory(fault);
}

static bool read_tokens(struct str rest, char sep, bool all, struct slots_set *slots,
                        struct slots_fault *fault)
{
    struct str token;
    size_t place = 0;
    while (str_split(&rest, sep, &token)) {
        if (token.n == 0)
            continue; /* several blanks in a row */
        if (!read_token(token, place++, all, slots, fault))
            return false;
    }
    return place > 0 || bad_token(rest, fault); /* a line of blanks */
}

static bool fill_part(const struct slots_format *f, struct str part, int slot,
                      struct slots_set *slots, struct slots_fault *fault)
{
    struct str value;
    while (slot >= 0 && str_split(&part, f->inner ? f->inner : '\n', &value))
        if (value.n && !slots_slot_add(&slots->list.at[slot], value))
            return no_memory(fault);
    return true;
}

static bool wrong_parts(const struct slots_format *f, struct str line, size_t found,
                        size_t want, struct slots_fault *fault)
{
    *fault = (struct slots_fault){.code = E1163, .at = line};
    snprintf(fault->what, sizeof(fault->what), "%s%zu parts, where '%s' has %zu",
             found > want ? "more than " : "", found > want ? want : found, f->name,
             f->least && found < want ? f->least : want);
    return false;
}

static bool read_parts(const struct slots_format *f, struct str line, bool all,
                       struct slots_set *slots, struct slots_fault *fault)
{
    struct str rest = line, part;
    size_t n = 0, want = f->skip;
    for (size_t i = 0; f->parts[i]; i++)
        want++;
    while (n < want && str_split(&rest, f->sep, &part)) {
        size_t i = n++ - f->skip;
        if (n <= f->skip)
            continue;
        struct str name = str_c(f->parts[i]);
        int slot = all ? slots_set_add(slots, name) : slots_set_find(slots, name);
        if (!fill_part(f, part, slot, slots, fault))
            return false;
        while (n == want && f->rest && str_split(&rest, f->sep, &part))
            if (!fill_part(f, part, slot, slots, fault))
                return false;
    }
    if (n < (f->least ? f->least + f->skip : want))
        return wrong_parts(f, line, n, want, fault);
    if (f->tokens)
        return read_tokens(rest, f->sep, all, slots, fault);
    return rest.p == NULL || !str_split(&rest, f->sep, &part) ||
           wrong_parts(f, line, n + 1, want, fault);
}

bool slots_line_read(const struct slots_format *f, struct str line, bool all,
                     struct slots_set *slots, struct slots_fault *fault)
{
    for (size_t i = 0; i < slots->list.n; i++)
        slots->list.at[i].n = 0;
    line = str_trim(line);
    return f->parts ? read_parts(f, line, all, slots, fault)
                    : read_tokens(line, f->sep, all, slots, fault);
}
