/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/layout.h"

#include <string.h>

#include "base/mem.h"

void dist_layout_release(struct dist_layout *l)
{
    for (int i = 0; i < l->n_tables; i++) {
        mem_free(l->tables[i].at);
        mem_free(l->dirs[i]);
    }
    mem_free(l->tables);
    mem_free(l->dirs);
    *l = (struct dist_layout){0};
}

void dist_layout_add(struct dist_layout *l, const char *dir)
{
    size_t n = (size_t)l->n_tables + 1;
    l->tables = mem_realloc(l->tables, n, sizeof(*l->tables));
    l->dirs = mem_realloc(l->dirs, n, sizeof(*l->dirs));
    l->tables[l->n_tables] = (struct dist_parts){0};
    l->dirs[l->n_tables++] = dir ? mem_strdup(dir) : NULL;
}

int dist_layout_count(const struct dist_layout *l, int table)
{
    return l->tables[table].n ? l->tables[table].n : 1;
}

struct dist_part dist_layout_part(const struct dist_layout *l, const struct lookup *inner,
                                  int table, int part)
{
    if (l->tables[table].n)
        return l->tables[table].at[part];
    return (struct dist_part){.dim = lookup_table(inner, table)->dim, .inner = table};
}

static enum rc add_part(const struct dist_layout *l, struct lookup *inner, int table,
                        struct dist_part *p, struct err *err)
{
    const struct embed_table_conf *whole = lookup_table(inner, table);
    struct embed_table_conf conf = *whole;
    char *name = mem_printf("%s, columns %jd to %jd", whole->name, (intmax_t)p->col,
                            (intmax_t)(p->col + p->dim - 1));
    conf.name = name;
    conf.dim = p->dim;
    conf.dir = l->dirs[table];
    conf.cut = (struct embed_cut){.of = whole->name, .first = p->col, .dim = whole->dim};
    p->inner = lookup_add_table(inner, &conf, err);
    mem_free(name);
    return p->inner < 0 ? RC_NOMEM : RC_OK;
}

enum rc dist_layout_cut(struct dist_layout *l, struct lookup *inner, int table,
                        const struct dist_part *parts, int n, struct err *err)
{
    struct dist_parts *to = &l->tables[table];
    enum rc rc = RC_OK;
    to->at = mem_realloc(to->at, (size_t)n, sizeof(*to->at));
    memcpy(to->at, parts, (size_t)n * sizeof(*parts));
    to->n = n;
    for (int i = 0; i < n && !rc; i++) {
        struct dist_part *p = &to->at[i];
        p->inner = table;
        if (p->dim == 0)
            p->dim = lookup_table(inner, table)->dim;
        if (p->dim < lookup_table(inner, table)->dim)
            rc = add_part(l, inner, table, p, err);
    }
    return rc;
}
