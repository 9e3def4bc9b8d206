/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of event files: whatever they hold, tags are texts and nothing behind the end is
 * read.
 */
#include <stdlib.h>
#include <string.h>

#include "io/event_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void take(void *arg, const struct io_event *e)
{
    size_t *seen = arg;
    if (!e->restart && (!e->tag || strlen(e->tag) > EVENT_TAG_MAX))
        abort();
    (*seen)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t seen = 0;
    (void)io_event_parse(data, n, take, &seen);
    if (seen > n)
        abort();
    return 0;
}
