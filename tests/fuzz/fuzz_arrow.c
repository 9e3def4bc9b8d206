/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an Arrow message: refused, or columns whose every row can be looked at.
 * The bytes lie in a block of their own size, so that a step outside is noticed.
 */
#include <stdlib.h>
#include <string.h>

#include "data/arrow/ipc.h"
#include "data/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void look(const struct batch *b, const struct data_schema *s)
{
    struct batch copy;
    struct buf out;
    batch_init(&copy, s);
    buf_init(&out, (size_t)1 << 22);
    int64_t some = b->n < 1000 ? b->n : 1000;
    if (batch_append(&copy, b, 0, some, NULL) == RC_OK)
        for (int64_t i = 0; i < some; i++)
            batch_print_json(&copy, i, &out);
    buf_release(&out);
    batch_release(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *bytes = malloc(n ? n : 1);
    struct data_schema s = {0};
    struct arrow *a = arrow_create();
    const struct batch *b = NULL;
    if (!bytes)
        abort();
    memcpy(bytes, data, n);
    if (arrow_schema(bytes, n, &s, NULL) == RC_OK) {
        if (arrow_batch(a, bytes, n, NULL, &s, &b, NULL) == RC_OK)
            look(b, &s);
    } else {
        struct type t = type_of(TYPE_I64, true);
        data_schema_release(&s);
        data_schema_add(&s, str_of("id", 2), &t);
        if (arrow_batch(a, bytes, n, &s, &s, &b, NULL) == RC_OK)
            look(b, &s);
    }
    arrow_destroy(a);
    data_schema_release(&s);
    free(bytes);
    return 0;
}
