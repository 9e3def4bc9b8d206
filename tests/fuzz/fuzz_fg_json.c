/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON is an fg.json or gets a message; features that were read can be written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "feature/fg_json.h"
#include "text/json.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

struct read {
    struct doc doc;
    struct arena arena;
    struct diags diags;
};

/* False: it was refused, with a message. */
static bool print_again(const char *data, size_t n, struct buf *out)
{
    struct read r = {0};
    struct node *tree = NULL;
    bool ok = source_from("t", data, n, &r.doc.src, NULL) == RC_OK;
    if (ok && json_parse(&r.doc, &r.diags) == RC_OK) {
        tree = fg_json_tree(r.doc.root, &r.arena, &r.diags);
        must(tree || r.diags.n_errors);
    }
    ok = tree && schema_normalise(&pc_EasyRecConfig_def, tree, SCHEMA_JSON, &r.arena,
                                  &r.diags) == RC_OK;
    if (ok)
        fg_json_print(schema_bind(&pc_EasyRecConfig_def, tree, &r.arena), out);
    diags_release(&r.diags);
    doc_release(&r.doc);
    arena_release(&r.arena);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf one;
    buf_init(&one, 1 << 26);
    print_again((const char *)data, n, &one);
    buf_release(&one);
    return 0;
}
