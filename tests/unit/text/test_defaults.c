/* SPDX-License-Identifier: Apache-2.0 */
#include "text/defaults.h"

#include "tap.h"
#include "text/conf.h"
#include "text/prototext.h"

static const char text[] =
    "model_dir: \"m\" train_input_path: \"a\" eval_input_path: \"b\"\n"
    "train_config { num_steps: 3\n"
    "  sparse_optimizer { sgd_optimizer { lr: 0.5 } }\n"
    "  dense_optimizer { adam_optimizer {} } }\n";

/* The tree of `text`, as far as the schema goes. */
static struct node *open_tree(struct conf *c, struct diags *d)
{
    struct conf_options o = {.kind = &conf_kind_pipeline};
    (void)!conf_from("c", text, sizeof(text) - 1, &o, c, d, NULL);
    return c->doc.root;
}

static void what_is_unsaid_is_filled_in(void)
{
    struct conf c = {0};
    struct diags d = {0};
    struct node *root = open_tree(&c, &d);
    schema_fill_defaults(conf_kind_pipeline.root, root, &c.arena);
    const struct node *train = node_find(root, "train_config");
    int64_t n = 0;
    double lr = 0;
    CHECK(node_i64(node_find(train, "num_steps"), &n) && n == 3);
    CHECK(node_i64(node_find(train, "log_step_count_steps"), &n) && n == 100);
    const struct node *sgd =
        node_find(node_find(train, "sparse_optimizer"), "sgd_optimizer");
    CHECK(node_number(node_find(sgd, "lr"), &lr) && lr == 0.5);
    const struct node *adam =
        node_find(node_find(train, "dense_optimizer"), "adam_optimizer");
    CHECK(node_number(node_find(adam, "beta1"), &lr) && lr == 0.9);
    CHECK(node_find(root, "data_config") == NULL);
    diags_release(&d);
    conf_release(&c);
}

static void filling_twice_changes_nothing(void)
{
    struct conf c = {0};
    struct diags d = {0};
    struct buf once, twice;
    struct node *root = open_tree(&c, &d);
    buf_init(&once, 1 << 20);
    buf_init(&twice, 1 << 20);
    schema_fill_defaults(conf_kind_pipeline.root, root, &c.arena);
    prototext_print(root, &once);
    schema_fill_defaults(conf_kind_pipeline.root, root, &c.arena);
    prototext_print(root, &twice);
    CHECK_STR(buf_str(&twice), buf_str(&once));
    buf_release(&once);
    buf_release(&twice);
    diags_release(&d);
    conf_release(&c);
}

static const struct tap_case cases[] = {
    TAP(what_is_unsaid_is_filled_in),
    TAP(filling_twice_changes_nothing),
};
TAP_MAIN(cases)
