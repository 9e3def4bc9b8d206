/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/paddlerec_node.h - which process of a run with parameter servers this one is, as the
 * environment says it: TRAINING_ROLE, PADDLE_PSERVERS_IP_PORT_LIST and their like, which
 * PaddleCloud sets on its nodes and paddlerec_cluster.h for its children.
 */
#ifndef CMD_PADDLEREC_NODE_H
#define CMD_PADDLEREC_NODE_H

#include "train/ps.h"

struct paddlerec_node {
    bool server;
    bool splits; /* trainers share the files; else each node has its own */
    int index;   /* of the server or trainer */
    struct dist_ps_job job;
    char *list;           /* owned: PADDLE_PSERVERS_IP_PORT_LIST, cut into */
    const char **servers; /* [job.servers], owned array */
    char *secret;         /* owned */
};

/* True on a node, and in a child of paddlerec_cluster.h. */
bool paddlerec_node_is_one(void);
/* `local`: a child of this machine's own cluster. RC_INVAL: E2706, E2702. */
enum rc paddlerec_node_read(struct paddlerec_node *n, enum dist_ps_mode mode, bool local,
                            struct err *err) MUST_CHECK;
void paddlerec_node_release(struct paddlerec_node *n);

/* The flags of the communicator (FLAGS_communicator_*, FLAGS_rpc_*), for batches of `threads`
 * replicas; `sgd` by the optimizer, or -1: as the flag says. Says on stderr what has no effect.
 */
void paddlerec_node_flags(const struct paddlerec_node *n, int64_t threads, int sgd,
                          struct train_ps_conf *out);
/* Where a server keeps its snapshot (TRAINYARD_PS_SNAPSHOT; NULL: nowhere), and how often. */
const char *paddlerec_node_snapshot(int64_t *ms);
/* Milliseconds after which a trainer that says nothing counts as gone. */
int64_t paddlerec_node_silence(void);
/* The files of trainer `index` of n: a stretch, whose length differs by one at most. */
void paddlerec_node_share(size_t files, int index, int n, size_t *first, size_t *count);

#endif
