/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "data/sampler/make.h"
#include "io/guard.h"

#define ROWS 8192 /* at a time */

struct items_conf {
    struct data_input in;
    const char *item, *user, *attrs, *attr_delimiter, *out;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct items_conf, item, NULL, "column with the item id"),
     .meta = "COLUMN"},
    {OPT_TEXT(struct items_conf, user, NULL,
              "column with the user id; also writes users and edges"),
     .meta = "COLUMN"},
    {OPT_TEXT(struct items_conf, attrs, NULL,
              "attribute columns of items, in the order of attr_fields"),
     .meta = "A,B"},
    {OPT_TEXT(struct items_conf, attr_delimiter, ":", "separator of attributes"),
     .meta = "TEXT"},
    {OPT_TEXT(struct items_conf, out, NULL, "output directory; created if needed"),
     .meta = "DIR"},
    DATA_OVERWRITE_OPT(struct items_conf),
    DATA_INPUT_OPTS(struct items_conf),
    {0},
};

static enum rc check_output(const struct items_conf *c, const struct opt_args *args,
                            struct err *err)
{
    static const char *const names[] = {"items.txt", "users.txt", "edges.txt", NULL};
    static const char *const items[] = {"items.txt", NULL};
    struct fs_names files = {0};
    data_input_files(args->at, args->n, &files);
    enum rc rc =
        io_guard_files(c->out, c->user ? names : items, &files, c->overwrite, err);
    fs_names_release(&files);
    return rc;
}

static enum rc data_items_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct items_conf *c = conf;
    struct sampler_make_conf make = {
        .item = c->item, .user = c->user, .attr_delim = c->attr_delimiter, .out = c->out};
    struct sampler_make_counts counts;
    struct dataset *d = NULL;
    const char **names = NULL;
    char *text = NULL;
    if (!c->item || !c->out)
        return err_coded(err, RC_INVAL, E0605, "missing option --%s",
                         c->item ? "out DIR" : "item COLUMN");
    if (c->attrs)
        make.n_attrs = data_input_names(c->attrs, &names, &text);
    make.attrs = names;
    enum rc rc = check_output(c, args, err);
    if (!rc)
        rc = data_input_open(&c->in, args->at, args->n, ROWS, NULL, 0, &d, err);
    if (!rc)
        rc = sampler_tables(d, &make, &counts, err);
    if (!rc) {
        data_input_report(d);
        fprintf(stderr, "%s: %jd items", c->out, (intmax_t)counts.items);
        if (c->user)
            fprintf(stderr, ", %jd users, %jd edges", (intmax_t)counts.users,
                    (intmax_t)counts.edges);
        fprintf(stderr, " from %jd rows\n", (intmax_t)counts.rows);
    }
    dataset_close(d);
    mem_free(names);
    mem_free(text);
    return rc;
}

static const struct cmd_example examples[] = {
    {"an item table for a negative_sampler",
     "trainyard data items clicks.parquet --item item_id --attrs item_id,cate_id "
     "--out tables"},
    {"with users and edges, for a negative_sampler_v2",
     "trainyard data items log.csv --item item --user user --attrs item,cate --out t"},
    {"of candidates: a row has lists of items",
     "trainyard data items kuairand/train --item cand_seq__video_id "
     "--attrs cand_seq__video_id --out kuairand/tables"},
    {0},
};

const struct cmd cmd_data_items = {
    .name = "data items",
    .args = "IN...",
    .summary = "build the tables of a negative sampler from a log",
    .description =
        "Writes DIR/items.txt: each item once, weighted by its number of rows, with "
        "the attributes of its first row. With --user it also writes DIR/users.txt and "
        "DIR/edges.txt. The samplers in data_config (negative_sampler and related "
        "ones) read these tables; attr_fields lists the columns of --attrs.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct items_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = data_items_command,
};
