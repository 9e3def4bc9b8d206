/* SPDX-License-Identifier: Apache-2.0 */
#include "job/table.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/quote.h"

static const char *first_of(const struct job_environ_list *l, const char *const *names,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *v = job_environ_get(l, names[i]);
        if (v && *v)
            return v;
    }
    return "";
}

static void put(struct buf *b, const char *key, const char *value)
{
    buf_puts(b, b->n > 1 ? ", " : "");
    job_quote_json_ascii(str_c(key), b);
    buf_puts(b, ": ");
    job_quote_json_ascii(str_c(value), b);
}

static enum rc write_object(const char *ml, const char *sub, struct buf *b, mode_t mode,
                            struct err *err)
{
    char *path = fs_join(ml, sub), *dir = fs_dirname(path);
    buf_putc(b, '}');
    enum rc rc = fs_mkdirs(dir, 0755, err);
    if (!rc)
        rc = buf_check(b, err);
    if (!rc)
        rc = job_file_put(path, buf_str(b), b->n, mode, err);
    mem_free(dir);
    mem_free(path);
    return rc;
}

static enum rc write_key(const char *ml, const struct job_environ_list *access,
                         struct err *err)
{
    static const char *const ids[] = {"ODPS_ACCESS_ID", "ALIBABA_CLOUD_ACCESS_KEY_ID",
                                      "ACCESS_ID"},
                             *const keys[] = {"ODPS_ACCESS_KEY",
                                              "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
                                              "ACCESS_KEY"},
                             *const tokens[] = {"ODPS_STS_TOKEN",
                                                "ALIBABA_CLOUD_SECURITY_TOKEN"};
    const char *id = first_of(access, ids, ARRAY_LEN(ids));
    if (!*id)
        return RC_OK;
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_putc(&b, '{');
    put(&b, "AccessKeyId", id);
    put(&b, "AccessKeySecret", first_of(access, keys, ARRAY_LEN(keys)));
    put(&b, "SecurityToken", first_of(access, tokens, ARRAY_LEN(tokens)));
    enum rc rc = write_object(ml, "input/credential/odps.json", &b, 0600, err);
    if (b.p)
        memset(b.p, 0, b.n);
    buf_release(&b);
    return rc;
}

enum rc job_table_stage(const char *ml, const struct job_channels *c,
                        const struct job_environ_list *access, struct err *err)
{
    const char *endpoint = job_environ_get(access, "ODPS_ENDPOINT");
    enum rc rc = RC_OK;
    if (!job_channels_tables(c))
        return RC_OK;
    for (size_t i = 0; i < c->list.n && !rc; i++) {
        const struct job_channel *ch = &c->list.at[i];
        if (!ch->is_table)
            continue;
        char *sub = mem_printf("%s/meta.json", ch->mount);
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_putc(&b, '{');
        put(&b, "endpoint", endpoint ? endpoint : "");
        put(&b, "path", ch->uri);
        rc = write_object(ml, sub, &b, 0644, err);
        buf_release(&b);
        mem_free(sub);
    }
    return rc ? rc : write_key(ml, access, err);
}
