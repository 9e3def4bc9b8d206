/* SPDX-License-Identifier: Apache-2.0 */
/* nn/describe.h - the ops of a graph, for a picture. */
#ifndef NN_DESCRIBE_H
#define NN_DESCRIBE_H

#include "nn/graph.h"
#include "text/json_out.h"

/* {"inputs": [{"id", "name", "width"}], "ops": [{"op", "layer", "in": [ids], "out": [ids],
 * "width", "params"}], "outputs": [{"name", "id"}], "losses": [...]}: an id is that of a value,
 * `width` the numbers per row of the first value that an op gives.
 */
void graph_describe(const struct graph *g, const char *key, struct json_out *j);

#endif
