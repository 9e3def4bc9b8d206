/* SPDX-License-Identifier: Apache-2.0 */
/* A class of torch.nn with arguments. TorchEasyRec takes them by name; a single one
 * without is the first, as in torch. "inplace" says nothing here.
 */
#include "text/pipeline/activation.h"

#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

static const struct act_class {
    const char *name;
    const char *args; /* names, separated by '|' */
    float preset;
} classes[] = {
    {"ReLU", "inplace", 0},
    {"LeakyReLU", "negative_slope|inplace", 0.01f},
    {"PReLU", "num_parameters|init", 0.25f},
    {"ELU", "alpha|inplace", 1.0f},
    {"SELU", "inplace", 0},
    {"GELU", "approximate", 0},
    {"SiLU", "inplace", 0},
    {"Sigmoid", "", 0},
    {"Tanh", "", 0},
    {"Softplus", "", 0},
    {"Mish", "inplace", 0},
    {"Hardswish", "inplace", 0},
    {"ReLU6", "inplace", 0},
    {"Softsign", "", 0},
    {"Identity", "", 0},
};

/* One of 'tanh' and "none". */
static bool read_approximate(struct str value, bool *tanh)
{
    bool quoted = value.n >= 2 && (value.p[0] == '"' || value.p[0] == '\'') &&
                  value.p[value.n - 1] == value.p[0];
    struct str word = quoted ? str_of(value.p + 1, value.n - 2) : (struct str){0};
    *tanh = str_is(word, "tanh");
    return *tanh || str_is(word, "none");
}

static enum rc read_value(struct str key, struct str value, struct pc_activation *out,
                          struct err *err)
{
    double v = 0;
    if (str_is(key, "inplace"))
        return RC_OK;
    if (str_is(key, "approximate"))
        return read_approximate(value, &out->tanh)
                   ? RC_OK
                   : err_set(err, RC_INVAL, "approximate is 'none' or 'tanh', not %.*s",
                             (int)value.n, value.p);
    if (!str_to_f64(value, &v))
        return err_set(err, RC_INVAL, "%.*s: '%.*s' is not a number", (int)key.n, key.p,
                       (int)value.n, value.p);
    if (str_is(key, "num_parameters"))
        return v == 1
                   ? RC_OK
                   : err_set(err, RC_INVAL,
                             "one slope is learnt for all values: num_parameters is 1");
    out->param = (float)v;
    return RC_OK;
}

static enum rc read_arg(const struct act_class *c, struct str arg,
                        struct pc_activation *out, struct err *err)
{
    struct str value = arg, key = str_of(c->args, strcspn(c->args, "|"));
    if (memchr(arg.p, '=', arg.n)) {
        str_split(&value, '=', &key);
        key = str_trim(key);
        if (!str_lists(str_c(c->args), '|', key))
            return err_set(err, RC_INVAL, "nn.%s has no argument '%.*s' here", c->name,
                           (int)key.n, key.p);
    }
    if (key.n == 0)
        return err_set(err, RC_INVAL, "nn.%s takes no arguments here", c->name);
    return read_value(key, str_trim(value), out, err);
}

static const struct act_class *find_class(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (str_is(name, classes[i].name))
            return &classes[i];
    return NULL;
}

static enum rc unknown(struct str name, struct err *err)
{
    const char *names[ARRAY_LEN(classes)];
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        names[i] = classes[i].name;
    const char *near = str_nearest(name, names, ARRAY_LEN(names));
    return near ? err_set(err, RC_INVAL, "it is unknown; did you mean nn.%s?", near)
                : err_set(err, RC_INVAL, "it is unknown");
}

enum rc pc_activation_read(const char *text, struct pc_activation *out, struct err *err)
{
    static const char *const prefixes[] = {"torch.nn.", "nn."};
    struct str s = str_trim(str_c(text ? text : "")), args = {0}, part;
    const char *open = s.n ? memchr(s.p, '(', s.n) : NULL;
    bool of_torch = false;
    *out = (struct pc_activation){.name = s.n ? "Dice" : ""};
    if (s.n == 0 || str_is(s, "Dice"))
        return RC_OK;
    if (open && s.p[s.n - 1] != ')')
        return err_set(err, RC_INVAL, "a parenthesis is not closed");
    if (open) {
        args = str_trim(str_of(open + 1, (size_t)(s.p + s.n - open) - 2));
        s.n = (size_t)(open - s.p);
    }
    for (size_t i = 0; i < ARRAY_LEN(prefixes) && !of_torch; i++) {
        size_t n = strlen(prefixes[i]);
        of_torch = s.n > n && memcmp(s.p, prefixes[i], n) == 0;
        s = of_torch ? str_of(s.p + n, s.n - n) : s;
    }
    const struct act_class *c = of_torch ? find_class(s) : NULL;
    if (!c)
        return unknown(s, err);
    out->name = c->name;
    out->param = c->preset;
    enum rc rc = RC_OK;
    while (args.n && !rc && str_split(&args, ',', &part))
        rc = read_arg(c, str_trim(part), out, err);
    return rc;
}
