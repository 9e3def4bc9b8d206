/* SPDX-License-Identifier: Apache-2.0 */
/* A delivery is due at a time; a try that fails moves that time by a pause that doubles. A
 * try is written down before the next is made, and the message keeps its key, so that who
 * receives it twice can see that. Secrets of webhooks are not stored: they are made from the
 * directory's key and the rule's id.
 */
#include "team/deliver.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/digest.h"
#include "job/state.h"
#include "job/status.h"
#include "store/leases.h"
#include "store/schedules.h"
#include "team/chat.h"
#include "team/mail.h"
#include "team/rule.h"
#include "team/standing.h"
#include "team/webhook.h"

#define LOG_AREA "notify"
#define AT_ONCE 50
#define FIRST_NS (10 * CLOCK_SECOND)
#define LONGEST_NS (3600 * CLOCK_SECOND)
#define KEY_FILE "notify.key"
#define RULES_MAX 200 /* of one user */

int64_t team_deliver_pause(int64_t tries)
{
    int64_t pause = FIRST_NS;
    for (int64_t i = 1; i < tries && pause < LONGEST_NS; i++)
        pause *= 2;
    return pause < LONGEST_NS ? pause : LONGEST_NS;
}

void team_deliver_secret(const struct team_deliver_conf *c, const char *rule,
                         char out[DELIVER_SECRET_SIZE])
{
    unsigned char mac[DIGEST_SHA256];
    digest_hmac_sha256(c->key, strlen(c->key), str_c(rule), mac);
    digest_hex(mac, sizeof(mac), out);
}

static enum rc send_webhook(const struct team_deliver_conf *c, const struct store_rule *r,
                            const struct store_delivery *d, int64_t now, struct err *err)
{
    char secret[DELIVER_SECRET_SIZE];
    struct team_webhook_conf conf = {
        .allow = c->allow, .redirects = c->redirects, .timeout_ms = c->timeout_ms};
    struct team_webhook_message m = {.url = r->target,
                                     .key = d->key,
                                     .body = d->payload,
                                     .secret = c->key ? secret : NULL,
                                     .time = now / CLOCK_SECOND};
    if (c->key)
        team_deliver_secret(c, r->id, secret);
    return team_webhook_send(&conf, &m, err);
}

static enum rc judge_chat(const void *arg, const char *answer, struct err *err)
{
    return team_chat_judge(arg, answer, err);
}

/* In the form of the service, signed as it wants it. */
static enum rc send_chat(const struct team_deliver_conf *c, const struct team_chat *chat,
                         const struct store_rule *r, const struct store_delivery *d,
                         int64_t now, struct err *err)
{
    struct team_chat_message made;
    struct team_webhook_conf conf = {
        .allow = c->allow, .redirects = c->redirects, .timeout_ms = c->timeout_ms};
    team_chat_make(chat, r->target, d->payload, now, &made);
    struct team_webhook_message m = {.url = made.url,
                                     .key = d->key,
                                     .body = made.body,
                                     .time = now / CLOCK_SECOND,
                                     .judge = judge_chat,
                                     .arg = chat};
    enum rc rc = team_webhook_send(&conf, &m, err);
    team_chat_release(&made);
    return rc;
}

static enum rc send_mail(const struct team_deliver_conf *c, const struct store_rule *r,
                         const struct store_delivery *d, struct err *err)
{
    struct doc doc = {0};
    const struct node *map = job_json_open(d->payload, &doc);
    const char *text = node_get_text(map, "text", "");
    struct team_mail_message m = {
        .to = r->target, .subject = text, .text = text, .key = d->key};
    enum rc rc = team_mail_send(c->mail_command, &m, err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

/* How a try went, as it is written down. */
static void note(struct store_delivery *d, enum rc rc, const char *message, int64_t now)
{
    d->tries++;
    d->message = rc ? message : "";
    if (!rc)
        d->state = "sent";
    else if (rc == RC_INVAL || d->tries >= DELIVER_TRIES)
        d->state = "failed";
    else
        d->due = now + team_deliver_pause(d->tries);
}

struct sending {
    struct store *s;
    const struct team_deliver_conf *c;
    struct team_standing people;
    int64_t now;
};

static enum rc deliver_one(struct sending *x, struct store_delivery *d, int64_t *sent,
                           struct err *err)
{
    struct store *s = x->s;
    const struct team_deliver_conf *c = x->c;
    int64_t now = x->now;
    struct store_rules l = {0};
    struct err why = {0};
    enum rc rc = store_rule_get(s, d->rule, NULL, &l, err);
    if (rc && rc != RC_NOTFOUND)
        return rc;
    team_standing_rules(&x->people, &l);
    if (rc || !l.n)
        rc = err_set(&why, RC_INVAL, "the rule was removed");
    else if (l.at[0].muted) /* who was let go in between is told nothing more */
        rc = err_set(&why, RC_INVAL, "muted: %s", l.at[0].muted);
    else if (strcmp(l.at[0].kind, "mail") == 0)
        rc = send_mail(c, &l.at[0], d, &why);
    else if (team_chat_find(l.at[0].kind))
        rc = send_chat(c, team_chat_find(l.at[0].kind), &l.at[0], d, now, &why);
    else
        rc = send_webhook(c, &l.at[0], d, now, &why);
    note(d, rc, why.msg, now);
    *sent += rc == RC_OK;
    if (rc)
        log_warn("notification of rule %s: %s", d->rule, why.msg);
    store_rules_release(&l);
    rc = store_fence_begin(s, err);
    if (rc)
        return rc;
    rc = store_delivery_update(s, d, err);
    return store_fence_end(s, rc, err);
}

enum rc team_deliver_due(struct store *s, const struct team_deliver_conf *c, int64_t now,
                         int64_t *sent, struct err *err)
{
    struct store_deliveries l = {0};
    struct sending x = {.s = s, .c = c, .now = now};
    enum rc rc = store_delivery_due(s, now, AT_ONCE, &l, err);
    *sent = 0;
    if (!rc && l.n)
        rc = team_standing_open(s, c->account, &x.people, err);
    for (size_t i = 0; i < l.n && !rc; i++) {
        if (c->may && !c->may(c->arg))
            break;
        rc = deliver_one(&x, &l.at[i], sent, err);
    }
    team_standing_close(&x.people);
    store_deliveries_release(&l);
    return rc;
}

static enum rc check_target(const struct team_deliver_conf *c, const struct store_rule *r,
                            struct err *err)
{
    if (strcmp(r->kind, "webhook") == 0 || team_chat_find(r->kind))
        return team_webhook_check(c->allow, r->target, err);
    if (strcmp(r->kind, "mail") != 0)
        return err_coded(
            err, RC_INVAL, E5301,
            "rule: '%.60s' is not webhook, mail or a chat service (" TEAM_CHAT_WORDS ")",
            r->kind);
    const char *wrong = team_mail_check(r->target);
    if (wrong)
        return err_coded(err, RC_INVAL, E5301, "mail '%.100s': %s", r->target, wrong);
    return RC_OK;
}

static enum rc check_number(struct store *s, const char *owner, struct err *err)
{
    struct store_rules l = {0};
    enum rc rc = store_rule_get(s, NULL, owner, &l, err);
    if (!rc && l.n >= RULES_MAX)
        rc = err_coded(err, RC_INVAL, E5301, "'%.100s' has %zu rules already, the most",
                       owner, l.n);
    store_rules_release(&l);
    return rc;
}

/* One answer for what is not there and what is somebody else's. */
static enum rc never(struct err *err, const char *what, const char *name)
{
    return err_coded(err, RC_INVAL, E5301,
                     "rule: it would never come true: no %s '%.100s' whose jobs it is "
                     "about, yours or those of its project",
                     what, name);
}

static enum rc check_job(struct store *s, const struct team_rule *r, struct err *err)
{
    struct store_jobs l = {0};
    enum job_state state;
    if (!r->job)
        return RC_OK;
    enum rc rc = store_get(s, r->job, &l, err);
    if (rc == RC_NOTFOUND || (!rc && !team_rule_is_about(r, &l.at[0])))
        rc = never(err, "job", r->job);
    else if (!rc && job_state_find(l.at[0].state, &state) && job_state_ended(state))
        rc = err_coded(err, RC_INVAL, E5301,
                       "rule: it would never come true: job %s has ended", r->job);
    store_jobs_release(&l);
    return rc;
}

static enum rc check_schedule(struct store *s, const struct team_rule *r, struct err *err)
{
    struct store_schedules l = {0};
    if (!r->schedule)
        return RC_OK;
    enum rc rc = store_schedule_get(s, r->schedule, &l, err);
    bool about = !rc && (r->project ? strcmp(l.at[0].project, r->project) == 0
                                    : strcmp(l.at[0].owner, r->row->owner) == 0);
    if (rc == RC_NOTFOUND || (!rc && !about))
        rc = never(err, "schedule", r->schedule);
    store_schedules_release(&l);
    return rc;
}

enum rc team_deliver_rule_create(struct store *s, const struct team_deliver_conf *c,
                                 struct store_rule *r, struct err *err)
{
    struct team_rule parsed;
    char id[JOB_ID_SIZE];
    enum rc rc = check_target(c, r, err);
    if (!rc)
        rc = team_rule_open(r, &parsed, err);
    if (rc)
        return rc;
    rc = team_rule_check(&parsed, err);
    if (!rc)
        rc = check_job(s, &parsed, err);
    if (!rc)
        rc = check_schedule(s, &parsed, err);
    team_rule_close(&parsed);
    if (!rc)
        rc = check_number(s, r->owner, err);
    if (!rc)
        rc = job_id_new(id, err);
    if (rc)
        return rc;
    char *own = mem_printf("nr-%s", id + 3);
    r->id = own;
    rc = store_rule_create(s, r, err);
    if (rc) {
        r->id = NULL;
        mem_free(own);
    }
    return rc;
}

static enum rc make_key(const char *path, struct err *err)
{
    unsigned char random[32];
    char hex[2 * sizeof(random) + 2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return err_set(err, RC_IO, "no random numbers");
    digest_hex(random, sizeof(random), hex);
    return fs_write(path, hex, 2 * sizeof(random), 0600, err);
}

enum rc team_deliver_key(const char *dir, char **out, struct err *err)
{
    char *path = fs_join(dir, KEY_FILE), *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, 4096, &text, &n, err);
    if (rc == RC_NOTFOUND) {
        rc = make_key(path, err);
        if (!rc)
            rc = fs_read(path, 4096, &text, &n, err);
    }
    if (!rc) {
        struct str key = str_trim(str_of(text, n));
        if (key.n < 16)
            rc = err_coded(err, RC_FORMAT, E5301, "'%s' holds no key", path);
        else
            *out = mem_strndup(key.p, key.n);
    }
    mem_free(text);
    mem_free(path);
    return rc;
}
