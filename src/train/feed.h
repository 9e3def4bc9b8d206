/* SPDX-License-Identifier: Apache-2.0 */
/* train/feed.h - from the features of a batch to the inputs of a model.
 *
 * Decides once which feature goes where; then, per batch, copies numbers, labels and
 * sample weights into the graph's inputs, and lays out the ids for the lookup without
 * copying them where it can.
 */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H

#include "base/err.h"
#include "feature/feature.h"
#include "model/model.h"

struct train_feed;

/* Both must outlive it. RC_INVAL when the model wants a feature or label that the plan
 * does not give.
 */
enum rc train_feed_create(struct model *m, const struct feature_plan *plan,
                          struct train_feed **out, struct err *err) MUST_CHECK;
void train_feed_destroy(struct train_feed *f);

/* From the next batch on: features whose rows are all equal (feature_out.alike) are looked up
 * once, and what follows from them is worked out once, where the graph's device does so.
 * Not for training.
 */
void train_feed_share(struct train_feed *f, bool on);
/* Behind lookup_forward(): what was looked up once, to the other rows of values that have
 * different ones too.
 */
void train_feed_spread(const struct train_feed *f, const struct view *outputs);
/* Lays out the ids of a batch, which must stay as it is until the next call. RC_NOMEM. */
enum rc train_feed_take(struct train_feed *f, const struct feature_batch *b,
                        struct err *err) MUST_CHECK;
/* Sets the graph's rows to those of the batch taken, and fills all inputs but those of the
 * lookup. With `targets` false labels and weights are left alone (predict). RC_INVAL E1401
 * (a label that is not a number), RC_NOMEM.
 */
enum rc train_feed_fill(struct train_feed *f, bool targets, struct err *err) MUST_CHECK;
/* Whether labels and other columns of a batch are what the model's losses take, without
 * running it. RC_INVAL E1401.
 */
enum rc train_feed_check(const struct train_feed *f, const struct feature_batch *b,
                         struct err *err) MUST_CHECK;
/* The ids of that batch, for lookup_prepare(); borrowed until the next. */
const struct embed_slot_ids *train_feed_ids(const struct train_feed *f);
/* The same for those of model.dense. */
const struct embed_slot_ids *train_feed_dense_ids(const struct train_feed *f);
/* A sequence that had another number of steps in some row than the one that leads its
 * group, by whose steps it is cut or filled up: the first one seen.
 */
struct train_feed_uneven {
    const char *feature, *leader; /* borrowed; NULL: there was none */
    int64_t differ, rows;         /* rows of that batch */
    int64_t first;                /* of those that differ */
};
struct train_feed_uneven train_feed_uneven(const struct train_feed *f);

#endif
