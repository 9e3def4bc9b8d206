/* SPDX-License-Identifier: Apache-2.0 */
/* Short videos: a row is a request of a user with a history of what was watched and some
 * candidates, as sequences of their own lengths (lists), as KuaiRand's are laid out for
 * sequence models. A request has a topic that its user does not tell: the history does.
 * Videos of a topic are those whose number has that rest. Bits of an action: 1 click, 2
 * like, 4 follow, 64 long view.
 */
#include "data/gen/gen_private.h"

#define TOPICS 8
#define VIDEOS 512
#define HISTORY_LEAST 4
#define HISTORY_MORE 36
#define CANDIDATES_MORE 8
#define FIRST_TIME 1650000000
#define CLICK 1
#define LIKE 2
#define FOLLOW 4
#define LONG_VIEW 64

enum {
    TIME_AT = 6,
    HISTORY_AT, /* video, time, action, watch time */
    CANDIDATES_AT = HISTORY_AT + 4,
    LIST_FIELDS = 4
};

#define LIST(text)                                        \
    {                                                     \
        .name = text, .value = GEN_OWN, .type = TYPE_LIST \
    }

static const struct gen_field fields[] = {
    {.name = "user_id", .value = GEN_ID, .card = 1000, .side = GEN_USER},
    {.name = "user_active_degree", .value = GEN_ID, .card = 8, .of = 1},
    {.name = "follow_user_num_range", .value = GEN_ID, .card = 8, .of = 1},
    {.name = "fans_user_num_range", .value = GEN_ID, .card = 9, .of = 1},
    {.name = "friend_user_num_range", .value = GEN_ID, .card = 7, .of = 1},
    {.name = "register_days_range", .value = GEN_ID, .card = 7, .of = 1},
    {.name = "request_time", .value = GEN_OWN, .type = TYPE_I64},
    LIST("uih_seq__video_id"),
    LIST("uih_seq__action_timestamp"),
    LIST("uih_seq__action_weight"),
    LIST("uih_seq__watch_time"),
    LIST("cand_seq__video_id"),
    LIST("cand_seq__query_time"),
    LIST("cand_seq__action_weight"),
    LIST("cand_seq__watch_time"),
};

/* One video in 2^32 parts of chance: mostly of the topic, few of them often. */
static int64_t draw_video(struct gen_row *row, int64_t topic)
{
    int64_t of = rng_below(&row->rng, 2) ? topic : (int64_t)rng_below(&row->rng, TOPICS);
    return gen_zipf(rng_u32(&row->rng), VIDEOS / TOPICS, 6.022367813028454) * TOPICS + of;
}

/* What a user does with a video: likes depend on the topic, and on the video a little. */
static int64_t draw_action(struct gen_row *row, int64_t video, int64_t topic)
{
    double z = video % TOPICS == topic ? 1.6 : -1.6;
    z += (double)(int16_t)gen_mix(row->seed, (uint64_t)video) * 0x1p-15;
    int64_t bits = (double)rng_f32(&row->rng) < gen_sigmoid(z) ? CLICK : 0;
    bits |= bits && (double)rng_f32(&row->rng) < gen_sigmoid(z - 1) ? LIKE : 0;
    bits |= bits & LIKE && rng_below(&row->rng, 4) == 0 ? FOLLOW : 0;
    return bits | (bits && rng_below(&row->rng, 2) ? LONG_VIEW : 0);
}

/* One video into the lists from column `at` on. */
static enum rc add_video(struct gen_row *row, int at, int64_t topic, int64_t time,
                         struct err *err)
{
    int64_t video = draw_video(row, topic), bits = draw_action(row, video, topic);
    int64_t watched = (bits & CLICK ? 5 : 0) + (bits & LONG_VIEW ? 20 : 0) +
                      (int64_t)rng_below(&row->rng, 5);
    int64_t values[LIST_FIELDS] = {video, time, bits, watched};
    enum rc rc = RC_OK;
    for (int i = 0; i < LIST_FIELDS && !rc; i++)
        rc = column_add_i64(&row->b->cols[at + i].kids[0], values[i], err);
    return rc;
}

static enum rc end_lists(struct gen_row *row, int at, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < LIST_FIELDS && !rc; i++)
        rc = column_add_nested(&row->b->cols[at + i], err);
    return rc;
}

static enum rc kuairand_finish(struct gen_row *row, struct err *err)
{
    int64_t topic = (int64_t)rng_below(&row->rng, TOPICS);
    int64_t n = HISTORY_LEAST + (int64_t)rng_below(&row->rng, HISTORY_MORE + 1);
    int64_t time = FIRST_TIME + row->number * 60;
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i++) {
        time += 10 + (int64_t)rng_below(&row->rng, 1000);
        rc = add_video(row, HISTORY_AT, topic, time, err);
    }
    if (!rc)
        rc = end_lists(row, HISTORY_AT, err);
    time += 60;
    n = 1 + (int64_t)rng_below(&row->rng, CANDIDATES_MORE);
    for (int64_t i = 0; i < n && !rc; i++)
        rc = add_video(row, CANDIDATES_AT, topic, time, err);
    if (!rc)
        rc = end_lists(row, CANDIDATES_AT, err);
    return rc ? rc : column_add_i64(&row->b->cols[TIME_AT], time, err);
}

const struct gen_kind gen_kuairand = {
    .name = "kuairand",
    .summary = "short videos: a user's history and candidates as lists, with times, "
               "actions as bits and watch times",
    .fields = fields,
    .n_fields = ARRAY_LEN(fields),
    .finish = kuairand_finish,
};
