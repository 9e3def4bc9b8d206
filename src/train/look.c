/* SPDX-License-Identifier: Apache-2.0 */
#include "train/look.h"

#include <string.h>

#include "base/mem.h"
#include "train/rounds.h"

static enum rc first_batch(const struct train_session *s, const char *path,
                           struct train_rounds *r, struct train_look *out,
                           struct err *err)
{
    struct train_round round;
    struct buf b;
    enum rc rc = train_rounds_next(r, 0, &round, err);
    if (!rc && !round.any)
        rc = train_rounds_no_rows(r, path, err);
    for (int i = 0; !rc && i < s->shards.n; i++) {
        const struct feature_batch *f = round.batch.at[i];
        if (!f)
            continue;
        out->seen += f->rows;
        rc = train_feed_check(s->feed, f, err);
        if (rc)
            train_rounds_name(r, i, err);
    }
    if (rc)
        return rc;
    buf_init(&b, (size_t)1 << 20);
    train_rounds_outside(r, false, &b);
    out->notes = mem_strdup(buf_str(&b));
    buf_release(&b);
    return RC_OK;
}

static enum rc open_and_look(const struct train_session *s, const char *path,
                             enum train_source_use use, struct train_look *out,
                             struct diags *diags, struct err *err)
{
    struct train_rounds_conf conf = {.path = path, .use = use, .epochs = 1};
    struct train_rounds *r = NULL;
    struct err why = {0};
    enum rc rc = train_rounds_open(s, &conf, &r, diags, &why);
    if (rc == RC_NOTFOUND || rc == RC_IO || rc == RC_UNSUPPORTED) {
        out->why_not = mem_strdup(why.msg);
        return RC_OK;
    }
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    out->rows = train_rounds_rows(r);
    out->files = train_rounds_files(r);
    rc = first_batch(s, path, r, out, err);
    train_rounds_close(r);
    return rc;
}

enum rc train_look_at(const struct train_session *s, const char *path,
                      enum train_source_use use, struct train_look *out,
                      struct diags *diags, struct err *err)
{
    *out = (struct train_look){.rows = -1};
    if (!path || !path[0])
        out->why_not = mem_strdup("the config names none");
    else if (strstr(path, "kafka://"))
        out->why_not = mem_strdup("a stream loses what is read of it");
    else
        return open_and_look(s, path, use, out, diags, err);
    return RC_OK;
}

void train_look_release(struct train_look *l)
{
    mem_free(l->why_not);
    mem_free(l->notes);
    *l = (struct train_look){0};
}
