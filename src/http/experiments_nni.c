/* SPDX-License-Identifier: Apache-2.0 */
/* NNI's REST interface, for reading: below /api/v1/experiments/ID/nni of that experiment,
 * below /api/v1/nni, where NNI's own clients look, of the newest.
 */
#include <string.h>

#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/handlers.h"
#include "tune/report.h"

static enum rc put_path(struct http_call *c, const struct experiment *e, bool alive,
                        struct err *err)
{
    const char *path = strstr(c->route->path, "/nni/") + 4;
    const struct http_target *t = &c->target;
    const char *status = http_schema_text(c->query, "status", NULL);
    const char *type = http_schema_text(c->query, "type", NULL);
    struct buf asked, query;
    size_t depth = 0;
    buf_init(&asked, TARGET_BYTES_MAX);
    buf_init(&query, TARGET_BYTES_MAX);
    for (const char *p = path; *p; p++)
        depth += *p == '/';
    for (size_t i = t->n_parts - depth; i < t->n_parts; i++)
        buf_printf(&asked, "/%s", t->parts[i]);
    if (status)
        buf_printf(&query, "status=%s", status);
    if (type)
        buf_printf(&query, "%stype=%s", status ? "&" : "", type);
    enum rc rc = RC_OK;
    if (!tune_report_nni_path(e, alive, buf_str(&asked), buf_str(&query), &c->out))
        rc = err_coded(err, RC_NOTFOUND, E4008, "experiment %s has nothing at '%s'",
                       e->set.id, buf_str(&asked));
    buf_release(&asked);
    buf_release(&query);
    return rc;
}

static enum rc put_metadata(struct http_call *c, const struct experiment *e, bool alive,
                            struct err *err)
{
    http_experiments_comma(c);
    tune_report_nni_metadata(e, alive, &c->out);
    return RC_OK;
}

/* /experiments-info is the one path that is about all experiments. */
static enum rc put_all(struct http_call *c, struct err *err)
{
    struct http_experiments l = {0};
    enum rc rc = http_experiments_find(c, &l, err);
    buf_puts(&c->out, "[");
    for (size_t i = 0; i < l.all.n && !rc; i++)
        if (http_experiments_read(c, l.all.at[i].dir, put_metadata, NULL))
            continue; /* one that cannot be read is left out */
    buf_puts(&c->out, "]");
    http_experiments_release(&l);
    return rc;
}

static enum rc newest(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, NULL, put_path, err);
}

static enum rc named(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, c->params[0], put_path, err);
}

enum rc http_nni(struct http_call *c, struct err *err)
{
    return strcmp(c->params[0], "experiments-info") == 0 ? put_all(c, err)
                                                         : newest(c, err);
}

enum rc http_nni_imported(struct http_call *c, struct err *err)
{
    return newest(c, err);
}

enum rc http_nni_trial(struct http_call *c, struct err *err)
{
    return newest(c, err);
}

enum rc http_nni_metrics(struct http_call *c, struct err *err)
{
    return newest(c, err);
}

enum rc http_nni_range(struct http_call *c, struct err *err)
{
    return newest(c, err);
}

enum rc http_nni_of(struct http_call *c, struct err *err)
{
    return strcmp(c->params[1], "experiments-info") == 0 ? put_all(c, err)
                                                         : named(c, err);
}

enum rc http_nni_of_imported(struct http_call *c, struct err *err)
{
    return named(c, err);
}

enum rc http_nni_of_trial(struct http_call *c, struct err *err)
{
    return named(c, err);
}

enum rc http_nni_of_metrics(struct http_call *c, struct err *err)
{
    return named(c, err);
}

enum rc http_nni_of_range(struct http_call *c, struct err *err)
{
    return named(c, err);
}
