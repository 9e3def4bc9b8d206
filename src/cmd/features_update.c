/* SPDX-License-Identifier: Apache-2.0 */
/* features update: a table says how wide a feature is and how its values become ids, or
 * that it goes; the config gets that. The config is a template, which may lack what the
 * table has: it is edited as a tree, and only the result is checked. A row of the table is a
 * feature's name, an object of JSON, and a message, of which "DROP IT" removes the feature.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/train_config.h"
#include "io/guard.h"
#include "text/conf.h"
#include "text/json.h"
#include "text/prototext.h"

#define ROWS 1024
#define TEXT_MAX (CMD_TEXT_MAX * 64)

struct update_conf {
    struct data_input in;
    const char *table, *output;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct update_conf, table, NULL,
              "table with the columns feature, feature_info and message (required)"),
     .meta = "PATH", .alias = "config-table-path"},
    {OPT_TEXT(struct update_conf, output, "-", "file to write; -: stdout"),
     .meta = "FILE", .alias = "model-config-path"},
    DATA_OVERWRITE_OPT(struct update_conf),
    DATA_INPUT_OPTS(struct update_conf),
    {0},
};

/* What the table says of a feature. */
struct feature_info {
    struct doc doc; /* of the object */
    bool drop;
};

struct updating {
    struct doc config;
    struct map infos; /* by name; values: struct feature_info */
    int64_t edited, dropped;
};

static void updating_release(struct updating *u)
{
    for (size_t i = 0; i < u->infos.n; i++) {
        struct feature_info *f = u->infos.at[i].value;
        doc_release(&f->doc);
        mem_free(f);
    }
    map_release(&u->infos);
    doc_release(&u->config);
}

static enum rc take_info(struct updating *u, struct str name, struct str json,
                         struct str message, struct err *err)
{
    struct feature_info *f = mem_calloc(1, sizeof(*f));
    struct diags diags = {0};
    enum rc rc = source_from("feature_info", json.p, json.n, &f->doc.src, err);
    if (!rc)
        rc = json_parse(&f->doc, &diags);
    if (!rc && f->doc.root->kind != NODE_MAP)
        rc = RC_FORMAT;
    if (rc)
        rc = err_coded(err, RC_INVAL, E2402,
                       "table: feature '%.*s': feature_info is not a JSON object",
                       (int)(name.n < 100 ? name.n : 100), name.p);
    diags_release(&diags);
    f->drop = message.n && memmem(message.p, message.n, "DROP IT", 7);
    struct map_entry *e = map_put(&u->infos, name);
    if (e->value) { /* the last row of a feature counts */
        doc_release(&((struct feature_info *)e->value)->doc);
        mem_free(e->value);
    }
    e->value = f;
    return rc;
}

static enum rc read_table(const struct update_conf *c, struct updating *u,
                          struct err *err)
{
    const char *columns[] = {"feature", "feature_info", "message"};
    struct dataset *d = NULL;
    const struct batch *b = NULL;
    enum rc rc = data_input_open(&c->in, &c->table, 1, ROWS, columns, 3, &d, err);
    const struct column *cols[3] = {0};
    if (!rc)
        rc = dataset_next(d, &b, err);
    while (!rc && b) {
        for (size_t i = 0; i < 3 && !rc; i++) {
            cols[i] = batch_find(b, str_c(columns[i]));
            if (cols[i]->type->id != TYPE_STR)
                rc = err_coded(err, RC_INVAL, E2401, "table: column '%s' holds no texts",
                               columns[i]);
        }
        for (int64_t i = 0; i < b->n && !rc; i++)
            rc = take_info(u, column_str(cols[0], i), column_str(cols[1], i),
                           column_str(cols[2], i), err);
        if (!rc)
            rc = dataset_next(d, &b, err);
    }
    dataset_close(d);
    return rc;
}

static const struct feature_info *info_of(const struct updating *u, const char *name)
{
    struct map_entry *e = map_find(&u->infos, str_c(name));
    return e ? e->value : NULL;
}

static bool drops(const struct updating *u, const char *name)
{
    const struct feature_info *f = info_of(u, name);
    return f && f->drop;
}

static const char *text_of(const struct node *map, const char *key)
{
    const struct node *n = node_find(map, key);
    return n && n->kind == NODE_STR ? n->text.p : "";
}

/* A whole number that may be written as a text. */
static void put_count(struct updating *u, struct node *f, const char *key,
                      const struct node *v)
{
    int64_t n;
    if (v && (node_i64(v, &n) || (v->kind == NODE_STR && str_to_i64(v->text, &n))))
        node_put(&u->config.arena, f, key, node_int(&u->config.arena, n, f->at));
}

static void put_bounds(struct updating *u, struct node *f, const struct node *list)
{
    struct arena *a = &u->config.arena;
    struct node *to = node_create(a, NODE_LIST, f->at);
    double v;
    node_remove(f, "boundaries");
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *n = list->list.at[i];
        if (node_number(n, &v) || (n->kind == NODE_STR && str_to_f64(n->text, &v)))
            node_push(a, to, node_real(a, v, f->at));
    }
    node_put(a, f, "boundaries", to);
}

static void update_feature(struct updating *u, struct node *f, const char *name)
{
    const struct feature_info *info = info_of(u, name);
    if (!info) {
        fprintf(stderr, "note: the table says nothing of feature '%s'\n", name);
        return;
    }
    const struct node *bounds = node_find(info->doc.root, "boundary");
    put_count(u, f, "embedding_dim", node_find(info->doc.root, "embedding_dim"));
    if (bounds && bounds->kind == NODE_LIST)
        put_bounds(u, f, bounds);
    else
        put_count(u, f, "hash_bucket_size",
                  node_find(info->doc.root, "hash_bucket_size"));
    u->edited++;
}

/* The message in an entry of feature_configs or of a sequence's features. */
static struct node *inside(const struct node *entry)
{
    return entry->kind == NODE_MAP && entry->map.n == 1 &&
                   entry->map.at[0].value->kind == NODE_MAP
               ? entry->map.at[0].value
               : NULL;
}

/* False: it goes. */
static bool visit_feature(struct updating *u, struct node *entry, const char *group)
{
    struct node *f = inside(entry);
    if (!f)
        return true;
    char *name = group ? mem_printf("%s__%s", group, text_of(f, "feature_name"))
                       : mem_strdup(text_of(f, "feature_name"));
    bool stays = !drops(u, name);
    if (stays)
        update_feature(u, f, name);
    u->dropped += !stays;
    mem_free(name);
    return stays;
}

/* Entries of `key` for which visit() is false are taken out; returns how many are left. */
static size_t filter(struct updating *u, struct node *map, const char *key,
                     bool (*visit)(struct updating *u, struct node *n, const char *arg),
                     const char *arg)
{
    size_t kept = 0, left = 0;
    for (size_t i = 0; i < map->map.n; i++) {
        struct node_entry *e = &map->map.at[i];
        bool ours = str_is(e->key, key), stays = true;
        if (ours && e->value->kind == NODE_LIST) {
            size_t n = 0;
            for (size_t k = 0; k < e->value->list.n; k++)
                if (visit(u, e->value->list.at[k], arg))
                    e->value->list.at[n++] = e->value->list.at[k];
            e->value->list.n = n;
            left += n;
            stays = n > 0;
        } else if (ours) {
            stays = visit(u, e->value, arg);
            left += stays;
        }
        if (stays)
            map->map.at[kept++] = *e;
    }
    map->map.n = kept;
    return left;
}

static bool visit_config(struct updating *u, struct node *entry, const char *arg)
{
    struct node *f = inside(entry);
    if (!f || !str_is(entry->map.at[0].key, "sequence_feature"))
        return visit_feature(u, entry, NULL);
    return filter(u, f, "features", visit_feature, text_of(f, "sequence_name")) > 0;
}

static bool visit_name(struct updating *u, struct node *name, const char *arg)
{
    return name->kind != NODE_STR || !drops(u, name->text.p);
}

/* An encoder whose group of sequences is gone goes too; `gone` is that group's name. */
static bool visit_encoder(struct updating *u, struct node *entry, const char *gone)
{
    const struct node *module = inside(entry);
    return !module || strcmp(text_of(module, "input"), gone) != 0;
}

static bool visit_sequences(struct updating *u, struct node *group, const char *arg)
{
    return group->kind != NODE_MAP ||
           filter(u, group, "feature_names", visit_name, NULL) > 0;
}

static bool visit_group(struct updating *u, struct node *group, const char *arg)
{
    struct node *before =
        group->kind == NODE_MAP ? node_clone(&u->config.arena, group) : NULL;
    if (!before)
        return true;
    filter(u, group, "feature_names", visit_name, NULL);
    filter(u, group, "sequence_groups", visit_sequences, NULL);
    for (size_t i = 0; i < before->map.n; i++) {
        struct node *old = before->map.at[i].value;
        bool single = str_is(before->map.at[i].key, "sequence_groups") &&
                      old->kind == NODE_MAP && !visit_sequences(u, old, NULL);
        if (single)
            filter(u, group, "sequence_encoders", visit_encoder,
                   text_of(old, "group_name"));
    }
    return true;
}

static enum rc write_result(const struct update_conf *c, struct updating *u,
                            struct err *err)
{
    struct buf text, out;
    struct conf config = {0};
    struct diags diags = {0};
    struct conf_options o = {.kind = &conf_kind_pipeline};
    buf_init(&text, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    prototext_print(u->config.root, &text);
    buf_add(&out, text.p, text.n);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = io_is_direct(c->output) ? cmd_print(&out, err)
                                     : fs_write(c->output, text.p, text.n, 0666, err);
    if (!rc) {
        fprintf(stderr, "%jd features edited, %jd dropped\n", (intmax_t)u->edited,
                (intmax_t)u->dropped);
        rc = conf_from(io_output_name(c->output), buf_str(&text), text.n, &o, &config,
                       &diags, err);
        if (rc && diags.list.n && err)
            err->msg[0] = '\0'; /* they say it */
    }
    config_show(&diags);
    diags_release(&diags);
    conf_release(&config);
    buf_release(&text);
    buf_release(&out);
    return rc;
}

static enum rc open_template(const char *path, struct doc *d, struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_open(path, &d->src, err);
    if (!rc)
        rc = prototext_parse(d, &diags);
    if (rc && diags.list.n && err)
        err->msg[0] = '\0';
    config_show(&diags);
    diags_release(&diags);
    return rc;
}

static enum rc features_update_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    const struct update_conf *c = conf;
    struct updating u = {0};
    struct fs_names inputs = {0};
    const char *in[] = {args->at[0], c->table};
    if (!c->table || !c->table[0])
        return err_coded(err, RC_INVAL, E0605, "--table PATH is missing");
    data_input_files(in, 2, &inputs);
    enum rc rc = io_guard_file(c->output, &inputs, c->overwrite, err);
    if (!rc)
        rc = open_template(args->at[0], &u.config, err);
    if (!rc)
        rc = read_table(c, &u, err);
    if (!rc) {
        struct node *model = node_find(u.config.root, "model_config");
        filter(&u, u.config.root, "feature_configs", visit_config, NULL);
        if (model)
            filter(&u, model, "feature_groups", visit_group, NULL);
        rc = write_result(c, &u, err);
    }
    fs_names_release(&inputs);
    updating_release(&u);
    return rc;
}

static const struct cmd_example examples[] = {
    {"sizes and widths from a table of statistics",
     "trainyard features update template.config --table features.csv --output "
     "new.config"},
    {0},
};

const struct cmd cmd_features_update = {
    .name = "features update",
    .args = "CONFIG",
    .summary = "set embedding and bucket sizes of features from a table",
    .description =
        "The table has the columns feature (a name, sequence__name inside a sequence), "
        "feature_info (a JSON object with embedding_dim and boundary or "
        "hash_bucket_size) and message; a feature whose message contains DROP IT is "
        "removed from the config and its groups.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct update_conf),
    .min_args = 1,
    .max_args = 1,
    .run = features_update_command,
};
