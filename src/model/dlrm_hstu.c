/* SPDX-License-Identifier: Apache-2.0 */
/* DlrmHSTU: ranks the candidates of a user by one history (Zhai et al. 2024). */
#include "model/parts.h"

static void dlrm_hstu_build(struct model *m)
{
    const struct pc_DlrmHSTU *c = (const void *)m->message;
    const struct pc_HSTU *hstu[] = {c->hstu};
    if (!c->hstu) {
        graph_fail(m->graph, "there is no hstu");
        return;
    }
    part_rank_hstu(m, &(struct part_rank_hstu_conf){
                          .hstu = hstu,
                          .n = 1,
                          .tower = c->fusion_mtl_tower,
                          .max_seq_len = c->max_seq_len,
                          .item_hidden = c->item_embedding_hidden_dim,
                          .global_average = c->enable_global_average_loss,
                          .ascending = c->sequence_timestamp_is_ascending,
                          .one_context_token = c->concat_contextual_features});
}

const struct model_ops model_dlrm_hstu = {.name = "dlrm_hstu", .build = dlrm_hstu_build};
