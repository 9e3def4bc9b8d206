/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log of a server, or of the store of this machine. The server gives a thousand
 * entries at a time.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "store/audit.h"
#include "text/json_out.h"

#define PAGE 1000

struct audit_conf {
    struct job_where where;
    const char *user, *action;
    double since;
    int64_t limit;
    bool json;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct audit_conf, user, NULL, "only what this user did"), .meta = "USER"},
    {OPT_TEXT(struct audit_conf, action, NULL,
              "only this operation, such as change_user or create_job"),
     .meta = "NAME"},
    {OPT_DURATION(struct audit_conf, since, "0", 0, 1e9, "how far to look back; 0: all")},
    {OPT_INT(struct audit_conf, limit, "100", 1, STORE_ROWS_MAX,
             "at most N entries, latest first")},
    {OPT_BOOL(struct audit_conf, json, "false", "print a JSON list")},
    JOB_SERVER_OPT(struct audit_conf),
    JOB_WHERE_OPTS(struct audit_conf),
    {0},
};

static void put_param(struct buf *b, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_printf(b, "&%s=", name);
    io_http_escape(b, str_c(value), false);
}

static char *page_path(const struct store_audit_filter *f, size_t limit, int64_t cursor)
{
    char since[CLOCK_TEXT_SIZE] = "";
    struct buf b;
    buf_init(&b, 1 << 16);
    if (f->since)
        clock_rfc3339(f->since, since);
    buf_printf(&b, "/api/v1/audit?limit=%zu&cursor=%jd", limit, (intmax_t)cursor);
    put_param(&b, "who", f->who);
    put_param(&b, "action", f->action);
    put_param(&b, "since", since);
    char *path = buf_take(&b);
    buf_release(&b);
    return path;
}

static void take_entry(const struct node *n, struct store_audits *out)
{
    struct store_audit *x = &out->at[out->n++];
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"who", &x->who},
                 {"action", &x->action},
                 {"object", &x->object},
                 {"outcome", &x->outcome},
                 {"address", &x->address}};
    *x = (struct store_audit){.num = node_get_int(n, "cursor", 0)};
    if (!clock_from_rfc3339(str_c(node_get_text(n, "time", "")), &x->time))
        x->time = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i].to = arena_strdup(&out->arena, node_get_text(n, texts[i].name, ""));
}

static enum rc remote_audit(const struct cmd_place *p, const struct store_audit_filter *f,
                            struct store_audits *out, struct err *err)
{
    int64_t cursor = 0;
    enum rc rc = RC_OK;
    out->at = arena_try_alloc(&out->arena, f->limit + 1, sizeof(*out->at));
    if (!out->at)
        return err_set(err, RC_NOMEM, "out of memory for %zu entries", f->limit);
    do {
        struct doc doc = {0};
        size_t want = f->limit - out->n < PAGE ? f->limit - out->n : PAGE;
        char *path = page_path(f, want, cursor);
        struct remote_ask q = {.method = "GET", .path = path};
        rc = remote_call(&p->remote, &q, &doc, NULL, err);
        const struct node *l = rc ? NULL : node_find(doc.root, "entries");
        for (size_t i = 0;
             l && l->kind == NODE_LIST && i < l->list.n && out->n < f->limit; i++)
            take_entry(l->list.at[i], out);
        cursor = rc ? 0 : node_get_int(doc.root, "next", 0);
        if (doc.src)
            doc_release(&doc);
        mem_free(path);
    } while (!rc && cursor && out->n < f->limit);
    return rc;
}

static void put_entry(const struct store_audit *x, struct buf *out)
{
    char time[CLOCK_TEXT_SIZE];
    clock_rfc3339(x->time, time);
    buf_printf(out, "%-24s  %-16s  %-18s  %-4s  %-15s  ", time, *x->who ? x->who : "-",
               x->action, x->outcome, x->address);
    job_quote_terminal(str_c(x->object), out);
    buf_putc(out, '\n');
}

static void put_entry_json(const struct store_audit *x, struct json_out *j)
{
    json_open(j, NULL, '{');
    json_put_time(j, "time", x->time);
    json_put_str(j, "who", x->who);
    json_put_str(j, "action", x->action);
    json_put_str(j, "object", x->object);
    json_put_str(j, "outcome", x->outcome);
    json_put_str(j, "address", x->address);
    json_close(j, '}');
}

static void put_all(const struct audit_conf *c, const struct store_audits *l,
                    struct buf *out)
{
    struct json_out j = {.out = out};
    if (c->json)
        json_open(&j, NULL, '[');
    else
        buf_printf(out, "%-24s  %-16s  %-18s  %-4s  %-15s  %s\n", "time", "user",
                   "action", "http", "from", "what");
    for (size_t i = 0; i < l->n; i++) {
        if (c->json)
            put_entry_json(&l->at[i], &j);
        else
            put_entry(&l->at[i], out);
    }
    if (c->json) {
        json_close(&j, ']');
        buf_putc(out, '\n');
    }
}

static enum rc audit_command(const void *conf, const struct opt_args *args,
                             struct err *err)
{
    const struct audit_conf *c = conf;
    struct cmd_place p;
    struct store_audits l = {0};
    struct buf out;
    struct store_audit_filter f = {
        .who = c->user,
        .action = c->action,
        .since = c->since > 0 ? clock_wall_ns() - (int64_t)(c->since * 1e9) : 0,
        .limit = (size_t)c->limit};
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.p.store ? store_audit_get(p.p.store, &f, &l, err)
                   : remote_audit(&p, &f, &l, err);
    if (!rc) {
        put_all(c, &l, &out);
        rc = cmd_print(&out, err);
    }
    buf_release(&out);
    store_audits_release(&l);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"who changed users in the last week",
     "trainyard audit --action change_user --since 7d"},
    {"what ann did", "trainyard audit --user ann"},
    {0},
};

const struct cmd cmd_audit = {
    .name = "audit",
    .summary = "show who did what at the server, and what was refused",
    .description =
        "Lists requests that changed something and requests that were refused for lack "
        "of permission, newest first. At a server this requires the role auditor or "
        "admin.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct audit_conf),
    .run = audit_command,
};
