/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/team_remote.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/status.h"
#include "text/json.h"

char *team_remote_path(const char *before, const char *name, const char *behind)
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

enum rc team_remote_ask(const struct job_place *p, const char *method, char *path,
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

static const char *raw(const struct node *n, struct arena *a)
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

static void take(const struct node *n, const struct field *fields, size_t n_fields,
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
            *(const char **)to = raw(node_find(n, f->name), a);
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
        take(list->kind == NODE_LIST ? list->list.at[i] : list, fields, n_fields,
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

enum rc team_remote_schedules(const struct job_place *p, const char *name,
                              struct store_schedules *out, struct store_run_rows *runs,
                              struct err *err)
{
    struct doc doc = {0};
    char *path =
        name ? team_remote_path("/schedules/", name, "") : mem_strdup("/schedules");
    enum rc rc = team_remote_ask(p, "GET", path, NULL, &doc, err);
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

static enum rc ask_list(const struct job_place *p, char *path, const char *key,
                        const struct field *fields, size_t n_fields, size_t size,
                        void *out, struct err *err)
{
    struct doc doc = {0};
    enum rc rc = team_remote_ask(p, "GET", path, NULL, &doc, err);
    if (!rc)
        rc = take_all(node_find(doc.root, key), fields, n_fields, size, out, err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

enum rc team_remote_rules(const struct job_place *p, struct store_rules *out,
                          struct err *err)
{
    static const struct field fields[] = {
        TEXT_AT(struct store_rule, id),
        TEXT_AT(struct store_rule, owner),
        TEXT_AT(struct store_rule, kind),
        TEXT_AT(struct store_rule, target),
        RAW_AT(struct store_rule, "condition", condition),
        TIME_AT(struct store_rule, created),
    };
    return ask_list(p, mem_strdup("/rules"), "rules", fields, ARRAY_LEN(fields),
                    sizeof(struct store_rule), out, err);
}

enum rc team_remote_deliveries(const struct job_place *p, const char *rule, size_t limit,
                               struct store_deliveries *out, struct err *err)
{
    static const struct field fields[] = {
        {"id", TEXT, offsetof(struct store_delivery, key)},
        TEXT_AT(struct store_delivery, job),
        TEXT_AT(struct store_delivery, state),
        TEXT_AT(struct store_delivery, message),
        NUMBER_AT(struct store_delivery, tries),
        TIME_AT(struct store_delivery, created),
        RAW_AT(struct store_delivery, "payload", payload),
    };
    char *behind = mem_printf("/deliveries?limit=%zu", limit);
    char *path = team_remote_path("/rules/", rule, behind);
    mem_free(behind);
    enum rc rc = ask_list(p, path, "deliveries", fields, ARRAY_LEN(fields),
                          sizeof(struct store_delivery), out, err);
    for (size_t i = 0; !rc && i < out->n; i++)
        out->at[i].rule = arena_strdup(&out->arena, rule);
    return rc;
}

enum rc team_remote_usage(const struct job_place *p, bool projects, int64_t since,
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
    enum rc rc = team_remote_ask(p, "GET", path, NULL, &doc, err);
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

enum rc team_remote_projects(const struct job_place *p, struct store_projects *out,
                             struct err *err)
{
    static const struct field fields[] = {
        TEXT_AT(struct store_project, name),
        NUMBER_AT(struct store_project, cpu_milli),
        NUMBER_AT(struct store_project, memory),
        NUMBER_AT(struct store_project, gpu),
        NUMBER_AT(struct store_project, running),
        NUMBER_AT(struct store_project, weight),
        TIME_AT(struct store_project, created),
    };
    return ask_list(p, mem_strdup("/projects"), "projects", fields, ARRAY_LEN(fields),
                    sizeof(struct store_project), out, err);
}
