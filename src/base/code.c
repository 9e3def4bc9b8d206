/* SPDX-License-Identifier: Apache-2.0 */
#include "base/code.h"

#include <strings.h>

static const struct code_info infos[CODE_COUNT] = {
#define CODE(id, title, text) [id] = {#id, title, text},
#include "base/codes.def"
#undef CODE
};

const struct code_info *code_info(enum code code)
{
    if (code <= E_NONE || code >= CODE_COUNT)
        return NULL;
    return &infos[code];
}

const struct code_info *code_find(const char *id)
{
    for (int i = E_NONE + 1; i < CODE_COUNT; i++)
        if (strcasecmp(infos[i].id, id) == 0)
            return &infos[i];
    return NULL;
}
