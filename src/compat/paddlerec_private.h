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
    const char *data; /* files that a reader of the user's own made; NULL: none */
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
    const char *may;    /* those that are compared with the slots when they are there */
    const char *idle;   /* those that change nothing here */
    bool no_dense;      /* it has no dense slots */
    bool adam;          /* the optimizer is Adam, whatever the config says */
    bool sum;           /* the loss is the sum over a batch */
    struct paddlerec_auc aucs[3];
    const char *accuracy; /* its name among the metrics; NULL: none */
    bool counts;          /* rows that are right, not their share */
    const char *recall;   /* hyper-parameter: how many of the likeliest hold the label */
    const char *similarity; /* of query and title, in evaluations; NULL: none */
    void (*put)(struct paddlerec_put *x);
    const char *digest; /* SHA-256 of the model.py that PaddleRec 1.8.5 ships */
    const char
        *readers[2]; /* the same of its data_converters, where lines have a format */
};

#define NET(symbol, file) extern const struct paddlerec_net paddlerec_net_##symbol;
#include "compat/paddlerec_nets.def"
#undef NET

/* Of a network of one task with an AUC. */
#define ONE_AUC(thresholds_, window_)        \
    {                                        \
        {                                    \
            .task = "", thresholds_, window_ \
        }                                    \
    }
/* Hyper-parameters of those on fields, and those of them that change nothing. */
#define FM_READ "sparse_feature_number|sparse_feature_dim|num_field"
#define FM_IDLE "reg|is_sparse"
/* Initial values of PaddleRec's layers unless they say otherwise. */
#define XAVIER                                               \
    "  initializers { regex_pattern: \".*weight\" init_fn: " \
    "\"nn.init.xavier_uniform_\" }\n"                        \
    "  initializers { regex_pattern: \".*bias\" init_fn: \"nn.init.zeros_\" }\n"

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
/* A number, `usual` when it is missing. */
double paddlerec_num(struct paddlerec_put *x, const char *key, double usual);
bool paddlerec_is_true(const struct paddlerec_put *x, const char *key);
/* A switch that must not be on, because what it turns on is not there. */
void paddlerec_must_be_off(struct paddlerec_put *x, const char *key);
/* A text, with {workspace} replaced; "" when it is missing, and said. */
const char *paddlerec_text(struct paddlerec_put *x, const char *key);
/* A list whose elements are all the same: that one. */
int64_t paddlerec_same(struct paddlerec_put *x, const char *key);
/* An activation, "nn.ReLU". */
const char *paddlerec_act(struct paddlerec_put *x, const char *key);

/* A feature group of n features "<prefix>0", "<prefix>1" ..., and another when it is not NULL.
 */
void paddlerec_group(struct paddlerec_put *x, const char *name, const char *type,
                     const char *prefix, int64_t n, const char *last);
/* A dense slot as a feature. */
void paddlerec_numbers(struct paddlerec_put *x, const char *name, const char *slot,
                       int64_t width);
int64_t paddlerec_dense_width(const struct paddlerec_put *x); /* of all dense slots */
/* The first sparse slot as label. False: there are not as many slots as it takes. */
bool paddlerec_label(struct paddlerec_put *x, size_t least_sparse, size_t dense);
/* The other sparse slots as features slot0, slot1 ... of one table. */
void paddlerec_slots(struct paddlerec_put *x, const char *table, const char *init);
/* Fields of PaddleRec's factorisation machines, f0, f1 ...: id f of feat_idx, whose vector is
 * multiplied by value f of feat_value; row 0 stands for values that are missing, which are 0.
 * With `aware` a field holds a vector for each field. With `plain` also w0, w1 ...: the same
 * ids, which count once whatever their value, and id 0 not at all. Begins model_config. How
 * many fields there are; 0: it failed.
 */
int64_t paddlerec_fields(struct paddlerec_put *x, bool aware, bool plain);
/* The sum of log losses, as all of those have it. */
void paddlerec_log_loss(struct paddlerec_put *x);
/* Normal within two deviations. */
const char *paddlerec_truncated(struct paddlerec_put *x, double deviation);
/* Initial values of parameters whose names match: "zeros_". */
void paddlerec_initial(struct paddlerec_put *x, const char *names, const char *how);

#endif
