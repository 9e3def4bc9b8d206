/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "text/json.h"

struct whoami_conf {
    struct job_where where;
    bool json;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct whoami_conf, json, "false", "print one JSON object")},
    JOB_SERVER_OPT(struct whoami_conf),
    JOB_WHERE_OPTS(struct whoami_conf),
    {0},
};

static void put_names(const struct node *list, const char *what, struct buf *out)
{
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++)
        buf_printf(out, "%s%s", i ? ", " : what, list->list.at[i]->text.p);
    if (list && list->kind == NODE_LIST && list->list.n)
        buf_putc(out, '\n');
}

static void put_me(const struct node *me, const char *url, struct buf *out)
{
    const char *expires = node_get_text(me, "expires", NULL);
    buf_printf(out, "user      %s\nrole      %s\nserver    %s\n",
               node_get_text(me, "name", ""), node_get_text(me, "role", ""), url);
    put_names(node_find(me, "projects"), "projects  ", out);
    put_names(node_find(me, "leads"), "admin of  ", out);
    buf_printf(out, "token     %s, expires %s\n", node_get_text(me, "token", ""),
               expires ? expires : "never");
}

static enum rc show_remote(const struct whoami_conf *c, const struct cmd_place *p,
                           struct buf *out, struct err *err)
{
    struct doc doc = {0};
    struct remote_ask q = {.method = "GET", .path = "/api/v1/me"};
    enum rc rc = remote_call(&p->remote, &q, &doc, NULL, err);
    if (!rc && c->json)
        json_print(doc.root, 2, out);
    else if (!rc)
        put_me(doc.root, p->remote.url, out);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc whoami_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct whoami_conf *c = conf;
    struct cmd_place p;
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    if (!p.dir) {
        rc = show_remote(c, &p, &out, err);
    } else if (c->json) {
        buf_puts(&out, "{\"name\": ");
        buf_json_str(&out, p.owner, strlen(p.owner));
        buf_puts(&out, ", \"directory\": ");
        buf_json_str(&out, p.dir, strlen(p.dir));
        buf_puts(&out, "}\n");
    } else {
        buf_printf(&out, "user      %s\ndirectory %s (no server)\n", p.owner, p.dir);
    }
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"at the server of the login", "trainyard whoami"},
    {0},
};

const struct cmd cmd_whoami = {
    .name = "whoami",
    .summary = "show who you are at the server, and what you may do",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct whoami_conf),
    .run = whoami_command,
};
