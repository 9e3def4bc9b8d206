/* SPDX-License-Identifier: Apache-2.0 */
/* compat/paddlerec_private.h - a phase on its way to a pipeline.config. */
#ifndef COMPAT_PADDLEREC_PRIVATE_H
#define COMPAT_PADDLEREC_PRIVATE_H

#include <strings.h>

#include "compat/paddlerec.h"
#include "text/paddlerec/slots.h"

struct paddlerec_put {
    const struct prec_Config *c;
    const struct prec_Runner *r;
    const struct prec_Phase *phase;
    const struct prec_Dataset *set;
    const struct paddlerec_net *net;
    const struct paddlerec_options *o;
    struct diags *d;
    struct arena *a;
    struct buf *out;
    struct buf columns; /* line_columns */
    struct prec_slots sparse, dense;
    int64_t replicas;
    struct buf parts;  /* part_optimizers */
    double table_rate; /* of the learning rate, for tables; 0: 1 */
    bool training;
    bool failed; /* an error is in `d` */
};

struct paddlerec_net {
    const char *name;
    const char *format; /* of lines, when a data_converter reads them; NULL: slots */
    const char *labels; /* label_fields, such as "\"label\"" */
    const char *read;   /* hyper-parameters, separated by '|' */
    const char *idle;   /* those that change nothing here */
    bool adam;          /* the optimizer is Adam, whatever the config says */
    bool sum;           /* the loss is the sum over a batch */
    struct paddlerec_auc aucs[3];
    const char *accuracy; /* its name among the metrics; NULL: none */
    void (*put)(struct paddlerec_put *x);
    const char *digest; /* SHA-256 of the model.py that PaddleRec 1.8.5 ships */
};
const struct paddlerec_net *paddlerec_nets(size_t *n);

/* An error about a hyper-parameter, or the dataset. */
void paddlerec_fault(struct paddlerec_put *x, const struct msg *m, const char *field,
                     const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A whole number of the hyper-parameters; `least` when it is missing or below, and said. */
int64_t paddlerec_int(struct paddlerec_put *x, const char *key, int64_t least);
/* The same, for one that must be `want` if it is there. */
void paddlerec_must_be(struct paddlerec_put *x, const char *key, int64_t want);
/* A list of sizes as "512, 256"; "1" when it is missing, and said. */
const char *paddlerec_sizes(struct paddlerec_put *x, const char *key);
/* Dense parameters of these names have so many times the learning rate, and a weight decay
 * that is added to the gradient.
 */
void paddlerec_part(struct paddlerec_put *x, const char *names, double times,
                    double decay);
/* An activation, "nn.ReLU". */
const char *paddlerec_act(struct paddlerec_put *x, const char *key);

#endif
