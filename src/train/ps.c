/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer's session keeps its own graph and looks up through the servers (dist/ps_lookup.h); a step
 * ends with its gradients on their way. Of geo it keeps and updates all of the model, and exchanges
 * (dist/ps_geo.h). A server's session is never stepped: its tables and parameters are what a store
 * (dist/ps_store.h) starts from, and its tables are the store's.
 */
#include "train/ps.h"

#include "base/mem.h"
#include "dist/ps_geo.h"
#include "dist/ps_lookup.h"
#include "dist/ps_server.h"
#include "train/session.h"
#include "train/step_private.h"

struct train_ps {
    struct train_session *session; /* borrowed */
    struct train_ps_conf conf;
    struct dist_ps_client *client;
    struct dist_ps_geo *geo; /* of that mode */
    int64_t since;           /* batches since the last exchange */
};

static bool is_geo(const struct train_ps *p)
{
    return p->conf.job.mode == PS_GEO_MODE;
}

/* What needs all of a step's gradients in one place, or another update than a server's. */
static enum rc check_session(const struct train_session *s, struct err *err)
{
    const char *what = s->scaler.on          ? "grad_scaler"
                       : s->accumulate > 1   ? "gradient_accumulation_steps"
                       : s->ema              ? "ema"
                       : s->model->dense.n   ? "a table that the dense optimizer updates"
                       : s->options.device   ? "a device"
                       : s->shards.total > 1 ? "several shards"
                                             : NULL;
    return what ? err_coded(err, RC_UNSUPPORTED, E2704,
                            "%s and parameter servers do not go together", what)
                : RC_OK;
}

static struct dist_ps_model model_of(struct train_session *s, bool wrapped)
{
    struct dist_ps_model m = {.lookup = wrapped ? dist_ps_lookup_tables(s->model->lookup)
                                                : s->model->lookup};
    m.params = graph_params(s->model->graph, &m.n_params);
    return m;
}

/* Batches of all replicas, at least one. */
static int64_t whole(int64_t n, int64_t replicas)
{
    int64_t m = (n + replicas - 1) / replicas;
    return m < 1 ? 1 : m;
}

static enum rc connect_servers(struct train_ps *p, struct err *err)
{
    int64_t replicas = p->conf.replicas < 1 ? 1 : p->conf.replicas;
    struct dist_ps_client_conf c = {
        .job = p->conf.job,
        .worker = p->conf.worker,
        .model = model_of(p->session, !is_geo(p)),
        .ops = p->conf.ops,
        .link = p->conf.link,
        .servers = p->conf.servers,
        .queue = whole(p->conf.queue, replicas),
        .merge = whole(p->conf.merge, replicas),
        .before_pull = whole(p->conf.before_pull, replicas),
        .sum = p->conf.sum,
        .replicas = replicas,
        .deadline_ms = p->conf.deadline_ms,
        .tries = p->conf.tries,
    };
    return dist_ps_client_create(&c, &p->client, err);
}

enum rc train_ps_attach(struct train_session *s, const struct train_ps_conf *conf,
                        struct train_ps **out, struct err *err)
{
    struct train_ps *p = mem_calloc(1, sizeof(*p));
    p->session = s;
    p->conf = *conf;
    enum rc rc = check_session(s, err);
    if (!rc)
        rc = connect_servers(p, err);
    if (!rc && is_geo(p))
        rc = lookup_track(s->model->lookup, err);
    if (!rc && is_geo(p))
        rc = dist_ps_geo_create(p->client, s->model->lookup, conf->job.workers, &p->geo,
                                err);
    if (rc) {
        train_ps_detach(p);
        return rc;
    }
    if (!is_geo(p))
        dist_ps_lookup_attach(s->model->lookup, p->client);
    s->ps = p;
    *out = p;
    return RC_OK;
}

void train_ps_detach(struct train_ps *p)
{
    if (!p)
        return;
    if (p->session->ps == p && !is_geo(p))
        dist_ps_lookup_attach(p->session->model->lookup, NULL);
    p->session->ps = NULL;
    dist_ps_geo_destroy(p->geo);
    dist_ps_client_destroy(p->client);
    mem_free(p);
}

static enum rc exchange(struct train_ps *p, struct err *err)
{
    p->since = 0;
    return dist_ps_geo_exchange(p->geo, err);
}

enum rc train_ps_step(struct train_ps *p, struct err *err)
{
    struct train_session *s = p->session;
    if (!is_geo(p)) {
        optim_clip_grads(&s->clip, optim_params(s->optim));
        return dist_ps_lookup_push(s->model->lookup, err);
    }
    train_step_dense(s);
    p->since += p->conf.replicas < 1 ? 1 : p->conf.replicas;
    return p->since < p->conf.geo_step ? RC_OK : exchange(p, err);
}

enum rc train_ps_settle(struct train_ps *p, struct err *err)
{
    return is_geo(p) ? exchange(p, err) : dist_ps_client_flush(p->client, err);
}

enum rc train_ps_fetch(struct train_ps *p, struct err *err)
{
    struct nn_state state = {0};
    struct arena a = {0};
    size_t missing = 0;
    uint64_t steps;
    if (is_geo(p))
        return exchange(p, err);
    enum rc rc = dist_ps_client_fetch(p->client, &a, &state, &steps, err);
    if (!rc)
        rc = optim_load(p->session->optim, &state, &missing, err);
    nn_state_release(&state);
    arena_release(&a);
    return rc;
}

enum rc train_ps_complete(struct train_ps *p, struct err *err)
{
    return dist_ps_client_complete(p->client, err);
}

/* --- servers --- */

static enum rc make_store(struct train_session *s, const struct train_ps_serve_conf *conf,
                          struct dist_ps_store **out, struct err *err)
{
    struct nn_state state = {0};
    optim_save(s->optim, false, &state);
    struct dist_ps_store_conf c = {.job = conf->job,
                                   .server = conf->server,
                                   .model = model_of(s, false),
                                   .dense = s->conf->train_config->dense_optimizer,
                                   .rows = s->sparse.schedule,
                                   .pool = s->options.pool,
                                   .state = &state};
    enum rc rc = dist_ps_store_create(&c, out, err);
    nn_state_release(&state);
    return rc;
}

enum rc train_ps_serve(struct train_session *s, const struct train_ps_serve_conf *conf,
                       struct err *err)
{
    struct dist_ps_server_conf c = {.job = conf->job,
                                    .silence_ms = conf->silence_ms,
                                    .snapshot = conf->snapshot,
                                    .snapshot_ms = conf->snapshot_ms,
                                    .stop = conf->stop};
    struct dist_ps_model m = model_of(s, false);
    struct dist_ps_store *store = NULL;
    struct dist_ps_server *server = NULL;
    enum rc rc = check_session(s, err);
    if (!rc)
        rc = make_store(s, conf, &store, err);
    if (!rc)
        rc = comm_link_serve(conf->ops, &conf->link, conf->address, &c.link, err);
    if (!rc) {
        c.store = store;
        dist_ps_digest(&conf->job, &m, c.digest);
        server = dist_ps_server_create(&c);
        rc = dist_ps_server_restore(server, err);
    }
    if (!rc)
        rc = dist_ps_server_run(server, err);
    dist_ps_server_destroy(server);
    comm_link_stop(c.link);
    dist_ps_store_destroy(store);
    return rc;
}
