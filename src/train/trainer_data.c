/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run that goes on from a checkpoint takes up its data: where it stood when the
 * data is the same, at the beginning when it is other data (the next day's), or as the
 * user says. Passes and num_steps then count on the new data; steps, rows and learning
 * rates go on.
 */
#include <string.h>

#include "train/trainer_private.h"

static void begin_anew(struct trainer *t)
{
    t->position = NULL;
    t->data_anew = true;
    t->event_ms = t->event_from_ms = 0;
    t->session->data_step = t->session->step;
    t->session->data_epoch = t->session->epoch;
}

enum rc trainer_choose_data(struct trainer *t, struct err *err)
{
    struct buf differ;
    enum rc rc = RC_OK;
    if (!t->position) {
        t->session->data_epoch = t->session->epoch;
        return RC_OK;
    }
    buf_init(&differ, ERR_MSG_SIZE / 2);
    if (t->o->data == TRAIN_DATA_AUTO)
        rc = dataset_compare(t->conf->train_input_path, t->position, &differ, err);
    if (t->o->data == TRAIN_DATA_RESTART)
        t->data_note =
            "the model is resumed; the data starts at its beginning, as requested";
    else if (differ.n)
        t->data_note = arena_printf(
            &t->arena,
            "other data than the checkpoint's (%s): the model is resumed, the data "
            "starts at its beginning",
            buf_str(&differ));
    else
        t->data_note =
            "the data resumes where the checkpoint left it; --data restart starts it "
            "again";
    if (!rc && (t->o->data == TRAIN_DATA_RESTART || differ.n))
        begin_anew(t);
    buf_release(&differ);
    return rc;
}

uint64_t trainer_last_step(const struct trainer *t)
{
    return t->tc->num_steps ? t->session->data_step + t->tc->num_steps : 0;
}
