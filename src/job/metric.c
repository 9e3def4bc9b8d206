/* SPDX-License-Identifier: Apache-2.0 */
/* A line that begins as the line protocol does is read as that; any other is given to each
 * pattern once, with PCRE2's limit of steps, so that no pattern takes longer than a moment on
 * any line.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "job/metric.h"

#include <math.h>
#include <pcre2.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define MATCH_LIMIT \
    20000 /* steps of the matcher per line: a pattern cannot hold us up \
           */
#define NAME_MAX_BYTES 128

static const char prefix[] = "::trainyard ";

struct pattern {
    char *name;
    pcre2_code *code;
    pcre2_match_data *data;
};

struct job_metric_set {
    pcre2_match_context *limits;
    VEC(struct pattern) list;
    int64_t step; /* the last one heard of */
};

void job_metric_close(struct job_metric_set *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->list.n; i++) {
        pcre2_match_data_free(m->list.at[i].data);
        pcre2_code_free(m->list.at[i].code);
        mem_free(m->list.at[i].name);
    }
    VEC_RELEASE(&m->list);
    pcre2_match_context_free(m->limits);
    mem_free(m);
}

static enum rc add(struct job_metric_set *m, const char *name, const char *regex,
                   struct err *err)
{
    int number;
    PCRE2_SIZE at;
    uint32_t groups = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, PCRE2_UTF,
                                     &number, &at, NULL);
    if (!code) {
        PCRE2_UCHAR text[200];
        pcre2_get_error_message(number, text, sizeof(text));
        return err_coded(err, RC_INVAL, E3010,
                         "metric '%.100s': %s at character %zu of '%.200s'", name,
                         (const char *)text, at + 1, regex);
    }
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups != 1) {
        pcre2_code_free(code);
        return err_coded(err, RC_INVAL, E3010,
                         "metric '%.100s': '%.200s' has %u groups, not one", name, regex,
                         groups);
    }
    struct pattern p = {.name = mem_strdup(name),
                        .code = code,
                        .data = pcre2_match_data_create_from_pattern(code, NULL)};
    VEC_PUSH(&m->list, p);
    return RC_OK;
}

enum rc job_metric_open(const struct job_spec *s, struct job_metric_set **out,
                        struct err *err)
{
    struct job_metric_set *m = mem_calloc(1, sizeof(*m));
    enum rc rc = RC_OK;
    m->step = -1;
    m->limits = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(m->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(m->limits, 1000);
    for (int64_t i = 0; i < s->s->n_metric && !rc; i++)
        rc = add(m, s->s->metric[i].key, s->s->metric[i].value, err);
    if (rc) {
        job_metric_close(m);
        return rc;
    }
    *out = m;
    return RC_OK;
}

static void match(struct job_metric_set *m, struct str line,
                  const struct job_metric_sink *sink)
{
    for (size_t i = 0; i < m->list.n; i++) {
        struct pattern *p = &m->list.at[i];
        double v;
        int n =
            pcre2_match(p->code, (PCRE2_SPTR)line.p, line.n, 0, 0, p->data, m->limits);
        if (n < 2)
            continue;
        const PCRE2_SIZE *o = pcre2_get_ovector_pointer(p->data);
        if (o[2] == PCRE2_UNSET || !str_to_f64(str_of(line.p + o[2], o[3] - o[2]), &v) ||
            !isfinite(v))
            continue;
        if (strcmp(p->name, "step") == 0 && v >= 0 && v < 9e15)
            m->step = (int64_t)v;
        sink->value(sink->arg, p->name, v, m->step);
    }
}

static bool good_name(struct str name)
{
    if (!name.n || name.n > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@-",
                    name.p[i]) ||
            !name.p[i])
            return false;
    return true;
}

struct said {
    double percent;
    int64_t eta_s, step;
};

/* One name=number; names that are metrics are counted, and given to `sink` when it is
 * set. */
static void pair(struct str word, struct said *said, const struct job_metric_sink *sink)
{
    struct str name;
    double v;
    if (!str_split(&word, '=', &name) || !good_name(name) || !str_to_f64(word, &v) ||
        !isfinite(v))
        return;
    if (str_is(name, "progress")) {
        said->percent = v < 0 ? 0 : v > 100 ? 100 : v;
    } else if (str_is(name, "eta")) {
        said->eta_s = v < 0 || v > 1e9 ? -1 : (int64_t)v;
    } else if (str_is(name, "step")) {
        said->step = v < 0 || v > 9e15 ? -1 : (int64_t)v;
    } else if (sink) {
        char text[NAME_MAX_BYTES + 1];
        memcpy(text, name.p, name.n);
        text[name.n] = '\0';
        sink->value(sink->arg, text, v, said->step);
    }
}

static void protocol(struct job_metric_set *m, struct str line,
                     const struct job_metric_sink *sink)
{
    struct said said = {.percent = -1, .eta_s = -1, .step = -1};
    struct str all =
        str_trim(str_of(line.p + sizeof(prefix) - 1, line.n - sizeof(prefix) + 1));
    struct str rest = all, word;
    while (str_split(&rest, ' ', &word))
        pair(word, &said, NULL);
    if (said.step >= 0)
        m->step = said.step;
    if (said.percent >= 0 || said.eta_s >= 0 || said.step >= 0)
        sink->progress(sink->arg, said.percent, said.eta_s, said.step);
    said.step = m->step;
    rest = all;
    while (str_split(&rest, ' ', &word))
        if (word.n < 5 || memcmp(word.p, "step=", 5) != 0)
            pair(word, &said, sink);
}

void job_metric_line(struct job_metric_set *m, struct str line,
                     const struct job_metric_sink *sink)
{
    if (line.n > METRIC_LINE_MAX)
        line.n = METRIC_LINE_MAX;
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n > sizeof(prefix) - 1 && memcmp(line.p, prefix, sizeof(prefix) - 1) == 0)
        protocol(m, line, sink);
    else
        match(m, line, sink);
}
