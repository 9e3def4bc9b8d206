/* SPDX-License-Identifier: Apache-2.0 */
/* text/conf.h - a configuration file of a known kind: read, edited, checked, ready to
 * use.
 *
 * Each kind (pipeline, nni-experiment, ...) is one const struct conf_kind and one line in
 * kinds.def. conf_open() finds the kind by content, parses, applies edits, checks against
 * the schema and then against meaning, and binds the C struct that the rest of the
 * program reads.
 */
#ifndef TEXT_CONF_H
#define TEXT_CONF_H

#include "base/arena.h"
#include "base/err.h"
#include "text/diag.h"
#include "text/node.h"
#include "text/schema.h"

enum syntax { SYNTAX_PROTOTEXT, SYNTAX_JSON, SYNTAX_YAML };

struct conf;

struct conf_kind {
    const char *name;    /* "pipeline" */
    const char *title;   /* "TorchEasyRec pipeline.config" */
    const char *example; /* a usual file name, for help texts */
    const struct schema_family *family;
    const struct msg_def *root; /* NULL: the tree is checked by check_tree() alone */
    enum syntax usual;          /* when the content does not tell */
    bool last_key_wins;         /* YAML duplicates: a warning instead of an error */
    /* 0 "not mine" .. 100 "certain". `root` is the tree under that syntax and may be
     * incomplete when the file has errors. Must not depend on the path alone.
     */
    int (*probe)(const char *path, enum syntax syntax, const struct node *root);
    enum schema_dialect (*dialect)(enum syntax syntax);
    /* Optional: rewrites the tree before the schema sees it (older spellings). */
    void (*prepare)(struct conf *c, struct diags *diags);
    /* Optional: what needs the tree rather than the struct. */
    void (*check_tree)(struct conf *c, struct diags *diags);
    /* Optional: meaning; `c->data` is bound. Called only when the schema found no error.
     */
    void (*check)(struct conf *c, struct diags *diags);
    /* Optional: what the file holds, "24 features, model dlrm"; of a good one. */
    void (*describe)(const struct conf *c, struct buf *out);
};
#define KIND(name, file) extern const struct conf_kind conf_kind_##name;
#include "text/kinds.def"
#undef KIND

/* A value to put at a path, `a.b[0].c=7`; see docs/config-edits.md. */
struct conf_edit {
    const char *origin; /* "--set" or "--edit-config-json", for messages */
    const char *text;   /* "path=value", or a JSON object of paths and values */
    bool json;
};

struct conf {
    const struct conf_kind *kind;
    enum syntax syntax;
    struct doc doc;
    const void *data;   /* the bound struct of kind->root; NULL when there were errors */
    struct arena arena; /* of `data` and the tree's edits */
    bool data_only;     /* a pipeline: what it says of a model is not looked at */
    /* Further sources that the tree or diagnostics point into (edits, a search-space
     * file). */
    VEC(struct source *) sources;
};

struct conf_options {
    const struct conf_kind *kind; /* NULL: by content */
    const struct conf_edit *edits;
    size_t n_edits;
    bool ignore_unknown; /* unknown fields are skipped (the config inside an export) */
    bool data_only;      /* of a pipeline only data and features are wanted */
};

/* All problems of the file are in `diags`. RC_OK: usable (there may be warnings).
 * RC_INVAL, RC_FORMAT: the diagnostics say why; `c` is filled as far as it went, so that
 * excerpts can be shown, and must be released as well. Other codes and `err`: the file
 * could not be read or is of no known kind. `c` must outlive `diags`' printing.
 */
enum rc conf_open(const char *path, const struct conf_options *options, struct conf *c,
                  struct diags *diags, struct err *err) MUST_CHECK;
/* The same for text that is already there. */
enum rc conf_from(const char *name, const char *text, size_t n,
                  const struct conf_options *options, struct conf *c, struct diags *diags,
                  struct err *err) MUST_CHECK;
void conf_release(struct conf *c);

const struct conf_kind *conf_kind_find(const char *name); /* NULL when unknown */
const struct conf_kind *const *conf_kinds(size_t *n);
const char *syntax_name(enum syntax syntax);
/* The tree, edits included, as text in the file's own syntax. */
void conf_print(const struct conf *c, struct buf *out);

#endif
