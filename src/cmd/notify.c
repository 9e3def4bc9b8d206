/* SPDX-License-Identifier: Apache-2.0 */
/* notify create, list, log, delete: rules that say when somebody is told about a job, and
 * what became of the messages. Flags become one JSON object, the rule's condition, which
 * the store keeps as it is and team/rule.c reads. Sending is not done here but by the
 * server or `schedule due --loop`. The secret that signs a webhook's messages is shown
 * only when the rule is made.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "job/status.h"
#include "team/chat.h"
#include "text/json.h"
#include "text/json_out.h"

struct notify_conf {
    struct job_where where;
    const char *webhook, *mail, *dingtalk, *feishu, *slack, *sign_secret_file;
    const char *state, *metric, *log, *above, *below;
    const char *job, *name, *project, *schedule, *label;
    double stall;
    int64_t limit;
    bool json;
};

static const struct opt create_opts[] = {
    {OPT_HEADING("Whom")},
    {OPT_TEXT(struct notify_conf, webhook, NULL, "POST to this URL"), .meta = "URL"},
    {OPT_TEXT(struct notify_conf, mail, NULL, "mail to this address"), .meta = "ADDRESS"},
    {OPT_TEXT(struct notify_conf, slack, NULL, "incoming webhook of Slack"),
     .meta = "URL"},
    {OPT_TEXT(struct notify_conf, dingtalk, NULL, "custom robot of DingTalk"),
     .meta = "URL"},
    {OPT_TEXT(struct notify_conf, feishu, NULL, "custom robot of Feishu or Lark"),
     .meta = "URL"},
    {OPT_TEXT(struct notify_conf, sign_secret_file, NULL,
              "file with the secret that the robot checks signatures with (DingTalk, "
              "Feishu)"),
     .meta = "FILE"},
    {OPT_HEADING("When (one of these)")},
    {OPT_TEXT(struct notify_conf, state, NULL,
              "the job enters one of these states: Failed,Succeeded"),
     .meta = "S,S"},
    {OPT_TEXT(struct notify_conf, metric, NULL, "this metric crosses a limit"),
     .meta = "NAME"},
    {OPT_TEXT(struct notify_conf, above, NULL, "limit of --metric"), .meta = "X"},
    {OPT_TEXT(struct notify_conf, below, NULL, "limit of --metric"), .meta = "X"},
    {OPT_TEXT(struct notify_conf, log, NULL, "a log line matches this pattern (PCRE2)"),
     .meta = "REGEX"},
    {OPT_DURATION(struct notify_conf, stall, "0", 0, 31536000,
                  "a running job has printed nothing for this long")},
    {OPT_HEADING("For which jobs (default: all of your own)")},
    {OPT_TEXT(struct notify_conf, job, NULL, "this one"), .meta = "ID"},
    {OPT_TEXT(struct notify_conf, name, NULL, "jobs whose name contains TEXT"),
     .meta = "TEXT"},
    {OPT_TEXT(struct notify_conf, project, NULL, "all jobs of this project"),
     .meta = "P"},
    {OPT_TEXT(struct notify_conf, schedule, NULL, "jobs of this schedule"),
     .meta = "NAME"},
    {OPT_TEXT(struct notify_conf, label, NULL, "jobs with this label"),
     .meta = "KEY=VALUE"},
    {OPT_HEADING("Answer")},
    {OPT_BOOL(struct notify_conf, json, "false", "print one JSON object")},
    JOB_SERVER_OPT(struct notify_conf),
    JOB_WHERE_OPTS(struct notify_conf),
    {0},
};

static const struct opt list_opts[] = {
    {OPT_BOOL(struct notify_conf, json, "false", "print a JSON list")},
    JOB_SERVER_OPT(struct notify_conf),
    JOB_WHERE_OPTS(struct notify_conf),
    {0},
};

static const struct opt log_opts[] = {
    {OPT_INT(struct notify_conf, limit, "50", 1, STORE_ROWS_MAX,
             "at most N, newest first")},
    {OPT_BOOL(struct notify_conf, json, "false", "print a JSON list")},
    JOB_SERVER_OPT(struct notify_conf),
    JOB_WHERE_OPTS(struct notify_conf),
    {0},
};

static const struct opt plain_opts[] = {
    JOB_SERVER_OPT(struct notify_conf),
    JOB_WHERE_OPTS(struct notify_conf),
    {0},
};

static bool given(const char *text)
{
    return text && *text;
}

static enum rc put_states(const char *list, struct json_out *j)
{
    struct str rest = str_c(list), part;
    json_open(j, "states", '[');
    while (str_split(&rest, ',', &part)) {
        char *word = mem_strndup(part.p, part.n);
        json_put_str(j, NULL, word);
        mem_free(word);
    }
    json_close(j, ']');
    return RC_OK;
}

static enum rc put_bound(struct json_out *j, const char *key, const char *text,
                         struct err *err)
{
    double v;
    if (!given(text))
        return RC_OK;
    if (!str_to_f64(str_c(text), &v))
        return err_coded(err, RC_INVAL, E5301, "--%s: '%.60s' is not a number", key,
                         text);
    json_put_num(j, key, v);
    return RC_OK;
}

static enum rc put_when(const struct notify_conf *c, struct json_out *j, struct err *err)
{
    int n = given(c->state) + given(c->metric) + given(c->log) + (c->stall > 0);
    enum rc rc = RC_OK;
    if (n != 1)
        return err_coded(err, RC_INVAL, E5301,
                         "use one of --state, --metric, --log, --stall");
    if (!given(c->metric) && (given(c->above) || given(c->below)))
        return err_coded(err, RC_INVAL, E5301, "--above and --below are for --metric");
    if (given(c->state)) {
        json_put_str(j, "on", "state");
        rc = put_states(c->state, j);
    } else if (given(c->metric)) {
        json_put_str(j, "on", "metric");
        json_put_str(j, "metric", c->metric);
        rc = put_bound(j, "above", c->above, err);
        if (!rc)
            rc = put_bound(j, "below", c->below, err);
    } else if (given(c->log)) {
        json_put_str(j, "on", "log");
        json_put_str(j, "pattern", c->log);
    } else {
        json_put_str(j, "on", "stall");
        json_put_int(j, "after_s", (int64_t)c->stall);
    }
    return rc;
}

static enum rc put_condition(const struct notify_conf *c, struct buf *out,
                             struct err *err)
{
    const struct {
        const char *key, *value;
    } scope[] = {{"job", c->job},
                 {"name", c->name},
                 {"project", c->project},
                 {"schedule", c->schedule},
                 {"label", c->label}};
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    enum rc rc = put_when(c, &j, err);
    for (size_t i = 0; i < ARRAY_LEN(scope); i++)
        if (given(scope[i].value))
            json_put_str(&j, scope[i].key, scope[i].value);
    json_close(&j, '}');
    return rc;
}

static void put_rule(const struct store_rule *r, const char *secret, struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "id", r->id);
    json_put_str(&j, "owner", r->owner);
    json_put_str(&j, "kind", r->kind);
    char *target = team_chat_shown(r->target);
    json_put_str(&j, "target", target);
    mem_free(target);
    json_put_raw(&j, "condition", r->condition);
    json_put_time(&j, "created", r->created);
    if (r->muted && *r->muted)
        json_put_str(&j, "muted", r->muted);
    if (secret)
        json_put_str(&j, "secret", secret);
    json_close(&j, '}');
}

/* Whom the rule tells: one of the flags; its secret goes behind the URL. */
static enum rc read_target(const struct notify_conf *c, struct arena *a,
                           struct store_rule *r, struct err *err)
{
    const struct {
        const char *kind, *target;
        bool signs;
    } all[] = {{"webhook", c->webhook, false},
               {"mail", c->mail, false},
               {"slack", c->slack, false},
               {"dingtalk", c->dingtalk, true},
               {"feishu", c->feishu, true}};
    int n = 0;
    bool signs = false;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (given(all[i].target)) {
            r->kind = all[i].kind;
            r->target = all[i].target;
            signs = all[i].signs;
            n++;
        }
    if (n != 1)
        return err_coded(err, RC_INVAL, E5301,
                         "use one of --webhook, --mail, --slack, --dingtalk, --feishu");
    if (!given(c->sign_secret_file))
        return RC_OK;
    if (!signs)
        return err_coded(err, RC_INVAL, E5301,
                         "--sign-secret-file is for --dingtalk and --feishu");
    char *text = NULL;
    size_t size = 0;
    enum rc rc = fs_read(c->sign_secret_file, 4096, &text, &size, err);
    if (!rc) {
        struct str secret = str_trim(str_of(text, size));
        r->target = arena_printf(a, "%s#secret=%.*s", r->target, (int)secret.n, secret.p);
        explicit_bzero(text, size);
    }
    mem_free(text);
    return rc;
}

static enum rc create_rule(const struct notify_conf *c, const struct cmd_place *p,
                           const char *condition, struct err *err)
{
    bool web = given(c->webhook);
    struct store_rule r = {.condition = condition};
    struct arena a = {0};
    struct buf out;
    char secret[DELIVER_SECRET_SIZE] = "";
    enum rc rc = read_target(c, &a, &r, err);
    if (!rc)
        rc = p->ops->team->rule_create(p, &r, secret, &a, err);
    buf_init(&out, CMD_TEXT_MAX);
    if (!rc && c->json)
        put_rule(&r, web ? secret : NULL, &out);
    else if (!rc)
        buf_puts(&out, r.id);
    buf_putc(&out, '\n');
    if (!rc && web && !c->json)
        fprintf(stderr, "messages are signed with the secret %s\n", secret);
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    arena_release(&a);
    return rc;
}

static enum rc notify_create_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    const struct notify_conf *c = conf;
    struct cmd_place p;
    struct buf condition;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&condition, 1 << 16);
    rc = put_condition(c, &condition, err);
    if (!rc)
        rc = create_rule(c, &p, buf_str(&condition), err);
    buf_release(&condition);
    cmd_place_close(&p);
    return rc;
}

static enum rc notify_list_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct notify_conf *c = conf;
    struct cmd_place p;
    struct store_rules l = {0};
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.ops->team->rule_list(&p, &l, err);
    buf_puts(&out, c->json ? "[" : "");
    for (size_t i = 0; i < l.n && !rc; i++) {
        buf_puts(&out, c->json && i ? ",\n" : "");
        if (c->json) {
            put_rule(&l.at[i], NULL, &out);
            continue;
        }
        buf_printf(&out, "%s  %-7s  ", l.at[i].id, l.at[i].kind);
        char *target = team_chat_shown(l.at[i].target);
        job_quote_terminal(str_c(target), &out);
        mem_free(target);
        buf_puts(&out, "  ");
        job_quote_terminal(str_c(l.at[i].condition), &out);
        if (l.at[i].muted && *l.at[i].muted) {
            buf_puts(&out, "  muted: ");
            job_quote_terminal(str_c(l.at[i].muted), &out);
        }
        buf_putc(&out, '\n');
    }
    buf_puts(&out, c->json ? "]\n" : "");
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_rules_release(&l);
    cmd_place_close(&p);
    return rc;
}

static void put_delivery(const struct store_delivery *d, bool json, struct buf *out)
{
    struct json_out j = {.out = out};
    char time[CLOCK_TEXT_SIZE];
    if (json) {
        json_open(&j, NULL, '{');
        json_put_str(&j, "id", d->key);
        json_put_str(&j, "rule", d->rule);
        json_put_str(&j, "job", d->job);
        json_put_str(&j, "state", d->state);
        json_put_int(&j, "tries", d->tries);
        json_put_time(&j, "created", d->created);
        json_put_str(&j, "message", d->message);
        json_put_raw(&j, "payload", d->payload);
        json_close(&j, '}');
        return;
    }
    clock_rfc3339(d->created, time);
    buf_printf(out, "%s  %s  %s  %-7s  %2jd  ", time, d->rule, d->job, d->state,
               (intmax_t)d->tries);
    job_quote_terminal(str_c(d->message), out);
    buf_putc(out, '\n');
}

static enum rc notify_log_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct notify_conf *c = conf;
    struct cmd_place p;
    struct store_deliveries l = {0};
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.ops->team->deliveries(&p, args->n ? args->at[0] : NULL, (size_t)c->limit, &l,
                                 err);
    buf_puts(&out, c->json ? "[" : "");
    for (size_t i = 0; i < l.n && !rc; i++) {
        buf_puts(&out, c->json && i ? ",\n" : "");
        put_delivery(&l.at[i], c->json, &out);
    }
    buf_puts(&out, c->json ? "]\n" : "");
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_deliveries_release(&l);
    cmd_place_close(&p);
    return rc;
}

static enum rc notify_delete_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    const struct notify_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = p.ops->team->rule_delete(&p, args->at[0], err);
    if (rc == RC_NOTFOUND)
        rc = err_coded(err, rc, E5304, "no rule '%.64s'", args->at[0]);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example create_examples[] = {
    {"when one of your jobs fails",
     "trainyard notify create --webhook https://hooks.example.com/T1 --state Failed"},
    {"when a nightly model gets worse",
     "trainyard notify create --mail me@x.org --metric auc --below 0.7 --schedule nightly"},
    {"into a group of DingTalk whose robot checks signatures",
     "trainyard notify create --dingtalk https://oapi.dingtalk.com/robot/send?access_token=T "
     "--sign-secret-file robot.secret --state Failed"},
    {"when a job of the project is silent for half an hour",
     "trainyard notify create --mail me@example.com --stall 30m --project ads"},
    {0},
};

const struct cmd cmd_notify_create = {
    .name = "notify create",
    .summary = "create a notification rule",
    .description =
        "Prints the id of the rule. A server, or `trainyard schedule due --loop`, "
        "watches jobs and sends notifications. Webhooks are limited to hosts listed in "
        "TRAINYARD_NOTIFY_ALLOW; mail is sent by the program in "
        "TRAINYARD_MAIL_COMMAND. See docs/notifications.md.",
    .examples = create_examples,
    .opts = create_opts,
    .conf_size = sizeof(struct notify_conf),
    .run = notify_create_command,
};

static const struct cmd_example list_examples[] = {
    {"all rules", "trainyard notify list"},
    {0},
};

const struct cmd cmd_notify_list = {
    .name = "notify list",
    .summary = "list notification rules",
    .examples = list_examples,
    .opts = list_opts,
    .conf_size = sizeof(struct notify_conf),
    .run = notify_list_command,
};

static const struct cmd_example log_examples[] = {
    {"what was sent and what failed", "trainyard notify log"},
    {0},
};

const struct cmd cmd_notify_log = {
    .name = "notify log",
    .args = "[RULE]",
    .summary = "show the delivery log of notifications",
    .examples = log_examples,
    .opts = log_opts,
    .conf_size = sizeof(struct notify_conf),
    .max_args = 1,
    .run = notify_log_command,
};

static const struct cmd_example delete_examples[] = {
    {"delete a rule", "trainyard notify delete nr-0123456789ab"},
    {0},
};

const struct cmd cmd_notify_delete = {
    .name = "notify delete",
    .args = "ID",
    .summary = "delete a rule and its unsent notifications",
    .examples = delete_examples,
    .opts = plain_opts,
    .conf_size = sizeof(struct notify_conf),
    .min_args = 1,
    .max_args = 1,
    .run = notify_delete_command,
};
