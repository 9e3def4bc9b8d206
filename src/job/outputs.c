/* SPDX-License-Identifier: Apache-2.0 */
/* The list is that of outputs.json where the job has written it, else what lies below
 * ml/output at the moment. The job may still write there, and put links there, so everything
 * goes through job/tree.h.
 */
#include "job/outputs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/archive.h"
#include "job/name.h"
#include "job/status.h"
#include "job/tree.h"

#define MANIFEST_MAX ((size_t)256 << 20)

struct taking {
    struct job_outputs *out;
    const char *channel;
};

static enum rc take_output(struct job_outputs *l, const struct job_output *o,
                           struct err *err)
{
    if (l->list.n >= OUTPUTS_FILES_MAX)
        return err_coded(err, RC_INVAL, E5502, "more than %d files", OUTPUTS_FILES_MAX);
    VEC_PUSH(&l->list, *o);
    return RC_OK;
}

static enum rc see_file(void *arg, const char *rel, int fd, const struct stat *st,
                        struct err *err)
{
    struct taking *t = arg;
    struct arena *a = &t->out->arena;
    const char *slash = strchr(rel, '/');
    if (!slash) /* beside the channels */
        return RC_OK;
    struct job_output o = {.channel = arena_strndup(a, rel, (size_t)(slash - rel)),
                           .path = arena_strdup(a, slash + 1),
                           .bytes = st->st_size,
                           .changed = st->st_mtim.tv_sec * INT64_C(1000000000) +
                                      st->st_mtim.tv_nsec,
                           .sha256 = "",
                           .where = ""};
    return job_tree_path_ok(o.path) ? take_output(t->out, &o, err) : RC_OK;
}

static enum rc read_tree(const char *dir, struct job_outputs *out, struct err *err)
{
    struct taking t = {.out = out};
    int fd = job_tree_open(dir, "ml/output", true, NULL);
    if (fd < 0)
        return RC_OK; /* not staged yet */
    enum rc rc = job_tree_walk(fd, see_file, &t, err);
    close(fd);
    return rc;
}

/* Where a channel's files are, when that is not the job's own tree. */
static const char *channel_where(const struct node *c, const char *ml, struct arena *a)
{
    const char *uri = node_get_text(c, "uri", NULL), *path = node_get_text(c, "path", "");
    if (uri)
        return arena_strdup(a, uri);
    return strncmp(path, ml, strlen(ml)) == 0 ? "" : arena_strdup(a, path);
}

static enum rc take_channel(const struct node *c, const char *ml, struct job_outputs *out,
                            struct err *err)
{
    struct arena *a = &out->arena;
    const struct node *files = node_find(c, "files");
    const char *name = arena_strdup(a, node_get_text(c, "name", ""));
    const char *where = channel_where(c, ml, a);
    enum rc rc = RC_OK;
    for (size_t i = 0; files && files->kind == NODE_LIST && i < files->list.n && !rc;
         i++) {
        const struct node *f = files->list.at[i];
        struct job_output o = {.channel = name,
                               .path = job_name_read(f, a),
                               .bytes = node_get_int(f, "bytes", 0),
                               .sha256 = arena_strdup(a, node_get_text(f, "sha256", "")),
                               .where = where};
        if (job_tree_path_ok(o.path))
            rc = take_output(out, &o, err);
    }
    return rc;
}

static enum rc parse_list(const char *text, const char *ml, struct job_outputs *out,
                          struct err *err)
{
    struct doc doc = {0};
    enum rc rc = RC_OK;
    const struct node *list = node_find(job_json_open(text, &doc), "channels");
    if (!list || list->kind != NODE_LIST)
        rc = err_set(err, RC_FORMAT, "no list of outputs");
    for (size_t i = 0; !rc && i < list->list.n; i++)
        rc = take_channel(list->list.at[i], ml, out, err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

enum rc job_outputs_parse(const char *text, const char *ml, struct job_outputs *out,
                          struct err *err)
{
    struct job_outputs l = {.list = {0}};
    enum rc rc = parse_list(text, ml, &l, err);
    if (rc)
        job_outputs_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc read_manifest(const char *path, const char *ml, struct job_outputs *out,
                             struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, MANIFEST_MAX, &text, &n, err);
    if (!rc && (rc = parse_list(text, ml, out, err)))
        err_wrap(err, rc, "'%s'", path);
    mem_free(text);
    return rc;
}

/* Whoever cannot ask the store of artifacts is told where the files are. */
static void tell_archive(const struct job_place *p, const char *id, struct job_outputs *l)
{
    char *where = p->artifacts ? mem_strdup("") : job_archive_where(p, id);
    for (size_t i = 0; *where && i < l->list.n; i++)
        if (!*l->list.at[i].where)
            l->list.at[i].where =
                arena_printf(&l->arena, "%soutput/%s", where, l->list.at[i].channel);
    mem_free(where);
}

enum rc job_outputs_read(const struct job_place *p, const char *id,
                         struct job_outputs *out, struct err *err)
{
    struct job_outputs l = {.list = {0}};
    char *dir = job_place_dir(p, id), *list = fs_join(dir, "outputs.json"),
         *ml = fs_join(dir, "ml/");
    enum rc rc =
        fs_exists(list) ? read_manifest(list, ml, &l, err) : read_tree(dir, &l, err);
    mem_free(ml);
    mem_free(list);
    mem_free(dir);
    if (!rc)
        tell_archive(p, id, &l);
    if (rc)
        job_outputs_release(&l);
    else
        *out = l;
    return rc;
}

const struct job_output *job_outputs_find(const struct job_outputs *l,
                                          const char *channel, const char *path)
{
    for (size_t i = 0; i < l->list.n; i++)
        if (strcmp(l->list.at[i].channel, channel) == 0 &&
            strcmp(l->list.at[i].path, path) == 0)
            return &l->list.at[i];
    return NULL;
}

void job_outputs_release(struct job_outputs *l)
{
    VEC_RELEASE(&l->list);
    arena_release(&l->arena);
    *l = (struct job_outputs){.list = {0}};
}

enum rc job_output_open(const struct job_place *p, const char *id, const char *channel,
                        const char *path, int *fd, struct stat *st, struct err *err)
{
    char *dir = job_place_dir(p, id), *rel = mem_printf("ml/output/%s/%s", channel, path);
    int file = job_tree_open(dir, rel, false, st);
    mem_free(rel);
    mem_free(dir);
    if (file < 0)
        return err_coded(err, RC_NOTFOUND, E5502, "job %s has no output '%.100s/%.300s'",
                         id, channel, path);
    *fd = file;
    return RC_OK;
}
