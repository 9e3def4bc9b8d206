/* SPDX-License-Identifier: Apache-2.0 */
/* All state lies in one block of the parameters' device, each array padded to a cache line.
 * A step works out the numbers of each parameter's rule here and lets the device run them
 * (param_ops.update); checkpoints read and write the host's side of the block.
 */
#include "nn/optim/optim.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "nn/optim/pattern.h"
#include "text/pipeline/pipeline.h"

#define LINE 16 /* floats of a cache line */

struct group {
    struct optim_rule rule;
    struct nn_schedule schedule;
    struct optim_pattern *pattern; /* NULL for the main one */
    const char *regex;
    size_t uses;
};

/* What belongs to one parameter. */
struct slot {
    size_t group;
    int64_t step;                            /* updates so far */
    int64_t state_at[OPTIM_RULE_STATES_MAX]; /* in the block */
};

struct optim {
    const char *prefix;
    struct optim_param_set params;
    VEC(struct group) groups;
    struct slot *slots;           /* [params.n] */
    struct param_update *updates; /* [params.n]: of the step that is running */
    struct device_floats block;   /* all state */
    VEC(const char *) unmatched;
    struct arena arena; /* names */
    const char **names; /* [params.n], with the prefix */
};

static enum rc add_group(struct optim *o, const struct msg *m, const struct msg *main,
                         const char *regex, struct err *err)
{
    struct group g = {.regex = regex};
    double lr = 0;
    enum rc rc = optim_rule_from(m, &g.rule, &lr, err);
    if (rc == RC_OK)
        rc = nn_schedule_from(m, main, lr, &g.schedule, err);
    if (rc == RC_OK && regex)
        rc = optim_pattern_create(regex, &g.pattern, err);
    if (rc)
        return rc;
    VEC_PUSH(&o->groups, g);
    return RC_OK;
}

static enum rc add_groups(struct optim *o, const struct pc_DenseOptimizer *conf,
                          struct err *err)
{
    enum rc rc = add_group(o, &conf->base, NULL, NULL, err);
    if (rc)
        return err_wrap(err, rc, "dense_optimizer");
    for (int64_t i = 0; i < conf->n_part_optimizers; i++) {
        const struct pc_PartOptimizer *p = conf->part_optimizers[i];
        rc = add_group(o, &p->base, &conf->base, p->regex_pattern, err);
        if (rc)
            return err_wrap(err, rc, "part_optimizers[%jd]", (intmax_t)i);
    }
    return RC_OK;
}

static enum rc find_group(const struct optim *o, const char *name, size_t *out,
                          struct err *err)
{
    for (size_t k = 1; k < o->groups.n; k++) {
        bool match = false;
        enum rc rc = optim_pattern_match(o->groups.at[k].pattern, name, &match, err);
        if (rc)
            return rc;
        if (match) {
            *out = k;
            return RC_OK;
        }
    }
    *out = 0;
    return RC_OK;
}

/* Groups that nobody is in disappear; the main one stays. */
static void drop_unmatched(struct optim *o)
{
    size_t *moved = mem_calloc(o->groups.n, sizeof(*moved));
    size_t kept = 1;
    for (size_t k = 1; k < o->groups.n; k++) {
        struct group *g = &o->groups.at[k];
        if (g->uses == 0) {
            VEC_PUSH(&o->unmatched, g->regex);
            optim_pattern_destroy(g->pattern);
            continue;
        }
        moved[k] = kept;
        o->groups.at[kept++] = *g;
    }
    o->groups.n = kept;
    for (size_t i = 0; i < o->params.n; i++)
        o->slots[i].group = moved[o->slots[i].group];
    mem_free(moved);
}

static enum rc assign(struct optim *o, struct err *err)
{
    o->slots = mem_calloc(o->params.n + 1, sizeof(*o->slots));
    o->names = arena_alloc(&o->arena, (o->params.n + 1) * sizeof(*o->names));
    for (size_t i = 0; i < o->params.n; i++) {
        const char *name =
            arena_printf(&o->arena, "%s%s", o->prefix, o->params.at[i]->name);
        o->names[i] = name;
        enum rc rc = find_group(o, name, &o->slots[i].group, err);
        if (rc)
            return rc;
        o->groups.at[o->slots[i].group].uses++;
    }
    drop_unmatched(o);
    return RC_OK;
}

static int64_t padded(int64_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

static const struct optim_rule *slot_rule(const struct optim *o, size_t i)
{
    return &o->groups.at[o->slots[i].group].rule;
}

static enum rc make_state(struct optim *o, struct err *err)
{
    int64_t total = 0;
    for (size_t i = 0; i < o->params.n; i++)
        total += optim_rule_states(slot_rule(o, i)) * padded(o->params.at[i]->n);
    if (device_floats_init(&o->block, o->params.device, total + LINE))
        return err_set(err, RC_NOMEM, "no memory for %jd values of optimizer state",
                       (intmax_t)total);
    int64_t at = 0;
    o->updates = mem_calloc(o->params.n + 1, sizeof(*o->updates));
    for (size_t i = 0; i < o->params.n; i++) {
        const struct optim_rule *r = slot_rule(o, i);
        int64_t n = padded(o->params.at[i]->n);
        o->updates[i].rule = r;
        for (int k = 0; k < optim_rule_states(r); k++, at += n) {
            o->slots[i].state_at[k] = at;
            o->updates[i].state[k] = o->block.at + at;
            for (int64_t e = at; e < at + n; e++)
                o->block.host[e] = optim_rule_state_init(r);
        }
    }
    device_floats_push(&o->block, 0, total);
    return RC_OK;
}

enum rc optim_create(const struct pc_DenseOptimizer *conf, struct param *const *params,
                     size_t n, const struct optim_options *options, struct optim **out,
                     struct err *err)
{
    struct optim *o = mem_calloc(1, sizeof(*o));
    o->prefix = arena_strdup(&o->arena, options->prefix ? options->prefix : "");
    enum rc rc = optim_param_set_init(&o->params, params, n, options->pool, err);
    if (rc == RC_OK)
        rc = add_groups(o, conf, err);
    if (rc == RC_OK)
        rc = assign(o, err);
    if (rc == RC_OK)
        rc = make_state(o, err);
    if (rc == RC_OK) {
        *out = o;
        o = NULL;
    }
    optim_destroy(o);
    return rc;
}

void optim_destroy(struct optim *o)
{
    if (!o)
        return;
    for (size_t k = 0; k < o->groups.n; k++)
        optim_pattern_destroy(o->groups.at[k].pattern);
    VEC_RELEASE(&o->groups);
    VEC_RELEASE(&o->unmatched);
    optim_param_set_release(&o->params);
    mem_free(o->slots);
    mem_free(o->updates);
    device_floats_release(&o->block);
    arena_release(&o->arena);
    mem_free(o);
}

const struct optim_param_set *optim_params(const struct optim *o)
{
    return &o->params;
}

size_t optim_groups(const struct optim *o)
{
    return o->groups.n;
}

double optim_lr(const struct optim *o, size_t group, uint64_t step, uint64_t epoch)
{
    return nn_schedule_at(&o->groups.at[group].schedule, step, epoch);
}

const struct optim_rule *optim_rule(const struct optim *o, size_t group)
{
    return &o->groups.at[group].rule;
}

size_t optim_group_of(const struct optim *o, size_t i)
{
    return o->slots[i].group;
}

const char *optim_unmatched(const struct optim *o, size_t i)
{
    return i < o->unmatched.n ? o->unmatched.at[i] : NULL;
}

void optim_step(struct optim *o, uint64_t step, uint64_t epoch)
{
    for (size_t i = 0; i < o->params.n; i++) {
        struct slot *s = &o->slots[i];
        s->step++;
        o->updates[i].step = optim_rule_step_of(
            slot_rule(o, i), optim_lr(o, s->group, step, epoch), s->step);
    }
    o->params.ops->update(&o->params, o->updates);
}

void optim_save(const struct optim *o, bool grads, struct nn_state *out)
{
    device_floats_pull(&o->block, 0, o->block.n);
    for (size_t i = 0; i < o->params.n; i++) {
        const struct optim_rule *r = slot_rule(o, i);
        const struct param *p = o->params.at[i];
        for (int k = 0; k < optim_rule_states(r); k++)
            nn_state_add(out, STATE_F32, o->block.host + o->slots[i].state_at[k], p->n,
                         "state.%s.%s", o->names[i], optim_rule_state_name(r, k));
        nn_state_add(out, STATE_I64, &o->slots[i].step, 1, "state.%s.step", o->names[i]);
        if (grads)
            nn_state_add(out, STATE_F32, param_read_grad(p), p->n, "grad.%s",
                         o->names[i]);
    }
}

/* Looks at the state of parameter i in `in`; takes it over when `take`. */
static enum rc load_slot(struct optim *o, size_t i, const struct nn_state *in, bool take,
                         struct err *err)
{
    const struct optim_rule *r = slot_rule(o, i);
    const struct param *p = o->params.at[i];
    struct slot *s = &o->slots[i];
    const struct nn_state_item *item;
    char *name = mem_printf("state.%s.step", o->names[i]);
    enum rc rc = nn_state_expect(in, name, STATE_I64, 1, &item, err);
    mem_free(name);
    if (rc == RC_OK && *(const int64_t *)item->data < 0)
        rc = err_set(err, RC_FORMAT, "state.%s.step is %jd", o->names[i],
                     (intmax_t) * (const int64_t *)item->data);
    if (rc == RC_OK && take)
        s->step = *(const int64_t *)item->data;
    for (int k = 0; rc == RC_OK && k < optim_rule_states(r); k++) {
        name = mem_printf("state.%s.%s", o->names[i], optim_rule_state_name(r, k));
        rc = nn_state_expect(in, name, STATE_F32, p->n, &item, err);
        if (rc == RC_OK && take) {
            memcpy(o->block.host + s->state_at[k], item->data,
                   (size_t)p->n * sizeof(float));
            device_floats_push(&o->block, s->state_at[k], p->n);
        }
        mem_free(name);
    }
    return rc;
}

/* The gradients of an accumulation that was under way. */
static enum rc load_grad(struct optim *o, size_t i, const struct nn_state *in, bool take,
                         struct err *err)
{
    struct param *p = o->params.at[i];
    char *name = mem_printf("grad.%s", o->names[i]);
    const struct nn_state_item *item = nn_state_find(in, name);
    enum rc rc = RC_OK;
    if (item)
        rc = nn_state_expect(in, name, STATE_F32, p->n, &item, err);
    if (item && rc == RC_OK && take)
        param_set_grad(p, item->data);
    mem_free(name);
    return rc;
}

enum rc optim_load(struct optim *o, const struct nn_state *in, size_t *n_missing,
                   struct err *err)
{
    size_t missing = 0;
    for (int take = 0; take < 2; take++) {
        for (size_t i = 0; i < o->params.n; i++) {
            enum rc rc = load_slot(o, i, in, false, err);
            if (rc == RC_NOTFOUND && n_missing) {
                missing += take == 0;
                rc = RC_OK;
            } else if (rc == RC_OK && take) {
                rc = load_slot(o, i, in, true, err);
            }
            if (rc == RC_OK)
                rc = load_grad(o, i, in, take, err);
            if (rc)
                return err_wrap(err, rc, "optimizer");
        }
    }
    if (n_missing)
        *n_missing = missing;
    return RC_OK;
}
