/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/optim_body.h - steps of optimizers; included after map_body.h. */

/* The gradient that a rule works on, and the weight it moves. */
static ALWAYS_INLINE VF decayed(VF *w, VF g, const struct kernel_optim_step *o)
{
    if (!o->decoupled)
        return V_FMA(V_SET1((float)o->weight_decay), *w, g);
    *w = V_MUL(*w, V_SET1((float)(1 - o->lr * o->weight_decay)));
    return g;
}

/* rate * old + (1 - rate) * fresh */
static ALWAYS_INLINE VF blended(VF old, VF fresh, double rate)
{
    return V_FMA(V_SET1((float)rate), old, V_MUL(V_SET1((float)(1 - rate)), fresh));
}

static void k_sgd(float *w, const float *g, float *mom, const struct kernel_optim_step *o,
                  int64_t n)
{
    VF lr = V_SET1((float)o->lr), rate = V_SET1((float)o->rate1),
       fresh = V_SET1((float)(1 - o->rate2));
    if (!mom)
        EACH(n, VF v = GET(w), d = decayed(&v, GET(g), o); PUT(w, V_FNMA(lr, d, v)));
    else
        EACH(n, VF v = GET(w), d = decayed(&v, GET(g), o);
             VF b = o->first ? d : V_FMA(rate, GET(mom), V_MUL(fresh, d)); PUT(mom, b);
             d = o->nesterov ? V_FMA(rate, b, d) : b; PUT(w, V_FNMA(lr, d, v)));
}

static void k_adam(float *w, const float *g, float *mom, float *v, float *v_max,
                   const struct kernel_optim_step *o, int64_t n)
{
    VF by = V_SET1((float)(o->lr / o->bias1)), eps = V_SET1((float)o->eps);
    VF correct = V_SET1((float)(1 / sqrt(o->bias2)));
    EACH(
        n, VF x = GET(w), d = decayed(&x, GET(g), o);
        VF first = blended(GET(mom), d, o->rate1);
        VF second = blended(GET(v), V_MUL(d, d), o->rate2); PUT(mom, first);
        PUT(v, second); if (v_max) {
            second = V_MAX(GET(v_max), second);
            PUT(v_max, second);
        } VF below = V_FMA(V_SQRT(second), correct, eps);
        PUT(w, V_SUB(x, V_DIV(V_MUL(by, first), below))));
}

static void k_adagrad(float *w, const float *g, float *s,
                      const struct kernel_optim_step *o, int64_t n)
{
    VF lr = V_SET1((float)o->lr), eps = V_SET1((float)o->eps);
    EACH(n, VF x = GET(w), d = decayed(&x, GET(g), o), sum = V_FMA(d, d, GET(s));
         PUT(s, sum); PUT(w, V_SUB(x, V_DIV(V_MUL(lr, d), V_ADD(V_SQRT(sum), eps)))));
}

static void k_rmsprop(float *w, const float *g, float *s,
                      const struct kernel_optim_step *o, int64_t n)
{
    VF lr = V_SET1((float)o->lr), eps = V_SET1((float)o->eps);
    EACH(n, VF x = GET(w), d = decayed(&x, GET(g), o);
         VF sum = blended(GET(s), V_MUL(d, d), o->rate1); PUT(s, sum);
         PUT(w, V_SUB(x, V_DIV(V_MUL(lr, d), V_ADD(V_SQRT(sum), eps)))));
}

static void k_adadelta(float *w, const float *g, float *s, float *acc,
                       const struct kernel_optim_step *o, int64_t n)
{
    VF lr = V_SET1((float)o->lr), eps = V_SET1((float)o->eps);
    EACH(n, VF x = GET(w), d = decayed(&x, GET(g), o);
         VF sum = blended(GET(s), V_MUL(d, d), o->rate1), old = GET(acc); PUT(s, sum);
         d = V_MUL(d, V_DIV(V_SQRT(V_ADD(old, eps)), V_SQRT(V_ADD(sum, eps))));
         PUT(acc, blended(old, V_MUL(d, d), o->rate1)); PUT(w, V_FNMA(lr, d, x)));
}
