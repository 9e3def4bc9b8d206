/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/index_types.h"

#include <string.h>

#include "base/compiler.h"

static const struct cmd_index_type types[] = {
    {"FlatIP", false, false, INDEX_DOT},    {"FlatL2", false, false, INDEX_L2},
    {"IVFFlatIP", true, false, INDEX_DOT},  {"IVFFlatL2", true, false, INDEX_L2},
    {"HNSWFlatIP", false, true, INDEX_DOT}, {"HNSWFlatL2", false, true, INDEX_L2}};

enum rc cmd_index_find(const char *name, const struct cmd_index_type **out,
                       struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            *out = &types[i];
            return RC_OK;
        }
    return err_coded(err, RC_INVAL, E0603,
                     "--index-type: '%s' is not one of FlatIP, FlatL2, IVFFlatIP, "
                     "IVFFlatL2, HNSWFlatIP, HNSWFlatL2",
                     name);
}
