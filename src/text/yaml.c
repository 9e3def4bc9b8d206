/* SPDX-License-Identifier: Apache-2.0 */
/* The tree is built from libyaml's events with a stack of open lists and maps, so nesting
 * costs no C stack and is bounded by the size of that stack. libyaml counts characters
 * where our spans count bytes; yaml_offset() translates.
 */
#include "text/yaml.h"

#include <string.h>

#include "base/utf8.h"
#include "text/yaml_private.h"
#include "text/yaml_scalar.h"

#define CORE_TAG "tag:yaml.org,2002:"

static void index_characters(struct yaml *y)
{
    const struct source *src = y->doc->src;
    size_t from = src->n >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    size_t chars = 0;
    y->ascii = utf8_count(src->text, src->n) == src->n;
    for (size_t i = from; i < src->n && !y->ascii; i++)
        if (((unsigned char)src->text[i] & 0xc0) != 0x80 && chars++ % YAML_STRIDE == 0)
            VEC_PUSH(&y->offsets, (uint32_t)i);
}

uint32_t yaml_offset(const struct yaml *y, size_t index)
{
    const struct source *src = y->doc->src;
    if (y->ascii)
        return (uint32_t)(index < src->n ? index : src->n);
    size_t block = index / YAML_STRIDE;
    if (block >= y->offsets.n)
        return (uint32_t)src->n;
    size_t at = y->offsets.at[block];
    for (size_t left = index % YAML_STRIDE; left && at < src->n; left--) {
        at++;
        while (at < src->n && ((unsigned char)src->text[at] & 0xc0) == 0x80)
            at++;
    }
    return (uint32_t)at;
}

static struct span span_between(const struct yaml *y, uint32_t from, uint32_t to)
{
    return (struct span){
        .src = y->doc->src, .off = from, .len = to > from ? to - from : 0};
}

/* Block scalars end behind their line; the span ends with the text. */
static struct span span_of(const struct yaml *y, const yaml_event_t *e)
{
    uint32_t from = yaml_offset(y, e->start_mark.index);
    uint32_t to = yaml_offset(y, e->end_mark.index);
    while (to > from && strchr(" \t\r\n", y->doc->src->text[to - 1]))
        to--;
    return span_between(y, from, to);
}

static void yaml_fail(struct yaml *y, enum code code, struct span at, const char *msg)
{
    diag_add(y->diags, DIAG_ERROR, code, at, "%s", msg);
    y->failed = true;
}

static void note_twice(struct yaml *y, struct yaml_frame *f, struct node_entry *first,
                       struct node *value)
{
    uint32_t line, col;
    source_locate(y->doc->src, first->key_at.off, &line, &col);
    diag_add(y->diags, y->last_key_wins ? DIAG_WARNING : DIAG_ERROR, E0108, f->key_at,
             "key '%.*s' is given twice; %s is at line %u, column %u", (int)f->key.n,
             f->key.p, y->last_key_wins ? "this one counts, the first" : "the first",
             line, col);
    if (!y->last_key_wins)
        y->twice = true;
    first->value = value;
    first->key_at = f->key_at;
}

/* The value of `<<`: a map, or a list of maps. */
static void add_merge(struct yaml *y, struct yaml_frame *f, struct node *value,
                      struct span at)
{
    struct arena *a = &y->doc->arena;
    if (!f->merges)
        f->merges = node_create(a, NODE_LIST, at);
    bool fits = value->kind == NODE_MAP;
    if (value->kind == NODE_LIST) {
        fits = true;
        for (size_t i = 0; i < value->list.n; i++) {
            fits = fits && value->list.at[i]->kind == NODE_MAP;
            node_push(a, f->merges, value->list.at[i]);
        }
    } else {
        node_push(a, f->merges, value);
    }
    if (!fits && !y->failed)
        yaml_fail(y, E0103, at,
                  "'<<' merges a mapping or a list of mappings, nothing else");
}

/* Puts a finished node where it belongs. `at` is where it stands here. */
static void yaml_place(struct yaml *y, struct node *n, struct span at)
{
    if (y->depth == 0) {
        y->doc->root = n;
        return;
    }
    struct yaml_frame *f = &y->stack[y->depth - 1];
    f->end = at.off + at.len;
    if (f->node->kind == NODE_LIST) {
        node_push(&y->doc->arena, f->node, n);
        return;
    }
    f->has_key = false;
    if (f->is_merge) {
        add_merge(y, f, n, at);
        return;
    }
    struct node_entry *first = keys_note(&f->keys, f->node, f->key);
    if (first)
        note_twice(y, f, first, n);
    else
        node_add(&y->doc->arena, f->node, f->key, f->key_at, n);
}

static bool key_is_due(const struct yaml *y)
{
    if (y->depth == 0)
        return false;
    const struct yaml_frame *f = &y->stack[y->depth - 1];
    return f->node->kind == NODE_MAP && !f->has_key;
}

static void take_key(struct yaml *y, struct str key, struct span at, bool plain)
{
    struct yaml_frame *f = &y->stack[y->depth - 1];
    f->key = str_of(arena_strndup(&y->doc->arena, key.p, key.n), key.n);
    f->key_at = at;
    f->has_key = true;
    f->is_merge = plain && str_is(key, "<<");
    f->end = at.off + at.len;
    if (plain && key.n == 0)
        yaml_fail(y, E0109, at, "a key is missing before ':'");
}

static size_t anchor_slot(struct yaml *y, const yaml_char_t *name)
{
    if (!name)
        return 0;
    struct map_entry *e = map_put(&y->anchors, str_c((const char *)name));
    e->value = NULL; /* still open, or given anew */
    return (size_t)(e - y->anchors.at) + 1;
}

static void fill_anchor(struct yaml *y, size_t slot, struct node *n)
{
    if (slot)
        y->anchors.at[slot - 1].value = n;
}

static void refuse_tag(struct yaml *y, const char *tag, struct span at)
{
    bool core = str_starts(tag, CORE_TAG);
    diag_add(y->diags, DIAG_ERROR, E0109, at, "tag '%s%s' is not supported here",
             core ? "!!" : "", core ? tag + strlen(CORE_TAG) : tag);
    y->failed = true;
}

static bool collection_tag_fits(const yaml_char_t *tag, const char *own)
{
    const char *t = (const char *)tag;
    return !t || strcmp(t, "!") == 0 ||
           (str_starts(t, CORE_TAG) && strcmp(t + strlen(CORE_TAG), own) == 0);
}

static void open_collection(struct yaml *y, const yaml_event_t *e)
{
    bool map = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor =
        map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    struct span at = span_of(y, e);
    if (key_is_due(y)) {
        yaml_fail(y, E0109, at,
                  map ? "a key cannot be a mapping" : "a key cannot be a list");
    } else if (!collection_tag_fits(tag, map ? "map" : "seq")) {
        refuse_tag(y, (const char *)tag, at);
    } else if (y->depth == NODE_DEPTH_MAX) {
        yaml_fail(y, E0107, at, "nested more than 100 levels deep");
    } else {
        bool flow = map ? e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                        : e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        y->stack[y->depth++] = (struct yaml_frame){
            .node = node_create(&y->doc->arena, map ? NODE_MAP : NODE_LIST, at),
            .flow = flow,
            .end = at.off + at.len,
            .anchor = anchor_slot(y, anchor)};
    }
}

/* Also called for what is still open when the file turns out to be broken. */
static void close_collection(struct yaml *y, uint32_t end)
{
    struct yaml_frame *f = &y->stack[--y->depth];
    struct node *n = f->node;
    n->at = span_between(y, n->at.off, f->flow ? end : f->end);
    if (f->merges && !y->failed)
        yaml_merge(y, f);
    keys_release(&f->keys);
    fill_anchor(y, f->anchor, n);
    yaml_place(y, n, n->at);
}

/* `!!int "12"`: the tag decides, and the text must fit it. */
static struct node *tagged_scalar(struct yaml *y, const char *type, struct str text,
                                  struct span at)
{
    static const struct {
        const char *tag;
        enum node_kind kind;
    } types[] = {{"str", NODE_STR},
                 {"int", NODE_INT},
                 {"float", NODE_REAL},
                 {"bool", NODE_BOOL},
                 {"null", NODE_NULL}};
    struct arena *a = &y->doc->arena;
    struct node *n = yaml_scalar(a, text, at);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        double v;
        if (strcmp(type, types[i].tag) != 0)
            continue;
        if (types[i].kind == NODE_STR)
            return node_str(a, text.p, text.n, at);
        if (types[i].kind == NODE_REAL && node_number(n, &v)) {
            n->kind = NODE_REAL;
            n->real = v;
        }
        if (n->kind == types[i].kind)
            return n;
        diag_add(y->diags, DIAG_ERROR, E0106, at, "'%.*s' does not fit its tag '!!%s'",
                 (int)(text.n > 60 ? 60 : text.n), text.p, type);
        y->failed = true;
        return n;
    }
    return NULL;
}

static struct node *make_scalar(struct yaml *y, const yaml_event_t *e, struct span at)
{
    struct str text = str_of((const char *)e->data.scalar.value, e->data.scalar.length);
    const char *tag = (const char *)e->data.scalar.tag;
    if (!tag && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return yaml_scalar(&y->doc->arena, text, at);
    if (!tag || strcmp(tag, "!") == 0)
        return node_str(&y->doc->arena, text.p, text.n, at);
    struct node *n = NULL;
    if (str_starts(tag, CORE_TAG))
        n = tagged_scalar(y, tag + strlen(CORE_TAG), text, at);
    if (!n) {
        refuse_tag(y, tag, at);
        n = node_str(&y->doc->arena, text.p, text.n, at);
    }
    return n;
}

static void add_scalar(struct yaml *y, const yaml_event_t *e)
{
    struct span at = span_of(y, e);
    size_t anchor = anchor_slot(y, e->data.scalar.anchor);
    struct node *n = make_scalar(y, e, at);
    fill_anchor(y, anchor, n);
    if (key_is_due(y))
        take_key(y, str_of((const char *)e->data.scalar.value, e->data.scalar.length), at,
                 !e->data.scalar.tag && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
    else
        yaml_place(y, n, at);
}

static void add_alias(struct yaml *y, const yaml_event_t *e)
{
    struct span at = span_of(y, e);
    struct node *n = yaml_alias(y, (const char *)e->data.alias.anchor, at);
    if (!n)
        y->failed = true;
    else if (!key_is_due(y))
        yaml_place(y, n, at);
    else if (node_is_scalar(n))
        take_key(y, n->text, at, false);
    else
        yaml_fail(y, E0109, at, "a key must be a scalar");
}

static void handle(struct yaml *y, const yaml_event_t *e, unsigned *documents)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if ((*documents)++ > 0)
            yaml_fail(y, E0109, span_of(y, e), "a second document; a file holds one");
        break;
    case YAML_SCALAR_EVENT:
        add_scalar(y, e);
        break;
    case YAML_ALIAS_EVENT:
        add_alias(y, e);
        break;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        open_collection(y, e);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(y, yaml_offset(y, e->end_mark.index));
        break;
    default:
        break;
    }
}

static enum rc read_events(struct yaml *y)
{
    unsigned documents = 0;
    for (bool done = false; !done && !y->failed;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&y->parser, &e)) {
            y->failed = true;
            if (y->parser.error == YAML_MEMORY_ERROR)
                return RC_NOMEM;
            yaml_report(y);
            break;
        }
        handle(y, &e, &documents);
        done = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    return y->failed || y->twice ? RC_FORMAT : RC_OK;
}

enum rc yaml_parse(struct doc *d, bool last_key_wins, struct diags *diags)
{
    struct yaml *y = mem_calloc(1, sizeof(*y));
    enum rc rc = RC_NOMEM;
    y->doc = d;
    y->diags = diags;
    y->last_key_wins = last_key_wins;
    d->root = NULL;
    if (yaml_parser_initialize(&y->parser)) {
        yaml_parser_set_input_string(&y->parser, (const unsigned char *)d->src->text,
                                     d->src->n);
        index_characters(y);
        rc = read_events(y);
        while (y->depth)
            close_collection(y, (uint32_t)d->src->n);
        yaml_parser_delete(&y->parser);
    }
    if (rc == RC_NOMEM)
        diag_add(diags, DIAG_ERROR, E0001, (struct span){.src = d->src},
                 "no memory to read it");
    if (!d->root)
        d->root = yaml_scalar(&d->arena, str_of("", 0), span_between(y, 0, 0));
    map_release(&y->anchors);
    VEC_RELEASE(&y->offsets);
    mem_free(y);
    return rc;
}
