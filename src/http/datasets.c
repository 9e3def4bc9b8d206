/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/inputs.h"

static void put_dataset(struct http_call *c, const struct store_dataset *d)
{
    struct json_out *j = &c->json;
    json_open(j, NULL, '{');
    json_put_str(j, "name", d->name);
    json_put_str(j, "id", d->id);
    json_put_str(j, "type", d->type);
    json_put_str(j, "path", d->uri);
    json_put_str(j, "mount", d->mount);
    json_put_str(j, "owner", d->owner);
    json_put_bool(j, "writable", store_dataset_writable(d));
    json_put_time(j, "created", d->created);
    json_close(j, '}');
}

enum rc http_list_datasets(struct http_call *c, struct err *err)
{
    struct store_datasets l = {0};
    enum rc rc = store_dataset_get(c->place.store, NULL, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "datasets", '[');
    for (size_t i = 0; i < l.n; i++)
        put_dataset(c, &l.at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_datasets_release(&l);
    return RC_OK;
}

enum rc http_get_dataset(struct http_call *c, struct err *err)
{
    struct store_datasets l = {0};
    enum rc rc = store_dataset_get(c->place.store, c->params[0], &l, err);
    if (!rc)
        put_dataset(c, &l.at[0]);
    store_datasets_release(&l);
    return rc;
}

static bool is_within(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return strncmp(dir, path, n) == 0 && (n == 1 || !path[n] || path[n] == '/');
}

/* Does one lie inside the other, or is it the same, links followed? */
static bool datasets_overlap(const char *own, const char *path)
{
    char *a = own ? realpath(own, NULL) : NULL, *b = realpath(path, NULL);
    bool is = a && b && (is_within(a, b) || is_within(b, a));
    free(a);
    free(b);
    return is;
}

/* Jobs never see the server's own files, so a dataset that holds some cannot be used. */
static enum rc datasets_check_own(const struct http_call *c, const char *path,
                                  struct err *err)
{
    const char *const own[] = {c->place.dir, c->api->o.experiments, c->api->o.tls_key};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (datasets_overlap(own[i], path))
            return err_coded(err, RC_INVAL, E3301,
                             "'path': '%.200s' holds, or lies in, '%.200s' of this "
                             "server, which no job may see; name another directory",
                             path, own[i]);
    return RC_OK;
}

static enum rc datasets_check(struct http_call *c, const struct store_dataset *d,
                              struct err *err)
{
    bool local = strcmp(d->type, "local") == 0 || strcmp(d->type, "nas") == 0;
    if (!job_inputs_place_ok(d->mount))
        return err_coded(err, RC_INVAL, E3301,
                         "'mount': '%.100s' is not a mount path: " JOB_PLACE_RULE,
                         d->mount);
    if (store_dataset_writable(d) && c->who.role < ROLE_ADMIN)
        return http_call_forbid(c, err, "only admins may make a dataset writable");
    if (!local)
        return job_dataset_uri_ok(d->type, d->uri)
                   ? RC_OK
                   : err_coded(err, RC_INVAL, E3301,
                               "'path': '%.200s' is not a URI that begins with %.20s://",
                               d->uri, d->type);
    if (c->who.role < ROLE_ADMIN)
        return http_call_forbid(c, err, "only admins may name directories of the server");
    if (d->uri[0] != '/' || strstr(d->uri, "/../") || !fs_is_dir(d->uri))
        return err_coded(err, RC_INVAL, E3301,
                         "'path': '%.200s' is not a directory on the server", d->uri);
    return datasets_check_own(c, d->uri, err);
}

enum rc http_create_dataset(struct http_call *c, struct err *err)
{
    char id[JOB_ID_SIZE];
    struct store_dataset d = {.name = http_schema_text(c->body, "name", ""),
                              .type = http_schema_text(c->body, "type", "local"),
                              .uri = http_schema_text(c->body, "path", ""),
                              .mount = http_schema_text(c->body, "mount", "/mnt/data"),
                              .options = http_schema_bool(c->body, "writable", false)
                                             ? STORE_DATASET_WRITABLE
                                             : "",
                              .owner = c->who.name,
                              .created = clock_wall_ns()};
    enum rc rc = datasets_check(c, &d, err);
    if (!rc)
        rc = job_id_new(id, err);
    if (rc)
        return rc;
    d.id = arena_printf(&c->arena, "d-%s", id + 3);
    rc = store_dataset_create(c->place.store, &d, err);
    if (rc)
        return rc;
    c->location = arena_printf(&c->arena, "/api/v1/datasets/%s", d.name);
    put_dataset(c, &d);
    return RC_OK;
}

enum rc http_delete_dataset(struct http_call *c, struct err *err)
{
    struct store_datasets l = {0};
    enum rc rc = store_dataset_get(c->place.store, c->params[0], &l, err);
    if (!rc && c->who.role < ROLE_ADMIN && strcmp(l.at[0].owner, c->who.name) != 0)
        rc = http_call_forbid(c, err, "the dataset is %s's", l.at[0].owner);
    if (!rc)
        rc = store_dataset_delete(c->place.store, c->params[0], err);
    store_datasets_release(&l);
    return rc;
}
