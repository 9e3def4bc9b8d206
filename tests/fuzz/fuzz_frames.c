/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes in a trial's metrics file: no crash, no more taken than there is. */
#include <stdlib.h>

#include "tune/metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void note(void *arg, const struct tune_metric *m)
{
    if (!m->json)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t used = 0;
    struct err err = {0};
    enum rc rc = tune_metrics_read((const char *)data, n, note, NULL, &used, &err);
    if (used > n || (rc && !err.msg[0]))
        abort();
    return 0;
}
