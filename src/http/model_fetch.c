/* SPDX-License-Identifier: Apache-2.0 */
/* A model that lies at another server on the same database becomes an input here: its list and
 * what that names are fetched object by object into the caller's own contents, as if the caller
 * had sent them. Nothing is believed: an object is what its name says. What broke off goes on
 * where it was at the next try; what has no room is given up.
 */
#include "http/model_fetch.h"

#include "base/mem.h"
#include "http/api_private.h"
#include "http/forward.h"
#include "job/remove.h"
#include "job/snapshot.h"
#include "job/status.h"
#include "job/storage.h"
#include "text/node.h"

struct fetching {
    struct http_call *c;
    const struct store_model *m;
    char *objects; /* of the caller */
};

static enum rc keep(const struct fetching *f, const char *id, const struct buf *data,
                    struct err *err)
{
    struct http_call *c = f->c;
    int64_t charge = job_storage_charge((int64_t)data->n);
    bool added = false;
    enum rc rc = job_collect_room(&c->place, charge, c->api->o.user_storage, err);
    if (rc)
        return rc;
    rc = job_snapshot_object_put(f->objects, id, buf_str(data), data->n, &added, err);
    if (!added) {
        enum rc back = job_storage_count(&c->place, -charge, 0, NULL);
        (void)back; /* the next collection counts anew */
    }
    return rc;
}

static enum rc fetch_one(const struct fetching *f, const char *id, struct err *err)
{
    struct buf data;
    char *path = mem_printf("/api/v1/models/%s/versions/%jd/objects/%s", f->m->name,
                            (intmax_t)f->m->version, id);
    buf_init(&data, SNAPSHOT_LIST_MAX);
    enum rc rc = http_forward_fetch(f->c, f->m->node, path, &data, err);
    if (!rc)
        rc = keep(f, id, &data, err);
    buf_release(&data);
    mem_free(path);
    return rc;
}

/* Those that are missing, or as many of them as one answer names; *left: how many were. */
static enum rc fetch_missing(const struct fetching *f, size_t *left, struct err *err)
{
    struct job_snapshot s;
    struct buf ids;
    struct doc doc = {0};
    buf_init(&ids, (size_t)4 << 20);
    buf_putc(&ids, '[');
    enum rc rc = job_snapshot_look(f->objects, f->m->snapshot, &s, &ids, left, err);
    buf_putc(&ids, ']');
    const struct node *list = rc ? NULL : job_json_open(buf_str(&ids), &doc);
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n && !rc; i++)
        rc = fetch_one(f, list->list.at[i]->text.p, err);
    if (doc.src)
        doc_release(&doc);
    buf_release(&ids);
    return rc;
}

enum rc http_model_fetch(struct http_call *c, const struct store_model *m,
                         struct err *err)
{
    struct fetching f = {.c = c, .m = m, .objects = job_place_objects(&c->place)};
    size_t left = 1;
    enum rc rc = fetch_one(&f, m->snapshot, err);
    while (!rc && left)
        rc = fetch_missing(&f, &left, err);
    if (rc && err->code == E5501) {
        enum rc gone = job_collect_upload(&c->place, m->snapshot, NULL);
        (void)gone; /* then the next collection finds it */
    }
    mem_free(f.objects);
    return rc;
}
