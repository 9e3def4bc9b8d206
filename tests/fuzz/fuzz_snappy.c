/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: our decoder accepts what the library's accepts, and gives the same bytes. */
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "io/snappy.h"

#define MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t size = 0;
    if (snappy_uncompressed_length((const char *)data, n, &size) != SNAPPY_OK ||
        size > MAX)
        return 0;
    uint8_t *ours = malloc(size + 1);
    char *theirs = malloc(size + 1);
    if (!ours || !theirs)
        abort();
    size_t got = size;
    bool ok = snappy_uncompress((const char *)data, n, theirs, &got) == SNAPPY_OK;
    if (snappy_block(data, n, ours, size) != ok ||
        (ok && memcmp(ours, theirs, size) != 0))
        abort();
    free(ours);
    free(theirs);
    return 0;
}
