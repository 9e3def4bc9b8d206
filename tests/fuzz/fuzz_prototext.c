/* SPDX-License-Identifier: Apache-2.0 */
/* Any text parses without a fault; what parses well prints and parses to the same tree.
 */
#include <assert.h>
#include <stdint.h>

#include "text/prototext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static enum rc parse(const char *text, size_t n, struct doc *doc, struct diags *diags)
{
    enum rc rc = source_from("fuzz", text, n, &doc->src, NULL);
    return rc ? rc : prototext_parse(doc, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct doc a = {0}, b = {0};
    struct diags diags = {0};
    struct buf out;
    buf_init(&out, (size_t)1 << 28);
    if (parse((const char *)data, n, &a, &diags) == RC_OK) {
        prototext_print(a.root, &out);
        enum rc rc = parse(buf_str(&out), out.n, &b, &diags);
        assert(rc == RC_OK && node_equal(a.root, b.root));
    } else {
        diags_sort(&diags);
        diags_print(&diags, &out, true);
        diags_json(&diags, &out);
    }
    buf_release(&out);
    diags_release(&diags);
    doc_release(&a);
    doc_release(&b);
    return 0;
}
