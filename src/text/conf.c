/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a configuration file. Its kind is found by parsing the text under each
 * syntax, with the problems thrown away, and asking every kind how sure it is. Then:
 * parse, prepare, normalise, edits one by one with a check after each, bind, and the
 * checks of the kind. A file with errors is still checked for what it means, but what is
 * said about a message that has an error itself is left out, because it may only follow
 * from that.
 */
#include "text/conf.h"

#include <string.h>

#include "text/edit.h"
#include "text/json.h"
#include "text/normalise.h"
#include "text/prototext.h"
#include "text/yaml.h"

static const struct conf_kind *const kinds[] = {
#define KIND(name, file) &conf_kind_##name,
#include "text/kinds.def"
#undef KIND
    NULL,
};

const struct conf_kind *const *conf_kinds(size_t *n)
{
    *n = ARRAY_LEN(kinds) - 1;
    return kinds;
}

const struct conf_kind *conf_kind_find(const char *name)
{
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const char *syntax_name(enum syntax syntax)
{
    static const char *const names[] = {[SYNTAX_PROTOTEXT] = "protobuf text format",
                                        [SYNTAX_JSON] = "JSON",
                                        [SYNTAX_YAML] = "YAML"};
    return names[syntax];
}

/* A copy in which repeated messages stand one after the other, as people write them,
 * instead of in one list.
 */
static struct node *unlisted(struct arena *a, const struct node *n)
{
    if (n->kind != NODE_MAP)
        return node_clone(a, n);
    struct node *map = node_create(a, NODE_MAP, n->at);
    for (size_t i = 0; i < n->map.n; i++) {
        const struct node_entry *e = &n->map.at[i];
        const struct node *v = e->value;
        if (v->kind == NODE_LIST && v->list.n && v->list.at[0]->kind == NODE_MAP)
            for (size_t k = 0; k < v->list.n; k++)
                node_add(a, map, e->key, e->key_at, unlisted(a, v->list.at[k]));
        else
            node_add(a, map, e->key, e->key_at, unlisted(a, v));
    }
    return map;
}

void conf_print(const struct conf *c, struct buf *out)
{
    struct arena scratch = {0};
    switch (c->syntax) {
    case SYNTAX_PROTOTEXT:
        prototext_print(unlisted(&scratch, c->doc.root), out);
        arena_release(&scratch);
        break;
    case SYNTAX_JSON:
        json_print(c->doc.root, 2, out);
        break;
    case SYNTAX_YAML:
        yaml_print(c->doc.root, out);
        break;
    }
}

static enum rc parse_as(enum syntax syntax, struct doc *doc, bool last_key_wins,
                        struct diags *diags)
{
    switch (syntax) {
    case SYNTAX_PROTOTEXT:
        return prototext_parse(doc, diags);
    case SYNTAX_JSON:
        return json_parse(doc, diags);
    case SYNTAX_YAML:
        return yaml_parse(doc, last_key_wins, diags);
    }
    return RC_UNSUPPORTED;
}

struct guess {
    const struct conf_kind *kind;
    enum syntax syntax;
    int score;
    size_t errors; /* of the parser */
};

static void consider(struct guess *best, const struct conf_kind *kind, enum syntax syntax,
                     const char *path, const struct node *root, size_t errors)
{
    int score = kind->probe(path, syntax, root);
    if (score <= 0 || score < best->score ||
        (score == best->score && errors >= best->errors))
        return;
    *best =
        (struct guess){.kind = kind, .syntax = syntax, .score = score, .errors = errors};
}

/* Reads the text under each syntax, with the problems thrown away, and asks the kinds. */
static struct guess guess_kind(const char *path, struct source *src,
                               const struct conf_kind *only)
{
    struct guess best = {0};
    for (enum syntax s = SYNTAX_PROTOTEXT; s <= SYNTAX_YAML; s++) {
        struct doc doc = {.src = src};
        struct diags unheard = {0};
        enum rc rc = parse_as(s, &doc, true, &unheard);
        for (size_t i = 0; kinds[i] && doc.root; i++)
            if (!only || only == kinds[i])
                consider(&best, kinds[i], s, path, doc.root, unheard.n_errors);
        diags_release(&unheard);
        doc.src = NULL; /* still the caller's */
        doc_release(&doc);
        if (rc == RC_OK && best.score >= 90)
            break;
    }
    return best;
}

static enum syntax usual_syntax(const struct conf_kind *kind, const struct source *src)
{
    const char *first = src->text + strspn(src->text, " \t\r\n");
    return *first == '{' ? SYNTAX_JSON : kind->usual;
}

static enum rc find_kind(struct conf *c, const char *path, const struct conf_options *o,
                         struct err *err)
{
    struct guess g = guess_kind(path, c->doc.src, o->kind);
    if (!g.kind && o->kind)
        g = (struct guess){.kind = o->kind, .syntax = usual_syntax(o->kind, c->doc.src)};
    if (!g.kind)
        return err_coded(err, RC_UNSUPPORTED, E0210,
                         "%s: not a file of a known kind; --kind names one", path);
    c->kind = g.kind;
    c->syntax = g.syntax;
    return RC_OK;
}

static void copy_diag(const struct diag *g, struct diags *to)
{
    struct diag *copy = diag_add(to, g->severity, g->code, g->at, "%s", g->msg);
    if (g->where)
        diag_where(to, copy, "%s", g->where);
    if (g->hint)
        diag_hint(to, copy, "%s", g->hint);
}

static bool is_source_from(const struct conf *c, size_t first, const struct source *src)
{
    for (size_t i = first; i < c->sources.n; i++)
        if (c->sources.at[i] == src)
            return true;
    return false;
}

/* What the check after an edit says of that edit, whose sources are those from `first`
 * on; of the file and of earlier edits all has been said.
 */
static void keep_new(const struct conf *c, size_t first, const struct diags *from,
                     struct diags *to)
{
    for (size_t i = 0; i < from->list.n; i++) {
        const struct diag *g = &from->list.at[i];
        if (!is_source_from(c, first, g->at.src))
            continue;
        copy_diag(g, to);
    }
}

static void apply_edits(struct conf *c, const struct conf_options *o, struct diags *diags)
{
    for (size_t i = 0; i < o->n_edits; i++) {
        struct diags again = {0};
        size_t first = c->sources.n;
        if (edit_apply(c, &o->edits[i], diags))
            continue;
        if (schema_normalise_with(c->kind->root, c->doc.root, c->kind->dialect(c->syntax),
                                  o->ignore_unknown, &c->arena, &again) ||
            again.list.n)
            keep_new(c, first, &again, diags);
        diags_release(&again);
    }
}

/* The path in a diagnostic's place: behind " at ", or all of it; "" for the root. */
static struct str path_of(const struct diag *g)
{
    const char *at = g->where ? strstr(g->where, " at ") : NULL;
    return at ? str_c(at + 4) : str_c(g->where ? g->where : "");
}

/* Is one of the two messages inside the other? */
static bool related(struct str a, struct str b)
{
    struct str inner = a.n > b.n ? a : b, outer = a.n > b.n ? b : a;
    if (memcmp(inner.p, outer.p, outer.n) != 0)
        return false;
    return outer.n == 0 || inner.n == outer.n || inner.p[outer.n] == '.' ||
           inner.p[outer.n] == '[';
}

/* The entry of the root whose value holds the place; -1: none, or the root itself. */
static int64_t entry_at(const struct node *root, const struct span *at)
{
    int64_t found = -1;
    if (at->src != root->at.src)
        return -1;
    for (size_t i = 0; i < root->map.n; i++) {
        const struct span *value = &root->map.at[i].value->at;
        bool from = value->src == at->src && value->off <= at->off;
        if (from && (found < 0 || value->off > root->map.at[found].value->at.off))
            found = (int64_t)i;
    }
    return found;
}

/* A value of the wrong type at the root says nothing about the values of other keys, nor
 * about files that those name.
 */
static bool apart(const struct conf *c, const struct diag *error,
                  const struct diag *found)
{
    const struct node *root = c->doc.root;
    int64_t a = entry_at(root, &error->at), b = entry_at(root, &found->at);
    bool other_file = found->at.src && found->at.src != root->at.src;
    return error->code == E0202 && path_of(error).n == 0 &&
           error->at.src == root->at.src && (other_file || (b >= 0 && a != b));
}

/* What a file with errors means, as far as that can be told: a finding about a message
 * that has an error itself, or holds or lies in one that has, may only follow from it.
 */
static void check_the_rest(struct conf *c, size_t first, struct diags *diags)
{
    struct diags found = {0};
    size_t n = diags->list.n;
    c->kind->check(c, &found);
    for (size_t i = 0; i < found.list.n; i++) {
        const struct diag *g = &found.list.at[i];
        bool follows = false;
        for (size_t k = first; k < n && !follows; k++)
            follows = diags->list.at[k].severity == DIAG_ERROR &&
                      related(path_of(&diags->list.at[k]), path_of(g)) &&
                      !apart(c, &diags->list.at[k], g);
        if (!follows)
            copy_diag(g, diags);
    }
    diags_release(&found);
}

static void check_meaning(struct conf *c, size_t first, bool clean, struct diags *diags)
{
    if (c->kind->root)
        c->data = schema_bind(c->kind->root, c->doc.root, &c->arena);
    if (!c->kind->check)
        return;
    if (clean)
        c->kind->check(c, diags);
    else
        check_the_rest(c, first, diags);
}

/* A file with a syntax error is still checked as far as it could be read, but what it
 * means is not.
 */
static enum rc conf_load(struct conf *c, const char *path, const struct conf_options *o,
                         struct diags *diags, struct err *err)
{
    enum rc rc = find_kind(c, path, o, err);
    if (rc)
        return rc;
    c->data_only = o->data_only;
    size_t before = diags->n_errors, first = diags->list.n;
    rc = parse_as(c->syntax, &c->doc, c->kind->last_key_wins, diags);
    if (rc && (rc != RC_FORMAT || c->syntax != SYNTAX_PROTOTEXT || !c->doc.root))
        return rc;
    if (c->kind->prepare)
        c->kind->prepare(c, diags);
    if (c->kind->root) {
        schema_normalise_with(c->kind->root, c->doc.root, c->kind->dialect(c->syntax),
                              o->ignore_unknown, &c->arena, diags);
        if (c->doc.root->kind == NODE_MAP)
            apply_edits(c, o, diags);
    }
    if (c->kind->check_tree)
        c->kind->check_tree(c, diags);
    if (!rc && c->doc.root->kind == NODE_MAP)
        check_meaning(c, first, diags->n_errors == before, diags);
    if (diags->n_errors == before)
        return RC_OK;
    c->data = NULL;
    return RC_INVAL;
}

enum rc conf_open(const char *path, const struct conf_options *options, struct conf *c,
                  struct diags *diags, struct err *err)
{
    *c = (struct conf){0};
    enum rc rc = source_open(path, &c->doc.src, err);
    return rc ? rc : conf_load(c, path, options, diags, err);
}

enum rc conf_from(const char *name, const char *text, size_t n,
                  const struct conf_options *options, struct conf *c, struct diags *diags,
                  struct err *err)
{
    *c = (struct conf){0};
    enum rc rc = source_from(name, text, n, &c->doc.src, err);
    return rc ? err_wrap(err, rc, "%s", name) : conf_load(c, name, options, diags, err);
}

void conf_release(struct conf *c)
{
    for (size_t i = 0; i < c->sources.n; i++)
        source_close(c->sources.at[i]);
    VEC_RELEASE(&c->sources);
    doc_release(&c->doc);
    arena_release(&c->arena);
    *c = (struct conf){0};
}
