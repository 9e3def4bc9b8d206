/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/address.h"

#include <stdio.h>
#include <string.h>

#define MARK "@worker-"

void backend_address_token(int64_t worker, char out[BACKEND_ADDRESS_SIZE])
{
    snprintf(out, BACKEND_ADDRESS_SIZE, MARK "%jd@", (intmax_t)worker);
}

void backend_address_fill(const char *text, backend_address_fn *name_of, const void *arg,
                          struct buf *out)
{
    for (const char *at; (at = strstr(text, MARK));) {
        const char *number = at + strlen(MARK);
        size_t n = strspn(number, "0123456789");
        int64_t worker = -1;
        const char *name = NULL;
        if (number[n] == '@' && str_to_i64(str_of(number, n), &worker))
            name = name_of(arg, worker);
        const char *next = name ? number + n + 1 : number;
        buf_add(out, text, (size_t)((name ? at : next) - text));
        buf_puts(out, name ? name : "");
        text = next;
    }
    buf_puts(out, text);
}
