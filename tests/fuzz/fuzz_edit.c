/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an edit of a small file of each family: no crash, spans inside their
 * sources, and a refused edit leaves the tree as it was. The first byte chooses the
 * family and the form; each further line is one edit.
 */
#include <stdlib.h>
#include <string.h>

#include "text/edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char pipeline[] =
    "model_dir: 'm' data_config { batch_size: 8 label_fields: ['a', 'b'] }\n"
    "feature_configs { id_feature { feature_name: 'u' num_buckets: 9 vocab_dict { key: "
    "'x' value: 1 } } }\n"
    "feature_configs { raw_feature { feature_name: 'p' boundaries: [1, 2.5] } }\n";
static const char pipeline_json[] =
    "{\"model_dir\": \"m\", \"feature_configs\": [{\"id_feature\": {\"feature_name\": "
    "\"u\", \"vocab_dict\": {\"x\": 1}}}, {\"raw_feature\": {\"boundaries\": [1]}}]}";
static const char experiment[] =
    "trialConcurrency: 1\ntrialCommand: x\ntuner: {name: TPE, classArgs: {a: [1, {b: "
    "2}]}}\n"
    "trainingService: {platform: local}\n"
    "searchSpace: {lr: {_type: choice, _value: [1, 2]}}\n";

static void check_span(struct span at)
{
    if (at.src && (at.off > at.src->n || at.len > at.src->n - at.off))
        abort();
}

static void check_node(const struct node *n)
{
    check_span(n->at);
    if (n->kind == NODE_LIST)
        for (size_t i = 0; i < n->list.n; i++)
            check_node(n->list.at[i]);
    if (n->kind == NODE_MAP)
        for (size_t i = 0; i < n->map.n; i++) {
            check_span(n->map.at[i].key_at);
            check_node(n->map.at[i].value);
        }
}

static void apply(struct conf *c, const char *text, bool json, struct diags *diags)
{
    struct conf_edit edit = {.origin = "--set", .text = text, .json = json};
    struct arena a = {0};
    const struct node *before = node_clone(&a, c->doc.root);
    size_t errors = diags->n_errors;
    enum rc rc = edit_apply(c, &edit, diags);
    if ((rc == RC_OK) != (diags->n_errors == errors))
        abort();
    if (rc && !node_equal(before, c->doc.root))
        abort();
    check_node(c->doc.root);
    arena_release(&a);
    if (!rc)
        (void)schema_normalise(c->kind->root, c->doc.root, c->kind->dialect(c->syntax),
                               &c->arena, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct {
        const struct conf_kind *kind;
        const char *text;
    } files[] = {{&conf_kind_pipeline, pipeline},
                 {&conf_kind_pipeline, pipeline_json},
                 {&conf_kind_nni_experiment, experiment}};
    if (n == 0 || n > 10000)
        return 0;
    size_t f = data[0] % 3;
    struct conf_options o = {.kind = files[f].kind};
    struct conf c;
    struct diags diags = {0};
    struct buf shown;
    if (conf_from("f", files[f].text, strlen(files[f].text), &o, &c, &diags, NULL) ==
            RC_NOMEM ||
        !c.doc.root || c.doc.root->kind != NODE_MAP)
        abort();
    struct str rest = str_of((const char *)data + 1, n - 1), line;
    for (size_t i = 0; i < 20 && str_split(&rest, '\n', &line); i++) {
        char *text = mem_strndup(line.p, line.n);
        apply(&c, text, data[0] & 128, &diags);
        mem_free(text);
    }
    for (size_t i = 0; i < diags.list.n; i++)
        check_span(diags.list.at[i].at);
    buf_init(&shown, (size_t)1 << 22);
    diags_print(&diags, &shown, false);
    buf_release(&shown);
    diags_release(&diags);
    conf_release(&c);
    return 0;
}
