/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of tables, odps://project/tables/[schema.]table/key=value/.., cut into their
 * parts. Quotes around values of a partition are taken off; the query may only say
 * overwrite.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "data/odps/odps.h"

#define PREFIX "odps://"

bool odps_is_url(const char *path)
{
    return str_starts(path, PREFIX);
}

void odps_path_release(struct odps_path *p)
{
    mem_free(p->url);
    mem_free(p->project);
    mem_free(p->schema);
    mem_free(p->table);
    mem_free(p->partition);
    *p = (struct odps_path){0};
}

static enum rc odps_path_malformed(const char *url, const char *why, struct err *err)
{
    return err_coded(err, RC_INVAL, E1701,
                     "'%.300s': %s; write odps://project/tables/table/key=value", url,
                     why);
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == '?' || c == '#' || c == '&' || c == '%' || c == '"')
            return false;
    }
    return s.n > 0;
}

/* "pt=a/sub=b": "pt=a,sub=b". Quotes around values are taken off. */
static enum rc take_partition(struct str rest, const char *url, struct odps_path *p,
                              struct err *err)
{
    struct str part;
    struct buf out;
    enum rc rc = RC_OK;
    buf_init(&out, 4096);
    while (!rc && rest.n && str_split(&rest, '/', &part)) {
        const char *eq = part.n ? memchr(part.p, '=', part.n) : NULL;
        if (!part.n && !rest.n)
            break;
        if (!eq || eq == part.p) {
            rc =
                odps_path_malformed(url, "a part of the partition is not key=value", err);
            break;
        }
        struct str v = str_of(eq + 1, part.n - (size_t)(eq + 1 - part.p));
        if (v.n >= 2 && (v.p[0] == '\'' || v.p[0] == '"') && v.p[v.n - 1] == v.p[0])
            v = str_of(v.p + 1, v.n - 2);
        buf_printf(&out, "%s%.*s=%.*s", out.n ? "," : "", (int)(eq - part.p), part.p,
                   (int)v.n, v.p);
    }
    if (!rc)
        rc = buf_check(&out, err);
    if (!rc && out.n)
        p->partition = buf_take(&out);
    buf_release(&out);
    return rc;
}

enum rc odps_path_parse(const char *url, struct odps_path *out, struct err *err)
{
    if (!odps_is_url(url))
        return odps_path_malformed(url, "it is not the address of a table", err);
    struct odps_path p = {.url = mem_strdup(url)};
    const char *query = strchr(url, '?');
    struct str rest = str_c(url + strlen(PREFIX)), project, tables, table, schema = {0};
    enum rc rc = RC_OK;
    if (query) {
        rest.n -= strlen(query);
        p.append = strcmp(query, "?overwrite=false") == 0;
    }
    if (query && !p.append && strcmp(query, "?overwrite=true") != 0)
        rc = odps_path_malformed(url, "behind '?' only overwrite=true or false is known",
                                 err);
    else if (!str_split(&rest, '/', &project) || !is_name(project))
        rc = odps_path_malformed(url, "it names no project", err);
    else if (!str_split(&rest, '/', &tables) || !str_is(tables, "tables"))
        rc = odps_path_malformed(url, "'tables' does not follow the project", err);
    else if (!str_split(&rest, '/', &table) || !is_name(table))
        rc = odps_path_malformed(url, "it names no table", err);
    if (!rc) {
        const char *dot = memchr(table.p, '.', table.n);
        if (dot) {
            schema = str_of(table.p, (size_t)(dot - table.p));
            table = str_of(dot + 1, table.n - schema.n - 1);
        }
        if (!is_name(table) || (dot && !is_name(schema)))
            rc = odps_path_malformed(url, "it names no table", err);
    }
    if (!rc) {
        p.project = mem_strndup(project.p, project.n);
        p.table = mem_strndup(table.p, table.n);
        p.schema = schema.n ? mem_strndup(schema.p, schema.n) : NULL;
        rc = take_partition(rest, url, &p, err);
    }
    if (rc) {
        odps_path_release(&p);
        return rc;
    }
    *out = p;
    return RC_OK;
}

static void add_name(struct fs_names *out, char *name)
{
    out->at = mem_realloc(out->at, out->n + 1, sizeof(*out->at));
    out->at[out->n++] = name;
}

enum rc odps_expand(const char *url, struct fs_names *out, struct err *err)
{
    struct odps_path p;
    char *first = mem_strdup(url);
    first[strcspn(first, "&")] = '\0';
    enum rc rc = odps_path_parse(first, &p, err);
    if (rc) {
        mem_free(first);
        return rc;
    }
    char *base = p.schema
                     ? mem_printf(PREFIX "%s/tables/%s.%s", p.project, p.schema, p.table)
                     : mem_printf(PREFIX "%s/tables/%s", p.project, p.table);
    odps_path_release(&p);
    add_name(out, first);
    struct str rest = str_c(url), part;
    (void)str_split(&rest, '&', &part);
    while (!rc && rest.n && str_split(&rest, '&', &part)) {
        char *one = mem_printf("%s/%.*s", base, (int)part.n, part.p);
        rc = odps_path_parse(one, &p, err);
        if (rc) {
            mem_free(one);
            break;
        }
        odps_path_release(&p);
        add_name(out, one);
    }
    mem_free(base);
    return rc;
}
