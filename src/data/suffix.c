/* SPDX-License-Identifier: Apache-2.0 */
#include "data/suffix.h"

#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/str.h"

static bool ends(struct str path, struct str suffix)
{
    return path.n > suffix.n && path.p[path.n - suffix.n - 1] == '.' &&
           strncasecmp(path.p + path.n - suffix.n, suffix.p, suffix.n) == 0;
}

bool suffix_matches(const char *path, const char *suffixes)
{
    static const char *const packed[] = {"gz", "zst", "zstd"};
    struct str name = str_c(path), rest = str_c(suffixes), part;
    for (size_t i = 0; i < ARRAY_LEN(packed); i++)
        if (ends(name, str_c(packed[i]))) {
            name.n -= strlen(packed[i]) + 1;
            break;
        }
    while (str_split(&rest, '|', &part))
        if (ends(name, part))
            return true;
    return false;
}
