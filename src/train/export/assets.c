/* SPDX-License-Identifier: Apache-2.0 */
/* A copy is named by what it holds, so that two files of one name do not meet:
 * words.txt becomes words_0123456789abcdef.txt.
 */
#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "train/export/export_private.h"

#define ASSET_MAX ((size_t)8 << 30)

struct copier {
    const char *from, *dir;
    struct arena *arena;
    struct err *err;
};

/* Copies `path`; *name is its name in the export. With `plain` the name stays. */
static enum rc copy(const struct copier *c, const char *path, bool plain,
                    const char **name)
{
    struct fs_map map = {0};
    char *base = fs_basename(path);
    enum rc rc = fs_map(path, &map, c->err);
    if (!rc && map.n > ASSET_MAX)
        rc = err_set(c->err, RC_INVAL, "'%s' has more than %zu bytes", path, ASSET_MAX);
    if (rc) {
        mem_free(base);
        err_wrap(c->err, rc, "asset");
        c->err->code = E2008;
        return rc;
    }
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    *name = plain ? arena_strdup(c->arena, base)
                  : arena_printf(c->arena, "%.*s_%016" PRIx64 "%s", (int)stem, base,
                                 hash_xxh3(map.data, map.n), base + stem);
    char *to = fs_join(c->dir, *name);
    if (plain && fs_exists(to))
        rc = err_coded(c->err, RC_INVAL, E2008,
                       "asset '%s': the export has a file of that name", path);
    else
        rc = fs_write(to, map.data, map.n, 0644, c->err);
    fs_unmap(&map);
    mem_free(to);
    mem_free(base);
    return rc;
}

static enum rc copy_field(const struct copier *c, struct node *map, const char *field)
{
    struct node *file = node_find(map, field), *dir = node_find(map, "asset_dir");
    if (!file || file->kind != NODE_STR || file->text.n == 0)
        return RC_OK;
    bool placed = dir && dir->kind == NODE_STR && dir->text.n;
    const char *from = placed    ? arena_strndup(c->arena, dir->text.p, dir->text.n)
                       : c->from ? c->from
                                 : ".";
    char *path = fs_join(from, arena_strndup(c->arena, file->text.p, file->text.n));
    const char *name = NULL;
    enum rc rc = RC_OK;
    if (fs_exists(path)) /* else it is built in, or nobody reads it */
        rc = copy(c, path, false, &name);
    mem_free(path);
    if (rc || !name)
        return rc;
    node_remove(map, "asset_dir");
    node_put(c->arena, map, field, node_str(c->arena, name, strlen(name), file->at));
    return RC_OK;
}

static enum rc walk(const struct copier *c, struct node *n)
{
    static const char *const fields[] = {"vocab_file", "stop_char_file",
                                         "operator_lib_file"};
    enum rc rc = RC_OK;
    for (size_t i = 0; n->kind == NODE_LIST && i < n->list.n && !rc; i++)
        rc = walk(c, n->list.at[i]);
    for (size_t i = 0; n->kind == NODE_MAP && i < ARRAY_LEN(fields) && !rc; i++)
        rc = copy_field(c, n, fields[i]);
    for (size_t i = 0; n->kind == NODE_MAP && i < n->map.n && !rc; i++)
        rc = walk(c, n->map.at[i].value);
    return rc;
}

enum rc train_export_put_assets(struct node *config, const char *from,
                                const char *asset_files, const char *dir, struct arena *a,
                                struct err *err)
{
    struct copier c = {.from = from, .dir = dir, .arena = a, .err = err};
    struct str rest = str_c(asset_files ? asset_files : ""), part;
    const char *name;
    enum rc rc = walk(&c, config);
    while (!rc && str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n)
            rc = copy(&c, arena_strndup(a, part.p, part.n), true, &name);
    }
    return rc;
}
