/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules, quotas, rules and use at a server: its answers become the rows that the store
 * of this machine would have given. Which field of an answer goes where is a table per
 * kind of row.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/team_ops.h"
#include "job/status.h"
#include "team/fire.h"
#include "text/json.h"

/* `name`, escaped, between two parts of a path. The caller's. */
static char *path_of(const char *before, const char *name, const char *behind)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_puts(&b, before);
    io_http_escape(&b, str_c(name), false);
    buf_puts(&b, behind);
    char *path = buf_take(&b);
    buf_release(&b);
    return path;
}

/* One request; `path` is below /api/v1 and is freed, `body` is JSON or NULL. *doc may be
 * NULL; else release it when doc->src is set.
 */
static enum rc ask_server(const struct cmd_place *p, const char *method, char *path,
                          const char *body, struct doc *doc, struct err *err)
{
    char *full = mem_printf("/api/v1%s", path);
    struct remote_ask q = {.method = method,
                           .path = full,
                           .type = body ? "application/json" : NULL,
                           .body = body,
                           .n = body ? strlen(body) : 0};
    enum rc rc = remote_call(&p->remote, &q, doc, NULL, err);
    mem_free(full);
    mem_free(path);
    return rc;
}

/* The fields of a row: where each stands in the answer. */
enum kind { TEXT, NUMBER, TIME, RAW };
struct field {
    const char *name;
    enum kind kind;
    size_t at;
};
#define TEXT_AT(T, f)            \
    {                            \
#f, TEXT, offsetof(T, f) \
    }
#define NUMBER_AT(T, f)            \
    {                              \
#f, NUMBER, offsetof(T, f) \
    }
#define TIME_AT(T, f)            \
    {                            \
#f, TIME, offsetof(T, f) \
    }
#define RAW_AT(T, name, f)        \
    {                             \
        name, RAW, offsetof(T, f) \
    }

static const char *json_text_of(const struct node *n, struct arena *a)
{
    struct buf b;
    if (!n)
        return "{}";
    buf_init(&b, (size_t)64 << 20);
    json_print(n, 0, &b);
    const char *text = arena_strdup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static void take_fields(const struct node *n, const struct field *fields, size_t n_fields,
                        struct arena *a, void *row)
{
    for (size_t i = 0; i < n_fields; i++) {
        const struct field *f = &fields[i];
        void *to = (char *)row + f->at;
        int64_t ns = 0;
        switch (f->kind) {
        case TEXT:
            *(const char **)to = arena_strdup(a, node_get_text(n, f->name, ""));
            break;
        case NUMBER:
            *(int64_t *)to = node_get_int(n, f->name, 0);
            break;
        case TIME:
            if (!clock_from_rfc3339(str_c(node_get_text(n, f->name, "")), &ns))
                ns = 0;
            *(int64_t *)to = ns;
            break;
        case RAW:
            *(const char **)to = json_text_of(node_find(n, f->name), a);
            break;
        }
    }
}

/* The shape of every list of rows of the store. */
struct rows {
    struct arena arena;
    void *at;
    size_t n;
};

/* All elements of `list`, or `list` itself when it is one object. */
static enum rc take_all(const struct node *list, const struct field *fields,
                        size_t n_fields, size_t size, void *out, struct err *err)
{
    struct rows *rows = out;
    size_t n = !list ? 0 : list->kind == NODE_LIST ? list->list.n : 1;
    memset(rows, 0, sizeof(*rows));
    rows->at = arena_try_alloc(&rows->arena, n + 1, size);
    if (!rows->at)
        return err_set(err, RC_NOMEM, "out of memory for %zu rows", n);
    memset(rows->at, 0, (n + 1) * size);
    for (size_t i = 0; i < n; i++)
        take_fields(list->kind == NODE_LIST ? list->list.at[i] : list, fields, n_fields,
                    &rows->arena, (char *)rows->at + i * size);
    rows->n = n;
    return RC_OK;
}

static const struct field schedule_fields[] = {
    TEXT_AT(struct store_schedule, name),
    TEXT_AT(struct store_schedule, owner),
    TEXT_AT(struct store_schedule, project),
    TEXT_AT(struct store_schedule, cron),
    TEXT_AT(struct store_schedule, zone),
    RAW_AT(struct store_schedule, "job", spec),
    RAW_AT(struct store_schedule, "params", params),
    TIME_AT(struct store_schedule, created),
    TIME_AT(struct store_schedule, next),
    TEXT_AT(struct store_schedule, stopped),
    TEXT_AT(struct store_schedule, node),
};

static const struct field run_fields[] = {
    TIME_AT(struct store_run_row, planned),
    TIME_AT(struct store_run_row, fired),
    TEXT_AT(struct store_run_row, job),
};

/* Words that the store keeps as one text. */
static void join_schedule(const struct node *n, struct arena *a, struct store_schedule *x)
{
    const struct node *paused = node_find(n, "paused");
    x->paused = paused && paused->kind == NODE_BOOL && paused->flag;
    x->catch_up = arena_printf(a, "%s %s", node_get_text(n, "catch_up", "last"),
                               node_get_text(n, "overlap", "skip"));
}

static void join_run(const struct node *n, struct arena *a, struct store_run_row *r)
{
    const char *message = node_get_text(n, "message", "");
    r->outcome = arena_printf(a, "%s%s%s", node_get_text(n, "outcome", ""),
                              *message ? ": " : "", message);
}

static enum rc take_runs(const struct node *list, struct store_run_rows *out,
                         struct err *err)
{
    enum rc rc = take_all(list, run_fields, ARRAY_LEN(run_fields),
                          sizeof(struct store_run_row), out, err);
    for (size_t i = 0; i < out->n && !rc; i++)
        join_run(list->list.at[i], &out->arena, &out->at[i]);
    return rc;
}

static enum rc remote_schedule_get(const struct cmd_place *p, const char *name,
                                   struct store_schedules *out,
                                   struct store_run_rows *runs, size_t limit,
                                   struct err *err)
{
    struct doc doc = {0};
    char *path = name ? path_of("/schedules/", name, "") : mem_strdup("/schedules");
    enum rc rc = ask_server(p, "GET", path, NULL, &doc, err);
    const struct node *list = name ? doc.root : node_find(doc.root, "schedules");
    if (!rc)
        rc = take_all(list, schedule_fields, ARRAY_LEN(schedule_fields),
                      sizeof(struct store_schedule), out, err);
    for (size_t i = 0; !rc && i < out->n; i++)
        join_schedule(name ? list : list->list.at[i], &out->arena, &out->at[i]);
    const struct node *had = node_find(doc.root, "runs");
    if (!rc && runs && had && had->kind == NODE_LIST)
        rc = take_runs(had, runs, err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

/* What another text of "a b" is at a server. */
static const char *word_of(const char *text, size_t i, struct arena *a)
{
    struct str rest = str_c(text), word = {0};
    for (size_t k = 0; k <= i && str_split(&rest, ' ', &word); k++)
        ;
    return arena_strndup(a, word.p, word.n);
}

static void put_schedule(const struct store_schedule *x, struct arena *a, struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "name", x->name);
    json_put_str(&j, "cron", x->cron);
    /* A time zone of this machine means nothing there. */
    json_put_str(&j, "zone", strcmp(x->zone, "local") == 0 ? "UTC" : x->zone);
    json_put_str(&j, "catch_up", word_of(x->catch_up, 0, a));
    json_put_str(&j, "overlap", word_of(x->catch_up, 1, a));
    json_put_bool(&j, "paused", x->paused);
    json_put_raw(&j, "params", x->params);
    json_put_raw(&j, "job", x->spec);
    json_close(&j, '}');
}

static enum rc remote_schedule_create(const struct cmd_place *p, struct store_schedule *x,
                                      struct arena *a, struct err *err)
{
    struct buf body;
    struct store_schedules l = {0};
    buf_init(&body, (size_t)64 << 20);
    put_schedule(x, a, &body);
    enum rc rc = buf_check(&body, err);
    if (!rc)
        rc = ask_server(p, "POST", mem_strdup("/schedules"), buf_str(&body), NULL, err);
    if (body.p)
        explicit_bzero(body.p, body.n); /* it may hold secrets */
    buf_release(&body);
    if (!rc)
        rc = remote_schedule_get(p, x->name, &l, NULL, 0, err);
    if (!rc) {
        const struct store_schedule *kept = &l.at[0];
        *x = *kept;
        x->name = arena_strdup(a, kept->name);
        x->owner = arena_strdup(a, kept->owner);
        x->project = arena_strdup(a, kept->project);
        x->cron = arena_strdup(a, kept->cron);
        x->zone = arena_strdup(a, kept->zone);
        x->spec = arena_strdup(a, kept->spec);
        x->params = arena_strdup(a, kept->params);
        x->catch_up = arena_strdup(a, kept->catch_up);
        x->stopped = arena_strdup(a, kept->stopped);
        x->node = arena_strdup(a, kept->node);
    }
    store_schedules_release(&l);
    return rc;
}

static void put_change(struct json_out *j, const char *key, const char *text)
{
    if (text)
        json_put_str(j, key, text);
}

static enum rc remote_schedule_update(const struct cmd_place *p, const char *name,
                                      const struct team_schedule_change *x,
                                      struct err *err)
{
    struct buf body;
    buf_init(&body, (size_t)64 << 20);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    put_change(&j, "cron", x->cron);
    put_change(&j, "zone", x->zone && strcmp(x->zone, "local") == 0 ? "UTC" : x->zone);
    put_change(&j, "catch_up", x->catch_up);
    put_change(&j, "overlap", x->overlap);
    if (x->params)
        json_put_raw(&j, "params", x->params);
    if (x->spec)
        json_put_raw(&j, "job", x->spec);
    json_close(&j, '}');
    enum rc rc = buf_check(&body, err);
    if (!rc)
        rc = ask_server(p, "PATCH", path_of("/schedules/", name, ""), buf_str(&body),
                        NULL, err);
    if (body.p)
        explicit_bzero(body.p, body.n); /* it may hold secrets */
    buf_release(&body);
    return rc;
}

static enum rc remote_schedule_pause(const struct cmd_place *p, const char *name,
                                     bool pause, struct err *err)
{
    char *path = path_of("/schedules/", name, pause ? "/pause" : "/resume");
    return ask_server(p, "POST", path, NULL, NULL, err);
}

static enum rc remote_schedule_delete(const struct cmd_place *p, const char *name,
                                      struct err *err)
{
    return ask_server(p, "DELETE", path_of("/schedules/", name, ""), NULL, NULL, err);
}

static enum rc remote_schedule_run(const struct cmd_place *p, const char *name,
                                   int64_t at, char id[JOB_ID_SIZE], bool *existed,
                                   struct err *err)
{
    struct doc doc = {0};
    char time[CLOCK_TEXT_SIZE];
    clock_rfc3339(at, time);
    char *body = mem_printf("{\"planned\": \"%s\"}", time);
    enum rc rc =
        ask_server(p, "POST", path_of("/schedules/", name, "/run"), body, &doc, err);
    const struct node *was = node_find(doc.root, "existed");
    mem_free(body);
    if (!rc) {
        snprintf(id, JOB_ID_SIZE, "%s", node_get_text(doc.root, "job", ""));
        *existed = was && was->kind == NODE_BOOL && was->flag;
    }
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc ask_list(const struct cmd_place *p, char *path, const char *key,
                        const struct field *fields, size_t n_fields, size_t size,
                        void *out, struct err *err)
{
    struct doc doc = {0};
    enum rc rc = ask_server(p, "GET", path, NULL, &doc, err);
    if (!rc)
        rc = take_all(node_find(doc.root, key), fields, n_fields, size, out, err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static const struct field rule_fields[] = {
    TEXT_AT(struct store_rule, id),
    TEXT_AT(struct store_rule, owner),
    TEXT_AT(struct store_rule, kind),
    TEXT_AT(struct store_rule, target),
    RAW_AT(struct store_rule, "condition", condition),
    TIME_AT(struct store_rule, created),
    TEXT_AT(struct store_rule, muted),
};

static enum rc remote_rule_list(const struct cmd_place *p, struct store_rules *out,
                                struct err *err)
{
    return ask_list(p, mem_strdup("/rules"), "rules", rule_fields, ARRAY_LEN(rule_fields),
                    sizeof(struct store_rule), out, err);
}

static enum rc remote_deliveries(const struct cmd_place *p, const char *rule,
                                 size_t limit, struct store_deliveries *out,
                                 struct err *err)
{
    static const struct field fields[] = {
        {"id", TEXT, offsetof(struct store_delivery, key)},
        TEXT_AT(struct store_delivery, rule),
        TEXT_AT(struct store_delivery, job),
        TEXT_AT(struct store_delivery, state),
        TEXT_AT(struct store_delivery, message),
        NUMBER_AT(struct store_delivery, tries),
        TIME_AT(struct store_delivery, created),
        RAW_AT(struct store_delivery, "payload", payload),
    };
    char *behind = mem_printf("/deliveries?limit=%zu", limit);
    char *path = rule ? path_of("/rules/", rule, behind) : mem_strdup(behind);
    mem_free(behind);
    return ask_list(p, path, "deliveries", fields, ARRAY_LEN(fields),
                    sizeof(struct store_delivery), out, err);
}

static enum rc remote_usage(const struct cmd_place *p, bool projects, int64_t since,
                            struct store_usages *out, struct err *err)
{
    static const struct field fields[] = {
        TEXT_AT(struct store_usage, name),           NUMBER_AT(struct store_usage, jobs),
        NUMBER_AT(struct store_usage, running),      NUMBER_AT(struct store_usage, gpu_s),
        NUMBER_AT(struct store_usage, memory_mib_s),
    };
    char from[CLOCK_TEXT_SIZE];
    struct doc doc = {0};
    clock_rfc3339(since, from);
    char *path =
        mem_printf("/usage?by=%s&since=%s", projects ? "project" : "owner", from);
    enum rc rc = ask_server(p, "GET", path, NULL, &doc, err);
    const struct node *list = node_find(doc.root, "usage");
    if (!rc)
        rc = take_all(list, fields, ARRAY_LEN(fields), sizeof(struct store_usage), out,
                      err);
    for (size_t i = 0; !rc && i < out->n; i++)
        out->at[i].cpu_milli_s =
            (int64_t)(node_get_num(list->list.at[i], "cpu_s", 0) * 1000);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

#define LIMIT_FIELDS                                                                     \
    NUMBER_AT(struct store_project, cpu_milli), NUMBER_AT(struct store_project, memory), \
        NUMBER_AT(struct store_project, gpu), NUMBER_AT(struct store_project, running),  \
        NUMBER_AT(struct store_project, weight), TIME_AT(struct store_project, created)

/* Users behind projects, under the names that the store has for them. */
static enum rc add_user_quotas(const struct cmd_place *p, struct store_projects *out,
                               struct err *err)
{
    static const struct field fields[] = {
        {"user", TEXT, offsetof(struct store_project, name)}, LIMIT_FIELDS};
    struct store_projects users = {0};
    enum rc rc = ask_list(p, mem_strdup("/quotas"), "quotas", fields, ARRAY_LEN(fields),
                          sizeof(struct store_project), &users, err);
    struct store_project *all =
        rc ? NULL : arena_try_alloc(&out->arena, out->n + users.n + 1, sizeof(*out->at));
    if (!rc && !all)
        rc = err_set(err, RC_NOMEM, "out of memory for %zu quotas", users.n);
    if (!rc && out->n)
        memcpy(all, out->at, out->n * sizeof(*all));
    for (size_t i = 0; i < users.n && !rc; i++) {
        char *key = NULL;
        rc = team_quota_key(QUOTA_USER, users.at[i].name, &key, err);
        all[out->n + i] = users.at[i];
        all[out->n + i].name = rc ? "" : arena_strdup(&out->arena, key);
        mem_free(key);
    }
    if (!rc) {
        out->at = all;
        out->n += users.n;
    }
    store_projects_release(&users);
    return rc;
}

static enum rc remote_quota_list(const struct cmd_place *p, struct store_projects *out,
                                 struct err *err)
{
    static const struct field fields[] = {TEXT_AT(struct store_project, name),
                                          LIMIT_FIELDS};
    enum rc rc = ask_list(p, mem_strdup("/projects"), "projects", fields,
                          ARRAY_LEN(fields), sizeof(struct store_project), out, err);
    return rc ? rc : add_user_quotas(p, out, err);
}

/* Where the limits of `key` are at a server; the caller's. */
static char *quota_path(const char *key)
{
    struct store_project row = {.name = key};
    const char *name;
    bool user = team_quota_of(&row, &name) == QUOTA_USER;
    return user ? path_of("/users/", name, "/quota") : path_of("/projects/", name, "");
}

static enum rc remote_quota_set(const struct cmd_place *p, const char *key,
                                const struct team_quota_change *change,
                                struct store_project *row, struct err *err)
{
    struct doc doc = {0};
    enum rc rc = ask_server(p, "GET", quota_path(key), NULL, &doc, err);
    const struct node *had = rc ? NULL : doc.root;
    if (rc && rc != RC_NOTFOUND) /* limits that are there must not be lost */
        return rc;
    *row = (struct store_project){.name = key,
                                  .cpu_milli = node_get_int(had, "cpu_milli", -1),
                                  .memory = node_get_int(had, "memory", -1),
                                  .gpu = node_get_int(had, "gpu", -1),
                                  .running = node_get_int(had, "running", -1),
                                  .weight = node_get_int(had, "weight", 100)};
    if (doc.src)
        doc_release(&doc);
    rc = team_quota_apply(change, row, err);
    if (rc)
        return rc;
    char *body =
        mem_printf("{\"cpu_milli\": %jd, \"memory\": %jd, \"gpu\": %jd, "
                   "\"running\": %jd, \"weight\": %jd}",
                   (intmax_t)row->cpu_milli, (intmax_t)row->memory, (intmax_t)row->gpu,
                   (intmax_t)row->running, (intmax_t)row->weight);
    rc = ask_server(p, "PUT", quota_path(key), body, NULL, err);
    mem_free(body);
    return rc;
}

static enum rc remote_quota_delete(const struct cmd_place *p, const char *key,
                                   struct err *err)
{
    return ask_server(p, "DELETE", quota_path(key), NULL, NULL, err);
}

static enum rc remote_rule_create(const struct cmd_place *p, struct store_rule *r,
                                  char secret[DELIVER_SECRET_SIZE], struct arena *a,
                                  struct err *err)
{
    struct buf body;
    struct json_out j = {.out = &body};
    struct doc doc = {0};
    buf_init(&body, 1 << 17);
    json_open(&j, NULL, '{');
    json_put_str(&j, r->kind, r->target);
    json_put_raw(&j, "condition", r->condition);
    json_close(&j, '}');
    enum rc rc = ask_server(p, "POST", mem_strdup("/rules"), buf_str(&body), &doc, err);
    if (!rc) {
        take_fields(doc.root, rule_fields, ARRAY_LEN(rule_fields), a, r);
        snprintf(secret, DELIVER_SECRET_SIZE, "%s",
                 node_get_text(doc.root, "secret", ""));
    }
    if (doc.src)
        doc_release(&doc);
    buf_release(&body);
    return rc;
}

static enum rc remote_rule_delete(const struct cmd_place *p, const char *id,
                                  struct err *err)
{
    return ask_server(p, "DELETE", path_of("/rules/", id, ""), NULL, NULL, err);
}

const struct team_ops team_ops_remote = {
    .schedule_create = remote_schedule_create,
    .schedule_update = remote_schedule_update,
    .schedule_get = remote_schedule_get,
    .schedule_pause = remote_schedule_pause,
    .schedule_delete = remote_schedule_delete,
    .schedule_run = remote_schedule_run,
    .quota_set = remote_quota_set,
    .quota_list = remote_quota_list,
    .quota_delete = remote_quota_delete,
    .rule_create = remote_rule_create,
    .rule_list = remote_rule_list,
    .rule_delete = remote_rule_delete,
    .deliveries = remote_deliveries,
    .usage = remote_usage,
};
