/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: no crash, spans inside the text, and what parses prints and reads back. */
#include "tree_check.h"

#include "text/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static enum rc parse(struct doc *d, struct diags *diags)
{
    return yaml_parse(d, false, diags);
}

static enum rc parse_lax(struct doc *d, struct diags *diags)
{
    return yaml_parse(d, true, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tree_check(data, n, parse, yaml_print);
    tree_check(data, n, parse_lax, NULL);
    return 0;
}
