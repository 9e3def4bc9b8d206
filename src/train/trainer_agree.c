/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "comm/comm.h"
#include "train/agree.h"
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

static void put_facts(const struct trainer *t, struct buf *out)
{
    buf_printf(out, "%s%c", TY_VERSION, 0);
    train_agree_config(t->o->conf, out);
    buf_printf(out, "%ju%c%d%c", (uintmax_t)t->o->seed, 0, t->session->shards.total, 0);
    buf_printf(out, "%s%c", t->o->half_wire ? "bf16" : "f32", 0);
    buf_printf(out, "%016jx%c", (uintmax_t)placement_digest(&t->placement.plan), 0);
    buf_printf(out, "%jd rows in %zu files (%016jx)%c",
               (intmax_t)train_rounds_rows(t->rounds), train_rounds_files(t->rounds),
               (uintmax_t)train_rounds_digest(t->rounds), 0);
    buf_printf(out, "%s at step %ju%c", t->resumed_from ? t->resumed_from : "none",
               (uintmax_t)t->session->step, 0);
}

enum rc trainer_agree(struct trainer *t, struct err *err)
{
    struct buf facts;
    if (comm_world(t->o->comm) == 1)
        return RC_OK;
    buf_init(&facts, 1 << 16);
    put_facts(t, &facts);
    enum rc rc = train_agree(t->o->comm, names, FACTS, &facts, err);
    buf_release(&facts);
    return rc;
}
