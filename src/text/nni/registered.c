/* SPDX-License-Identifier: Apache-2.0 */
/* The register is one JSON file, {"algorithms": [...]}, with the members of NNI's description of an
 * algorithm and the directory of the class. It is read whole whenever a name is looked for, and
 * replaced whole when it changes.
 */
#include "text/nni/registered.h"

#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "text/json.h"
#include "text/json_out.h"

#define REGISTER_MAX ((size_t)4 << 20)

/* NULL when there is no home. */
static char *register_path(void)
{
    const char *config = env_get("XDG_CONFIG_HOME");
    if (config)
        return fs_join(config, "trainyard/algorithms.json");
    return env_home_path(".config/trainyard/algorithms.json");
}

static enum rc no_register(const char *path, struct err *err)
{
    return err_coded(err, RC_FORMAT, E4020, "'%s' is not a register of algorithms", path);
}

static const char *text_of(struct arena *a, const struct node *n, const char *key)
{
    return arena_strdup(a, node_get_text(n, key, ""));
}

static enum rc take_all(const struct node *root, const char *path,
                        struct nni_register *out, struct err *err)
{
    const struct node *list = node_find(root, "algorithms");
    if (!list || list->kind != NODE_LIST)
        return no_register(path, err);
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *n = list->list.at[i];
        struct arena *a = &out->arena;
        struct nni_registered x = {.type = text_of(a, n, "algoType"),
                                   .name = text_of(a, n, "builtinName"),
                                   .class_name = text_of(a, n, "className"),
                                   .validator = text_of(a, n, "classArgsValidator"),
                                   .dir = text_of(a, n, "directory")};
        if (!*x.type || !*x.name || !*x.class_name)
            return no_register(path, err);
        VEC_PUSH(&out->list, x);
    }
    return RC_OK;
}

enum rc nni_register_read(struct nni_register *out, struct err *err)
{
    struct nni_register r = {.list = {0}};
    struct doc doc = {0};
    char *path = register_path(), *text = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    if (path && fs_exists(path)) {
        rc = fs_read(path, REGISTER_MAX, &text, &n, err);
        if (!rc && json_read(path, text, n, &doc, NULL))
            rc = no_register(path, err);
        if (!rc)
            rc = take_all(doc.root, path, &r, err);
    }
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    mem_free(path);
    if (rc)
        nni_register_release(&r);
    else
        *out = r;
    return rc;
}

static void print_register(const struct nni_register *r, struct buf *b)
{
    struct json_out j = {.out = b};
    json_open(&j, NULL, '{');
    json_open(&j, "algorithms", '[');
    for (size_t i = 0; i < r->list.n; i++) {
        const struct nni_registered *x = &r->list.at[i];
        json_open(&j, NULL, '{');
        json_put_str(&j, "algoType", x->type);
        json_put_str(&j, "builtinName", x->name);
        json_put_str(&j, "className", x->class_name);
        if (*x->validator)
            json_put_str(&j, "classArgsValidator", x->validator);
        json_put_str(&j, "directory", x->dir);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(b, '\n');
}

enum rc nni_register_write(const struct nni_register *r, struct err *err)
{
    char *path = register_path();
    if (!path)
        return err_coded(err, RC_NOTFOUND, E4020,
                         "no place for a register: set HOME or XDG_CONFIG_HOME");
    char *dir = fs_dirname(path);
    struct buf b;
    buf_init(&b, REGISTER_MAX);
    print_register(r, &b);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = fs_mkdirs(dir, 0700, err);
    if (!rc)
        rc = fs_write(path, buf_str(&b), b.n, 0600, err);
    buf_release(&b);
    mem_free(dir);
    mem_free(path);
    return rc;
}

void nni_register_release(struct nni_register *r)
{
    VEC_RELEASE(&r->list);
    arena_release(&r->arena);
    *r = (struct nni_register){.list = {0}};
}

const struct nni_registered *nni_register_find(const struct nni_register *r,
                                               const char *name)
{
    for (size_t i = 0; i < r->list.n; i++)
        if (strcasecmp(r->list.at[i].name, name) == 0)
            return &r->list.at[i];
    return NULL;
}

bool nni_registered_get(enum nni_role role, const char *name, struct arena *a,
                        struct nni_registered *out)
{
    struct nni_register r;
    if (nni_register_read(&r, NULL))
        return false;
    const struct nni_registered *x = nni_register_find(&r, name);
    bool found = x && (strcmp(x->type, "assessor") == 0) == (role == NNI_ASSESSOR);
    if (found)
        *out = (struct nni_registered){.type = arena_strdup(a, x->type),
                                       .name = arena_strdup(a, x->name),
                                       .class_name = arena_strdup(a, x->class_name),
                                       .validator = arena_strdup(a, x->validator),
                                       .dir = arena_strdup(a, x->dir)};
    nni_register_release(&r);
    return found;
}
