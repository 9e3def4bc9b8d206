/* SPDX-License-Identifier: Apache-2.0 */
/* The names of tables are taken apart and put together here: a plan of TorchEasyRec lists
 * the tables of each module. Nothing but the kind of each table is read again: ranks and
 * kernels follow from the ranks that there are now.
 */
#include "train/plan_file.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "text/json.h"
#include "text/json_out.h"
#include "train/placement.h"

#define FILE_MAX ((size_t)16 << 20)

void train_pins_release(struct train_pins *p)
{
    for (size_t i = 0; i < p->at.n; i++) {
        mem_free(p->at.at[i].module);
        mem_free(p->at.at[i].table);
    }
    VEC_RELEASE(&p->at);
}

/* A table is called MODULE.embedding_bags.NAME.weight, or .embeddings. when its vectors
 * are not pooled; a plan has the two names apart.
 */
struct names {
    struct str module, table;
};

static struct names split_name(const char *weight)
{
    static const char *const between[] = {".embedding_bags.", ".embeddings."};
    struct names out = {.table = str_c(weight)};
    for (size_t i = 0; i < ARRAY_LEN(between); i++) {
        const char *at = strstr(weight, between[i]);
        if (!at)
            continue;
        const char *name = at + strlen(between[i]);
        out.module = (struct str){.p = weight, .n = (size_t)(at - weight)};
        out.table = str_c(name);
    }
    if (str_ends(weight, ".weight"))
        out.table.n -= strlen(".weight");
    return out;
}

enum dist_kind train_pins_find(const struct train_pins *p, const char *weight)
{
    struct names n = split_name(weight);
    for (size_t i = 0; p && i < p->at.n; i++)
        if (str_eq(n.module, str_c(p->at.at[i].module)) &&
            str_eq(n.table, str_c(p->at.at[i].table)))
            return p->at.at[i].kind;
    return DIST_KINDS;
}

static enum rc take_table(struct str module, const struct node_entry *e, bool all,
                          struct train_pins *out, struct err *err)
{
    const char *name = node_get_text(e->value, "sharding_type", "");
    enum dist_kind kind = dist_kind_find(name);
    if (kind == DIST_KINDS)
        return err_set(err, RC_FORMAT,
                       "table '%.*s': sharding_type '%s' is none that exists",
                       (int)e->key.n, e->key.p, name);
    if (all || kind == DIST_DATA_PARALLEL)
        VEC_PUSH(&out->at, ((struct train_pin){.module = mem_strndup(module.p, module.n),
                                               .table = mem_strndup(e->key.p, e->key.n),
                                               .kind = kind}));
    return RC_OK;
}

static enum rc take_plan(const struct node *root, bool all, struct train_pins *out,
                         struct err *err)
{
    enum rc rc = RC_OK;
    if (!root || root->kind != NODE_MAP)
        return err_set(err, RC_FORMAT, "it holds no object");
    for (size_t i = 0; i < root->map.n; i++) {
        const struct node *module = root->map.at[i].value;
        if (module->kind != NODE_MAP)
            return err_set(err, RC_FORMAT, "'%.*s' is no object",
                           (int)root->map.at[i].key.n, root->map.at[i].key.p);
        for (size_t k = 0; k < module->map.n && !rc; k++)
            rc = take_table(root->map.at[i].key, &module->map.at[k], all, out, err);
    }
    return rc;
}

static enum rc read_plan(const char *path, bool all, struct train_pins *out,
                         struct err *err)
{
    struct doc doc = {0};
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, FILE_MAX, &text, &n, err);
    if (!rc)
        rc = json_read("it", text, n, &doc, err);
    if (!rc)
        rc = take_plan(doc.root, all, out, err);
    doc_release(&doc);
    mem_free(text);
    return rc ? err_wrap(err, rc, "plan of tables '%s'", path) : RC_OK;
}

/* Of a checkpoint of ours it lies beside it. */
static char *plan_path(const char *dir)
{
    const char *last = strrchr(dir, '/');
    char *path = fs_join(dir, "plan");
    if (fs_exists(path) || strncmp(last ? last + 1 : dir, "model.ckpt-", 11) != 0)
        return path;
    mem_free(path);
    return fs_join(dir, "../plan");
}

enum rc train_pins_read(const char *dir, bool all, struct train_pins *out,
                        struct err *err)
{
    char *path = plan_path(dir);
    *out = (struct train_pins){0};
    enum rc rc = fs_exists(path) ? read_plan(path, all, out, err) : RC_OK;
    mem_free(path);
    return rc;
}

static void put_table(struct json_out *j, struct str name,
                      const struct dist_plan_option *o)
{
    char *key = mem_strndup(name.p, name.n);
    json_open(j, key, '{');
    json_put_str(j, "sharding_type", dist_kind_name(o->kind));
    json_put_str(j, "compute_kernel", dist_kernel_name(o->kernel));
    json_open(j, "ranks", '[');
    for (int i = 0; i < o->n; i++)
        json_put_int(j, NULL, o->shards[i].rank);
    json_close(j, ']');
    json_close(j, '}');
    mem_free(key);
}

/* All tables of the module of table `first`, unless an earlier one has that module. */
static void put_module(struct json_out *j, const struct train_placement *p, int first)
{
    struct str module = split_name(p->tables.at[first].name).module;
    for (int i = 0; i < first; i++)
        if (str_eq(module, split_name(p->tables.at[i].name).module))
            return;
    char *key = mem_strndup(module.p ? module.p : "", module.n);
    json_open(j, key, '{');
    for (int i = first; i < p->plan.n; i++) {
        struct names n = split_name(p->tables.at[i].name);
        if (str_eq(module, n.module))
            put_table(j, n.table, &p->plan.at[i]);
    }
    json_close(j, '}');
    mem_free(key);
}

enum rc train_plan_write(const char *model_dir, const struct train_placement *p,
                         struct err *err)
{
    struct buf text;
    struct json_out j = {.out = &text};
    char *path = fs_join(model_dir, "plan");
    buf_init(&text, FILE_MAX);
    json_open(&j, NULL, '{');
    for (int i = 0; i < p->plan.n; i++)
        put_module(&j, p, i);
    json_close(&j, '}');
    buf_printf(&text, "\n");
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = fs_write(path, text.p, text.n, 0644, err);
    mem_free(path);
    buf_release(&text);
    return rc;
}
