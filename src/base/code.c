/* SPDX-License-Identifier: Apache-2.0 */
#include "base/code.h"

#include <stdlib.h>
#include <strings.h>

static const struct code_info infos[] = {
#define CODE(id, title, text) {id, #id, title, text},
#include "base/codes.def"
#undef CODE
};

const struct code_info *code_all(size_t *n)
{
    *n = sizeof(infos) / sizeof(infos[0]);
    return infos;
}

static int by_number(const void *key, const void *info)
{
    return (int)*(const enum code *)key - (int)((const struct code_info *)info)->code;
}

const struct code_info *code_info(enum code code)
{
    return bsearch(&code, infos, sizeof(infos) / sizeof(infos[0]), sizeof(infos[0]),
                   by_number);
}

const struct code_info *code_find(const char *id)
{
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
        if (strcasecmp(infos[i].id, id) == 0)
            return &infos[i];
    return NULL;
}
