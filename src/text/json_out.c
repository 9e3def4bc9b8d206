/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"

static void json_out_start(struct json_out *j, const char *key)
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
    json_out_start(j, key);
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
    json_out_start(j, key);
    if (s)
        buf_json_str(j->out, s, strlen(s));
    else
        buf_puts(j->out, "null");
}

void json_put_int(struct json_out *j, const char *key, int64_t v)
{
    json_out_start(j, key);
    buf_printf(j->out, "%" PRId64, v);
}

void json_put_real(struct json_out *j, const char *key, double v)
{
    json_out_start(j, key);
    buf_printf(j->out, "%.9g", v);
}

void json_put_bool(struct json_out *j, const char *key, bool v)
{
    json_out_start(j, key);
    buf_puts(j->out, v ? "true" : "false");
}

void json_put_num(struct json_out *j, const char *key, double v)
{
    char text[32];
    json_out_start(j, key);
    str_from_f64(v, text);
    buf_puts(j->out, isfinite(v) ? text : "null");
}

void json_put_time(struct json_out *j, const char *key, int64_t wall_ns)
{
    char text[CLOCK_TEXT_SIZE];
    if (!wall_ns)
        return;
    clock_rfc3339(wall_ns, text);
    json_put_str(j, key, text);
}

void json_put_raw(struct json_out *j, const char *key, const char *json)
{
    json_out_start(j, key);
    buf_puts(j->out, *json ? json : "null");
}

void json_put_null(struct json_out *j, const char *key)
{
    json_put_str(j, key, NULL);
}
