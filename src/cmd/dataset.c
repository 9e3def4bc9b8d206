/* SPDX-License-Identifier: Apache-2.0 */
/* dataset create, list, get, delete: named data with a place where jobs see it. Only the
 * entry is made and deleted, never the data. What can be checked without the data (name,
 * mount, form of the path) is checked here; all else is asked of p->ops, which is the
 * local store or a server.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/inputs.h"
#include "job/quote.h"
#include "text/job/job.h"

struct dataset_conf {
    struct job_where where;
    const char *path, *mount, *type;
    bool writable, json;
};

static const struct opt create_opts[] = {
    {OPT_TEXT(struct dataset_conf, path, NULL,
              "location of the data: a directory or a URI"),
     .meta = "PATH"},
    {OPT_TEXT(struct dataset_conf, mount, "/mnt/data", "where jobs see it"),
     .meta = "PATH"},
    {OPT_CHOICE(struct dataset_conf, type, "local", "local|nas|oss|s3|odps",
                "storage type; nas is a directory mounted on this machine")},
    {OPT_BOOL(struct dataset_conf, writable, "false",
              "let jobs of a server's users write there, to the directory or, with the "
              "server's keys, to the store; without it they can only read")},
    {OPT_BOOL(struct dataset_conf, json, "false", "print one JSON object")},
    JOB_WHERE_OPTS(struct dataset_conf),
    JOB_SERVER_OPT(struct dataset_conf),
    {0},
};

static const struct opt show_opts[] = {
    {OPT_BOOL(struct dataset_conf, json, "false", "print JSON")},
    JOB_WHERE_OPTS(struct dataset_conf),
    JOB_SERVER_OPT(struct dataset_conf),
    {0},
};

static void put_json(const struct store_dataset *d, struct buf *out)
{
    char time[CLOCK_TEXT_SIZE];
    struct json_out j = {.out = out};
    clock_rfc3339(d->created, time);
    json_open(&j, NULL, '{');
    json_put_str(&j, "name", d->name);
    json_put_str(&j, "id", d->id);
    json_put_str(&j, "type", d->type);
    json_put_str(&j, "path", d->uri);
    json_put_str(&j, "mount", d->mount);
    json_put_str(&j, "owner", d->owner);
    json_put_bool(&j, "writable", store_dataset_writable(d));
    json_put_str(&j, "created", time);
    json_close(&j, '}');
}

static void put_row(const struct store_dataset *d, struct buf *out)
{
    buf_printf(out, "%-18s  %-20s  %-6s  %-20s  ", d->id, d->name, d->type, d->mount);
    job_quote_terminal(str_c(d->uri), out);
    buf_putc(out, '\n');
}

static enum rc check_place(const struct dataset_conf *c, struct err *err)
{
    bool local = strcmp(c->type, "local") == 0 || strcmp(c->type, "nas") == 0;
    if (!c->path)
        return err_coded(err, RC_INVAL, E3301, "a dataset needs --path");
    if (!job_inputs_place_ok(c->mount))
        return err_coded(err, RC_INVAL, E3301,
                         "--mount: '%.100s' is not a mount path: " JOB_PLACE_RULE,
                         c->mount);
    if (local && strstr(c->path, "://"))
        return err_coded(err, RC_INVAL, E3301,
                         "--path: '%.200s' is a URI, not a path: name its kind with "
                         "--type",
                         c->path);
    if (!local && !strstr(c->path, "://"))
        return err_coded(err, RC_INVAL, E3301,
                         "--path: '%.200s' is not a URI, which a dataset of type %s "
                         "needs",
                         c->path, c->type);
    return RC_OK;
}

static enum rc create_dataset(const struct dataset_conf *c, const struct cmd_place *p,
                              const char *name, struct err *err)
{
    struct arena arena = {0};
    const char *wrong = jobspec_check_name(str_c(name));
    if (wrong)
        return err_coded(err, RC_INVAL, E3301, "'%.100s': %s", name, wrong);
    enum rc rc = check_place(c, err);
    if (rc)
        return rc;
    struct store_dataset d = {.name = name,
                              .type = c->type,
                              .uri = c->path,
                              .mount = c->mount,
                              .options = c->writable ? STORE_DATASET_WRITABLE : ""};
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p->ops->dataset_create(p, &d, &arena, err);
    if (!rc && c->json)
        put_json(&d, &out);
    else if (!rc)
        buf_puts(&out, d.id);
    buf_putc(&out, '\n');
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    arena_release(&arena);
    return rc;
}

static enum rc dataset_create_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    const struct dataset_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = create_dataset(c, &p, args->at[0], err);
    cmd_place_close(&p);
    return rc;
}

static enum rc dataset_show_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct dataset_conf *c = conf;
    struct cmd_place p;
    struct store_datasets l = {0};
    struct buf out;
    bool one = args->n > 0;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.ops->dataset_get(&p, one ? args->at[0] : NULL, &l, err);
    buf_puts(&out, c->json && !one ? "[" : "");
    for (size_t i = 0; i < l.n && !rc; i++) {
        buf_puts(&out, i && c->json ? ",\n" : "");
        if (c->json)
            put_json(&l.at[i], &out);
        else
            put_row(&l.at[i], &out);
    }
    buf_puts(&out, c->json && !one ? "]\n" : c->json ? "\n" : "");
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_datasets_release(&l);
    cmd_place_close(&p);
    return rc;
}

static enum rc dataset_delete_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    const struct dataset_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = p.ops->dataset_delete(&p, args->at[0], err);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"a directory that jobs see as /mnt/data",
     "trainyard dataset create taobao --path /srv/taobao --mount /mnt/data"},
    {"a job that uses it", "trainyard job run --data taobao -- ls /mnt/data"},
    {0},
};

const struct cmd cmd_dataset_create = {
    .name = "dataset create",
    .args = "NAME",
    .summary = "register a dataset under a name",
    .description =
        "Prints the dataset's id. The data itself is neither changed nor copied. A job "
        "mounts it with --data NAME, or takes it as an input with --input "
        "CHANNEL=dataset:NAME.",
    .examples = examples,
    .opts = create_opts,
    .conf_size = sizeof(struct dataset_conf),
    .min_args = 1,
    .max_args = 1,
    .run = dataset_create_command,
};

static const struct cmd_example list_examples[] = {
    {"all of them", "trainyard dataset list"},
    {0},
};

const struct cmd cmd_dataset_list = {
    .examples = list_examples,
    .name = "dataset list",
    .summary = "list datasets",
    .opts = show_opts,
    .conf_size = sizeof(struct dataset_conf),
    .run = dataset_show_command,
};

static const struct cmd_example get_examples[] = {
    {"show its path", "trainyard dataset get taobao"},
    {0},
};

const struct cmd cmd_dataset_get = {
    .examples = get_examples,
    .name = "dataset get",
    .args = "NAME",
    .summary = "show one dataset",
    .opts = show_opts,
    .conf_size = sizeof(struct dataset_conf),
    .min_args = 1,
    .max_args = 1,
    .run = dataset_show_command,
};

static const struct cmd_example delete_examples[] = {
    {"delete the entry", "trainyard dataset delete taobao"},
    {0},
};

const struct cmd cmd_dataset_delete = {
    .examples = delete_examples,
    .name = "dataset delete",
    .args = "NAME",
    .summary = "delete a dataset entry; the data itself stays",
    .opts = show_opts,
    .conf_size = sizeof(struct dataset_conf),
    .min_args = 1,
    .max_args = 1,
    .run = dataset_delete_command,
};
