/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the answer of a store or a file of credentials: found texts are bounded by
 * the input, and nothing is read beyond it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/account.h"
#include "io/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void bounded(char *text, size_t n)
{
    if (text && strlen(text) > 2 * n)
        abort();
    mem_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *copy = malloc(n ? n : 1);
    struct str in, inside;
    if (!copy)
        abort();
    memcpy(copy, data, n);
    in = str_of(copy, n);
    bounded(xml_text(in, "Code"), n);
    bounded(io_json_get(in, "AccessKeyId"), n);
    bounded(io_ini_get(in, "default", "region", false), n);
    for (struct str rest = in; xml_find(rest, "Key", &inside, &rest);)
        if (inside.p < copy || inside.p + inside.n > copy + n)
            abort();
    free(copy);
    return 0;
}
