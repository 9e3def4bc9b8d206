/* SPDX-License-Identifier: Apache-2.0 */
/* Models of a server: its answers become the rows that the store of this machine would have
 * given. One version comes with its lineage and files, a list without. Its twin is
 * registry_local.c.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/job_send.h"
#include "text/json.h"

static enum rc model_call(const struct cmd_place *p, const char *method, char *path,
                          const struct buf *body, struct doc *doc, struct err *err)
{
    struct remote_ask q = {.method = method,
                           .path = path,
                           .type = body ? "application/json" : NULL,
                           .body = body ? buf_str(body) : NULL,
                           .n = body ? body->n : 0};
    enum rc rc = remote_call(&p->remote, &q, doc, NULL, err);
    mem_free(path);
    return rc;
}

static enum rc model_create_remote(const struct cmd_place *p, const char *job,
                                   const struct job_model_new *n, int64_t *version,
                                   struct err *err)
{
    struct doc doc = {0};
    struct buf body;
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    json_put_str(&j, "name", n->name);
    json_put_str(&j, "job", job);
    json_put_str(&j, "channel", n->channel);
    json_put_str(&j, "note", n->note ? n->note : "");
    json_close(&j, '}');
    enum rc rc = model_call(p, "POST", mem_strdup("/api/v1/models"), &body, &doc, err);
    if (!rc)
        *version = node_get_int(doc.root, "version", 0);
    if (doc.src)
        doc_release(&doc);
    buf_release(&body);
    return rc;
}

static const char *model_lineage(const struct node *n, struct arena *a)
{
    const struct node *lineage = node_find(n, "lineage");
    struct buf b;
    if (!lineage)
        return "";
    buf_init(&b, (size_t)8 << 20);
    json_print(lineage, 0, &b);
    const char *text = arena_strdup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static struct store_model take_model(const struct node *n, struct arena *a)
{
    int64_t created = 0;
    const char *when = node_get_text(n, "created", "");
    if (!clock_from_rfc3339(str_c(when), &created))
        created = 0;
    return (struct store_model){
        .name = arena_strdup(a, node_get_text(n, "name", "")),
        .version = node_get_int(n, "version", 0),
        .owner = arena_strdup(a, node_get_text(n, "owner", "")),
        .project = arena_strdup(a, node_get_text(n, "project", "")),
        .job = arena_strdup(a, node_get_text(n, "job", "")),
        .channel = arena_strdup(a, node_get_text(n, "channel", "")),
        .snapshot = arena_strdup(a, node_get_text(n, "snapshot", "")),
        .node = "",
        .files = node_get_int(n, "files", 0),
        .bytes = node_get_int(n, "bytes", 0),
        .lineage = model_lineage(n, a),
        .note = arena_strdup(a, node_get_text(n, "note", "")),
        .created = created};
}

/* Names are checked by the command: they need no escapes. */
static char *version_path(const char *name, int64_t version, const char *rest)
{
    return version > 0 ? mem_printf("/api/v1/models/%s/versions/%jd%s", name,
                                    (intmax_t)version, rest)
                       : mem_printf("/api/v1/models/%s/versions/latest%s", name, rest);
}

static enum rc model_get_remote(const struct cmd_place *p, const char *name,
                                int64_t version, struct store_models *out,
                                struct err *err)
{
    struct doc doc = {0};
    struct store_models l = {0};
    char *path = !name          ? mem_strdup("/api/v1/models")
                 : version == 0 ? mem_printf("/api/v1/models/%s", name)
                                : version_path(name, version, "");
    bool one = name && version != 0;
    enum rc rc = model_call(p, "GET", path, NULL, &doc, err);
    const struct node *list = rc || one ? NULL : node_find(doc.root, "models");
    size_t n = one ? 1 : list && list->kind == NODE_LIST ? list->list.n : 0;
    l.at = arena_alloc(&l.arena, (n + 1) * sizeof(*l.at));
    for (size_t i = 0; i < n && !rc; i++)
        l.at[l.n++] = take_model(one ? doc.root : list->list.at[i], &l.arena);
    if (doc.src)
        doc_release(&doc);
    if (rc)
        store_models_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc model_files_remote(const struct cmd_place *p, const struct store_model *m,
                                  struct job_outputs *out, struct err *err)
{
    struct doc doc = {0};
    enum rc rc =
        model_call(p, "GET", version_path(m->name, m->version, ""), NULL, &doc, err);
    if (!rc)
        remote_take_outputs(node_find(doc.root, "outputs"), out);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc model_file_remote(const struct cmd_place *p, const struct store_model *m,
                                 const char *path, int64_t at, char version[80],
                                 struct buf *out, struct err *err)
{
    struct buf b;
    char *base = version_path(m->name, m->version, "/file?path=");
    buf_init(&b, 1 << 16);
    buf_puts(&b, base);
    io_http_escape(&b, str_c(path), false);
    enum rc rc =
        remote_part(&p->remote, buf_str(&b), at, JOB_OUTPUT_PART, version, out, err);
    buf_release(&b);
    mem_free(base);
    return rc;
}

static enum rc model_delete_remote(const struct cmd_place *p, const struct store_model *m,
                                   struct err *err)
{
    return model_call(p, "DELETE", version_path(m->name, m->version, ""), NULL, NULL,
                      err);
}

const struct registry_ops registry_ops_remote = {
    .create = model_create_remote,
    .get = model_get_remote,
    .files = model_files_remote,
    .file = model_file_remote,
    .delete_version = model_delete_remote,
};
