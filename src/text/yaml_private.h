/* SPDX-License-Identifier: Apache-2.0 */
/* text/yaml_private.h - what the parts of the YAML reader share. */
#ifndef TEXT_YAML_PRIVATE_H
#define TEXT_YAML_PRIVATE_H

#include <yaml.h>

#include "base/map.h"
#include "base/vec.h"
#include "text/keys.h"
#include "text/yaml.h"

#define YAML_EXPANDED_MAX ((size_t)1000000) /* nodes that aliases may add to a file */
#define YAML_STRIDE 256 /* characters between two remembered byte offsets */

/* A list or map that is still open. */
struct yaml_frame {
    struct node *node;
    struct keys keys;
    struct node *merges; /* a list of maps to merge at the end; or NULL */
    struct str key;      /* read, waiting for its value */
    struct span key_at;
    bool has_key, is_merge, flow;
    uint32_t end;  /* of its last part */
    size_t anchor; /* its place in `anchors` plus one, 0 when it has none */
};

struct yaml {
    struct doc *doc;
    struct diags *diags;
    yaml_parser_t parser;
    bool last_key_wins;
    bool failed; /* stop */
    bool twice;  /* a key was given twice and that is an error */
    struct yaml_frame stack[NODE_DEPTH_MAX];
    unsigned depth;
    struct map anchors;    /* name to struct node */
    size_t expanded;       /* nodes made from aliases so far */
    size_t expanded_bytes; /* and the text in them */
    VEC(uint32_t) offsets; /* byte offset of every YAML_STRIDE-th character */
    bool ascii;            /* character and byte offsets are the same */
};

/* Byte offset of libyaml's character number `index`. */
uint32_t yaml_offset(const struct yaml *y, size_t index);
/* Turns the parser's error into a diagnostic. */
void yaml_report(struct yaml *y);
/* Puts the entries of f's merge maps that f does not have itself before its own. */
void yaml_merge(struct yaml *y, struct yaml_frame *f);
/* A copy of what `name` was given to, or NULL with a diagnostic. */
struct node *yaml_alias(struct yaml *y, const char *name, struct span at);

#endif
