/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that clients send: a list of files, then the files that are not here yet, each
 * named by its content. Every user has objects of their own: what another user sent is not
 * here until it is sent again, so knowing a digest gives nothing.
 */
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/artifacts.h"
#include "job/remove.h"
#include "job/snapshot.h"
#include "job/space.h"
#include "job/storage.h"

/* Nothing is taken that would leave the disk too full for jobs to go on. */
static enum rc check_room(struct http_call *c, int64_t n, struct err *err)
{
    struct buf why;
    enum rc rc = RC_OK;
    buf_init(&why, 1000);
    if (job_space_short(c->place.dir, n, &why))
        rc = err_coded(err, RC_IO, E3108, "%.400s", buf_str(&why));
    buf_release(&why);
    return rc;
}

static enum rc code_put(struct http_call *c, const char *objects, struct err *err)
{
    int64_t n = job_storage_charge((int64_t)c->raw.n);
    bool is_new = false;
    enum rc rc = check_room(c, n, err);
    if (!rc)
        rc = job_collect_room(&c->place, n, c->api->o.user_storage, err);
    if (rc)
        return rc;
    rc = job_snapshot_object_put(objects, c->params[0], c->raw.n ? c->raw.p : "",
                                 c->raw.n, &is_new, err);
    if (!rc)
        rc = job_artifacts_send(&c->place, c->place.owner, c->params[0], err);
    if (!is_new) { /* it was here, or was not taken */
        enum rc back = job_storage_count(&c->place, -n, 0, NULL);
        (void)back; /* the next collection counts anew */
    }
    return rc;
}

enum rc http_put_object(struct http_call *c, struct err *err)
{
    char *objects = job_place_objects(&c->place);
    enum rc rc = code_put(c, objects, err);
    mem_free(objects);
    return rc;
}

enum rc http_put_snapshot(struct http_call *c, struct err *err)
{
    struct job_snapshot s;
    struct buf missing;
    size_t n = 0;
    char *objects = job_place_objects(&c->place);
    buf_init(&missing, (size_t)4 << 20);
    buf_putc(&missing, '[');
    enum rc rc = code_put(c, objects, err);
    if (!rc)
        rc = job_artifacts_settle(&c->place, c->place.owner, c->params[0], err);
    if (!rc) {
        rc = job_snapshot_look(objects, c->params[0], &s, &missing, &n, err);
        if (rc) { /* what is refused takes no room */
            enum rc gone = job_collect_upload(&c->place, c->params[0], NULL);
            (void)gone; /* then the next collection finds it */
        }
    }
    buf_putc(&missing, ']');
    if (!rc)
        rc = buf_check(&missing, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "id", s.id);
        json_put_int(&c->json, "files", s.files);
        json_put_int(&c->json, "bytes", s.bytes);
        json_put_int(&c->json, "missing_count", (int64_t)n);
        json_put_raw(&c->json, "missing", buf_str(&missing));
        json_close(&c->json, '}');
    }
    buf_release(&missing);
    mem_free(objects);
    return rc;
}

enum rc http_delete_snapshot(struct http_call *c, struct err *err)
{
    if (!job_snapshot_id_ok(c->params[0]))
        return err_coded(err, RC_NOTFOUND, E3004, "'%.80s' is not the id of a snapshot",
                         c->params[0]);
    return job_collect_upload(&c->place, c->params[0], err);
}
