/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler/users.h"

#include "data/sampler/table.h"

/* Users of the edges by number; those that the table has are marked. */
struct counting {
    const struct edges *edges;
    struct keymap found;
};

static enum rc count_rows(void *arg, const struct sampler_table_rows *rows,
                          struct err *err)
{
    struct counting *c = arg;
    enum rc rc = RC_OK;
    if (rows->kinds[0] != c->edges->kind)
        return err_coded(err, RC_FORMAT, E1901,
                         "its ids are not of the type of the edges' users");
    for (int64_t i = 0; i < rows->batch->n && !rc; i++) {
        int64_t key = 0;
        double weight = 0;
        rc = sampler_table_id(rows, 0, i, &key, err);
        if (!rc)
            rc = sampler_table_weight(rows, 1, i, &weight, err);
        if (!rc && keymap_find(&c->edges->sources, key) >= 0)
            (void)keymap_add(&c->found, key, 0);
    }
    return rc;
}

enum rc sampler_users_check(const struct sampler_users_conf *conf, const char *what,
                            const struct edges *edges, struct err *err)
{
    struct counting c = {.edges = edges};
    const struct sampler_table_conf table = {
        .what = "user table", .path = conf->path, .delim = conf->delim, .n_ids = 1};
    enum rc rc = keymap_init(&c.found, edges->sources.n, err);
    if (!rc)
        rc = sampler_table_read(&table, count_rows, &c, err);
    if (!rc && c.found.n < edges->sources.n && conf->notes)
        buf_printf(conf->notes,
                   "user table '%s': it lacks %jd of %jd users of the %s; they are drawn "
                   "for as the others\n",
                   conf->path, (intmax_t)(edges->sources.n - c.found.n),
                   (intmax_t)edges->sources.n, what);
    keymap_release(&c.found);
    return rc;
}
