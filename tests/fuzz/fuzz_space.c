/* SPDX-License-Identifier: Apache-2.0 */
/* Any text that JSON or YAML reads: the checker does not crash, and what it accepts keeps
 * the promises of space.h.
 */
#include <math.h>
#include <stdlib.h>

#include "text/json.h"
#include "text/nni/algo.h"
#include "text/nni/space.h"
#include "text/yaml.h"
#include "tree_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void param_check(const struct nni_space *s, int64_t i)
{
    const struct nni_param *p = &s->at[i];
    if (p->parent >= i || p->parent < -1 || !p->name || !p->path)
        abort();
    if (p->parent >= 0) {
        const struct nni_param *up = &s->at[p->parent];
        if (!up->nested || p->option < 0 || p->option >= up->size)
            abort();
    }
    if (p->categorical ? p->size < 1 : p->size != 0)
        abort();
    if (!isfinite(p->low) || !isfinite(p->high) || p->low > p->high || p->q < 0)
        abort();
}

static void space_check(const struct node *root, struct diags *diags)
{
    struct arena a = {0};
    struct nni_space space = {0};
    size_t before = diags->n_errors, n_algos;
    enum rc rc = nni_space_build(root, &a, diags, &space);
    if ((rc == RC_OK) != (diags->n_errors == before))
        abort();
    for (int64_t i = 0; i < space.n; i++)
        param_check(&space, i);
    const struct nni_algo *algos = nni_algos(&n_algos);
    for (size_t i = 0; i < n_algos; i++) {
        if (algos[i].role == NNI_TUNER && rc == RC_OK)
            nni_algo_check_space(&algos[i], &space, root->at, diags);
        nni_args_check(&algos[i], root, diags);
    }
    arena_release(&a);
}

static enum rc parse_yaml(struct doc *d, struct diags *diags)
{
    return yaml_parse(d, true, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tree_parse_fn *const parsers[] = {json_parse, parse_yaml};
    for (int i = 0; i < 2; i++) {
        struct doc d = {0};
        struct diags diags = {0};
        struct buf shown;
        buf_init(&shown, (size_t)1 << 24);
        if (source_from("input", (const char *)data, n, &d.src, NULL) == RC_OK &&
            parsers[i](&d, &diags) == RC_OK)
            space_check(d.root, &diags);
        for (size_t k = 0; k < diags.list.n; k++)
            span_check(d.src, diags.list.at[k].at);
        diags_print(&diags, &shown, false);
        buf_release(&shown);
        diags_release(&diags);
        doc_release(&d);
    }
    return 0;
}
