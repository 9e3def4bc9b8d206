/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of notifications, and what became of their messages. A rule belongs to whoever
 * made it; admins see all of them, but the target is shown to the owner alone, since the
 * URL of a webhook often is a secret. team/deliver.c checks and stores a rule; the key
 * that signs its messages is derived from the server's key and the rule's id, so it is
 * not kept, and is told once. Sending is not done here: deliveries are only listed.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/status.h"
#include "store/notify.h"
#include "team/chat.h"
#include "team/deliver.h"
#include "team/mail.h"
#include "team/standing.h"
#include "text/json.h"

static bool rules_seen(const struct http_call *c, const struct store_rule *r)
{
    return c->who.role == ROLE_ADMIN || strcmp(r->owner, c->who.name) == 0;
}

static void put_rule(struct http_call *c, const struct store_rule *r, const char *secret)
{
    struct json_out *j = &c->json;
    json_open(j, NULL, '{');
    json_put_str(j, "id", r->id);
    json_put_str(j, "owner", r->owner);
    json_put_str(j, "kind", r->kind);
    /* A webhook's URL is often a secret by itself: it is its owner's alone. */
    if (strcmp(r->owner, c->who.name) == 0) {
        char *target = team_chat_shown(r->target);
        json_put_str(j, "target", target);
        mem_free(target);
    }
    json_put_raw(j, "condition", r->condition);
    json_put_time(j, "created", r->created);
    if (r->muted && *r->muted)
        json_put_str(j, "muted", r->muted);
    if (secret)
        json_put_str(j, "secret", secret);
    json_close(j, '}');
}

/* params[0], if the caller may see it. */
static enum rc rules_find(struct http_call *c, struct store_rules *out, struct err *err)
{
    struct store_rules l = {0};
    enum rc rc = store_rule_get(c->place.store, c->params[0], NULL, &l, err);
    if (!rc && (!l.n || !rules_seen(c, &l.at[0])))
        rc = RC_NOTFOUND;
    if (!rc) {
        *out = l;
        return RC_OK;
    }
    store_rules_release(&l);
    if (rc == RC_NOTFOUND)
        rc = err_coded(err, rc, E5304, "no rule '%.64s'", c->params[0]);
    return rc;
}

/* With what keeps their owners from being told. */
static enum rc put_rules(struct http_call *c, struct store_rules *l, struct err *err)
{
    struct team_standing people;
    enum rc rc = team_standing_open(c->place.store, c->place.account, &people, err);
    if (!rc)
        team_standing_rules(&people, l);
    for (size_t i = 0; i < l->n && !rc; i++)
        if (rules_seen(c, &l->at[i]))
            put_rule(c, &l->at[i], NULL);
    team_standing_close(&people);
    return rc;
}

enum rc http_list_rules(struct http_call *c, struct err *err)
{
    struct store_rules l = {0};
    enum rc rc = store_rule_get(c->place.store, NULL, NULL, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "rules", '[');
    rc = put_rules(c, &l, err);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_rules_release(&l);
    return rc;
}

enum rc http_get_rule(struct http_call *c, struct err *err)
{
    struct store_rules l = {0};
    enum rc rc = rules_find(c, &l, err);
    if (!rc)
        rc = put_rules(c, &l, err);
    store_rules_release(&l);
    return rc;
}

static enum rc write_rule(struct http_call *c, struct store_rule *r, struct err *err)
{
    struct team_deliver_conf conf = {.allow = c->api->allow, .key = c->api->notify_key};
    char secret[DELIVER_SECRET_SIZE];
    enum rc rc = team_deliver_rule_create(c->place.store, &conf, r, err);
    if (rc)
        return rc;
    team_deliver_secret(&conf, r->id, secret);
    c->location = arena_printf(&c->arena, "/api/v1/rules/%s", r->id);
    put_rule(c, r, strcmp(r->kind, "webhook") == 0 ? secret : NULL);
    mem_free((char *)(uintptr_t)r->id);
    return RC_OK;
}

static const char *const kinds[] = {
    "webhook",
    "mail",
#define CHAT(name, ...) #name,
#include "team/chats.def"
#undef CHAT
};

enum rc http_create_rule(struct http_call *c, struct err *err)
{
    const struct node *condition = node_find(c->body, "condition");
    const char *project = node_get_text(condition, "project", "");
    const char *kind = NULL, *target = NULL;
    int n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const char *given = http_schema_text(c->body, kinds[i], "");
        n += *given != '\0';
        kind = *given ? kinds[i] : kind;
        target = *given ? given : target;
    }
    if (n != 1)
        return err_coded(err, RC_INVAL, E5301,
                         "give one of 'webhook', 'mail', 'dingtalk', 'feishu', 'slack'");
    if (strcmp(kind, "mail") == 0 && !c->api->o.mail && !team_mail_check(target))
        return err_coded(err, RC_INVAL, E5305,
                         "this server sends no mail: TRAINYARD_MAIL_COMMAND is not set");
    if (*project && !http_call_in_project(c, project))
        return http_call_forbid(c, err, "'project': you are not a member of '%.100s'",
                                project);
    struct buf text;
    buf_init(&text, 1 << 16);
    json_print(condition, 0, &text);
    enum rc rc = buf_check(&text, err);
    if (!rc) {
        struct store_rule r = {.owner = c->who.name,
                               .kind = kind,
                               .target = target,
                               .condition = buf_str(&text),
                               .created = clock_wall_ns()};
        rc = write_rule(c, &r, err);
    }
    buf_release(&text);
    return rc;
}

enum rc http_delete_rule(struct http_call *c, struct err *err)
{
    struct store_rules l = {0};
    enum rc rc = rules_find(c, &l, err);
    store_rules_release(&l);
    return rc ? rc : store_rule_delete(c->place.store, c->params[0], err);
}

static void put_delivery(struct json_out *j, const struct store_delivery *d)
{
    json_open(j, NULL, '{');
    json_put_str(j, "id", d->key);
    json_put_str(j, "rule", d->rule);
    json_put_str(j, "job", d->job);
    json_put_str(j, "state", d->state);
    json_put_int(j, "tries", d->tries);
    json_put_str(j, "message", d->message);
    json_put_time(j, "created", d->created);
    if (strcmp(d->state, "pending") == 0)
        json_put_time(j, "due", d->due);
    json_put_raw(j, "payload", d->payload);
    json_close(j, '}');
}

static void put_deliveries(struct http_call *c, struct store_deliveries *l)
{
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "deliveries", '[');
    for (size_t i = 0; i < l->n; i++)
        put_delivery(&c->json, &l->at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_deliveries_release(l);
}

enum rc http_list_deliveries(struct http_call *c, struct err *err)
{
    struct store_rules rules = {0};
    struct store_deliveries l = {0};
    enum rc rc = rules_find(c, &rules, err);
    store_rules_release(&rules);
    if (!rc)
        rc = store_delivery_list(c->place.store, c->params[0],
                                 (size_t)http_schema_int(c->query, "limit", 50), &l, err);
    if (!rc)
        put_deliveries(c, &l);
    return rc;
}

enum rc http_list_all_deliveries(struct http_call *c, struct err *err)
{
    struct store *s = c->place.store;
    struct store_deliveries l = {0};
    size_t limit = (size_t)http_schema_int(c->query, "limit", 50);
    enum rc rc = c->who.role == ROLE_ADMIN
                     ? store_delivery_list(s, NULL, limit, &l, err)
                     : store_delivery_list_of(s, c->who.name, limit, &l, err);
    if (!rc)
        put_deliveries(c, &l);
    return rc;
}
