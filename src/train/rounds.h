/* SPDX-License-Identifier: Apache-2.0 */
/* train/rounds.h - the data of a run, one batch at a time: of each shard of this rank its
 * next rows, and of all ranks how many rows their shards have.
 *
 * A shard that has come to the end of its rows waits, without rows, until all have; then
 * the pass is over. With several ranks calls are collective.
 */
#ifndef TRAIN_ROUNDS_H
#define TRAIN_ROUNDS_H

#include "train/feeder.h"
#include "train/session.h"
#include "train/source.h"

struct train_rounds;

struct train_rounds_conf {
    const char *path;
    enum train_source_use use;
    int64_t epochs;      /* passes over the data; 0: without end */
    const char *cursor;  /* position to go on from; NULL: the beginning */
    bool positions;      /* of each batch are kept, and what tells files apart */
    uint64_t first_step; /* number of the first batch, for samplers */
    double quorum;       /* share of the shards whose event time counts; 0: not asked */
};

/* What one rank asks of all. */
enum { ROUND_STOP = 1, ROUND_SAVE = 2, ROUND_DUMP = 4 };

/* What a step took on one rank. */
struct train_pace {
    int64_t busy_ns; /* without waiting for other ranks */
    int64_t comm_ns; /* in calls among ranks */
};

struct train_round {
    struct train_session_batch batch; /* valid until the next round */
    bool any;                         /* some shard has rows; false: a pass is over */
    bool over;                        /* all passes are */
    int64_t epoch;                    /* passes completed before it */
    unsigned asked;                   /* by any rank */
    int64_t event_ms;                 /* that the quorum has reached; 0: not known */
    const struct train_pace *paces;   /* [world]: of the step before; NULL: one rank */
    const struct train_fed *fed;      /* of the first shard that has rows here, or NULL */
};

/* The session says which shards, and who the other ranks are. As train_feeder_open(). */
enum rc train_rounds_open(const struct train_session *s,
                          const struct train_rounds_conf *conf, struct train_rounds **out,
                          struct diags *diags, struct err *err) MUST_CHECK;
void train_rounds_close(struct train_rounds *r); /* NULL is fine */

enum rc train_rounds_next(struct train_rounds *r, unsigned ask, struct train_round *out,
                          struct err *err) MUST_CHECK;
/* Draws the batch that the next train_rounds_next() will give, whose `ask` is this one then:
 * at[shards.n], NULL for a shard without rows. The session's courier tells the other ranks
 * meanwhile. The batch at hand stays valid. What goes wrong is said by that call.
 */
void train_rounds_ahead(struct train_rounds *r, unsigned ask,
                        const struct feature_batch *const **at);

/* Behind the last batch of all shards, the text that dataset_tell() gives one of; nothing
 * before the first. Collective.
 */
enum rc train_rounds_position(struct train_rounds *r, struct buf *out,
                              struct err *err) MUST_CHECK;

/* A message about a row of the batch of a shard of this rank names its file; see where.h.
 * A shard of -1 is none.
 */
void train_rounds_name(const struct train_rounds *r, int shard, struct err *err);

/* As their namesakes of a feeder. */
const char *train_rounds_notes(const struct train_rounds *r);
int64_t train_rounds_rows(const struct train_rounds *r);
/* RC_INVAL E1406, when not one batch came: there are no rows, or fewer than shards. */
enum rc train_rounds_no_rows(const struct train_rounds *r, const char *path,
                             struct err *err) MUST_CHECK;
uint64_t train_rounds_digest(const struct train_rounds *r);
/* Lines about values outside their tables, of this rank: of the pass that just ended
 * (`pass`), or of what has been read since.
 */
void train_rounds_outside(struct train_rounds *r, bool pass, struct buf *out);
const struct data_schema *train_rounds_schema(const struct train_rounds *r);
size_t train_rounds_files(const struct train_rounds *r);
int64_t train_rounds_waited(const struct train_rounds *r);
int64_t train_rounds_batch_size(const struct train_rounds *r); /* 0: by cost */

#endif
