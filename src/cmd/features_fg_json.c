/* SPDX-License-Identifier: Apache-2.0 */
/* features fg-json: the features of a config as the fg.json that feature generators and
 * online services read, to stdout or, with the files that features read, to a directory.
 */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/train_config.h"
#include "io/guard.h"
#include "text/json.h"
#include "train/export/export.h"

struct fg_json_conf {
    const char *output_dir, *reserves, *file_name, *edit_config_json;
    struct opt_list set;
    bool remove_bucketizer, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct fg_json_conf, output_dir, NULL,
              "write the file and those that features read into this directory; "
              "default: print the file"),
     .meta = "DIR"},
    {OPT_TEXT(struct fg_json_conf, file_name, "fg.json", "name of the file there"),
     .meta = "NAME"},
    {OPT_TEXT(struct fg_json_conf, reserves, NULL,
              "columns that a generator keeps as they are, comma-separated"),
     .meta = "NAMES"},
    {OPT_BOOL(struct fg_json_conf, remove_bucketizer, "false",
              "leave out bucketization, that is, how values become ids")},
    {OPT_LIST(struct fg_json_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct fg_json_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON"},
    DATA_OVERWRITE_OPT(struct fg_json_conf),
    {0},
};

static void remove_bucketizers(struct node *features)
{
    static const char *const keys[] = {"hash_bucket_size", "vocab_dict", "vocab_list",
                                       "boundaries", "num_buckets"};
    for (size_t i = 0; i < features->list.n; i++) {
        struct node *f = features->list.at[i], *own = node_find(f, "features");
        const struct node *type = node_find(f, "feature_type");
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            node_remove(f, keys[k]);
        if (type && !str_is(type->text, "tokenize_feature"))
            node_remove(f, "vocab_file");
        if (own)
            remove_bucketizers(own);
    }
}

static void add_reserves(struct doc *d, const char *names)
{
    struct node *list = node_create(&d->arena, NODE_LIST, d->root->at);
    struct str rest = str_c(names), part;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n)
            node_push(&d->arena, list, node_str(&d->arena, part.p, part.n, d->root->at));
    }
    node_put(&d->arena, d->root, "reserves", list);
}

/* `text` with what the options change. */
static enum rc change(const struct fg_json_conf *c, struct buf *text, struct err *err)
{
    struct doc d = {0};
    struct diags diags = {0};
    enum rc rc = source_from("fg.json", buf_str(text), text->n, &d.src, err);
    if (!rc)
        rc = json_parse(&d, &diags);
    if (!rc && c->remove_bucketizer)
        remove_bucketizers(node_find(d.root, "features"));
    if (!rc && c->reserves && c->reserves[0])
        add_reserves(&d, c->reserves);
    if (!rc) {
        buf_clear(text);
        json_print(d.root, 4, text);
        buf_putc(text, '\n');
        rc = buf_check(text, err);
    }
    diags_release(&diags);
    doc_release(&d);
    return rc;
}

static enum rc fg_json_to_dir(const struct fg_json_conf *c, const struct conf *config,
                              const char *path, struct buf *text, struct err *err)
{
    struct fs_names in = {.at = (char *[]){(char *)path}, .n = 1};
    const char *names[] = {c->file_name, NULL};
    enum rc rc = io_guard_files(c->output_dir, names, &in, c->overwrite, err);
    if (!rc)
        rc = fs_mkdirs(c->output_dir, 0777, err);
    if (!rc)
        rc = train_export_fg_json(config, c->output_dir, text, err);
    if (!rc)
        rc = change(c, text, err);
    char *to = fs_join(c->output_dir, c->file_name);
    if (!rc)
        rc = fs_write(to, buf_str(text), text->n, 0666, err);
    mem_free(to);
    return rc;
}

static enum rc features_fg_json_command(const void *conf, const struct opt_args *args,
                                        struct err *err)
{
    const struct fg_json_conf *c = conf;
    struct conf config = {0};
    struct diags diags = {0};
    struct buf text;
    buf_init(&text, CMD_TEXT_MAX * 64);
    enum rc rc = config_open(args->at[0], NULL, 0, &c->set, c->edit_config_json, &config,
                             &diags, err);
    config_show(&diags);
    if (!rc && c->output_dir && c->output_dir[0])
        rc = fg_json_to_dir(c, &config, args->at[0], &text, err);
    else if (!rc) {
        rc = train_export_fg_json(&config, NULL, &text, err);
        if (!rc)
            rc = change(c, &text, err);
        if (!rc)
            rc = cmd_print(&text, err);
    }
    buf_release(&text);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static const struct cmd_example examples[] = {
    {"print it", "trainyard features fg-json pipeline.config"},
    {"with the vocabularies, for a job that generates features offline",
     "trainyard features fg-json pipeline.config --output-dir fg --reserves "
     "clk,request_id "
     "--remove-bucketizer"},
    {0},
};

const struct cmd cmd_features_fg_json = {
    .name = "features fg-json",
    .args = "CONFIG",
    .summary = "write the fg.json of a config's features",
    .description =
        "fg.json is what other feature generators and online services read: one object "
        "per feature. With --output-dir, files that features read (vocabularies, "
        "tokenizers) are copied there and referenced from it. `export` writes the same "
        "file.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct fg_json_conf),
    .min_args = 1,
    .max_args = 1,
    .run = features_fg_json_command,
};
