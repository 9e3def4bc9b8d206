/* SPDX-License-Identifier: Apache-2.0 */
/* Any file is a tokenizer or gets a message; ids are below its number of rows. The first
 * byte says which kind, the second how many bytes at the end are the text.
 */
#include <stdlib.h>

#include "feature/token/token.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tokenizer *t = NULL;
    struct err err = {0};
    const int64_t *ids;
    size_t count;
    if (n < 2 || data[1] > n - 2)
        return 0;
    size_t text = data[1], file = n - 2 - text;
    if (tokenizer_from(data + 2, file,
                       data[0] & 1 ? TOKENIZER_SENTENCEPIECE : TOKENIZER_BPE, &t, &err)) {
        must(err.msg[0] != '\0');
        return 0;
    }
    struct token_scratch *s = token_scratch_create();
    struct str in = str_of((const char *)data + 2 + file, text);
    if (!tokenizer_encode(t, s, in, &ids, &count, &err))
        for (size_t i = 0; i < count; i++)
            must(ids[i] >= 0 && ids[i] < tokenizer_rows(t));
    token_scratch_destroy(s);
    tokenizer_close(t);
    return 0;
}
