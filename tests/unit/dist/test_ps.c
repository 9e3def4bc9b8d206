/* SPDX-License-Identifier: Apache-2.0 */
/* The algebra of parameter servers, by hand: p -= lr * g, what is averaged over what, who
 * waits for whom, and differences of geo. Servers and trainers are threads.
 */
#include <pthread.h>
#include <string.h>

#include "comm/link_local.h"
#include "dist/ps_client.h"
#include "dist/ps_geo.h"
#include "dist/ps_rows.h"
#include "dist/ps_server.h"
#include "dist/ps_wire.h"
#include "embed/embed.h"
#include "tap.h"
#include "unit/dist/ps_model.h"

#define SECRET "a secret of the job"
#define SGD "sgd_optimizer { lr: 0.5 momentum: 0 } constant_learning_rate {}"
#define ADAM "adam_optimizer { lr: 0.5 } constant_learning_rate {}"
#define SERVERS_MAX 3

struct side {
    struct dist_ps_job job;
    struct comm_link_hub *hub;
    struct ps_model models[SERVERS_MAX];
    struct dist_ps_store *stores[SERVERS_MAX];
    struct dist_ps_server *servers[SERVERS_MAX];
    struct comm_link_server *links[SERVERS_MAX];
    pthread_t threads[SERVERS_MAX];
    bool runs;
};

static const char *const addresses[SERVERS_MAX] = {"a:1", "b:2", "c:3"};

static void *serve(void *arg)
{
    struct err err = {0};
    enum rc rc = dist_ps_server_run(arg, &err);
    CHECK_INT(rc, RC_OK);
    return NULL;
}

/* Servers that answer by themselves with `runs`; else the test lets them. */
static void side_open(struct side *x, struct dist_ps_job job, int64_t n,
                      enum embed_row_opt_kind kind, const char *optimizer, bool runs)
{
    struct err err = {0};
    *x = (struct side){.job = job, .hub = comm_link_hub_create(), .runs = runs};
    struct comm_link_conf link = {.secret = SECRET, .hub = x->hub};
    for (int s = 0; s < job.servers; s++) {
        ps_model_init(&x->models[s], n, kind, optimizer);
        x->stores[s] = ps_model_store(&x->models[s], job, s);
        CHECK(comm_link_serve(&comm_link_local_ops, &link, addresses[s], &x->links[s],
                              &err) == RC_OK);
        struct dist_ps_server_conf c = {
            .job = job, .store = x->stores[s], .link = x->links[s]};
        dist_ps_digest(&job, &x->models[s].model, c.digest);
        x->servers[s] = dist_ps_server_create(&c);
        if (runs)
            pthread_create(&x->threads[s], NULL, serve, x->servers[s]);
    }
}

static void side_close(struct side *x)
{
    for (int s = 0; s < x->job.servers; s++) {
        if (x->runs)
            pthread_join(x->threads[s], NULL);
        dist_ps_server_destroy(x->servers[s]);
        comm_link_stop(x->links[s]);
        dist_ps_store_destroy(x->stores[s]);
        ps_model_release(&x->models[s]);
    }
    comm_link_hub_destroy(x->hub);
}

struct trainer {
    struct ps_model model;
    struct dist_ps_client *client;
    struct side *side;
    int worker;
    float g;      /* gradient of the dense parameter */
    int64_t id;   /* of the row that moves */
    float row[2]; /* its gradient */
    enum rc rc;
    struct err err;
};

static struct dist_ps_client_conf client_conf(struct trainer *t)
{
    return (struct dist_ps_client_conf){.job = t->side->job,
                                        .worker = t->worker,
                                        .model = t->model.model,
                                        .ops = &comm_link_local_ops,
                                        .link = {.secret = SECRET, .hub = t->side->hub},
                                        .servers = addresses,
                                        .queue = 3,
                                        .merge = 3,
                                        .before_pull = 100,
                                        .replicas = 1,
                                        .deadline_ms = 60000,
                                        .tries = 1};
}

static void trainer_open(struct trainer *t, struct side *x, int worker, int64_t n,
                         enum embed_row_opt_kind kind, const char *optimizer)
{
    *t = (struct trainer){.side = x, .worker = worker};
    ps_model_init(&t->model, n, kind, optimizer);
    struct dist_ps_client_conf c = client_conf(t);
    CHECK_INT(dist_ps_client_create(&c, &t->client, &t->err), RC_OK);
    CHECK_STR(t->err.msg, "");
}

static void trainer_close(struct trainer *t)
{
    CHECK_INT(dist_ps_client_complete(t->client, &t->err), RC_OK);
    dist_ps_client_destroy(t->client);
    ps_model_release(&t->model);
}

static enum rc step(struct trainer *t)
{
    struct dist_ps_table table = {.n = 1, .ids = &t->id, .sums = t->row};
    for (int64_t i = 0; i < t->model.param.n; i++)
        t->model.param.grad[i] = t->g;
    return dist_ps_client_step(t->client, &table, &t->err);
}

static void *step_main(void *arg)
{
    struct trainer *t = arg;
    t->rc = step(t);
    return NULL;
}

/* What a trainer reads of a row. */
static float row_of(struct trainer *t, int64_t id, int col)
{
    float v[PS_DIM] = {0};
    struct dist_ps_table table = {.n = 1, .ids = &id, .vectors = v};
    CHECK_INT(dist_ps_client_pull(t->client, &table, false, &t->err), RC_OK);
    return v[col];
}

/* --- the modes --- */

static void sync_takes_the_mean_of_all_trainers(void)
{
    struct side x;
    struct trainer t[2];
    pthread_t thread;
    side_open(&x, (struct dist_ps_job){2, 2, PS_SYNC}, 5, ROW_SGD, SGD, true);
    for (int w = 0; w < 2; w++)
        trainer_open(&t[w], &x, w, 5, ROW_SGD, SGD);
    t[0].g = 1, t[0].id = 3, t[0].row[0] = 2, t[0].row[1] = 4;
    t[1].g = 3, t[1].id = 3, t[1].row[0] = 6, t[1].row[1] = 0;
    pthread_create(&thread, NULL, step_main, &t[1]);
    CHECK_INT(step(&t[0]), RC_OK);
    pthread_join(thread, NULL);
    CHECK_INT(t[1].rc, RC_OK);
    /* 2 - 0.5 (1 + 3) / 2; rows 1 - 0.5 (2 + 6) / 2 and 1 - 0.5 (4 + 0) / 2 */
    for (int w = 0; w < 2; w++) {
        CHECK(t[w].model.param.value[0] == 1 && t[w].model.param.value[4] == 1);
        CHECK(row_of(&t[w], 3, 0) == -1 && row_of(&t[w], 3, 1) == 0);
        CHECK(row_of(&t[w], 4, 0) == 1);
    }
    /* One that is done counts as zero; the divisor stays. */
    trainer_close(&t[1]);
    t[0].g = 1, t[0].id = 4;
    CHECK_INT(step(&t[0]), RC_OK);
    CHECK(t[0].model.param.value[2] == 0.75f);
    CHECK(row_of(&t[0], 4, 0) == 0.5f && row_of(&t[0], 4, 1) == 0);
    trainer_close(&t[0]);
    side_close(&x);
}

static void half_async_applies_each_trainer_at_once(void)
{
    struct side x;
    struct trainer t[2];
    side_open(&x, (struct dist_ps_job){2, 2, PS_HALF_ASYNC}, 5, ROW_SGD, SGD, true);
    for (int w = 0; w < 2; w++)
        trainer_open(&t[w], &x, w, 5, ROW_SGD, SGD);
    t[0].g = 1, t[0].id = 3, t[0].row[0] = 2;
    CHECK_INT(step(&t[0]), RC_OK);
    CHECK(t[0].model.param.value[0] == 1.5f);
    CHECK(t[1].model.param.value[0] == 2); /* pulled with its own step */
    CHECK(row_of(&t[1], 3, 0) == 0);       /* rows come from the server */
    t[1].g = 2, t[1].id = 3, t[1].row[0] = 2;
    CHECK_INT(step(&t[1]), RC_OK);
    CHECK(t[1].model.param.value[0] == 0.5f && t[0].model.param.value[0] == 1.5f);
    CHECK(row_of(&t[0], 3, 0) == -1);
    for (int w = 0; w < 2; w++)
        trainer_close(&t[w]);
    side_close(&x);
}

/* Lets server 0 answer messages until one of this kind came; it is answered, too. */
static void answer_until(struct side *x, uint32_t kind, struct comm_link_asked *held)
{
    struct err err = {0};
    struct dist_ps_head h = {0};
    struct dist_ps_in in;
    for (int i = 0; i < 1000 && h.kind != kind; i++) {
        struct comm_link_asked q;
        CHECK(comm_link_receive(x->links[0], 100, &q, &err) == RC_OK);
        if (!q.data)
            continue;
        CHECK(dist_ps_open(q.data, q.n, &in, &h, &err) == RC_OK);
        if (held && h.kind == kind)
            *held = q;
        else
            CHECK(dist_ps_server_handle(x->servers[0], &q, &err) == RC_OK);
    }
    CHECK_INT(h.kind, kind);
}

static void *create_main(void *arg)
{
    struct trainer *t = arg;
    struct dist_ps_client_conf c = client_conf(t);
    c.sum = t->g > 0;
    t->rc = dist_ps_client_create(&c, &t->client, &t->err);
    return NULL;
}

/* The first gradient is under way while three more queue up: they are sent as one. */
static void async_merges(bool sum, float want_w, float want_row)
{
    struct side x;
    struct trainer t = {.side = &x, .g = sum ? 1 : 0};
    struct comm_link_asked held;
    struct err err = {0};
    pthread_t thread;
    side_open(&x, (struct dist_ps_job){1, 1, PS_ASYNC}, 2, ROW_SGD, SGD, false);
    ps_model_init(&t.model, 2, ROW_SGD, SGD);
    pthread_create(&thread, NULL, create_main, &t);
    answer_until(&x, PS_PULL_DENSE, NULL);
    pthread_join(thread, NULL);
    CHECK_INT(t.rc, RC_OK);
    t.g = 1, t.id = 5, t.row[0] = 1;
    CHECK_INT(step(&t), RC_OK);
    answer_until(&x, PS_PUSH, &held);
    for (int i = 2; i <= 4; i++) {
        t.g = (float)i, t.id = i == 4 ? 6 : 5;
        CHECK_INT(step(&t), RC_OK);
        CHECK(t.model.param.value[0] == 2); /* nothing was fetched yet */
    }
    CHECK(dist_ps_server_handle(x.servers[0], &held, &err) == RC_OK);
    answer_until(&x, PS_PUSH, NULL);
    CHECK(dist_ps_store_dense(x.stores[0])[0] == want_w);
    const int64_t ids[2] = {5, 6};
    float rows[4];
    CHECK(dist_ps_store_read_rows(x.stores[0], 0, ids, 2, false, rows, &err) == RC_OK);
    CHECK(rows[0] == want_row);
    CHECK_INT((int64_t)dist_ps_store_steps(x.stores[0]), 2);
    dist_ps_client_destroy(t.client);
    ps_model_release(&t.model);
    side_close(&x);
}

static void async_averages_what_it_merges_or_adds_it(void)
{
    /* 2 - 0.5 * 1 - 0.5 * (2 + 3 + 4) / 3; row 5: 1 - 0.5 - 0.5 * 2 / 3 */
    async_merges(false, 0, 0.5f - 0.5f * (2 * (1.0f / 3.0f)));
    /* 2 - 0.5 * (1 + 2 + 3 + 4); row 5: 1 - 0.5 - 0.5 * 2 */
    async_merges(true, -3, -0.5f);
}

static void geo_exchanges_differences(void)
{
    struct side x;
    struct trainer t[2];
    struct dist_ps_geo *g[2];
    side_open(&x, (struct dist_ps_job){2, 2, PS_GEO_MODE}, 3, ROW_SGD, SGD, true);
    for (int w = 0; w < 2; w++) {
        trainer_open(&t[w], &x, w, 3, ROW_SGD, SGD);
        CHECK(lookup_track(t[w].model.model.lookup, &t[w].err) == RC_OK);
        CHECK(dist_ps_geo_create(t[w].client, t[w].model.model.lookup, 2, &g[w],
                                 &t[w].err) == RC_OK);
    }
    struct embed_table *rows[2];
    for (int w = 0; w < 2; w++)
        rows[w] = embed_table_at(embed_of(t[w].model.model.lookup), 0);
    /* Trainer 0 moved w from 2 to 6 and row 7 from 1 to 9: half of it goes. */
    t[0].model.param.value[1] = 6;
    embed_table_set(rows[0], 7, (float[]){9, 1});
    embed_touched_mark(rows[0]->touched, 7);
    CHECK_INT(dist_ps_geo_exchange(g[0], &t[0].err), RC_OK);
    float v[PS_DIM];
    CHECK(t[0].model.param.value[1] == 6); /* z = old = 4, nobody else moved it */
    embed_table_get(rows[0], 7, v);
    CHECK(v[0] == 9 && v[1] == 1);
    /* Trainer 1 moved w from 2 to 0: z = 4 - 1 = 3, old = 1: own = 0 + 3 - 1. */
    t[1].model.param.value[1] = 0;
    CHECK_INT(dist_ps_geo_exchange(g[1], &t[1].err), RC_OK);
    CHECK(t[1].model.param.value[1] == 2);
    embed_table_get(rows[1], 7, v); /* it never touched it: z = 5 */
    CHECK(v[0] == 5 && v[1] == 1);
    /* Trainer 0 again: own 6, old 4: delta 1, old 5, z = 3 + 1 = 4: own = 6 + 4 - 5. */
    CHECK_INT(dist_ps_geo_exchange(g[0], &t[0].err), RC_OK);
    CHECK(t[0].model.param.value[1] == 5);
    for (int w = 0; w < 2; w++) {
        dist_ps_geo_destroy(g[w]);
        trainer_close(&t[w]);
    }
    side_close(&x);
}

/* --- around them --- */

/* Adam's moments are the server's: three servers do what one does. */
static void servers_share_a_model_without_a_trace(void)
{
    enum { N = 20000, STEPS = 4 };
    float *values[2];
    float rows[2];
    for (int k = 0; k < 2; k++) {
        struct side x;
        struct trainer t;
        side_open(&x, (struct dist_ps_job){k ? 3 : 1, 1, PS_SYNC}, N, ROW_ADAM, ADAM,
                  true);
        trainer_open(&t, &x, 0, N, ROW_ADAM, ADAM);
        for (int i = 1; i <= STEPS; i++) {
            t.g = 1.0f / (float)i, t.id = 40 + i % 2, t.row[0] = (float)i;
            CHECK_INT(step(&t), RC_OK);
        }
        struct nn_state state = {0};
        struct arena a = {0};
        uint64_t steps = 0;
        CHECK(dist_ps_client_fetch(t.client, &a, &state, &steps, &t.err) == RC_OK);
        CHECK_INT((int64_t)steps, STEPS);
        CHECK(nn_state_find(&state, "state.w.exp_avg") != NULL);
        CHECK_INT(nn_state_find(&state, "state.w.exp_avg")->n, N);
        values[k] = mem_alloc(N * sizeof(float));
        memcpy(values[k], t.model.param.value, N * sizeof(float));
        struct embed_table *table = embed_table_at(embed_of(t.model.model.lookup), 0);
        CHECK(embed_table_used(table, 40) && embed_table_used(table, 41));
        CHECK(!embed_table_used(table, 42));
        rows[k] = *embed_table_row(table, 41);
        nn_state_release(&state);
        arena_release(&a);
        trainer_close(&t);
        side_close(&x);
    }
    CHECK(memcmp(values[0], values[1], N * sizeof(float)) == 0);
    CHECK(rows[0] == rows[1] && rows[0] != 1);
    mem_free(values[0]);
    mem_free(values[1]);
}

static void a_question_that_is_asked_again_is_answered_once(void)
{
    struct side x;
    struct trainer t = {.side = &x};
    struct comm_link_asked held;
    struct err err = {0};
    pthread_t thread;
    side_open(&x, (struct dist_ps_job){1, 1, PS_HALF_ASYNC}, 2, ROW_SGD, SGD, false);
    ps_model_init(&t.model, 2, ROW_SGD, SGD);
    pthread_create(&thread, NULL, create_main, &t);
    answer_until(&x, PS_PULL_DENSE, NULL);
    pthread_join(thread, NULL);
    t.g = 2;
    pthread_create(&thread, NULL, step_main, &t);
    answer_until(&x, PS_PUSH, &held);
    CHECK(dist_ps_server_handle(x.servers[0], &held, &err) == RC_OK);
    CHECK(dist_ps_server_handle(x.servers[0], &held, &err) == RC_OK);
    pthread_join(thread, NULL);
    CHECK_INT(t.rc, RC_OK);
    CHECK(t.model.param.value[0] == 1);
    CHECK_INT((int64_t)dist_ps_store_steps(x.stores[0]), 1);
    dist_ps_client_destroy(t.client);
    ps_model_release(&t.model);
    side_close(&x);
}

static void another_model_is_refused(void)
{
    struct side x;
    struct trainer t = {.side = &x, .worker = 0};
    side_open(&x, (struct dist_ps_job){1, 1, PS_SYNC}, 2, ROW_SGD, SGD, true);
    ps_model_init(&t.model, 3, ROW_SGD, SGD);
    struct dist_ps_client_conf c = client_conf(&t);
    CHECK_INT(dist_ps_client_create(&c, &t.client, &t.err), RC_INVAL);
    CHECK_INT(t.err.code, E2703);
    CHECK_STR(t.err.msg, "server 0: trainer 0 trains another model, or counts other "
                         "servers and trainers");
    ps_model_release(&t.model);
    trainer_open(&t, &x, 0, 2, ROW_SGD, SGD);
    trainer_close(&t);
    side_close(&x);
}

static void who_does_not_know_the_secret_gets_nothing(void)
{
    struct side x;
    struct trainer t = {.side = &x};
    side_open(&x, (struct dist_ps_job){1, 1, PS_SYNC}, 2, ROW_SGD, SGD, true);
    ps_model_init(&t.model, 2, ROW_SGD, SGD);
    struct dist_ps_client_conf c = client_conf(&t);
    c.link.secret = "another secret, as long";
    c.deadline_ms = 50;
    CHECK_INT(dist_ps_client_create(&c, &t.client, &t.err), RC_IO);
    CHECK_INT(t.err.code, E2701);
    c.link.secret = "short";
    CHECK_INT(dist_ps_client_create(&c, &t.client, &t.err), RC_INVAL);
    CHECK_INT(t.err.code, E2702);
    ps_model_release(&t.model);
    trainer_open(&t, &x, 0, 2, ROW_SGD, SGD);
    trainer_close(&t);
    side_close(&x);
}

static void blocks_go_round_the_servers(void)
{
    struct ps_model m;
    size_t n;
    ps_model_init(&m, 20000, ROW_SGD, SGD);
    struct dist_ps_job job = {3, 1, PS_SYNC};
    struct dist_ps_block *b = dist_ps_blocks(&job, &m.model, &n);
    CHECK_INT((int64_t)n, 2); /* 20000 / 8192 */
    CHECK(b[0].server == 0 && b[0].at == 0 && b[0].n == 10000);
    CHECK(b[1].server == 1 && b[1].at == 10000 && b[1].n == 10000);
    CHECK_INT(dist_ps_blocks_total(b, n, 2), 0);
    mem_free(b);
    m.param.n = m.param.dims[0] = 8000;
    b = dist_ps_blocks(&job, &m.model, &n);
    CHECK_INT((int64_t)n, 1);
    mem_free(b);
    ps_model_release(&m);
}

static void sums_of_an_id_are_added_as_they_came(void)
{
    struct dist_ps_rows r = {0};
    struct err err = {0};
    const int64_t a[] = {5, 2, 5}, b[] = {9, 2};
    const float x[] = {1, 10, 100}, y[] = {7, 5};
    CHECK(dist_ps_rows_add(&r, 1, a, x, 3, &err) == RC_OK);
    CHECK(dist_ps_rows_add(&r, 1, b, y, 2, &err) == RC_OK);
    CHECK(dist_ps_rows_merge(&r, &err) == RC_OK);
    CHECK_INT(r.n, 3);
    CHECK(r.ids[0] == 2 && r.ids[1] == 5 && r.ids[2] == 9);
    CHECK(r.sums[0] == 15 && r.sums[1] == 101 && r.sums[2] == 7);
    dist_ps_rows_release(&r);
}

static const struct tap_case cases[] = {
    TAP(sync_takes_the_mean_of_all_trainers),
    TAP(half_async_applies_each_trainer_at_once),
    TAP(async_averages_what_it_merges_or_adds_it),
    TAP(geo_exchanges_differences),
    TAP(servers_share_a_model_without_a_trace),
    TAP(a_question_that_is_asked_again_is_answered_once),
    TAP(another_model_is_refused),
    TAP(who_does_not_know_the_secret_gets_nothing),
    TAP(blocks_go_round_the_servers),
    TAP(sums_of_an_id_are_added_as_they_came),
};
TAP_MAIN(cases)
