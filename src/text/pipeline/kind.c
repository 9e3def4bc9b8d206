/* SPDX-License-Identifier: Apache-2.0 */
/* The kind "pipeline": a pipeline.config in protobuf text format, or the same as JSON. */
#include <string.h>

#include "text/conf.h"
#include "text/pipeline/pipeline_private.h"

/* Equal, or equal when the underscores of `name` are taken as camelCase. */
static bool is_name(struct str key, const char *name)
{
    size_t i = 0;
    if (str_is(key, name))
        return true;
    for (; *name && i < key.n; name++, i++) {
        char want = *name;
        if (want == '_' && name[1] >= 'a' && name[1] <= 'z')
            want = (char)(*++name - 'a' + 'A');
        if (key.p[i] != want)
            return false;
    }
    return !*name && i == key.n;
}

/* Every name of the root message is telling, so one is enough; more make it certain. */
static int pipeline_probe(const char *path, enum syntax syntax, const struct node *root)
{
    int known = 0;
    if (syntax == SYNTAX_YAML || root->kind != NODE_MAP)
        return 0;
    const struct field_def *fields = pc_EasyRecConfig_def.fields();
    for (size_t i = 0; i < root->map.n && known < 4; i++)
        for (const struct field_def *f = fields; f->name; f++)
            known += is_name(root->map.at[i].key, f->name);
    if (known == 0)
        return 0;
    return known > 3 ? 100 : 80 + 5 * known;
}

static enum schema_dialect pipeline_dialect(enum syntax syntax)
{
    return syntax == SYNTAX_JSON ? SCHEMA_JSON : SCHEMA_PROTO;
}

static void pipeline_describe(const struct conf *c, struct buf *out)
{
    const struct pc_EasyRecConfig *p = c->data;
    const struct field_def *model =
        p->model_config ? schema_oneof(&p->model_config->base, "model", NULL) : NULL;
    buf_printf(out, "%jd feature%s, %s%s", (intmax_t)p->n_feature_configs,
               p->n_feature_configs == 1 ? "" : "s", model ? "model " : "no model",
               model ? model->name : "");
}

const struct conf_kind conf_kind_pipeline = {
    .name = "pipeline",
    .title = "TorchEasyRec pipeline.config",
    .example = "pipeline.config",
    .family = &schema_family_pipeline,
    .root = &pc_EasyRecConfig_def,
    .usual = SYNTAX_PROTOTEXT,
    .probe = pipeline_probe,
    .dialect = pipeline_dialect,
    .describe = pipeline_describe,
    .check = pipeline_check,
};
