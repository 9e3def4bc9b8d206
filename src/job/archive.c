/* SPDX-License-Identifier: Apache-2.0 */
/* Moving outputs is done in an order that may stop anywhere: files, then the list in the store,
 * then the list and the mark here, then the files here go. Who starts over copies again, or only
 * removes. A job without a list of its own (it failed) gets one made of what is there.
 */
#include "job/archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/out.h"
#include "job/artifacts.h"
#include "job/bucket.h"
#include "job/file.h"
#include "job/name.h"
#include "job/status.h"
#include "text/json_out.h"

#define LIST_MAX ((size_t)256 << 20)
#define MARK_MAX 65536
#define HEX "hex:"

static char *archive_url(const struct job_place *p, const char *id, const char *rest)
{
    return mem_printf("%s/jobs/%s/%s", p->artifacts, id, rest);
}

/* Keys of a store are text: a path of other bytes is written in hexadecimal digits. */
static char *output_url(const struct job_place *p, const char *id,
                        const struct job_output *o)
{
    struct buf hex;
    bool odd = !job_name_is_plain(o->path) || str_starts(o->path, HEX);
    buf_init(&hex, 65536);
    if (odd)
        job_name_hex(o->path, &hex);
    char *url = mem_printf("%s/jobs/%s/output/%s/%s%s", p->artifacts, id, o->channel,
                           odd ? HEX : "", odd ? buf_str(&hex) : o->path);
    buf_release(&hex);
    return url;
}

/* Where channels lie; what is in them is the job's, and may change while we look. */
static char *output_root(const struct job_place *p, const char *id)
{
    return mem_printf("%s/jobs/%s/ml", p->dir, id);
}

int job_archive_lock(const struct job_place *p, const char *id, bool shared)
{
    char *path = job_place_file(p, id, "archive.lock");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    mem_free(path);
    if (fd >= 0)
        flock(fd, shared ? LOCK_SH : LOCK_EX);
    return fd;
}

/* The member of `archived`, NULL when there is no such file; in `doc`. */
static const struct node *read_mark(const struct job_place *p, const char *id,
                                    struct doc *doc, char **text)
{
    char *path = job_place_file(p, id, "archived");
    size_t n = 0;
    bool there = fs_exists(path) && fs_read(path, MARK_MAX, text, &n, NULL) == RC_OK;
    mem_free(path);
    return there ? job_json_open(*text, doc) : NULL;
}

int64_t job_archive_bytes(const struct job_place *p, const char *id)
{
    struct doc doc = {0};
    char *text = NULL;
    const struct node *mark = read_mark(p, id, &doc, &text);
    int64_t bytes = mark ? node_get_int(mark, "bytes", 0) : 0;
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return bytes;
}

char *job_archive_where(const struct job_place *p, const char *id)
{
    struct doc doc = {0};
    char *text = NULL;
    const struct node *mark = read_mark(p, id, &doc, &text);
    char *where = mem_strdup(mark ? node_get_text(mark, "url", "") : "");
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return where;
}

static void put_file(struct json_out *j, const struct job_output *o)
{
    json_open(j, NULL, '{');
    job_name_json(o->path, j->out);
    j->comma = true;
    json_put_int(j, "bytes", o->bytes);
    json_put_str(j, "sha256", o->sha256);
    json_close(j, '}');
}

/* In the form of job/manifest.h. Files of a channel follow each other. */
static void print_list(const struct job_outputs *l, const char *ml, struct buf *out)
{
    struct json_out j = {.out = out};
    const char *open = NULL;
    json_open(&j, NULL, '{');
    json_open(&j, "channels", '[');
    for (size_t i = 0; i < l->list.n; i++) {
        const struct job_output *o = &l->list.at[i];
        if (open && strcmp(open, o->channel) != 0) {
            json_close(&j, ']');
            json_close(&j, '}');
            open = NULL;
        }
        if (!open) {
            char *path = mem_printf("%soutput/%s", ml, o->channel);
            json_open(&j, NULL, '{');
            json_put_str(&j, "name", o->channel);
            json_put_str(&j, "path", path);
            if (*o->where)
                json_put_str(&j, "uri", o->where);
            json_open(&j, "files", '[');
            open = o->channel;
            mem_free(path);
        }
        put_file(&j, o);
    }
    if (open) {
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(out, '\n');
}

/* Opening a file as a reader of outputs does gives it, and what leads to it, modes that let us. */
static enum rc sum_up(const struct job_place *p, const char *id, struct job_output *o,
                      char text[SHA256_TEXT_SIZE], struct err *err)
{
    struct stat st;
    char path[64];
    int fd = -1;
    enum rc rc = job_output_open(p, id, o->channel, o->path, &fd, &st, err);
    if (rc)
        return rc;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    text[0] = '\0';
    if (!*o->sha256)
        rc = sha256_file(path, text, &o->bytes, err);
    close(fd);
    return rc;
}

/* What a job that failed has not summed up itself. */
static enum rc add_digests(const struct job_place *p, const char *id,
                           struct job_outputs *l, struct err *err)
{
    char text[SHA256_TEXT_SIZE];
    enum rc rc = RC_OK;
    for (size_t i = 0; i < l->list.n && !rc; i++) {
        struct job_output *o = &l->list.at[i];
        if (*o->where)
            continue;
        rc = sum_up(p, id, o, text, err);
        if (!rc && !*o->sha256)
            o->sha256 = arena_strdup(&l->arena, text);
    }
    return rc;
}

static enum rc send_files(const struct job_place *p, const char *id,
                          const struct job_outputs *l, int64_t *bytes, struct err *err)
{
    struct job_bucket_plan plan = {.bytes = 0};
    char *root = output_root(p, id);
    for (size_t i = 0; i < l->list.n; i++) {
        const struct job_output *o = &l->list.at[i];
        if (*o->where)
            continue;
        char *to = output_url(p, id, o);
        struct job_bucket_item item = {
            .root = root,
            .from = arena_printf(&plan.arena, "output/%s/%s", o->channel, o->path),
            .to = arena_strdup(&plan.arena, to),
            .bytes = o->bytes};
        VEC_PUSH(&plan.list, item);
        plan.bytes += o->bytes;
        mem_free(to);
    }
    *bytes = plan.bytes;
    enum rc rc = plan.list.n ? job_bucket_copy(&plan, NULL, NULL, err) : RC_OK;
    job_bucket_plan_release(&plan);
    mem_free(root);
    return rc;
}

static enum rc write_lists(const struct job_place *p, const char *id,
                           const struct job_outputs *l, struct err *err)
{
    struct buf text;
    char *here = job_place_file(p, id, "outputs.json"),
         *ml = job_place_file(p, id, "ml/"), *url = archive_url(p, id, "outputs.json");
    buf_init(&text, LIST_MAX);
    print_list(l, ml, &text);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = io_write(url, buf_str(&text), text.n, err);
    if (!rc && !fs_exists(here))
        rc = fs_write(here, buf_str(&text), text.n, 0644, err);
    buf_release(&text);
    mem_free(url);
    mem_free(ml);
    mem_free(here);
    return rc;
}

static enum rc write_mark(const struct job_place *p, const char *id, bool any,
                          int64_t bytes, struct err *err)
{
    char *path = job_place_file(p, id, "archived"), *url = archive_url(p, id, "");
    struct buf b;
    struct json_out j = {.out = &b};
    buf_init(&b, MARK_MAX);
    json_open(&j, NULL, '{');
    json_put_str(&j, "url", any ? url : "");
    json_put_int(&j, "bytes", bytes);
    json_close(&j, '}');
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(path, buf_str(&b), b.n, 0600, err);
    buf_release(&b);
    mem_free(url);
    mem_free(path);
    return rc;
}

/* The channels that were moved; and what was measured before. */
static void remove_local(const struct job_place *p, const char *id,
                         const struct job_outputs *l)
{
    int lock = job_archive_lock(p, id, false);
    char *size = job_place_file(p, id, "size");
    for (size_t i = 0; i < l->list.n; i++) {
        if (*l->list.at[i].where ||
            (i && strcmp(l->list.at[i].channel, l->list.at[i - 1].channel) == 0))
            continue;
        char *rel = mem_printf("ml/output/%s", l->list.at[i].channel),
             *dir = job_place_file(p, id, rel);
        enum rc rc = fs_remove_all(dir, NULL);
        (void)rc; /* the next start of the server tries again */
        mem_free(dir);
        mem_free(rel);
    }
    unlink(size);
    mem_free(size);
    if (lock >= 0)
        close(lock);
}

static enum rc move_all(const struct job_place *p, const char *id, struct job_outputs *l,
                        struct err *err)
{
    int64_t bytes = 0;
    bool any = false;
    for (size_t i = 0; i < l->list.n; i++)
        any |= !*l->list.at[i].where;
    enum rc rc = add_digests(p, id, l, err);
    if (!rc)
        rc = send_files(p, id, l, &bytes, err);
    if (!rc && any)
        rc = write_lists(p, id, l, err);
    if (!rc)
        rc = write_mark(p, id, any, bytes, err);
    return rc;
}

enum rc job_archive_send(const struct job_place *p, const char *id, struct err *err)
{
    struct job_outputs l;
    char *mark = job_place_file(p, id, "archived"), *dir = job_place_dir(p, id);
    bool done = fs_exists(mark), there = fs_is_dir(dir);
    mem_free(dir);
    mem_free(mark);
    if (!p->artifacts || !there)
        return RC_OK;
    enum rc rc = job_outputs_read(p, id, &l, err);
    if (rc)
        return rc;
    if (!done)
        rc = move_all(p, id, &l, err);
    if (rc)
        err_wrap(err, job_artifacts_failed(rc, err), "job %s", id);
    else
        remove_local(p, id, &l);
    job_outputs_release(&l);
    return rc;
}

enum rc job_archive_list(const struct job_place *p, const char *id,
                         struct job_outputs *out, struct err *err)
{
    char *url = archive_url(p, id, "outputs.json"), *text = NULL;
    size_t n = 0;
    enum rc rc = job_artifacts_read(url, LIST_MAX, &text, &n, err);
    if (rc == RC_NOTFOUND)
        rc = err_coded(err, rc, E5502, "job %s has no outputs in '%.300s'", id,
                       p->artifacts);
    else if (rc)
        job_artifacts_failed(rc, err);
    else
        rc = job_outputs_parse(text, "", out, err);
    mem_free(text);
    mem_free(url);
    return rc;
}

bool job_archive_has(const struct job_place *p, const char *id)
{
    struct io_file *f = NULL;
    if (!p->artifacts)
        return false;
    char *url = archive_url(p, id, "outputs.json");
    bool there = io_open(url, IO_FRONT, &f, NULL) == RC_OK;
    io_close(f);
    mem_free(url);
    return there;
}

enum rc job_archive_open(const struct job_place *p, const char *id, const char *channel,
                         const char *path, struct io_file **out, struct err *err)
{
    struct job_output o = {.channel = channel, .path = path};
    char *url = output_url(p, id, &o);
    enum rc rc = io_open(url, IO_FRONT, out, err);
    if (rc == RC_NOTFOUND)
        err_coded(err, rc, E5502, "job %s has no output '%.100s/%.300s'", id, channel,
                  path);
    else if (rc)
        job_artifacts_failed(rc, err);
    mem_free(url);
    return rc;
}

enum rc job_archive_restore(const struct job_place *p, const char *id,
                            const char *channel, const char *to, struct err *err)
{
    struct job_bucket_plan plan = {.bytes = 0};
    struct job_outputs l = {.list = {0}};
    enum rc rc = job_archive_list(p, id, &l, err);
    if (!rc)
        rc = fs_mkdirs(to, 0700, err);
    for (size_t i = 0; i < l.list.n && !rc; i++) {
        const struct job_output *o = &l.list.at[i];
        if (*o->where || strcmp(o->channel, channel) != 0)
            continue;
        char *from = output_url(p, id, o), *path = fs_join(to, o->path);
        struct job_bucket_item item = {.from = arena_strdup(&plan.arena, from),
                                       .to = arena_strdup(&plan.arena, path),
                                       .bytes = o->bytes};
        VEC_PUSH(&plan.list, item);
        mem_free(path);
        mem_free(from);
    }
    if (!rc && plan.list.n && (rc = job_bucket_copy(&plan, NULL, NULL, err)))
        job_artifacts_failed(rc, err);
    job_bucket_plan_release(&plan);
    job_outputs_release(&l);
    return rc == RC_NOTFOUND ? RC_OK : rc; /* nothing was sent: nothing is there */
}

enum rc job_archive_remove(const struct job_place *p, const char *id, struct err *err)
{
    char *rest = mem_printf("jobs/%s/", id);
    enum rc rc = job_artifacts_remove(p, rest, err);
    mem_free(rest);
    return rc;
}
