/* SPDX-License-Identifier: Apache-2.0 */
/* Operator "Ratio": the first number divided by the second, times the parameter scale.
 *
 *     cc -shared -fPIC -I../../include -o libratio.so ratio.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trainyard/feature_plugin.h>

struct ratio {
    double scale;
};

static void *ratio_create(const char *params, size_t n_inputs, char *msg, size_t msg_size)
{
    struct ratio *r = NULL;
    const char *at = strstr(params, "\"scale\":");
    if (n_inputs != 2) {
        snprintf(msg, msg_size, "Ratio takes 2 inputs, not %zu", n_inputs);
        return NULL;
    }
    r = malloc(sizeof(*r));
    if (r)
        r->scale = at ? strtod(at + 8, NULL) : 1.0;
    return r;
}

static int ratio_step(void *self, const struct ty_feature_input *in, size_t n_inputs,
                      const struct ty_feature_sink *sink, char *msg, size_t msg_size)
{
    const struct ratio *r = self;
    if (in[1].numbers[0] == 0) {
        snprintf(msg, msg_size, "%g divided by 0", in[0].numbers[0]);
        return 1;
    }
    sink->number(sink->ctx, r->scale * in[0].numbers[0] / in[1].numbers[0]);
    return 0;
}

static const struct ty_feature_operator ratio = {.abi = TY_FEATURE_ABI,
                                                 .numbers = 1,
                                                 .create = ratio_create,
                                                 .step = ratio_step,
                                                 .destroy = free};

/* Operator "Initials": the first character of each text. */
static void *initials_create(const char *params, size_t n_inputs, char *msg,
                             size_t msg_size)
{
    static char self;
    return &self;
}

static int initials_step(void *self, const struct ty_feature_input *in, size_t n_inputs,
                         const struct ty_feature_sink *sink, char *msg, size_t msg_size)
{
    for (size_t k = 0; k < n_inputs; k++)
        for (size_t i = 0; i < in[k].n; i++)
            sink->text(sink->ctx, in[k].texts[i].p, in[k].texts[i].n > 0);
    return 0;
}

static void initials_destroy(void *self)
{
}

static const struct ty_feature_operator initials = {.abi = TY_FEATURE_ABI,
                                                    .create = initials_create,
                                                    .step = initials_step,
                                                    .destroy = initials_destroy};

const struct ty_feature_operator *ty_feature_operator(const char *name)
{
    return strcmp(name, "Ratio") == 0      ? &ratio
           : strcmp(name, "Initials") == 0 ? &initials
                                           : NULL;
}
