/* SPDX-License-Identifier: Apache-2.0 */
/* Making the list of a snapshot. The directory is walked in the order of names; each file
 * that no pattern leaves out is hashed, in parts when it is large, and its path, kind and
 * hashes are written down as JSON. Nothing is copied: the list remembers for every object
 * which stretch of which file it is, so that it can be kept or sent later without a second
 * copy on this disk. The same files give the same list, and so the same id.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/ignore.h"
#include "job/name.h"
#include "job/snapshot.h"

#define DEPTH_MAX 64

struct listing {
    struct job_snapshot_list *out;
    struct job_ignore ignore;
    bool data;
    char *block; /* SNAPSHOT_PART bytes */
};

static void open_entry(struct listing *l, const char *kind)
{
    struct buf *b = &l->out->text;
    buf_printf(b, "%s{\"%s\": ", b->n > 1 ? ",\n" : "", kind);
}

static void close_entry(struct listing *l, const char *rel)
{
    buf_puts(&l->out->text, ", \"path\": ");
    buf_json_str(&l->out->text, rel, strlen(rel));
    buf_putc(&l->out->text, '}');
}

static enum rc read_block(int fd, char *to, size_t n, int64_t at, struct err *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, to + done, n - done, at + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read");
        if (got == 0)
            return err_coded(err, RC_INVAL, E3004, "became shorter while it was read");
        done += (size_t)got;
    }
    return RC_OK;
}

static void hash_block(const char *data, size_t n, char id[SHA256_TEXT_SIZE])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_text(&s, id);
}

/* The stretch [at, at + n) of the file is an object. */
static enum rc add_piece(struct listing *l, int fd, const char *path, int64_t at,
                         size_t n, struct err *err)
{
    char id[SHA256_TEXT_SIZE];
    enum rc rc = read_block(fd, l->block, n, at, err);
    if (rc)
        return rc;
    hash_block(l->block, n, id);
    struct map_entry *e = map_put(&l->out->pieces, str_c(id));
    if (!e->value) {
        struct job_snapshot_piece *p = arena_alloc(&l->out->arena, sizeof(*p));
        *p = (struct job_snapshot_piece){.path = path, .at = at, .n = n};
        e->value = p;
    }
    buf_json_str(&l->out->text, id, strlen(id));
    return RC_OK;
}

static enum rc add_pieces(struct listing *l, int fd, const char *path, int64_t size,
                          struct err *err)
{
    enum rc rc = RC_OK;
    bool many = size > (int64_t)SNAPSHOT_PART;
    if (!many)
        return add_piece(l, fd, path, 0, (size_t)size, err);
    buf_putc(&l->out->text, '[');
    for (int64_t at = 0; at < size && !rc; at += (int64_t)SNAPSHOT_PART) {
        int64_t rest = size - at;
        buf_puts(&l->out->text, at ? ", " : "");
        rc = add_piece(l, fd, path, at,
                       rest < (int64_t)SNAPSHOT_PART ? (size_t)rest : SNAPSHOT_PART, err);
    }
    buf_putc(&l->out->text, ']');
    return rc;
}

static enum rc list_file(struct listing *l, const char *path, const char *rel,
                         const struct stat *st, struct err *err)
{
    struct job_snapshot *o = &l->out->is;
    int64_t most = l->data ? SNAPSHOT_DATA_FILES_MAX : SNAPSHOT_FILES_MAX;
    if (++o->files > most)
        return err_coded(err, RC_INVAL, E3004, "more than %jd files", (intmax_t)most);
    if (!l->data && st->st_size > SNAPSHOT_BYTES_MAX - o->bytes)
        return err_coded(err, RC_INVAL, E3004, "more than %jd MiB, at '%s'",
                         (intmax_t)(SNAPSHOT_BYTES_MAX >> 20), rel);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot open '%s'", path);
    bool exec = (st->st_mode & 0100) && !l->data;
    bool many = st->st_size > (int64_t)SNAPSHOT_PART;
    open_entry(l, many ? exec ? "exec_parts" : "parts" : exec ? "exec" : "file");
    enum rc rc = add_pieces(l, fd, arena_strdup(&l->out->arena, path), st->st_size, err);
    close(fd);
    o->bytes += st->st_size;
    close_entry(l, rel);
    return rc ? err_wrap(err, rc, "'%s'", rel) : RC_OK;
}

static enum rc list_dir(struct listing *l, const char *path, const char *rel, int depth,
                        struct err *err);

static enum rc list_link(struct listing *l, const char *path, const char *rel,
                         struct err *err)
{
    char target[4096];
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n < 0)
        return err_sys(err, errno, "cannot read the link '%s'", path);
    open_entry(l, "link");
    buf_json_str(&l->out->text, target, (size_t)n);
    close_entry(l, rel);
    return RC_OK;
}

enum rc job_snapshot_bad_name(const char *rel, struct err *err)
{
    struct buf shown;
    buf_init(&shown, 1 << 16);
    job_name_show(rel, &shown);
    enum rc rc = err_coded(err, RC_INVAL, E3004,
                           "'%.300s': a name of a file that is sent or kept must be "
                           "UTF-8 without control characters; rename it",
                           buf_str(&shown));
    buf_release(&shown);
    return rc;
}

static enum rc list_entry(struct listing *l, const char *path, const char *rel, int depth,
                          struct err *err)
{
    struct stat st;
    if ((l->data ? stat(path, &st) : lstat(path, &st)) < 0)
        return err_sys(err, errno, "cannot look at '%s'", path);
    if (!l->data && job_ignore_match(&l->ignore, rel, S_ISDIR(st.st_mode)))
        return RC_OK;
    if (!job_name_is_plain(rel))
        return job_snapshot_bad_name(rel, err);
    if (S_ISDIR(st.st_mode))
        return list_dir(l, path, rel, depth + 1, err);
    if (S_ISREG(st.st_mode))
        return list_file(l, path, rel, &st, err);
    if (S_ISLNK(st.st_mode))
        return list_link(l, path, rel, err);
    return RC_OK; /* sockets and their like are nobody's program */
}

static enum rc list_dir(struct listing *l, const char *path, const char *rel, int depth,
                        struct err *err)
{
    struct fs_names names = {0};
    if (depth > DEPTH_MAX)
        return err_coded(err, RC_INVAL, E3004, "nested deeper than %d at '%s'", DEPTH_MAX,
                         rel);
    enum rc rc = fs_list(path, &names, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *full = fs_join(path, names.at[i]);
        char *sub = *rel ? fs_join(rel, names.at[i]) : mem_strdup(names.at[i]);
        rc = list_entry(l, full, sub, depth, err);
        mem_free(sub);
        mem_free(full);
    }
    fs_names_release(&names);
    return rc;
}

static enum rc list_all(struct listing *l, const char *source, struct err *err)
{
    if (l->data && !fs_is_dir(source)) {
        char *name = fs_basename(source);
        enum rc rc = list_entry(l, source, name, 0, err);
        mem_free(name);
        return rc;
    }
    enum rc rc = l->data ? RC_OK : job_ignore_open(source, &l->ignore, err);
    return rc ? rc : list_dir(l, source, "", 0, err);
}

enum rc job_snapshot_list_make(const char *source, bool data,
                               struct job_snapshot_list *out, struct err *err)
{
    struct listing l = {.out = out, .data = data};
    *out = (struct job_snapshot_list){.is = {.files = 0}};
    buf_init(&out->text, SNAPSHOT_LIST_MAX);
    if (data ? !fs_exists(source) : !fs_is_dir(source))
        return err_coded(err, RC_NOTFOUND, E3004, "source '%s' is not a directory",
                         source);
    l.block = mem_alloc(SNAPSHOT_PART);
    buf_putc(&out->text, '[');
    enum rc rc = list_all(&l, source, err);
    buf_puts(&out->text, "]\n");
    if (!rc)
        rc = buf_check(&out->text, err);
    if (!rc)
        hash_block(buf_str(&out->text), out->text.n, out->is.id);
    job_ignore_release(&l.ignore);
    mem_free(l.block);
    if (rc && err && err->code == E_NONE)
        err->code = E3004;
    return rc ? err_wrap(err, rc, "source '%s'", source) : RC_OK;
}

void job_snapshot_list_release(struct job_snapshot_list *l)
{
    buf_release(&l->text);
    map_release(&l->pieces);
    arena_release(&l->arena);
    *l = (struct job_snapshot_list){.is = {.files = 0}};
}

enum rc job_snapshot_piece_read(const struct job_snapshot_list *l, const char *id,
                                char **data, size_t *n, struct err *err)
{
    const struct job_snapshot_piece *p = map_get(&l->pieces, id);
    char found[SHA256_TEXT_SIZE];
    if (!p)
        return err_coded(err, RC_NOTFOUND, E3004, "no object '%.80s' in this snapshot",
                         id);
    int fd = open(p->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot open '%s'", p->path);
    char *block = mem_alloc(p->n + 1);
    enum rc rc = read_block(fd, block, p->n, p->at, err);
    close(fd);
    if (!rc)
        hash_block(block, p->n, found);
    if (!rc && strcmp(found, id) != 0)
        rc = err_coded(err, RC_INVAL, E3004, "changed while it was read");
    if (rc) {
        mem_free(block);
        return err_wrap(err, rc, "'%s'", p->path);
    }
    *data = block;
    *n = p->n;
    return RC_OK;
}
