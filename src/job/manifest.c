/* SPDX-License-Identifier: Apache-2.0 */
#include "job/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "job/name.h"
#include "job/tree.h"

#define LIST_MAX ((size_t)256 << 20)
#define BLOCK (1 << 16)

struct listing {
    struct buf *out;
    struct job_manifest_total *total;
    bool any; /* in this channel */
};

static enum rc hash_file(int fd, char id[SHA256_TEXT_SIZE], int64_t *bytes,
                         struct err *err)
{
    char block[BLOCK];
    struct sha256 s;
    ssize_t n;
    *bytes = 0;
    sha256_init(&s);
    while ((n = read(fd, block, sizeof(block))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "cannot read");
        sha256_add(&s, block, (size_t)n);
        *bytes += n;
    }
    sha256_text(&s, id);
    return RC_OK;
}

static enum rc add_file(void *arg, const char *rel, int fd, const struct stat *st,
                        struct err *err)
{
    struct listing *l = arg;
    char id[SHA256_TEXT_SIZE];
    int64_t bytes = 0;
    enum rc rc = hash_file(fd, id, &bytes, err);
    if (rc)
        return err_wrap(err, rc, "'%s'", rel);
    buf_printf(l->out, "%s\n      {", l->any ? "," : "");
    job_name_json(rel, l->out);
    buf_printf(l->out, ", \"bytes\": %jd, \"sha256\": \"%s\"}", (intmax_t)bytes, id);
    l->any = true;
    l->total->files++;
    l->total->bytes += bytes;
    return RC_OK;
}

/* A directory that the submission named may be reached through links; what is in the job's
 * own tree may not.
 */
static int open_channel(const char *ml, const struct job_channel *c)
{
    return c->path ? open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                   : job_tree_open(ml, c->mount, true, NULL);
}

static enum rc put_channel(const char *ml, const struct job_channel *c, struct listing *l,
                           struct err *err)
{
    char *dir = c->path ? mem_strdup(c->path) : fs_join(ml, c->mount);
    struct buf *b = l->out;
    buf_puts(b, "\n  {\"name\": ");
    buf_json_str(b, c->name, strlen(c->name));
    buf_puts(b, ", \"path\": ");
    buf_json_str(b, dir, strlen(dir));
    if (c->uri) {
        buf_puts(b, ", \"uri\": ");
        buf_json_str(b, c->uri, strlen(c->uri));
    }
    buf_puts(b, ", \"files\": [");
    int fd = open_channel(ml, c);
    enum rc rc = fd >= 0 ? job_tree_walk(fd, add_file, l, err)
                         : err_sys(err, errno, "cannot open '%s'", dir);
    if (fd >= 0)
        close(fd);
    buf_puts(b, "]}");
    mem_free(dir);
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
        struct listing l = {.out = &b, .total = total};
        if (c->list.at[i].kind != CHANNEL_OUTPUT)
            continue;
        buf_puts(&b, any ? "," : "");
        rc = put_channel(ml, &c->list.at[i], &l, err);
        any = true;
    }
    buf_puts(&b, "]}\n");
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc && total->files)
        rc = fs_write(path, buf_str(&b), b.n, 0644, err);
    buf_release(&b);
    return rc;
}
