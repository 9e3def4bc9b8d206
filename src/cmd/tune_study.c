/* SPDX-License-Identifier: Apache-2.0 */
/* tune study: a tuner for a program that asks and tells, a JSON object per line. A line
 * that cannot be followed is answered with an error and changes nothing, so the asker can
 * go on. As a tuner is a pure function of what it was told, a study is continued by
 * saying the same lines again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "text/conf.h"
#include "text/json.h"
#include "text/nni/algo.h"
#include "tune/tuner.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)

struct study_conf {
    const char *tuner, *tuner_args;
    int64_t seed;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct study_conf, tuner, "Auto", "name of a built-in tuner"),
     .meta = "NAME"},
    {OPT_TEXT(struct study_conf, tuner_args, "{}", "its classArgs, a JSON object"),
     .meta = "JSON"},
    {OPT_INT(struct study_conf, seed, "0", 0, 0x7fffffff, "random seed of the tuner"),
     .meta = "N"},
    {0},
};

struct study {
    struct tuner *tuner;
    struct buf out;
};

/* JSON of a line or an option as a tree; RC_FORMAT with the first problem. */
static enum rc parse(const char *name, const char *text, size_t n, struct doc *d,
                     struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_from(name, text, n, &d->src, err);
    if (!rc && json_parse(d, &diags))
        rc = err_coded(err, RC_FORMAT, E4018, "%s: %s", name,
                       diags.list.n ? diags.list.at[0].msg : "no JSON");
    if (!rc && d->root->kind != NODE_MAP)
        rc = err_coded(err, RC_FORMAT, E4018, "%s: no JSON object", name);
    diags_release(&diags);
    return rc;
}

static enum rc trial_of(const struct study *s, const struct node *line, const char *key,
                        int64_t *trial, struct err *err)
{
    double v = node_get_num(line, key, -1);
    const struct tune_history *h = tuner_history(s->tuner);
    *trial = (int64_t)v;
    if (v < 0 || v >= (double)h->trials.n || v != (double)*trial)
        return err_coded(err, RC_INVAL, E4018, "'%s': there is no trial %g", key, v);
    return RC_OK;
}

static enum rc value_of(const struct node *line, double *value, struct err *err)
{
    const struct node *v = node_find(line, "value");
    if (!v || !node_number(v, value))
        return err_coded(err, RC_INVAL, E4018, "'value' is missing or no number");
    return RC_OK;
}

static enum rc study_ask(struct study *s, const struct node *line, struct err *err)
{
    int64_t trial;
    switch (tuner_ask(s->tuner, &trial)) {
    case TUNER_WAITS:
        buf_puts(&s->out, "{\"wait\": true}");
        break;
    case TUNER_ENDS:
        buf_puts(&s->out, "{\"end\": true}");
        break;
    case TUNER_GIVES:
        buf_printf(&s->out, "{\"trial\": %jd, \"params\": ", (intmax_t)trial);
        tuner_params(s->tuner, trial, &s->out);
        buf_putc(&s->out, '}');
    }
    return RC_OK;
}

static enum rc study_tell(struct study *s, const struct node *line, struct err *err)
{
    int64_t trial;
    double value;
    enum rc rc = trial_of(s, line, "tell", &trial, err);
    if (!rc)
        rc = value_of(line, &value, err);
    if (!rc) {
        tuner_tell(s->tuner, trial, &value, 0);
        tuner_end(s->tuner, trial);
    }
    return rc;
}

static enum rc study_report(struct study *s, const struct node *line, struct err *err)
{
    int64_t trial;
    double value, step = node_get_num(line, "step", 0);
    enum rc rc = trial_of(s, line, "report", &trial, err);
    if (!rc)
        rc = value_of(line, &value, err);
    if (!rc && (step < 0 || step > 1e9))
        rc = err_coded(err, RC_INVAL, E4018, "'step': %g", step);
    if (!rc)
        tuner_report(s->tuner, trial, (int64_t)step, value);
    return rc;
}

static enum rc study_fail(struct study *s, const struct node *line, struct err *err)
{
    int64_t trial;
    enum rc rc = trial_of(s, line, "fail", &trial, err);
    if (!rc)
        tuner_end(s->tuner, trial);
    return rc;
}

static enum rc study_import(struct study *s, const struct node *line, struct err *err)
{
    double value;
    enum rc rc = value_of(line, &value, err);
    return rc ? rc : tuner_import(s->tuner, node_find(line, "import"), &value, 0, err);
}

static enum rc study_best(struct study *s, const struct node *line, struct err *err)
{
    int64_t best = tuner_best(s->tuner);
    if (best < 0)
        return err_coded(err, RC_INVAL, E4018, "'best': no trial has a result");
    buf_printf(&s->out, "{\"trial\": %jd, \"params\": ", (intmax_t)best);
    tuner_params(s->tuner, best, &s->out);
    buf_putc(&s->out, '}');
    return RC_OK;
}

static const struct {
    const char *key;
    enum rc (*run)(struct study *s, const struct node *line, struct err *err);
} requests[] = {
    {"ask", study_ask},   {"tell", study_tell},     {"report", study_report},
    {"fail", study_fail}, {"import", study_import}, {"best", study_best},
};

static enum rc follow(struct study *s, const struct node *line, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        if (node_find(line, requests[i].key))
            return requests[i].run(s, line, err);
    return err_coded(err, RC_INVAL, E4018,
                     "a line has ask, tell, report, fail, import or best");
}

static enum rc answer(struct study *s, const char *text, size_t n, struct err *err)
{
    struct doc d = {0};
    struct err wrong = {0};
    buf_clear(&s->out);
    enum rc rc = parse("line", text, n, &d, &wrong);
    if (!rc)
        rc = follow(s, d.root, &wrong);
    if (rc) {
        buf_clear(&s->out);
        buf_puts(&s->out, "{\"error\": ");
        buf_json_str(&s->out, wrong.msg, strlen(wrong.msg));
        buf_putc(&s->out, '}');
    }
    if (s->out.n == 0)
        buf_puts(&s->out, "{}");
    buf_putc(&s->out, '\n');
    doc_release(&d);
    return cmd_print(&s->out, err);
}

static enum rc answer_lines(struct study *s, struct err *err)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    enum rc rc = RC_OK;
    while (!rc && (n = getline(&line, &cap, stdin)) > 0) {
        if ((size_t)n > LINE_MAX_BYTES)
            rc = err_coded(err, RC_INVAL, E4018, "a line of %zd bytes", n);
        else
            rc = answer(s, line, (size_t)n, err);
        fflush(stdout);
    }
    free(line);
    return rc;
}

/* The tuner of a space, checked as in an experiment file. */
static enum rc open_tuner(const struct study_conf *o, const struct nni_space *space,
                          const struct node *args, struct diags *diags,
                          struct tuner **out, struct err *err)
{
    const struct nni_algo *algo = nni_algo_find(NNI_TUNER, o->tuner);
    struct tuner_conf conf = {
        .name = o->tuner, .args = args, .space = space, .seed = (uint64_t)o->seed};
    if (algo) {
        nni_args_check(algo, args, diags);
        nni_algo_check_space(algo, space, args->at, diags);
    }
    if (diags->n_errors > 0)
        return RC_INVAL;
    return tuner_create(&conf, out, err);
}

static enum rc tune_study_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct study_conf *o = conf;
    struct conf c = {0};
    struct diags diags = {0};
    struct doc given = {0};
    struct study s = {.tuner = NULL};
    const struct conf_options options = {.kind = &conf_kind_nni_space};
    buf_init(&s.out, LINE_MAX_BYTES);
    enum rc rc = conf_open(args->at[0], &options, &c, &diags, err);
    if (!rc)
        rc = parse("--tuner-args", o->tuner_args, strlen(o->tuner_args), &given, err);
    if (!rc)
        rc = open_tuner(o, c.data, given.root, &diags, &s.tuner, err);
    config_show(&diags);
    if (!rc)
        rc = answer_lines(&s, err);
    tuner_destroy(s.tuner);
    doc_release(&given);
    conf_release(&c);
    buf_release(&s.out);
    return rc;
}

static const struct cmd_example study_examples[] = {
    {"two suggestions",
     "printf '{\"ask\": 1}\\n{\"ask\": 1}\\n' | trainyard tune study space.json"},
    {0},
};

const struct cmd cmd_tune_study = {
    .name = "tune study",
    .args = "SPACE",
    .summary = "suggest parameters to a program that asks and tells",
    .description =
        "SPACE is a search space file. Each line of the standard input is a JSON "
        "object, and is answered with one.\n\n"
        "{\"ask\": 1}: the answer is {\"trial\": 0, \"params\": {...}}, {\"wait\": "
        "true} when a result is needed first, or {\"end\": true}. {\"report\": 0, "
        "\"step\": 2, \"value\": 0.7} is an intermediate result of trial 0, {\"tell\": "
        "0, \"value\": 0.9} its result, {\"fail\": 0} says that it has none. "
        "{\"import\": {...}, \"value\": 0.8} are parameters and a result from "
        "elsewhere. These are answered with {}.\n\n"
        "An invalid line is answered with {\"error\": \"...\"}. The same lines with "
        "the same seed get the same answers.",
    .examples = study_examples,
    .opts = opts,
    .conf_size = sizeof(struct study_conf),
    .min_args = 1,
    .max_args = 1,
    .run = tune_study_command,
};
