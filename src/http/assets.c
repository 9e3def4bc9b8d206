/* SPDX-License-Identifier: Apache-2.0 */
#include "http/assets.h"

#include <string.h>

const struct http_asset *http_asset_page(void)
{
    return &http_assets_all[0];
}

const struct http_asset *http_asset_find(const char *name)
{
    for (const struct http_asset *a = http_assets_all + 1; a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}
