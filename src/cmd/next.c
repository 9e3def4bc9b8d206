/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "cmd/cmd.h"
#include "job/quote.h"

void cmd_put_words(struct buf *out, const char *first, ...)
{
    va_list args;
    va_start(args, first);
    for (const char *word = first; word; word = va_arg(args, const char *)) {
        if (word != first)
            buf_putc(out, ' ');
        job_quote_shell(str_c(word), out);
    }
    va_end(args);
}
