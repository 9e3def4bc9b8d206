/* SPDX-License-Identifier: Apache-2.0 */
/* A search-space file on its own. The bound form is a struct nni_space. */
#include "text/conf.h"
#include "text/nni/nni.h"
#include "text/nni/space.h"

static int nni_space_probe(const char *path, enum syntax syntax, const struct node *root)
{
    size_t specs = 0;
    if (syntax == SYNTAX_PROTOTEXT || root->kind != NODE_MAP || root->map.n == 0)
        return 0;
    for (size_t i = 0; i < root->map.n; i++) {
        const struct node *spec = root->map.at[i].value;
        specs += node_find(spec, "_type") || node_find(spec, "_value");
    }
    return specs == 0 ? 0 : specs == root->map.n ? 95 : 60;
}

static enum schema_dialect nni_space_dialect(enum syntax syntax)
{
    return SCHEMA_YAML;
}

static void check_tree(struct conf *c, struct diags *diags)
{
    struct nni_space *space = arena_alloc(&c->arena, sizeof(*space));
    if (c->doc.root && nni_space_build(c->doc.root, &c->arena, diags, space) == RC_OK)
        c->data = space;
}

static void nni_space_describe(const struct conf *c, struct buf *out)
{
    size_t n = c->doc.root->kind == NODE_MAP ? c->doc.root->map.n : 0;
    buf_printf(out, "%zu parameter%s", n, n == 1 ? "" : "s");
}

const struct conf_kind conf_kind_nni_space = {
    .name = "nni-search-space",
    .title = "NNI search space",
    .example = "search_space.json",
    .family = &schema_family_nni,
    .usual = SYNTAX_JSON,
    .probe = nni_space_probe,
    .dialect = nni_space_dialect,
    .check_tree = check_tree,
    .describe = nni_space_describe,
};
