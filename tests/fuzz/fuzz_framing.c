/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests: what the library leaves of them is walked and judged. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The library's way with a line's end: NULs over CR, LF and the first ':'. */
static void cut(char *head, size_t n)
{
    bool name = false; /* the first line has none */
    for (size_t i = 0; i < n; i++) {
        if (head[i] == '\r' || head[i] == '\n') {
            name = head[i] == '\n';
            head[i] = '\0';
        } else if (name && head[i] == ':') {
            head[i] = '\0';
            name = false;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *head = mem_alloc(n + 1);
    size_t fields = 0;
    memcpy(head, data, n);
    head[n] = 'x'; /* nothing behind the end is looked at as one */
    bool bare = false;
    for (size_t i = 0; i < n; i++)
        bare |= (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) ||
                (head[i] == '\r' && (i + 1 >= n || head[i + 1] != '\n'));
    bool zero = memchr(head, '\0', n) != NULL;
    cut(head, n);
    bool fine = http_framing_lines(head, n, &fields);
    if (fine && bare && !zero)
        abort();
    if (fine && fields > n)
        abort();
    mem_free(head);
    return 0;
}
