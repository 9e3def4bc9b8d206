/* SPDX-License-Identifier: Apache-2.0 */
/* A condition is read once into a struct with its pattern compiled; questions about a job,
 * a state, a value or a line are pure functions of it. Unknown keys are refused, and those of
 * another kind of condition, so that a misspelt one is not a rule that never comes true.
 */
#include "team/rule.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "job/place.h"
#include "job/state.h"
#include "job/status.h"
#include "text/job/job.h"

#define PATTERN_MAX 1000
#define MATCH_LIMIT 100000 /* steps of one match: milliseconds */
#define DEPTH_LIMIT 1000

struct rule_pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static const char *const ons[] = {"state", "metric", "log", "stall"};

const char *team_rule_on_name(enum team_rule_on on)
{
    return ons[on];
}

static enum rc bad(struct err *err, const char *what, const char *value)
{
    return err_coded(err, RC_INVAL, E5301, "rule: %s: '%.100s'", what, value);
}

static void pattern_close(struct rule_pattern *p)
{
    if (!p)
        return;
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    mem_free(p);
}

static enum rc open_pattern(struct team_rule *r, const char *text, struct err *err)
{
    int number = 0;
    PCRE2_SIZE at = 0;
    if (!*text || strlen(text) > PATTERN_MAX)
        return bad(err, "a pattern has 1 to 1000 characters", text);
    struct rule_pattern *p = mem_calloc(1, sizeof(*p));
    p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                            PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                            &number, &at, NULL);
    if (!p->code) {
        PCRE2_UCHAR words[200];
        pcre2_get_error_message(number, words, sizeof(words));
        pattern_close(p);
        return err_coded(err, RC_INVAL, E5301,
                         "rule: pattern '%.100s': %s at character %zu", text,
                         (const char *)words, (size_t)at + 1);
    }
    p->data = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (!p->data || !p->context) {
        pattern_close(p);
        return err_set(err, RC_NOMEM, "out of memory");
    }
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
    r->pattern = p;
    return RC_OK;
}

static enum rc read_states(struct team_rule *r, const struct node *list, struct err *err)
{
    enum job_state s;
    if (!list || list->kind != NODE_LIST || !list->list.n ||
        list->list.n > RULE_STATES_MAX)
        return bad(err, "states is a list of states", "");
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *n = list->list.at[i];
        if (n->kind != NODE_STR || !job_state_find(n->text.p, &s))
            return bad(err, "no such state", n->kind == NODE_STR ? n->text.p : "");
        r->states[r->n_states++] = job_state_name(s);
    }
    return RC_OK;
}

static enum rc read_metric(struct team_rule *r, const struct node *map, struct err *err)
{
    const struct node *above = node_find(map, "above"), *below = node_find(map, "below");
    r->metric = arena_strdup(&r->arena, node_get_text(map, "metric", ""));
    r->has_above = above && node_number(above, &r->above);
    r->has_below = below && node_number(below, &r->below);
    if (!*r->metric)
        return bad(err, "metric names the value to look at", "");
    if ((above && !r->has_above) || (below && !r->has_below) ||
        (!r->has_above && !r->has_below))
        return bad(err, "above or below is the number to compare with", r->metric);
    return RC_OK;
}

static enum rc read_on(struct team_rule *r, const struct node *map, struct err *err)
{
    const char *on = node_get_text(map, "on", "");
    size_t i = 0;
    while (i < ARRAY_LEN(ons) && strcmp(ons[i], on) != 0)
        i++;
    if (i == ARRAY_LEN(ons))
        return bad(err, "on is state, metric, log or stall", on);
    r->on = (enum team_rule_on)i;
    switch (r->on) {
    case RULE_STATE:
        return read_states(r, node_find(map, "states"), err);
    case RULE_METRIC:
        return read_metric(r, map, err);
    case RULE_LOG:
        return open_pattern(r, node_get_text(map, "pattern", ""), err);
    case RULE_STALL:
        r->after_s = node_get_int(map, "after_s", 0);
        if (r->after_s < 1 || r->after_s > 365 * 86400)
            return bad(err, "after_s is a number of seconds, at most a year", "");
        break;
    }
    return RC_OK;
}

static enum rc read_scope(struct team_rule *r, const struct node *map, struct err *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"job", &r->job},
                 {"name", &r->name},
                 {"project", &r->project},
                 {"schedule", &r->schedule},
                 {"label", &r->label_key}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *value = node_get_text(map, texts[i].key, "");
        if (*value)
            *texts[i].to = arena_strdup(&r->arena, value);
    }
    if (r->label_key) {
        char *eq = arena_strdup(&r->arena, r->label_key);
        r->label_key = eq;
        eq = strchr(eq, '=');
        if (!eq || eq == r->label_key)
            return bad(err, "label is written key=value", r->label_key);
        *eq = '\0';
        r->label_value = eq + 1;
    }
    return RC_OK;
}

/* `on`: the kind that a key belongs to; -1: every kind. */
static const struct {
    const char *name;
    int on;
} keys[] = {{"on", -1},
            {"states", RULE_STATE},
            {"metric", RULE_METRIC},
            {"above", RULE_METRIC},
            {"below", RULE_METRIC},
            {"pattern", RULE_LOG},
            {"after_s", RULE_STALL},
            {"job", -1},
            {"name", -1},
            {"project", -1},
            {"schedule", -1},
            {"label", -1}};

/* `r` NULL: keys of every kind. */
static enum rc check_keys(const struct team_rule *r, const struct node *map,
                          struct err *err)
{
    for (size_t i = 0; i < map->map.n; i++) {
        size_t k = 0;
        while (k < ARRAY_LEN(keys) && !str_is(map->map.at[i].key, keys[k].name))
            k++;
        if (k == ARRAY_LEN(keys))
            return bad(err, "no such key", map->map.at[i].key.p);
        if (r && keys[k].on >= 0 && keys[k].on != (int)r->on)
            return err_coded(err, RC_INVAL, E5301,
                             "rule: '%s' has no meaning with \"on\": \"%s\"",
                             keys[k].name, ons[r->on]);
    }
    return RC_OK;
}

/* Names that no job can have. */
static enum rc check_names(const struct team_rule *r, struct err *err)
{
    enum rc rc = RC_OK;
    if (r->job && !job_id_ok(r->job))
        rc = bad(err, "job is the whole id of a job", r->job);
    if (!rc && r->project && jobspec_check_name(str_c(r->project)))
        rc = bad(err, "no project can have the name", r->project);
    if (!rc && r->name) {
        char *whole = mem_printf("x%.120s", r->name); /* a part may begin with '-' */
        if (jobspec_check_name(str_c(whole)))
            rc = bad(err, "no job's name can hold", r->name);
        mem_free(whole);
    }
    return rc;
}

enum rc team_rule_open(const struct store_rule *row, struct team_rule *out,
                       struct err *err)
{
    struct team_rule r = {.row = row};
    struct doc doc = {0};
    const struct node *map = job_json_open(row->condition, &doc);
    enum rc rc = RC_OK;
    if (!map || map->kind != NODE_MAP)
        rc = bad(err, "the condition is not a JSON object", row->condition);
    if (!rc)
        rc = check_keys(NULL, map, err);
    if (!rc)
        rc = read_on(&r, map, err);
    if (!rc)
        rc = read_scope(&r, map, err);
    if (doc.src)
        doc_release(&doc);
    if (rc) {
        team_rule_close(&r);
        return rc;
    }
    *out = r;
    return RC_OK;
}

enum rc team_rule_check(const struct team_rule *r, struct err *err)
{
    struct doc doc = {0};
    const struct node *map = job_json_open(r->row->condition, &doc);
    enum rc rc = check_keys(r, map, err);
    if (doc.src)
        doc_release(&doc);
    return rc ? rc : check_names(r, err);
}

void team_rule_close(struct team_rule *r)
{
    pattern_close(r->pattern);
    arena_release(&r->arena);
    *r = (struct team_rule){0};
}

bool team_rule_is_about(const struct team_rule *r, const struct store_job *j)
{
    if (r->project ? strcmp(r->project, j->project) != 0
                   : strcmp(r->row->owner, j->owner) != 0)
        return false;
    return (!r->job || strcmp(r->job, j->id) == 0) &&
           (!r->name || strstr(j->name, r->name));
}

bool team_rule_wants_labels(const struct team_rule *r)
{
    return r->label_key || r->schedule;
}

bool team_rule_wants_state(const struct team_rule *r, const char *state)
{
    for (size_t i = 0; i < r->n_states && r->on == RULE_STATE; i++)
        if (strcmp(r->states[i], state) == 0)
            return true;
    return false;
}

bool team_rule_wants_value(const struct team_rule *r, const char *metric, double v)
{
    return r->on == RULE_METRIC && strcmp(r->metric, metric) == 0 &&
           ((r->has_above && v > r->above) || (r->has_below && v < r->below));
}

bool team_rule_wants_line(const struct team_rule *r, struct str line)
{
    return r->on == RULE_LOG &&
           pcre2_match(r->pattern->code, (PCRE2_SPTR)line.p, line.n, 0, 0,
                       r->pattern->data, r->pattern->context) >= 0;
}

void team_rule_key(const struct team_rule *r, const struct team_rule_fact *f,
                   char out[65])
{
    struct sha256 h;
    char *text = mem_printf("%s/%s/%s", r->row->id, f->job->id, f->what);
    sha256_init(&h);
    sha256_add(&h, text, strlen(text));
    sha256_text(&h, out);
    mem_free(text);
}

static void put(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, ", \"%s\": ", key);
    buf_json_str(out, value, strlen(value));
}

void team_rule_payload(const struct team_rule *r, const struct team_rule_fact *f,
                       struct buf *out)
{
    char key[65], time[CLOCK_TEXT_SIZE];
    const struct store_job *j = f->job;
    team_rule_key(r, f, key);
    clock_rfc3339(f->time, time);
    buf_printf(out, "{\"id\": \"%s\"", key);
    put(out, "rule", r->row->id);
    put(out, "on", team_rule_on_name(r->on));
    put(out, "time", time);
    put(out, "text", f->text);
    buf_printf(out, "%s, \"job\": {\"id\": \"%s\"", f->extra, j->id);
    put(out, "name", j->name);
    put(out, "owner", j->owner);
    put(out, "project", j->project);
    put(out, "state", j->state);
    put(out, "reason", j->reason);
    buf_puts(out, "}}");
}
