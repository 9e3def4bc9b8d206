/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as Parquet metadata: footer, page header, offset index, schema. */
#include <stdlib.h>

#include "base/mem.h"
#include "data/parquet/meta.h"
#include "data/parquet/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct pq_file_meta m;
    struct pq_schema s = {0};
    struct pq_page page;
    struct pq_location *at;
    size_t used, n_at;
    bool truncated;
    int64_t live = mem_live();
    if (pq_file_meta_parse(&m, data, n, 0, NULL) == RC_OK &&
        pq_schema_build(&s, &m, NULL) == RC_OK && s.schema.n > s.n_leaves)
        abort();
    pq_schema_release(&s);
    pq_file_meta_release(&m);
    if (pq_page_parse(&page, data, n, 0, &used, &truncated, NULL) == RC_OK && used > n)
        abort();
    if (pq_offset_index_parse(data, n, 0, &at, &n_at, NULL) == RC_OK)
        mem_free(at);
    if (mem_live() != live)
        abort();
    return 0;
}
