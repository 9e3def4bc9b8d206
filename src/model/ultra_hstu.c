/* SPDX-License-Identifier: Apache-2.0 */
/* UltraHSTU: as DlrmHSTU with several histories, each with a sequence model of its own;
 * candidates and context are the same for all.
 */
#include "model/parts.h"

static void ultra_hstu_build(struct model *m)
{
    const struct pc_UltraHSTU *c = (const void *)m->message;
    part_rank_hstu(m, &(struct part_rank_hstu_conf){
                          .hstu = c->hstu,
                          .n = c->n_hstu,
                          .tower = c->fusion_mtl_tower,
                          .max_seq_len = c->max_seq_len,
                          .item_hidden = c->item_embedding_hidden_dim,
                          .global_average = c->enable_global_average_loss,
                          .ascending = c->sequence_timestamp_is_ascending,
                          .one_context_token = c->concat_contextual_features});
}

const struct model_ops model_ultra_hstu = {.name = "ultra_hstu",
                                           .build = ultra_hstu_build};
