/* SPDX-License-Identifier: Apache-2.0 */
/* Program directories that clients send: a list of files, then the files that are not
 * here yet, each named by its content.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/snapshot.h"

static enum rc code_put(struct http_call *c, const char *objects, struct err *err)
{
    return job_snapshot_object_put(objects, c->params[0], c->raw.n ? c->raw.p : "",
                                   c->raw.n, err);
}

enum rc http_put_object(struct http_call *c, struct err *err)
{
    char *objects = fs_join(c->place.dir, "objects");
    enum rc rc = code_put(c, objects, err);
    mem_free(objects);
    return rc;
}

enum rc http_put_snapshot(struct http_call *c, struct err *err)
{
    struct job_snapshot s;
    struct buf missing;
    size_t n = 0;
    char *objects = fs_join(c->place.dir, "objects");
    buf_init(&missing, (size_t)4 << 20);
    buf_putc(&missing, '[');
    enum rc rc = code_put(c, objects, err);
    if (!rc)
        rc = job_snapshot_look(objects, c->params[0], &s, &missing, &n, err);
    buf_putc(&missing, ']');
    if (!rc)
        rc = buf_check(&missing, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "id", s.id);
        json_put_int(&c->json, "files", s.files);
        json_put_int(&c->json, "bytes", s.bytes);
        json_put_raw(&c->json, "missing", buf_str(&missing));
        json_close(&c->json, '}');
    }
    buf_release(&missing);
    mem_free(objects);
    return rc;
}
