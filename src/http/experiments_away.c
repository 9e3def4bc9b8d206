/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments of other servers on the same database, in one list with those of this one. Each
 * server that has any is asked with the caller's token, so it shows what the caller may see. A
 * server that does not answer is named in the list; its experiments are not.
 */
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/forward.h"
#include "job/status.h"
#include "store/experiments.h"
#include "store/servers.h"
#include "text/json.h"

#define PAGE 1000

/* One page; *next: where the next begins, 0 when there is none. */
static int64_t put_page(struct http_call *c, const char *text, const char *url,
                        int64_t *next)
{
    struct doc doc = {0};
    const struct node *root = job_json_open(text, &doc);
    const struct node *list = node_find(root, "experiments");
    size_t n = list && list->kind == NODE_LIST ? list->list.n : 0;
    for (size_t i = 0; i < n; i++) {
        struct node *x = list->list.at[i];
        node_put(&doc.arena, x, "server", node_str(&doc.arena, url, strlen(url), x->at));
        http_experiments_comma(c);
        json_print(x, 0, &c->out);
    }
    *next = node_get_int(root, "next", 0);
    if (doc.src)
        doc_release(&doc);
    return (int64_t)n;
}

static enum rc put_server(struct http_call *c, const struct store_server *s,
                          int64_t *total, struct err *err)
{
    int64_t from = 0, next = 0;
    enum rc rc = RC_OK;
    do {
        struct buf text;
        char *path =
            mem_printf("/api/v1/experiments?limit=%d&offset=%jd", PAGE, (intmax_t)from);
        buf_init(&text, (size_t)64 << 20);
        rc = http_forward_fetch(c, s->node, path, &text, err);
        if (!rc)
            *total += put_page(c, buf_str(&text), s->url, &next);
        from = rc ? 0 : next;
        buf_release(&text);
        mem_free(path);
    } while (from);
    return rc;
}

/* Machines that have experiments, beside this one. */
static void find_nodes(struct http_call *c, struct map *nodes)
{
    struct store_experiments l = {0};
    if (http_forward_is(c) || store_experiment_get(c->place.store, NULL, &l, NULL))
        return;
    for (size_t i = 0; i < l.n; i++)
        if (strcmp(l.at[i].node, c->place.node) != 0)
            map_put(nodes, str_c(l.at[i].node))->value = nodes;
    store_experiments_release(&l);
}

int64_t http_experiments_list_away(struct http_call *c, struct buf *silent)
{
    struct map nodes = {0};
    int64_t total = 0;
    find_nodes(c, &nodes);
    for (size_t i = 0; i < nodes.n; i++) {
        struct store_servers l = {0};
        struct err why = {0};
        enum rc rc = store_server_get(c->place.store, nodes.at[i].key, &l, &why);
        if (!rc && l.n)
            rc = put_server(c, &l.at[0], &total, &why);
        if (rc) {
            buf_puts(silent, silent->n ? "," : "");
            buf_json_str(silent, why.msg, strlen(why.msg));
            c->status = 0; /* the list is an answer without them */
        }
        store_servers_release(&l);
    }
    map_release(&nodes);
    return total;
}
