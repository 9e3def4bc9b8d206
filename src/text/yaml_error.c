/* SPDX-License-Identifier: Apache-2.0 */
/* What libyaml's scanner and parser complain about, in our words. Its own text is the
 * fall-back, so that a newer libyaml loses nothing.
 */
#include <string.h>

#include "base/utf8.h"
#include "text/yaml_private.h"

struct wording {
    const char *theirs; /* how libyaml's text begins */
    enum code code;
    const char *ours;
    const char *hint; /* or NULL */
};

static const struct wording wordings[] = {
    {"mapping values are not allowed", E0103, "a ':' cannot stand here",
     "text that holds ': ' needs quotes; a key must start in the column of its neighbours"},
    {"block sequence entries are not allowed", E0103,
     "a list item '- ' cannot stand here",
     "a list begins on a line of its own, below its key"},
    {"mapping keys are not allowed", E0103, "a key cannot stand here", NULL},
    {"could not find expected ':'", E0103, "expected ':' after the key",
     "a key, its ':' and the beginning of its value stand on one line; text that goes on "
     "must be indented"},
    {"did not find expected key", E0103, "expected a key",
     "entries of one mapping start in the same column"},
    {"did not find expected '-' indicator", E0103, "expected '- ' and the next list item",
     "items of one list start in the same column"},
    {"did not find expected ',' or ']'", E0104, "expected ',' or ']' after list item",
     NULL},
    {"did not find expected ',' or '}'", E0104, "expected ',' or '}' after the value",
     NULL},
    {"did not find expected node content", E0103, "expected a value", NULL},
    {"did not find expected <document start>", E0103,
     "expected the end of the file after the value",
     "entries of one mapping start in the same column"},
    {"did not find expected <stream-start>", E0103, "not readable as YAML", NULL},
    {"found unexpected end of stream", E0105, "the string is never closed", NULL},
    {"found unexpected document indicator", E0105,
     "the string is not closed before '---' or '...'", NULL},
    {"found unknown escape character", E0105, "unknown escape in a string",
     "in double quotes a backslash is written \\\\; single quotes take it as it is"},
    {"did not find expected hexdecimal number", E0105,
     "the escape needs more hexadecimal digits", NULL},
    {"found invalid Unicode character escape code", E0105,
     "the escape stands for no character", NULL},
    {"found a tab character", E0103, "a tab cannot be used for indentation",
     "indent with blanks"},
    {"found undefined tag handle", E0109, "the tag is not defined", NULL},
    {"did not find expected alphabetic or numeric character", E0103,
     "expected a name after '&' or '*'", "text that begins with '*' or '&' needs quotes"},
    {"found character that cannot start any token", E0103, NULL, NULL},
    {"control characters are not allowed", E0103, "control characters are not allowed",
     "in double quotes they can be written as escapes such as \\x1d"},
    {"found incompatible YAML document", E0109, "the file asks for another YAML version",
     NULL},
    {"found extra", E0103, NULL, NULL},
};

static const struct wording *wording_of(const char *theirs)
{
    for (size_t i = 0; i < ARRAY_LEN(wordings); i++)
        if (str_starts(theirs, wordings[i].theirs))
            return &wordings[i];
    return NULL;
}

/* Only tab, '@', '`' and '%' can be meant. */
static void report_bad_start(struct yaml *y, struct span at)
{
    char c = at.off < y->doc->src->n ? y->doc->src->text[at.off] : ' ';
    bool tab = c == '\t';
    struct diag *g =
        tab ? diag_add(y->diags, DIAG_ERROR, E0103, at,
                       "a tab cannot be used for indentation")
            : diag_add(y->diags, DIAG_ERROR, E0103, at, "text cannot begin with '%c'", c);
    if (tab)
        diag_hint(y->diags, g, "indent with blanks");
    else
        diag_hint(y->diags, g, "put the text in quotes");
}

/* Where the thing began that could not be finished. */
static void hint_context(struct yaml *y, struct diag *g, const struct wording *w)
{
    const yaml_mark_t *from = &y->parser.context_mark;
    bool open = w && (w->code == E0104 || w->code == E0105);
    if (w && w->hint) {
        diag_hint(y->diags, g, "%s", w->hint);
    } else if (open && y->parser.context) {
        uint32_t line, col;
        source_locate(y->doc->src, yaml_offset(y, from->index), &line, &col);
        diag_hint(y->diags, g, "it was opened at line %u, column %u", line, col);
    }
}

void yaml_report(struct yaml *y)
{
    const yaml_parser_t *p = &y->parser;
    const char *theirs = p->problem ? p->problem : "not readable as YAML";
    const struct wording *w = wording_of(theirs);
    size_t n = y->doc->src->n;
    uint32_t off = p->error == YAML_READER_ERROR
                       ? (uint32_t)(p->problem_offset < n ? p->problem_offset : n)
                       : yaml_offset(y, p->problem_mark.index);
    struct span at = {.src = y->doc->src, .off = off};
    at.len = off < n ? (uint32_t)utf8_len(y->doc->src->text + off, n - off) : 0;
    if (w && str_starts(w->theirs, "found character that")) {
        report_bad_start(y, at);
        return;
    }
    struct diag *g = diag_add(y->diags, DIAG_ERROR, w ? w->code : E0103, at, "%s",
                              w && w->ours ? w->ours : theirs);
    hint_context(y, g, w);
}
