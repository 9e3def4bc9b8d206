/* SPDX-License-Identifier: Apache-2.0 */
/* PaddleRec's output. Its users parse it: names, blanks and tabs are as they know them. Two
 * things are added or mended: LOSS stands behind the other metrics, and several replicas
 * have one value together.
 */
#include "cmd/paddlerec_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define KEY_WIDTH 45
#define HIDDEN "******" /* in place of a secret */
#define VALUE_WIDTH 50
#define GAP 5
#define TAIL 46       /* of a long value */
#define METRICS_MAX 6 /* of a network */

void paddlerec_show_open(struct paddlerec_show *s, const struct paddlerec_phase *phase,
                         bool training, int64_t interval)
{
    const struct paddlerec_auc *a = paddlerec_net_aucs(phase->net);
    *s = (struct paddlerec_show){.net = phase->net,
                                 .training = training,
                                 .interval = interval,
                                 .recall = phase->recall};
    for (size_t i = 0; i < ARRAY_LEN(s->aucs) && a[i].task; i++)
        s->aucs[i] = train_click_auc_create(a[i].thresholds, a[i].window);
}

void paddlerec_show_close(struct paddlerec_show *s)
{
    for (size_t i = 0; i < ARRAY_LEN(s->aucs); i++) {
        train_click_auc_destroy(s->aucs[i]);
        s->aucs[i] = NULL;
    }
    VEC_RELEASE(&s->similarities);
}

void paddlerec_show_pass(struct paddlerec_show *s, int64_t epoch)
{
    s->epoch = epoch;
    s->pass_ns = s->lap_ns = clock_mono_ns();
    for (size_t i = 0; !s->training && i < ARRAY_LEN(s->aucs) && s->aucs[i]; i++)
        train_click_auc_reset(s->aucs[i]);
    if (!s->training)
        s->seen = s->found = 0;
}

/* As numpy prints it: 0.5, 1., 0.55555556 */
static void put_number(struct buf *out, double v)
{
    char text[64];
    snprintf(text, sizeof(text), "%.8f", v);
    size_t n = strlen(text);
    while (n && text[n - 1] == '0')
        n--;
    buf_add(out, text, n);
}

struct metric_line {
    const char *name, *task;
    double value;
    const double *values; /* several, in place of the one; else NULL */
    size_t n;
};

/* In the order in which they are shown; how many. */
static size_t metrics_of(const struct paddlerec_show *s, struct metric_line *out)
{
    const struct paddlerec_auc *a = paddlerec_net_aucs(s->net);
    size_t n = 0;
    if (s->similarities.n) {
        out[n++] = (struct metric_line){paddlerec_net_similarity(s->net), "", 0,
                                        s->similarities.at, s->similarities.n};
        return n;
    }
    if (s->recall) {
        out[n++] = (struct metric_line){"InsCnt", "", .value = s->seen};
        out[n++] = (struct metric_line){"RecallCnt", "", .value = s->found};
        out[n++] = (struct metric_line){"Acc(Recall@k)", "",
                                        .value = s->seen > 0 ? s->found / s->seen : 0};
    }
    if (paddlerec_net_accuracy(s->net))
        out[n++] = (struct metric_line){paddlerec_net_accuracy(s->net), "",
                                        .value = s->accuracy};
    for (size_t i = 0; i < ARRAY_LEN(s->aucs) && s->aucs[i]; i++) {
        out[n++] = (struct metric_line){"BATCH_AUC", a[i].task,
                                        .value = train_click_auc_last(s->aucs[i])};
        out[n++] = (struct metric_line){"AUC", a[i].task,
                                        .value = train_click_auc_all(s->aucs[i])};
    }
    if (s->training)
        out[n++] = (struct metric_line){"LOSS", "", .value = s->loss};
    return n;
}

static void put_values(const struct metric_line *m, struct buf *out)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < (m->values ? m->n : 1); i++) {
        buf_puts(out, i ? " " : "");
        put_number(out, m->values ? m->values[i] : m->value);
    }
    buf_putc(out, ']');
}

static void put_metrics(const struct paddlerec_show *s, const char *is, struct buf *out)
{
    struct metric_line all[METRICS_MAX];
    size_t n = metrics_of(s, all);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s%s%s%s", i ? ", " : "", all[i].name,
                   all[i].task[0] ? "_" : "", all[i].task, is);
        put_values(&all[i], out);
    }
}

void paddlerec_show_json(const struct paddlerec_show *s, struct buf *out)
{
    struct metric_line all[METRICS_MAX];
    char text[32];
    size_t n = metrics_of(s, all);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\"%s%s%s\": [", i ? ", " : "{", all[i].name,
                   all[i].task[0] ? "_" : "", all[i].task);
        for (size_t k = 0; k < (all[i].values ? all[i].n : 1); k++) {
            str_from_f64(all[i].values ? all[i].values[k] : all[i].value, text);
            buf_printf(out, "%s%s", k ? ", " : "", text);
        }
        buf_putc(out, ']');
    }
    buf_putc(out, '}');
}

static const float *labels_of(const struct feature_batch *b, const char *name)
{
    for (size_t i = 0; i < b->n_labels; i++)
        if (strcmp(b->targets[i].name, name) == 0)
            return b->targets[i].values;
    return NULL;
}

/* The share of rows whose class is the likeliest, or of one probability on its side of a
 * half.
 */
static double accuracy_of(struct view probs, const float *labels, int64_t rows)
{
    int64_t right = 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *p = view_row(&probs, r);
        int64_t best = probs.width == 1 && p[0] >= 0.5f;
        for (int64_t k = 1; k < probs.width; k++)
            best = p[k] > p[best] ? k : best;
        right += (float)best == labels[r];
    }
    return rows ? (double)right / (double)rows : 0;
}

/* Labels whose class is among the likeliest; of equals the first ones are. */
static void count_recall(struct paddlerec_show *s, struct view probs, const float *labels)
{
    for (int64_t r = 0; r < probs.rows; r++) {
        const float *p = view_row(&probs, r);
        int64_t label = (int64_t)labels[r], before = 0;
        for (int64_t k = 0; k < probs.width; k++)
            before += p[k] > p[label] || (p[k] == p[label] && k < label);
        s->found += before < s->recall;
        s->seen++;
    }
}

/* Of the first candidate of each row. */
static void keep_similarities(struct paddlerec_show *s, struct view scores)
{
    s->similarities.n = 0;
    for (int64_t r = 0; r < scores.rows; r++)
        VEC_PUSH(&s->similarities, (double)*view_row(&scores, r));
}

static enum rc count(struct paddlerec_show *s, const struct train_epochs_batch *b,
                     struct err *err)
{
    const struct model *m = b->session->model;
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < ARRAY_LEN(s->aucs) && i < m->tasks.n; i++) {
        const struct model_task *t = &m->tasks.at[i];
        if (!s->training && paddlerec_net_similarity(s->net))
            keep_similarities(s, graph_read(m->graph, t->logits));
        if (!t->probs)
            continue;
        struct view probs = graph_read(m->graph, t->probs);
        const float *labels = labels_of(b->features, t->label);
        if (labels && i == 0 && s->recall)
            count_recall(s, probs, labels);
        else if (labels && i == 0)
            s->accuracy = accuracy_of(probs, labels, b->features->rows);
        if (paddlerec_net_counts(s->net))
            s->accuracy = round(s->accuracy * (double)b->features->rows);
        if (labels && s->aucs[i])
            rc = train_click_auc_add(s->aucs[i], probs.data + probs.width - 1, probs.ld,
                                     labels, b->features->rows, err);
    }
    return rc;
}

static void put_time(struct buf *out)
{
    struct timespec now;
    struct tm local;
    char text[64];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
    buf_printf(out, "%s,%03ld - INFO: ", text, now.tv_nsec / 1000000);
}

enum rc paddlerec_show_batch(struct paddlerec_show *s, const struct train_epochs_batch *b,
                             struct err *err)
{
    s->loss = b->loss;
    enum rc rc = count(s, b, err);
    if (rc || b->number == 0 || b->number % s->interval != 0)
        return rc;
    struct buf line;
    int64_t now = clock_mono_ns();
    buf_init(&line, 4096);
    put_time(&line);
    if (s->training)
        buf_printf(&line, "\t[Train],  epoch: %jd,  batch: %jd, ", (intmax_t)s->epoch,
                   (intmax_t)b->number);
    else
        buf_printf(&line, "\t[Infer] batch: %jd, ", (intmax_t)b->number);
    buf_printf(&line, "time_each_interval: %.2fs, ", (double)(now - s->lap_ns) * 1e-9);
    put_metrics(s, ": ", &line);
    fprintf(stderr, "%s\n", buf_str(&line));
    buf_release(&line);
    s->lap_ns = now;
    return RC_OK;
}

void paddlerec_show_done(const struct paddlerec_show *s, const char *phase,
                         const char *model)
{
    double seconds = (double)(clock_mono_ns() - s->pass_ns) * 1e-9;
    struct buf line;
    buf_init(&line, 4096);
    if (s->training)
        buf_printf(&line, "epoch %jd", (intmax_t)s->epoch);
    else
        buf_printf(&line, "Infer %s of epoch %s", phase, model);
    buf_printf(&line, " done, use time: %.12g, global metrics: ", seconds);
    put_metrics(s, "=", &line);
    printf("%s\n", buf_str(&line));
    fflush(stdout);
    buf_release(&line);
}

/* Rows of a table, before it is known how wide the keys are. */
struct rows {
    struct arena arena;
    VEC(const char *) keys;
    VEC(const char *) values;
};

static void add_row(struct rows *t, const char *key, const char *value)
{
    VEC_PUSH(&t->keys, arena_strdup(&t->arena, key));
    VEC_PUSH(&t->values, arena_strdup(&t->arena, value));
}

static void print_line(char c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        putchar(c);
    putchar('\n');
}

static void print_table(const char *title, const struct rows *t)
{
    size_t width = KEY_WIDTH;
    for (size_t i = 0; i < t->keys.n; i++)
        if (strlen(t->keys.at[i]) > width)
            width = strlen(t->keys.at[i]);
    size_t all = width + GAP + VALUE_WIDTH, name = strlen(title);
    size_t left = name < all ? (all - name) / 2 : 0;
    putchar('\n');
    print_line('=', all);
    printf("%*s%s%*s\n", (int)left, "", title, (int)(name < all ? all - name - left : 0),
           "");
    print_line('-', all);
    for (size_t i = 0; i < t->keys.n; i++) {
        const char *v = t->values.at[i];
        size_t n = strlen(v);
        printf("%-*s%*s%s%s\n", (int)width, t->keys.at[i], GAP, "",
               n >= VALUE_WIDTH ? "... " : "", n >= VALUE_WIDTH ? v + n - TAIL : v);
    }
    print_line('=', all);
    putchar('\n');
}

static void rows_release(struct rows *t)
{
    VEC_RELEASE(&t->keys);
    VEC_RELEASE(&t->values);
    arena_release(&t->arena);
}

/* A value as Python writes it. */
static void put_leaf(const struct node *n, bool nested, struct buf *out)
{
    switch (n->kind) {
    case NODE_NULL:
        buf_puts(out, "None");
        return;
    case NODE_BOOL:
        buf_puts(out, n->flag ? "True" : "False");
        return;
    case NODE_LIST:
        buf_putc(out, '[');
        for (size_t i = 0; i < n->list.n; i++) {
            buf_puts(out, i ? ", " : "");
            put_leaf(n->list.at[i], true, out);
        }
        buf_putc(out, ']');
        return;
    case NODE_MAP:
        buf_puts(out, "{...}");
        return;
    default:
        buf_printf(out, nested && n->kind == NODE_STR ? "'%.*s'" : "%.*s", (int)n->text.n,
                   n->text.p);
    }
}

struct flattening {
    const struct prec_Config *c;
    const char *base;
    struct rows *rows;
};

static void flatten(struct flattening *x, const char *prefix, const struct node *n);

static void flatten_entry(struct flattening *x, const char *prefix, struct str key,
                          const struct node *value)
{
    struct arena *a = &x->rows->arena;
    const char *name =
        arena_printf(a, "%s%s%.*s", prefix, *prefix ? "." : "", (int)key.n, key.p);
    bool named = !*prefix && (str_is(key, "dataset") || str_is(key, "runner") ||
                              str_is(key, "phase"));
    if (value->kind == NODE_MAP) {
        flatten(x, name, value);
        return;
    }
    for (size_t i = 0; named && value->kind == NODE_LIST && i < value->list.n; i++) {
        const struct node *of = node_find(value->list.at[i], "name");
        if (of)
            flatten(x, arena_printf(a, "%s.%.*s", name, (int)of->text.n, of->text.p),
                    value->list.at[i]);
    }
    if (named)
        return;
    struct buf text;
    buf_init(&text, 1 << 20);
    put_leaf(value, false, &text);
    add_row(x->rows, name,
            value->kind == NODE_STR ? paddlerec_expand(x->c, buf_str(&text), x->base, a)
                                    : buf_str(&text));
    buf_release(&text);
}

static void flatten(struct flattening *x, const char *prefix, const struct node *n)
{
    for (size_t i = 0; i < n->map.n; i++)
        if (!(*prefix && str_is(n->map.at[i].key, "name")))
            flatten_entry(x, prefix, n->map.at[i].key, n->map.at[i].value);
}

void paddlerec_show_tables(const struct prec_Config *c, const struct prec_Runner *r,
                           const char *base)
{
    struct rows envs = {0}, all = {0};
    bool infer = strcasecmp(r->class, "infer") == 0;
    add_row(&envs, "train.trainer.engine", "single");
    add_row(&envs, "train.trainer.executor_mode", infer ? "infer" : "train");
    add_row(&envs, "train.trainer.platform", "LINUX");
    add_row(&envs, "train.trainer.trainer", r->trainer_class);
    print_table("Runtime Envs", &envs);
    flatten(&(struct flattening){.c = c, .base = base, .rows = &all}, "", c->base.node);
    print_table("paddlerec Global Envs", &all);
    rows_release(&envs);
    rows_release(&all);
}

static void add_setting(void *arg, const char *name, const char *value, bool secret)
{
    add_row(arg, name, secret ? HIDDEN : value);
}

void paddlerec_show_cluster(const struct paddlerec_submission *s)
{
    const struct prec_Submit *u = s->b->submit;
    struct rows rows = {0};
    add_row(&rows, "backend", s->b->backend);
    add_row(&rows, "cluster_type", s->b->cluster_type);
    paddlerec_submission_settings(s, add_setting, &rows);
    add_row(&rows, "ak", HIDDEN);
    add_row(&rows, "sk", HIDDEN);
    add_row(&rows, "priority", u->priority);
    add_row(&rows, "job_name", u->job_name);
    add_row(&rows, "group", u->group);
    add_row(&rows, "start_cmd", u->start_cmd);
    add_row(&rows, "files", u->files);
    print_table("Cluster Envs", &rows);
    rows_release(&rows);
}
