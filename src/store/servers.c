/* SPDX-License-Identifier: Apache-2.0 */
#include "store/servers.h"

#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_server, node),
    TABLE_TEXT(struct store_server, url),
    TABLE_INT(struct store_server, started),
};
static const struct store_table servers = {.name = "servers",
                                           .columns = columns,
                                           .n = ARRAY_LEN(columns),
                                           .size = sizeof(struct store_server)};

void store_servers_release(struct store_servers *l)
{
    store_table_release(l);
}

enum rc store_server_put(struct store *s, const struct store_server *x, struct err *err)
{
    return store_table_insert(s, &servers, x,
                              "ON CONFLICT (node) DO UPDATE SET url = excluded.url, "
                              "started = excluded.started",
                              NULL, err);
}

enum rc store_server_get(struct store *s, const char *node, struct store_servers *out,
                         struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(node)};
    return store_table_select(s, &servers, "WHERE node = $1", params, 1, out, err);
}
