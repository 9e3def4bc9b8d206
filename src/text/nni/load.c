/* SPDX-License-Identifier: Apache-2.0 */
#include "text/nni/load.h"

#include <string.h>

#include "base/fs.h"
#include "text/json.h"
#include "text/nni/nni_private.h"
#include "text/yaml.h"

bool nni_dir_exists(struct conf *c, const char *path)
{
    return fs_is_dir(nni_path(c, path));
}

static void keep_diags(const struct diags *from, struct diags *to)
{
    for (size_t i = 0; i < from->list.n; i++) {
        const struct diag *g = &from->list.at[i];
        struct diag *copy = diag_add(to, g->severity, g->code, g->at, "%s", g->msg);
        if (g->where)
            diag_where(to, copy, "%s", g->where);
        if (g->hint)
            diag_hint(to, copy, "%s", g->hint);
    }
}

/* JSON first, then YAML, which also reads JSON with commas too many. The problems shown
 * are those of the syntax that the file's first character promises.
 */
static const struct node *nni_load_parse(struct conf *c, struct source *src,
                                         struct diags *diags)
{
    struct doc json = {.src = src}, yaml = {.src = src};
    struct diags json_said = {0}, yaml_said = {0};
    const struct node *root = NULL;
    bool braces = src->text[strspn(src->text, " \t\r\n")] == '{';
    if (json_parse(&json, &json_said) == RC_OK) {
        root = node_clone(&c->arena, json.root);
    } else if (yaml_parse(&yaml, false, &yaml_said) == RC_OK && yaml.root) {
        root = node_clone(&c->arena, yaml.root);
        keep_diags(&yaml_said, diags);
    } else {
        keep_diags(braces ? &json_said : &yaml_said, diags);
    }
    json.src = yaml.src = NULL; /* c->sources has it */
    doc_release(&json);
    doc_release(&yaml);
    diags_release(&json_said);
    diags_release(&yaml_said);
    return root;
}

static const struct node *open_file(struct conf *c, struct diags *diags)
{
    const struct nni_ExperimentConfig *e = c->data;
    struct source *src = NULL;
    struct err err = {0};
    if (source_open(nni_path(c, e->searchSpaceFile), &src, &err)) {
        schema_report(diags, DIAG_ERROR, E0402, &e->base, "searchSpaceFile",
                      "ExperimentConfig: Failed to load search space file \"%s\": %s",
                      e->searchSpaceFile, err.msg);
        return NULL;
    }
    VEC_PUSH(&c->sources, src);
    const struct node *root = nni_load_parse(c, src, diags);
    if (!root)
        schema_report(diags, DIAG_ERROR, E0402, &e->base, "searchSpaceFile",
                      "ExperimentConfig: Failed to load search space file \"%s\": it is "
                      "neither JSON nor YAML",
                      e->searchSpaceFile);
    return root;
}

const struct node *nni_space_tree(struct conf *c, struct diags *diags)
{
    const struct nni_ExperimentConfig *e = c->data;
    const struct node *root = e->searchSpace;
    if (e->useAnnotation) {
        if (root || e->has_searchSpaceFile)
            schema_report(
                diags, DIAG_ERROR, E0401, &e->base,
                root ? "searchSpace" : "searchSpaceFile",
                "ExperimentConfig: search space must not be set when annotation "
                "is enabled");
        return NULL;
    }
    if (!root && !e->has_searchSpaceFile) {
        schema_report(diags, DIAG_ERROR, E0401, &e->base, NULL,
                      "ExperimentConfig: search_space and search_space_file must be set "
                      "one");
        return NULL;
    }
    if (e->has_searchSpaceFile) {
        if (root)
            schema_report(diags, DIAG_WARNING, E0401, &e->base, "searchSpace",
                          "searchSpace is ignored: searchSpaceFile is set too");
        root = open_file(c, diags);
    }
    return root;
}

enum rc nni_space_load(struct conf *c, struct diags *diags, struct nni_space *out)
{
    const struct node *root = nni_space_tree(c, diags);
    return root ? nni_space_build(root, &c->arena, diags, out) : RC_FORMAT;
}
