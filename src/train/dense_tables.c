/* SPDX-License-Identifier: Apache-2.0 */
#include "train/dense_tables.h"

#include <string.h>

#include "ckpt/ckpt.h"
#include "model/reference.h"
#include "text/node.h"
#include "train/plan_file.h"

static bool only_data_parallel(const struct pc_ParameterConstraints *c)
{
    return c && c->n_sharding_types == 1 &&
           strcmp(c->sharding_types[0], "data_parallel") == 0;
}

static bool is_listed(const struct node *names, const char *table)
{
    for (size_t i = 0; i < names->list.n; i++)
        if (str_is(names->list.at[i]->text, table))
            return true;
    return false;
}

bool train_dense_tables_are(const void *session, const struct pc_feature *f,
                            const char *table, bool sequence)
{
    const struct train_session *s = session;
    if (s->options.dense_tables)
        return is_listed(s->options.dense_tables, table);
    const struct pc_TrainConfig *t = s->conf->train_config;
    enum dist_kind kind = train_pins_find(s->options.pins, table);
    if (kind != DIST_KINDS)
        return kind == DIST_DATA_PARALLEL;
    return sequence ||
           only_data_parallel(f->embedding_constraints ? f->embedding_constraints
                                                       : t->global_embedding_constraints);
}

void train_dense_tables_of(const struct ckpt *c, struct train_session_options *so)
{
    const struct node *session = ckpt_json(c, "session");
    so->dense_tables = session ? node_get_list(session, "dense_tables") : NULL;
    if (so->dense_tables)
        so->reference |= REFERENCE_TABLES;
}

void train_dense_tables_print(const struct model *m, struct buf *out)
{
    for (size_t i = 0; i < m->dense.n; i++) {
        const char *name = m->dense.at[i].rows->name;
        buf_puts(out, i ? ", " : ", \"dense_tables\": [");
        buf_json_str(out, name, strlen(name));
    }
    buf_puts(out, m->dense.n ? "]" : "");
}

enum rc train_dense_tables_check(const struct train_session *s, struct err *err)
{
    const char *what = "--like-reference tables: the dense optimizer updates tables";
    if (s->shards.total > 1)
        return err_set(err, RC_UNSUPPORTED, "%s in runs of one shard, not of %d", what,
                       s->shards.total);
    if (s->options.device)
        return err_set(err, RC_UNSUPPORTED, "%s on the CPU only", what);
    if (s->conf->train_config->delta_embedding_dump_config)
        return err_set(err, RC_UNSUPPORTED,
                       "%s as a whole, and delta_embedding_dump_config dumps rows that "
                       "batches changed",
                       what);
    return RC_OK;
}
