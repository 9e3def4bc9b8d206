/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt_tool write MODEL_DIR      a checkpoint of step 7: parameters, tables, state
 * ckpt_tool values CKPT NAME     the floats of a tensor, one per line, exact
 *
 * For tests/interop/checkpoint.py.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/state.h"
#include "embed/embed.h"

static enum rc fail(const struct err *err, enum rc rc)
{
    fprintf(stderr, "ckpt_tool: %s\n", err->msg);
    return rc;
}

static void add_table(struct embed *e, const char *name, enum embed_row_opt_kind kind)
{
    struct embed_table_conf conf = {.name = name,
                                    .rows = 1000,
                                    .dim = 8,
                                    .a = -0.5,
                                    .b = 0.5,
                                    .trainable = true,
                                    .opt = {.kind = kind, .initial_accumulator = 0.1},
                                    .seed = 11};
    int i = embed_add_table(e, &conf, NULL);
    for (int64_t r = 0; i >= 0 && r < 1000; r += 3) {
        struct embed_table *t = embed_table_at(e, i);
        embed_table_use(t, r);
        embed_table_row(t, r)[0] = (float)r;
    }
}

static enum rc write_one(const char *model_dir)
{
    struct err err = {0};
    struct ckpt_writer_conf conf = {.step = 7,
                                    .epoch = 1,
                                    .config = "model_dir: \"\xc3\xa9\"\n",
                                    .shard_bytes = 20000};
    struct ckpt_writer *w = ckpt_writer_open(model_dir, &conf);
    float values[24];
    for (int i = 0; i < 24; i++)
        values[i] = (float)i / 3;
    struct param p = {
        .name = "fc.weight", .n_dims = 3, .dims = {2, 3, 4}, .n = 24, .value = values};
    struct param *params[] = {&p};
    struct embed *e = embed_create(NULL);
    add_table(e, "user", ROW_ADAM);
    add_table(e, "item \"\xc3\xa4\"", ROW_ROWWISE_ADAGRAD);
    ckpt_add_state(w, &(struct ckpt_state){
                          .params = params, .n_params = 1, .lookup = embed_lookup(e)});
    ckpt_add_f32(w, CKPT_OPTIMIZER, "optimizer.fc.weight.step", NULL, 0, values + 3, 1);
    ckpt_add_bytes(w, CKPT_STATE, "blob", "\x00\xff", 2);
    ckpt_add_json(w, "cursor", "{\"row\": 5, \"x\": 0.1}");
    enum rc rc = ckpt_commit(w, &err);
    embed_destroy(e);
    return rc ? fail(&err, rc) : rc;
}

static enum rc print_values(const char *path, const char *name)
{
    struct err err = {0};
    struct ckpt *c = NULL;
    enum rc rc = ckpt_open(path, 0, &c, NULL, &err);
    if (rc)
        return fail(&err, rc);
    const struct ckpt_st_tensor *t = ckpt_find(c, name);
    int64_t n = t ? ckpt_st_rows(t) * ckpt_st_width(t) : 0;
    float *v = mem_calloc((size_t)n + 1, sizeof(*v));
    rc = t ? ckpt_st_read_f32(t, 0, ckpt_st_rows(t), v, ckpt_st_width(t), &err)
           : err_set(&err, RC_NOTFOUND, "no tensor '%s'", name);
    for (int64_t i = 0; !rc && i < n; i++)
        printf("%a\n", (double)v[i]);
    mem_free(v);
    ckpt_close(c);
    return rc ? fail(&err, rc) : rc;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_one(argv[2]) ? 1 : 0;
    if (argc == 4 && strcmp(argv[1], "values") == 0)
        return print_values(argv[2], argv[3]) ? 1 : 0;
    fprintf(stderr, "usage: ckpt_tool write MODEL_DIR | values CKPT NAME\n");
    return 2;
}
