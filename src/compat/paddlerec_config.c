/* SPDX-License-Identifier: Apache-2.0 */
/* From a phase of a config.yaml to a pipeline.config: paths, the network that the phase's
 * model stands for, its hyper-parameters, and what all networks have alike (data, labels,
 * optimizers). A key that nothing reads is a warning, one that is missing an error, each
 * at its place in the file.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "compat/paddlerec_private.h"

#define WORKSPACE "{workspace}"
#define MODEL_MAX ((size_t)16 << 20) /* bytes of a model.py that is looked at */

static const struct paddlerec_net *const nets[] = {
#define NET(symbol, file) &paddlerec_net_##symbol,
#include "compat/paddlerec_nets.def"
#undef NET
};

const char *paddlerec_net_name(const struct paddlerec_net *n)
{
    return n->name;
}

const struct paddlerec_auc *paddlerec_net_aucs(const struct paddlerec_net *n)
{
    return n->aucs;
}

const char *paddlerec_net_accuracy(const struct paddlerec_net *n)
{
    return n->accuracy;
}

bool paddlerec_net_counts(const struct paddlerec_net *n)
{
    return n->counts;
}

const char *paddlerec_net_similarity(const struct paddlerec_net *n)
{
    return n->similarity;
}

bool paddlerec_net_is_adam(const struct paddlerec_net *n)
{
    return n->adam;
}

void paddlerec_net_names(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(nets); i++)
        buf_printf(out, "%s%s", i ? ", " : "", nets[i]->name);
}

/* Whether `name` ends with the whole of `part`, by its components. */
static bool ends_with_path(const char *name, const char *part)
{
    size_t a = strlen(name), b = strlen(part);
    return a >= b && strcasecmp(name + a - b, part) == 0 &&
           (a == b || name[a - b - 1] == '/');
}

const struct paddlerec_net *paddlerec_net_find(const char *name)
{
    struct arena a = {0};
    const struct paddlerec_net *found = NULL;
    const char *path = paddlerec_path(name, NULL, &a);
    for (size_t i = 0; i < ARRAY_LEN(nets) && !found; i++)
        if (ends_with_path(path, nets[i]->name) ||
            strcasecmp(path, strchr(nets[i]->name, '/') + 1) == 0)
            found = nets[i];
    arena_release(&a);
    return found;
}

const char *paddlerec_path(const char *text, const char *base, struct arena *a)
{
    if (!str_starts(text, PADDLEREC_PACKAGE))
        return text;
    char *rest = arena_strdup(a, text + strlen(PADDLEREC_PACKAGE));
    for (char *p = rest; *p; p++)
        if (*p == '.')
            *p = '/';
    return base ? arena_printf(a, "%s/%s", base, rest) : rest;
}

const char *paddlerec_expand(const struct prec_Config *c, const char *text,
                             const char *base, struct arena *a)
{
    const char *workspace = paddlerec_path(c->workspace, base, a), *at;
    struct buf out;
    buf_init(&out, 1 << 20);
    if (str_starts(text, "paddlerec::"))
        text = arena_printf(a, "%s/%s", base ? base : ".", text + strlen("paddlerec::"));
    while ((at = strstr(text, WORKSPACE))) {
        buf_add(&out, text, (size_t)(at - text));
        buf_puts(&out, workspace);
        text = at + strlen(WORKSPACE);
    }
    buf_puts(&out, text);
    for (size_t i = 0; i < out.n; i++)
        if (out.p[i] == '\\')
            out.p[i] = '/';
    const char *copy = arena_strdup(a, buf_str(&out));
    buf_release(&out);
    return copy;
}

void paddlerec_fault(struct paddlerec_put *x, const struct msg *m, const char *field,
                     const char *fmt, ...)
{
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    schema_report(x->d, DIAG_ERROR, E0527, m, field, "%s", text);
    x->failed = true;
}

static const struct msg *hyper_message(const struct paddlerec_put *x)
{
    return x->c->hyper_parameters ? &x->c->hyper_parameters->base : &x->c->base;
}

static const struct node *hyper(const struct paddlerec_put *x, const char *key)
{
    return x->c->hyper_parameters ? node_find(x->c->hyper_parameters->base.node, key)
                                  : NULL;
}

static void missing(struct paddlerec_put *x, const char *key, const char *what)
{
    paddlerec_fault(x, hyper_message(x), hyper(x, key) ? key : NULL,
                    "hyper_parameters.%s: %s needs %s", key, x->net->name, what);
}

int64_t paddlerec_int(struct paddlerec_put *x, const char *key, int64_t least)
{
    const struct node *n = hyper(x, key);
    int64_t v;
    if (n && node_i64(n, &v) && v >= least)
        return v;
    missing(x, key, arena_printf(x->a, "a whole number from %jd on", (intmax_t)least));
    return least;
}

void paddlerec_must_be(struct paddlerec_put *x, const char *key, int64_t want)
{
    const struct node *n = hyper(x, key);
    int64_t v;
    if (!n || (node_i64(n, &v) && v == want))
        return;
    paddlerec_fault(x, hyper_message(x), key,
                    "hyper_parameters.%s is %.*s, but the slots of dataset '%s' make it "
                    "%jd",
                    key, (int)n->text.n, n->text.p, x->set->name, (intmax_t)want);
}

const char *paddlerec_sizes(struct paddlerec_put *x, const char *key)
{
    const struct node *n = hyper(x, key);
    const char *text = "";
    bool good = n && n->kind == NODE_LIST && n->list.n > 0;
    for (size_t i = 0; good && i < n->list.n; i++) {
        int64_t v;
        good = node_i64(n->list.at[i], &v) && v > 0;
        if (good)
            text = arena_printf(x->a, "%s%s%jd", text, i ? ", " : "", (intmax_t)v);
    }
    if (good)
        return text;
    missing(x, key, "a list of sizes, such as [512, 256]");
    return "1";
}

double paddlerec_num(struct paddlerec_put *x, const char *key, double usual)
{
    const struct node *n = hyper(x, key);
    double v;
    if (!n)
        return usual;
    if (node_number(n, &v))
        return v;
    missing(x, key, "a number");
    return usual;
}

bool paddlerec_is_true(const struct paddlerec_put *x, const char *key)
{
    const struct node *n = hyper(x, key);
    int64_t v = 0;
    return n && (n->kind == NODE_BOOL ? n->flag : node_i64(n, &v) && v != 0);
}

void paddlerec_must_be_off(struct paddlerec_put *x, const char *key)
{
    if (paddlerec_is_true(x, key))
        paddlerec_fault(x, hyper_message(x), key,
                        "hyper_parameters.%s: the built-in %s has no such part; it must "
                        "be off",
                        key, x->net->name);
}

const char *paddlerec_text(struct paddlerec_put *x, const char *key)
{
    const struct node *n = hyper(x, key);
    if (n && n->kind == NODE_STR && n->text.n)
        return paddlerec_expand(x->c, arena_strndup(x->a, n->text.p, n->text.n),
                                x->o->base, x->a);
    missing(x, key, "a text");
    return "";
}

int64_t paddlerec_same(struct paddlerec_put *x, const char *key)
{
    struct str rest = str_c(paddlerec_sizes(x, key)), part;
    int64_t first = 0, v = 0;
    for (bool same = true; str_split(&rest, ',', &part);) {
        same = str_to_i64(str_trim(part), &v) && (first == 0 || v == first);
        first = first ? first : v;
        if (!same) {
            missing(x, key, "the same number in all places");
            break;
        }
    }
    return first;
}

const char *paddlerec_act(struct paddlerec_put *x, const char *key)
{
    static const char *const acts[][2] = {
        {"relu", "nn.ReLU"}, {"sigmoid", "nn.Sigmoid"}, {"tanh", "nn.Tanh"}};
    const struct node *n = hyper(x, key);
    for (size_t i = 0; i < ARRAY_LEN(acts); i++)
        if (n && n->kind == NODE_STR && str_is(n->text, acts[i][0]))
            return acts[i][1];
    missing(x, key, "relu, sigmoid or tanh");
    return "nn.ReLU";
}

size_t paddlerec_phases(const struct prec_Config *c, const struct prec_Runner *r,
                        const struct prec_Phase **out)
{
    size_t n = 0;
    for (int64_t i = 0; i < c->n_phase; i++) {
        bool wanted = r->n_phases == 0;
        for (int64_t k = 0; k < r->n_phases && !wanted; k++)
            wanted = strcmp(r->phases[k], c->phase[i]->name) == 0;
        if (wanted)
            out[n++] = c->phase[i];
    }
    return n;
}

/* The config's hyper-parameters that mean nothing to a network, separated by ", ". */
static const char *strangers(const struct paddlerec_put *x,
                             const struct paddlerec_net *net, int64_t *n)
{
    const struct node *h =
        x->c->hyper_parameters ? x->c->hyper_parameters->base.node : NULL;
    const char *text = "";
    *n = 0;
    for (size_t i = 0; h && h->kind == NODE_MAP && i < h->map.n; i++) {
        struct str key = h->map.at[i].key;
        if (str_is(key, "optimizer") || str_is(key, "clip_by_norm") ||
            str_lists(str_c(net->read), '|', key) ||
            str_lists(str_c(net->idle), '|', key) ||
            (net->may && str_lists(str_c(net->may), '|', key)))
            continue;
        text =
            arena_printf(x->a, "%s%s%.*s", text, ++*n > 1 ? ", " : "", (int)key.n, key.p);
    }
    return text;
}

/* How many of a network's hyper-parameters the config has, less what it has not and what
 * it has besides; of equals that whose data look alike.
 */
static int64_t likeness(const struct paddlerec_put *x, const struct paddlerec_net *net)
{
    struct str rest = str_c(net->read), key;
    int64_t n = 0, strange;
    while (str_split(&rest, '|', &key))
        n += hyper(x, arena_strndup(x->a, key.p, key.n)) ? 2 : -2;
    if (n <= 0)
        return 0; /* by what they share nothing can be said */
    (void)strangers(x, net, &strange);
    bool slots = *x->set->sparse_slots || *x->set->dense_slots;
    bool alike = slots == !net->format && (!net->no_dense || !*x->set->dense_slots);
    return 4 * n - 4 * strange + alike;
}

static const struct paddlerec_net *nearest(const struct paddlerec_put *x)
{
    const struct paddlerec_net *best = NULL;
    int64_t most = 0;
    for (size_t i = 0; i < ARRAY_LEN(nets); i++)
        if (likeness(x, nets[i]) > most) {
            most = likeness(x, nets[i]);
            best = nets[i];
        }
    return best;
}

/* " (fc_sizes is missing; colour means nothing to it)": what differs from the nearest. */
static const char *differences(const struct paddlerec_put *x,
                               const struct paddlerec_net *net)
{
    struct str rest = str_c(net->read), key;
    const char *text = "", *strange;
    int64_t n;
    while (str_split(&rest, '|', &key)) {
        const char *name = arena_strndup(x->a, key.p, key.n);
        if (!hyper(x, name))
            text = arena_printf(x->a, "%s%s%s", text, text[0] ? ", " : "", name);
    }
    strange = strangers(x, net, &n);
    if (text[0])
        text = arena_printf(x->a, "it needs %s", text);
    if (n)
        text = arena_printf(x->a, "%s%s%s %s nothing to it", text, text[0] ? "; " : "",
                            strange, n == 1 ? "means" : "mean");
    return text[0] ? arena_printf(x->a, " (%s)", text) : "";
}

/* Networks of PaddleRec that are not built in, but are models of a pipeline.config. */
static const char *const elsewhere[][2] = {
    {"recall/gnn", "srgnn"},
    {"recall/word2vec", "word2vec"},
    {"treebased/tdm", "tdm"},
};

static const char *model_elsewhere(const char *path)
{
    char *dir = fs_dirname(path), *real = realpath(dir, NULL);
    const char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(elsewhere) && !found; i++)
        if (ends_with_path(real ? real : dir, elsewhere[i][0]))
            found = elsewhere[i][1];
    mem_free(dir);
    free(real);
    return found;
}

static void no_network(struct paddlerec_put *x, const char *path)
{
    const char *model = model_elsewhere(path);
    const struct paddlerec_net *near = nearest(x);
    struct buf names;
    buf_init(&names, 4096);
    paddlerec_net_names(&names);
    struct diag *g = schema_report(
        x->d, DIAG_ERROR, E0525, &x->phase->base, "model",
        "'%s' is Python code, which is not run, and its folder is not that of a network "
        "that is built in: %s",
        path, buf_str(&names));
    if (model)
        diag_hint(
            x->d, g,
            "a pipeline.config has the model '%s' for it, with other data: `trainyard "
            "explain %s`",
            model, model);
    else if (near)
        diag_hint(x->d, g,
                  "by its hyper_parameters this may be %s%s; --as %s trains that",
                  near->name, differences(x, near), near->name);
    buf_release(&names);
    x->failed = true;
}

/* Code that somebody changed is not what is run; `known`: what PaddleRec 1.8.5 ships. */
static void compare_code(struct paddlerec_put *x, const struct msg *at, const char *field,
                         const char *path, const char *const known[2])
{
    char *text = NULL, hex[SHA256_TEXT_SIZE];
    size_t n = 0;
    if (x->o->as || fs_read(path, MODEL_MAX, &text, &n, NULL) != RC_OK)
        return;
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, text, n);
    sha256_text(&s, hex);
    mem_free(text);
    for (int i = 0; i < 2; i++)
        if (known[i] && strcmp(hex, known[i]) == 0)
            return;
    struct diag *g = schema_report(
        x->d, DIAG_WARNING, E0526, at, field,
        "'%s' is not the one of PaddleRec 1.8.5 and is not read: the built-in %s of %s "
        "is used",
        path, strcmp(field, "model") == 0 ? "network" : "reader", x->net->name);
    diag_hint(x->d, g, "--as %s says that this is meant", x->net->name);
}

static bool find_network(struct paddlerec_put *x)
{
    const char *path = paddlerec_expand(x->c, x->phase->model, x->o->base, x->a);
    char *dir = fs_dirname(path), *real = realpath(dir, NULL);
    size_t stem = strlen(path);
    stem -= str_ends(path, ".py") ? 3 : 0;
    x->net = x->o->as ? paddlerec_net_find(x->o->as)
                      : paddlerec_net_find(arena_strndup(x->a, path, stem));
    if (!x->net && !x->o->as)
        x->net = paddlerec_net_find(real ? real : dir);
    if (!x->net && !x->o->as)
        x->net = paddlerec_net_find(dir);
    mem_free(dir);
    free(real);
    if (!x->net && x->o->as) {
        struct buf names;
        buf_init(&names, 4096);
        paddlerec_net_names(&names);
        schema_report(x->d, DIAG_ERROR, E0525, &x->phase->base, "model",
                      "--as %s names no network; there are %s", x->o->as,
                      buf_str(&names));
        buf_release(&names);
        x->failed = true;
    } else if (!x->net) {
        no_network(x, path);
    } else {
        compare_code(x, &x->phase->base, "model", path,
                     (const char *const[]){x->net->digest, NULL});
    }
    return !x->failed;
}

static void check_keys(struct paddlerec_put *x)
{
    const struct node *h =
        x->c->hyper_parameters ? x->c->hyper_parameters->base.node : NULL;
    for (size_t i = 0; h && h->kind == NODE_MAP && i < h->map.n; i++) {
        struct str key = h->map.at[i].key;
        bool zero =
            h->map.at[i].value->kind == NODE_INT && h->map.at[i].value->num.mag == 0;
        if (str_is(key, "optimizer") || str_is(key, "clip_by_norm") ||
            str_lists(str_c(x->net->read), '|', key) ||
            (x->net->may && str_lists(str_c(x->net->may), '|', key)) || zero)
            continue;
        bool idle = str_lists(str_c(x->net->idle), '|', key);
        struct diag *g = diag_add(x->d, DIAG_WARNING, E0520, h->map.at[i].key_at,
                                  "hyper_parameters.%.*s has no effect on %s", (int)key.n,
                                  key.p, x->net->name);
        if (idle && str_is(key, "reg"))
            diag_hint(x->d, g,
                      "the L1 term would decay every row of the tables at every step; "
                      "it is left out");
        else if (idle && str_is(key, "is_sparse"))
            diag_hint(x->d, g, "only the rows of a batch are updated, always");
    }
}

static const struct prec_Optimizer *optimizer_of(const struct paddlerec_put *x)
{
    return x->c->hyper_parameters ? x->c->hyper_parameters->optimizer : NULL;
}

/* "adam_optimizer { lr: 0.01 }": of dense parameters, or of tables. */
static const char *optimizer_text(struct paddlerec_put *x, bool dense, double times,
                                  double decay)
{
    const struct prec_Optimizer *o = optimizer_of(x);
    const char *class = x->net->adam ? "adam" : o && o->has_class ? o->class : "";
    bool sgd = strcasecmp(class, "SGD") == 0, adam = strcasecmp(class, "adam") == 0;
    const char *more = !dense || adam ? "" : sgd ? " momentum: 0" : " eps: 1e-6";
    const char *name = sgd ? "sgd" : adam ? "adam" : "adagrad";
    if (decay > 0)
        more = arena_printf(x->a, "%s weight_decay: %.9g", more, decay);
    return arena_printf(x->a, "%s_optimizer { lr: %.9g%s } constant_learning_rate {}",
                        name, (o ? o->learning_rate : 1) * times, more);
}

void paddlerec_part(struct paddlerec_put *x, const char *names, double times,
                    double decay)
{
    buf_printf(&x->parts, "    part_optimizers { regex_pattern: \"%s\" %s }\n", names,
               optimizer_text(x, true, times, decay));
}

static void put_optimizer(struct paddlerec_put *x)
{
    const struct prec_Optimizer *o = optimizer_of(x);
    double rate = o && o->has_learning_rate ? o->learning_rate : -1;
    const char *class = x->net->adam ? "adam" : o && o->has_class ? o->class : "";
    if (rate <= 0 || !class[0])
        paddlerec_fault(x, o ? &o->base : hyper_message(x), NULL,
                        "hyper_parameters.optimizer: %s needs class and learning_rate",
                        x->net->name);
    if (x->net->adam && o && o->has_class && strcasecmp(o->class, "adam") != 0)
        schema_report(x->d, DIAG_WARNING, E0520, &o->base, "class",
                      "class has no effect: %s is trained with Adam", x->net->name);
    buf_printf(
        x->out,
        "train_config {\n  sparse_optimizer { %s }\n  dense_optimizer {\n    %s\n%s  "
        "}\n  num_epochs: %jd\n}\n",
        optimizer_text(x, false, x->table_rate > 0 ? x->table_rate : 1, 0),
        optimizer_text(x, true, 1, 0), buf_str(&x->parts), (intmax_t)x->r->epochs);
}

static void put_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "%s: ", key);
    buf_json_str(out, text, strlen(text));
    buf_putc(out, '\n');
}

/* Of a DataLoader in training incomplete batches are left out, as PaddleRec does. */
static void put_data(struct paddlerec_put *x, struct paddlerec_phase *p)
{
    bool queue = strcmp(x->set->type, "QueueDataset") == 0;
    bool slots = x->sparse.n + x->dense.n > 0;
    if (!x->set->has_batch_size)
        paddlerec_fault(x, &x->set->base, NULL, "dataset '%s' has no batch_size",
                        x->set->name);
    p->batch_size = x->set->batch_size * x->replicas;
    if (p->batch_size > INT32_MAX)
        paddlerec_fault(x, &x->set->base, "batch_size",
                        "batch_size times thread_num is more than %d", INT32_MAX);
    put_text(x->out, "train_input_path",
             paddlerec_expand(x->c, x->set->data_path, x->o->base, x->a));
    put_text(x->out, "model_dir",
             *x->r->save_checkpoint_path ? x->r->save_checkpoint_path : "increment");
    buf_printf(x->out,
               "data_config {\n  batch_size: %jd\n  dataset_type: SlotDataset fg_mode: "
               "FG_NONE\n  label_fields: [%s]\n  line_padding: %jd\n%s",
               (intmax_t)p->batch_size, x->net->labels, (intmax_t)x->set->padding,
               x->training && !queue ? "  drop_remainder: true\n" : "");
    if (!slots)
        put_text(x->out, "  line_format", x->net->format);
    put_text(x->out, "  line_columns", p->columns);
    buf_puts(x->out, "}\n");
    p->slots = slots;
}

static bool parse_slots(struct paddlerec_put *x, const char *sparse, const char *dense);

/* A reader of the user's own, for a network that reads slots: its samples have names. */
static bool own_reader(struct paddlerec_put *x)
{
    struct paddlerec_read got = {0};
    struct err err = {0};
    if (!x->o->read) {
        paddlerec_fault(x, &x->set->base, "data_converter",
                        "%s reads slots: sparse_slots and dense_slots name them",
                        x->net->name);
        return false;
    }
    if (x->o->read(x->o->arg, x->set, &got, &err)) {
        schema_report(x->d, DIAG_ERROR, E0541, &x->set->base, "data_converter", "%s",
                      err.msg);
        x->failed = true;
        return false;
    }
    x->data = got.dir;
    return parse_slots(x, got.sparse, got.dense);
}

/* The built-in readers stand for the data_converter of the network's own folder. */
static bool check_reader(struct paddlerec_put *x)
{
    bool slots = x->sparse.n + x->dense.n > 0;
    if (!slots && x->net->format && x->set->data_converter)
        compare_code(x, &x->set->base, "data_converter",
                     paddlerec_expand(x->c, x->set->data_converter, x->o->base, x->a),
                     x->net->readers);
    if (slots == !x->net->format)
        return true;
    if (slots)
        paddlerec_fault(x, &x->set->base, "sparse_slots",
                        "%s reads lines of the form '%s' through a data_converter, not "
                        "slots",
                        x->net->name, x->net->format);
    else
        return own_reader(x);
    return false;
}

static bool usable_name(const char *name)
{
    return strcspn(name, "(),= ") == strlen(name);
}

static bool parse_slots(struct paddlerec_put *x, const char *sparse, const char *dense)
{
    size_t bad, bad_len;
    struct err why = {0};
    if (prec_slots_parse(str_c(sparse), false, x->a, &x->sparse, &bad, &bad_len, &why) ||
        prec_slots_parse(str_c(dense), true, x->a, &x->dense, &bad, &bad_len, &why)) {
        paddlerec_fault(x, &x->set->base, NULL, "%s", why.msg);
        return false;
    }
    for (size_t i = 0; i < x->sparse.n + x->dense.n; i++) {
        const char *name =
            i < x->sparse.n ? x->sparse.at[i].name : x->dense.at[i - x->sparse.n].name;
        if (!usable_name(name))
            paddlerec_fault(x, &x->set->base,
                            i < x->sparse.n ? "sparse_slots" : "dense_slots",
                            "slot '%s': a name cannot hold '(', ')', ',' or '='", name);
    }
    return !x->failed;
}

/* What cannot be run, or runs otherwise than the file says. */
static void check_phase(struct paddlerec_put *x)
{
    bool queue = strcmp(x->set->type, "QueueDataset") == 0;
    int64_t threads = x->phase->thread_num;
    if (queue && threads > 1)
        schema_report(x->d, DIAG_NOTE, E0520, &x->phase->base, "thread_num",
                      "thread_num of a QueueDataset does not change the result: its "
                      "batches are trained on one after another");
    x->replicas = queue || !x->training ? 1 : threads;
    if (x->phase->gradient_scale_strategy && x->replicas > 1 && !x->net->sum)
        paddlerec_fault(x, &x->phase->base, "gradient_scale_strategy",
                        "the loss of %s is a mean over the %jd replicas' rows: "
                        "gradient_scale_strategy must be 0",
                        x->net->name, (intmax_t)x->replicas);
}

static const struct prec_Dataset *dataset_of(const struct prec_Config *c,
                                             const struct prec_Phase *p)
{
    for (int64_t i = 0; i < c->n_dataset; i++)
        if (strcmp(c->dataset[i]->name, p->dataset_name) == 0)
            return c->dataset[i];
    return NULL;
}

bool paddlerec_pipeline(const struct prec_Config *c, const struct prec_Runner *r,
                        const struct prec_Phase *phase, const struct paddlerec_options *o,
                        struct arena *a, struct paddlerec_phase *p, struct buf *out,
                        struct diags *diags)
{
    struct paddlerec_put x = {.c = c,
                              .r = r,
                              .phase = phase,
                              .set = dataset_of(c, phase),
                              .o = o,
                              .d = diags,
                              .a = a,
                              .out = out,
                              .training = strcasecmp(r->class, "infer") != 0};
    buf_init(&x.columns, 1 << 24);
    buf_init(&x.parts, 1 << 16);
    if (x.set && find_network(&x) &&
        parse_slots(&x, x.set->sparse_slots, x.set->dense_slots) && check_reader(&x)) {
        *p = (struct paddlerec_phase){.phase = phase, .set = x.set, .net = x.net};
        p->data_path =
            x.data ? x.data : paddlerec_expand(c, x.set->data_path, o->base, a);
        check_phase(&x);
        check_keys(&x);
        if (x.net->recall)
            p->recall = paddlerec_int(&x, x.net->recall, 1);
        x.net->put(&x);
        p->columns = arena_strdup(a, str_trim(str_c(buf_str(&x.columns))).p);
        put_data(&x, p);
        put_optimizer(&x);
    }
    buf_release(&x.columns);
    buf_release(&x.parts);
    return x.set && !x.failed && !out->failed;
}
