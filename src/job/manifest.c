/* SPDX-License-Identifier: Apache-2.0 */
#include "job/manifest.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/sha256.h"

#define DEPTH_MAX 64
#define LIST_MAX ((size_t)256 << 20)

struct listing {
    struct buf *out;
    struct job_manifest_total *total;
    bool any; /* in this channel */
};

static enum rc add_file(struct listing *l, const char *path, const char *rel,
                        struct err *err)
{
    char id[SHA256_TEXT_SIZE];
    int64_t bytes = 0;
    enum rc rc = sha256_file(path, id, &bytes, err);
    if (rc)
        return rc;
    buf_printf(l->out, "%s\n      {\"path\": ", l->any ? "," : "");
    buf_json_str(l->out, rel, strlen(rel));
    buf_printf(l->out, ", \"bytes\": %jd, \"sha256\": \"%s\"}", (intmax_t)bytes, id);
    l->any = true;
    l->total->files++;
    l->total->bytes += bytes;
    return RC_OK;
}

static enum rc walk(struct listing *l, const char *dir, const char *rel, int depth,
                    struct err *err)
{
    struct fs_names names = {0};
    if (depth > DEPTH_MAX)
        return err_set(err, RC_INVAL, "'%s' is nested deeper than %d", rel, DEPTH_MAX);
    enum rc rc = fs_list(dir, &names, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        struct stat st;
        char *full = fs_join(dir, names.at[i]);
        char *sub = *rel ? fs_join(rel, names.at[i]) : mem_strdup(names.at[i]);
        if (lstat(full, &st) < 0)
            rc = errno == ENOENT ? RC_OK
                                 : err_sys(err, errno, "cannot look at '%s'", full);
        else if (S_ISDIR(st.st_mode))
            rc = walk(l, full, sub, depth + 1, err);
        else if (S_ISREG(st.st_mode))
            rc = add_file(l, full, sub, err);
        mem_free(sub);
        mem_free(full);
    }
    fs_names_release(&names);
    return rc;
}

enum rc job_manifest_write(const char *ml, const struct job_channels *c, const char *path,
                           struct job_manifest_total *total, struct err *err)
{
    struct buf b;
    bool any = false;
    enum rc rc = RC_OK;
    *total = (struct job_manifest_total){0};
    buf_init(&b, LIST_MAX);
    buf_puts(&b, "{\"channels\": [");
    for (size_t i = 0; i < c->list.n && !rc; i++) {
        const struct job_channel *ch = &c->list.at[i];
        struct listing l = {.out = &b, .total = total};
        if (ch->kind != CHANNEL_OUTPUT)
            continue;
        char *dir = ch->path ? mem_strdup(ch->path) : fs_join(ml, ch->mount);
        buf_printf(&b, "%s\n  {\"name\": ", any ? "," : "");
        buf_json_str(&b, ch->name, strlen(ch->name));
        buf_puts(&b, ", \"path\": ");
        buf_json_str(&b, dir, strlen(dir));
        if (ch->uri) {
            buf_puts(&b, ", \"uri\": ");
            buf_json_str(&b, ch->uri, strlen(ch->uri));
        }
        buf_puts(&b, ", \"files\": [");
        rc = walk(&l, dir, "", 0, err);
        buf_puts(&b, "]}");
        any = true;
        mem_free(dir);
    }
    buf_puts(&b, "]}\n");
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc && total->files)
        rc = fs_write(path, buf_str(&b), b.n, 0644, err);
    buf_release(&b);
    return rc;
}
