/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that were started with different programs, configs or data would compute nonsense
 * together, or wait for each other. Before the first step each tells the others what it
 * has, in words that a person can compare.
 */
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "text/prototext.h"
#include "train/trainer_private.h"

enum { VERSION, CONFIG, SEED, SHARDS, WIRE, PLAN, DATA, CHECKPOINT, FACTS };
static const char *const names[FACTS] = {[VERSION] = "version of the program",
                                         [CONFIG] = "config",
                                         [SEED] = "seed",
                                         [SHARDS] = "number of shards",
                                         [WIRE] = "--wire",
                                         [PLAN] = "placement of tables",
                                         [DATA] = "training data",
                                         [CHECKPOINT] = "checkpoint to resume from"};

static uint64_t placement_digest(const struct dist_plan *p)
{
    uint64_t h = 0;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->at[i].n; k++) {
            const struct dist_plan_shard *s = &p->at[i].shards[k];
            int64_t facts[] = {(int64_t)h, (int64_t)p->at[i].kind, s->rank, s->rows,
                               s->cols};
            h = hash_xxh3(facts, sizeof(facts));
        }
    return h;
}

/* FACTS texts and the host's name, each with its zero byte. */
static void put_facts(const struct trainer *t, struct buf *out)
{
    char host[256] = "";
    struct buf config;
    buf_init(&config, SOURCE_MAX);
    prototext_print(t->o->conf->doc.root, &config);
    buf_printf(out, "%s%c%016jx%c%ju%c%d%c", TY_VERSION, 0,
               (uintmax_t)hash_xxh3(buf_str(&config), config.n), 0, (uintmax_t)t->o->seed,
               0, t->session->shards.total, 0);
    buf_printf(out, "%s%c", t->o->half_wire ? "bf16" : "f32", 0);
    buf_printf(out, "%016jx%c", (uintmax_t)placement_digest(&t->placement.plan), 0);
    buf_printf(out, "%jd rows in %zu files (%016jx)%c",
               (intmax_t)train_rounds_rows(t->rounds), train_rounds_files(t->rounds),
               (uintmax_t)train_rounds_digest(t->rounds), 0);
    buf_printf(out, "%s at step %ju%c", t->resumed_from ? t->resumed_from : "none",
               (uintmax_t)t->session->step, 0);
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    buf_printf(out, "%s%c", host, 0);
    buf_release(&config);
}

static const char *next_text(const char *at)
{
    return at + strlen(at) + 1;
}

/* Whether so many bytes are texts of so many ranks. */
static bool are_facts(const char *at, int64_t n, int world)
{
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; i++)
        zeros += at[i] == '\0';
    return n > 0 && at[n - 1] == '\0' && zeros == (int64_t)world * (FACTS + 1);
}

static enum rc compare(const char *first, const char *other, int rank, struct err *err)
{
    const char *a = first, *b = other, *host = other;
    for (int i = 0; i < FACTS; i++)
        host = next_text(host);
    for (int i = 0; i < FACTS; i++, a = next_text(a), b = next_text(b))
        if (strcmp(a, b) != 0)
            return err_coded(err, RC_INVAL, E2503,
                             "rank %d on host %s has another %s than rank 0: %.100s, not "
                             "%.100s",
                             rank, host, names[i], b, a);
    return RC_OK;
}

enum rc trainer_agree(struct trainer *t, struct err *err)
{
    struct buf own;
    void *all = NULL;
    int64_t n = 0;
    if (comm_world(t->o->comm) == 1)
        return RC_OK;
    buf_init(&own, 1 << 16);
    put_facts(t, &own);
    enum rc rc = comm_gather_bytes(t->o->comm, own.p, (int64_t)own.n, &all, &n, err);
    const char *first = all, *at = all;
    if (!rc && !are_facts(all, n, comm_world(t->o->comm)))
        rc = comm_broken(t->o->comm, "all_gather", err,
                         "%jd bytes that do not describe %d ranks", (intmax_t)n,
                         comm_world(t->o->comm));
    for (int r = 0; r < comm_world(t->o->comm) && !rc; r++) {
        rc = compare(first, at, r, err);
        for (int i = 0; i <= FACTS; i++)
            at = next_text(at);
    }
    mem_free(all);
    buf_release(&own);
    return rc;
}
