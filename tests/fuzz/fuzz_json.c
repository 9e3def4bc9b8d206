/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: no crash, spans inside the text, and what parses prints and reads back. */
#include "tree_check.h"

#include "text/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void print(const struct node *root, struct buf *out)
{
    json_print(root, 2, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tree_check(data, n, json_parse, print);
    return 0;
}
