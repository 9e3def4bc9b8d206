/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_out.h"

#include <inttypes.h>
#include <string.h>

static void start(struct json_out *j, const char *key)
{
    if (j->comma)
        buf_putc(j->out, ',');
    if (key) {
        buf_json_str(j->out, key, strlen(key));
        buf_putc(j->out, ':');
    }
    j->comma = true;
}

void json_open(struct json_out *j, const char *key, char brace)
{
    start(j, key);
    buf_putc(j->out, brace);
    j->comma = false;
}

void json_close(struct json_out *j, char brace)
{
    buf_putc(j->out, brace);
    j->comma = true;
}

void json_put_str(struct json_out *j, const char *key, const char *s)
{
    start(j, key);
    if (s)
        buf_json_str(j->out, s, strlen(s));
    else
        buf_puts(j->out, "null");
}

void json_put_int(struct json_out *j, const char *key, int64_t v)
{
    start(j, key);
    buf_printf(j->out, "%" PRId64, v);
}

void json_put_bool(struct json_out *j, const char *key, bool v)
{
    start(j, key);
    buf_puts(j->out, v ? "true" : "false");
}

void json_put_null(struct json_out *j, const char *key)
{
    json_put_str(j, key, NULL);
}
