/* SPDX-License-Identifier: Apache-2.0 */
/* Li et al., "Hyperband", JMLR 2018; counts and budgets as NNI rounds them. Brackets are
 * kept in the order in which they were opened, each with the configurations of its
 * current round. An ask goes to the first bracket with something left to issue, or opens
 * the next. When the last trial of a round ends, its configurations are sorted by loss,
 * and the best stay for the next round; those without a result drop out. `trials` leads
 * from the number of a trial to its place; what comes late, for a round that is over, is
 * not counted.
 */
#include "tune/algo/halving.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPS 1e-6

struct config {
    int64_t seq; /* within its bracket */
    const double *x;
    double loss;  /* of the current round; INFINITY: none yet */
    int64_t step; /* that it belongs to, INT64_MAX: final */
    bool ended;
};

struct bracket {
    int64_t pass, s, round;
    int64_t n, budget;          /* of the current round */
    int64_t issued, over;       /* trials of the current round */
    VEC(struct config) configs; /* of the current round */
};

struct place {
    int64_t bracket, round, config, seq, budget;
};

struct halving {
    struct halving_conf conf;
    VEC(struct bracket) brackets;
    size_t first_open;        /* brackets before it are done */
    VEC(struct place) trials; /* by number; bracket -1: not ours */
    struct place next;        /* of the ask that is about to be issued */
};

struct halving *halving_create(const struct halving_conf *conf)
{
    struct halving *h = mem_calloc(1, sizeof(*h));
    h->conf = *conf;
    return h;
}

void halving_destroy(struct halving *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->brackets.n; i++)
        VEC_RELEASE(&h->brackets.at[i].configs);
    VEC_RELEASE(&h->brackets);
    VEC_RELEASE(&h->trials);
    mem_free(h);
}

static int64_t first_count(const struct halving_conf *c, int64_t s)
{
    return (int64_t)ceil(
        (double)(c->s_max + 1) * pow(c->eta, (double)s) / (double)(s + 1) - EPS);
}

static int64_t halving_count(const struct halving_conf *c, int64_t s, int64_t round)
{
    return (int64_t)floor((double)first_count(c, s) / pow(c->eta, (double)round) + EPS);
}

static int64_t budget(const struct halving_conf *c, int64_t s, int64_t round)
{
    return (int64_t)floor(c->most / pow(c->eta, (double)s) * pow(c->eta, (double)round) +
                          EPS);
}

static void open_bracket(struct halving *h)
{
    int64_t made = (int64_t)h->brackets.n;
    struct bracket b = {.pass = made / (h->conf.s_max + 1),
                        .s = h->conf.s_max - made % (h->conf.s_max + 1)};
    b.n = halving_count(&h->conf, b.s, 0);
    b.budget = budget(&h->conf, b.s, 0);
    VEC_PUSH(&h->brackets, b);
}

static bool ready(const struct bracket *b)
{
    return b->issued < b->n;
}

static bool last_round_out(const struct bracket *b)
{
    return b->round == b->s && b->issued == b->n;
}

enum tuner_answer halving_next(struct halving *h, int64_t n_params, double *x,
                               bool *fresh)
{
    size_t i = h->first_open;
    while (i < h->brackets.n && !ready(&h->brackets.at[i]))
        i++;
    if (i == h->brackets.n) {
        if (h->conf.one_by_one && i > 0 && !last_round_out(&h->brackets.at[i - 1]))
            return TUNER_WAITS;
        open_bracket(h);
    }
    const struct bracket *b = &h->brackets.at[i];
    h->next = (struct place){.bracket = (int64_t)i,
                             .round = b->round,
                             .config = b->issued,
                             .budget = b->budget};
    *fresh = b->round == 0;
    h->next.seq = *fresh ? b->issued : b->configs.at[b->issued].seq;
    if (!*fresh)
        memcpy(x, b->configs.at[b->issued].x, (size_t)n_params * sizeof(*x));
    return TUNER_GIVES;
}

void halving_issued(struct halving *h, int64_t trial, const double *x)
{
    while ((int64_t)h->trials.n <= trial)
        VEC_PUSH(&h->trials, ((struct place){.bracket = -1}));
    h->trials.at[trial] = h->next;
    struct bracket *b = &h->brackets.at[h->next.bracket];
    if (b->round == 0)
        VEC_PUSH(
            &b->configs,
            ((struct config){.seq = b->issued, .x = x, .loss = INFINITY, .step = -1}));
    b->issued++;
}

static struct config *config_of(struct halving *h, int64_t trial)
{
    if (trial >= (int64_t)h->trials.n || h->trials.at[trial].bracket < 0)
        return NULL;
    const struct place *p = &h->trials.at[trial];
    struct bracket *b = &h->brackets.at[p->bracket];
    return b->round == p->round ? &b->configs.at[p->config] : NULL;
}

void halving_report(struct halving *h, int64_t trial, int64_t step, double loss)
{
    struct config *c = config_of(h, trial);
    if (!c || c->ended || step < c->step)
        return;
    c->step = step;
    c->loss = isnan(loss) ? INFINITY : loss;
}

void halving_told(struct halving *h, int64_t trial, double loss)
{
    halving_report(h, trial, INT64_MAX, loss);
}

static int by_loss(const void *a, const void *b)
{
    const struct config *x = a, *y = b;
    bool none_x = x->step < 0, none_y = y->step < 0;
    if (none_x != none_y)
        return none_x - none_y;
    if (x->loss != y->loss)
        return x->loss < y->loss ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* All trials of the round have ended: those with the best results go on. */
static void promote(struct halving *h, struct bracket *b)
{
    qsort(b->configs.at, b->configs.n, sizeof(*b->configs.at), by_loss);
    int64_t with_result = 0;
    while (with_result < (int64_t)b->configs.n && b->configs.at[with_result].step >= 0)
        with_result++;
    b->round++;
    b->n = b->round > b->s ? 0 : halving_count(&h->conf, b->s, b->round);
    b->n = b->n < with_result ? b->n : with_result;
    b->budget = budget(&h->conf, b->s, b->round);
    b->issued = b->over = 0;
    b->configs.n = (size_t)b->n;
    if (b->n == 0)
        b->round = b->s; /* nothing goes on: as good as issued */
    for (size_t i = 0; i < b->configs.n; i++) {
        b->configs.at[i].loss = INFINITY;
        b->configs.at[i].step = -1;
        b->configs.at[i].ended = false;
    }
    while (h->first_open < h->brackets.n && h->brackets.at[h->first_open].n == 0)
        h->first_open++;
}

void halving_ended(struct halving *h, int64_t trial)
{
    struct config *c = config_of(h, trial);
    if (!c || c->ended)
        return;
    c->ended = true;
    struct bracket *b = &h->brackets.at[h->trials.at[trial].bracket];
    if (++b->over == b->n && b->issued == b->n)
        promote(h, b);
}

int64_t halving_budget(const struct halving *h, int64_t trial)
{
    return trial < (int64_t)h->trials.n ? h->trials.at[trial].budget : 0;
}

void halving_id(const struct halving *h, int64_t trial, char out[TUNER_ID_SIZE])
{
    const struct place *p = &h->trials.at[trial];
    const struct bracket *b = &h->brackets.at[p->bracket];
    if (h->conf.plain_ids && b->pass == 0)
        snprintf(out, TUNER_ID_SIZE, "\"%" PRId64 "_%" PRId64 "_%" PRId64 "\"", b->s,
                 p->round, p->seq);
    else
        snprintf(out, TUNER_ID_SIZE,
                 "\"%" PRId64 "-%" PRId64 "_%" PRId64 "_%" PRId64 "\"", b->pass, b->s,
                 p->round, p->seq);
}

static struct halving *halving_of(const struct tuner *t)
{
    return *(struct halving *const *)t->self;
}

void halving_op_issued(struct tuner *t, int64_t trial)
{
    halving_issued(halving_of(t), trial, t->history.trials.at[trial].x);
}

void halving_op_report(struct tuner *t, int64_t trial, int64_t step, double loss)
{
    halving_report(halving_of(t), trial, step, loss);
}

void halving_op_told(struct tuner *t, int64_t trial)
{
    halving_told(halving_of(t), trial, t->history.trials.at[trial].loss);
}

void halving_op_ended(struct tuner *t, int64_t trial, bool ok)
{
    halving_ended(halving_of(t), trial);
}

void halving_op_extra(const struct tuner *t, int64_t trial, bool first, struct buf *out)
{
    buf_printf(out, "%s\"TRIAL_BUDGET\": %" PRId64, first ? "" : ", ",
               halving_budget(halving_of(t), trial));
}

void halving_op_id(const struct tuner *t, int64_t trial, char out[TUNER_ID_SIZE])
{
    halving_id(halving_of(t), trial, out);
}
