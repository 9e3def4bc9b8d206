/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications, and quotas of users. */
#include "http/schemas_private.h"
#include "team/chat.h"

static const struct http_schema_item Rule_items[] = {
    ITEM(id, STRING, "its name", MUST),
    ITEM(owner, STRING, "user who made it", MUST),
    ITEM(kind, STRING, "how it tells", .words = "webhook|mail|" TEAM_CHAT_WORDS, MUST),
    ITEM(target, STRING, "URL or address; shown to its owner alone"),
    ITEM(condition, OBJECT, "when, and of which jobs", MUST),
    ITEM(created, TIME, "when"),
    ITEM(muted, STRING, "why its owner is told nothing; absent: is told"),
    ITEM(secret, STRING, "its messages are signed with it; told once"),
    {0}};
TABLE(Rule, "when somebody is told about a job");

static const struct http_schema_item RuleList_items[] = {
    ITEM(rules, LIST, "by age", .of = &http_schema_Rule, MUST), {0}};
TABLE(RuleList, "rules visible to you");

#define CHAT_URL(name, title)                                                    \
    ITEM(name, STRING,                                                           \
         "URL of a robot of " title "; #secret=TEXT at its end: what it checks " \
         "signatures with",                                                      \
         .min = 1, .max = 2000)

static const struct http_schema_item RuleNew_items[] = {
    ITEM(webhook, STRING, "URL to POST to; its host must be allowed", .min = 1,
         .max = 2000),
    ITEM(mail, STRING, "address to write to", .min = 1, .max = 254),
    CHAT_URL(dingtalk, "DingTalk"),
    CHAT_URL(feishu, "Feishu or Lark"),
    CHAT_URL(slack, "Slack"),
    ITEM(condition, OBJECT,
         "on: state (states), metric (metric, above, below), log (pattern) or stall "
         "(after_s); and job, name, project, schedule, label",
         MUST),
    {0}};
TABLE(RuleNew, "a new rule: one of webhook, mail, dingtalk, feishu and slack");

static const struct http_schema_item Delivery_items[] = {
    ITEM(id, STRING, "the same for every try", MUST),
    ITEM(rule, STRING, "that it comes from", MUST),
    ITEM(job, STRING, "that it is about", MUST),
    ITEM(state, STRING, "pending, sent or failed", MUST),
    ITEM(tries, INT, "so far", MUST),
    ITEM(message, STRING, "of the last failure", MUST),
    ITEM(created, TIME, "when it was noticed"),
    ITEM(due, TIME, "the next try"),
    ITEM(payload, OBJECT, "what is told", MUST),
    {0}};
TABLE(Delivery, "a message and what became of it");

static const struct http_schema_item DeliveryList_items[] = {
    ITEM(deliveries, LIST, "the latest first", .of = &http_schema_Delivery, MUST), {0}};
TABLE(DeliveryList, "messages of rules");

static const struct http_schema_item DeliveryQuery_items[] = {LIMIT(1000), {0}};
TABLE(DeliveryQuery, "how many");

static const struct http_schema_item Quota_items[] = {
    ITEM(user, STRING, "whose; *: of every user who has none of their own", MUST),
    QUOTA_HELD,
    {0}};
TABLE(Quota, "quota of a user");

static const struct http_schema_item QuotaList_items[] = {
    ITEM(quotas, LIST, "by name", .of = &http_schema_Quota, MUST), {0}};
TABLE(QuotaList, "quotas of users");
