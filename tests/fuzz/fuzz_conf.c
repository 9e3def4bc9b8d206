/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of each kind: no crash, every place inside a source that is kept,
 * and RC_OK exactly when there is something to use.
 */
#include <stdlib.h>
#include <string.h>

#include "text/conf.h"
#include "tree_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void place_check(const struct conf *c, struct span at)
{
    if (!at.src || at.src == c->doc.src) {
        span_check(c->doc.src, at);
        return;
    }
    for (size_t i = 0; i < c->sources.n; i++)
        if (c->sources.at[i] == at.src)
            return;
    abort();
}

static void kind_check(const struct conf_kind *kind, const uint8_t *data, size_t n)
{
    struct conf c;
    struct diags d = {0};
    struct err err = {0};
    struct conf_options o = {.kind = kind};
    struct buf shown;
    buf_init(&shown, (size_t)1 << 24);
    /* Relative paths lead nowhere from here. */
    enum rc rc = conf_from("/nonexistent/file", (const char *)data, n, &o, &c, &d, &err);
    if (rc == RC_OK && (d.n_errors || !c.data))
        abort();
    if (rc == RC_INVAL && d.n_errors == 0)
        abort();
    for (size_t i = 0; i < d.list.n; i++)
        place_check(&c, d.list.at[i].at);
    diags_sort(&d);
    diags_print(&d, &shown, false);
    buf_release(&shown);
    diags_release(&d);
    conf_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t n_kinds;
    const struct conf_kind *const *kinds = conf_kinds(&n_kinds);
    /* Absolute paths of the file would be opened. */
    if (memmem(data, n, "/dev", 4) || memmem(data, n, "/proc", 5))
        return 0;
    for (size_t i = 0; i < n_kinds; i++)
        kind_check(kinds[i], data, n);
    return 0;
}
