/* SPDX-License-Identifier: Apache-2.0 */
/* Each schema and each array holds what it is made of behind private_data, and releases
 * its children before itself, as the interface asks.
 */
#include "lib/result.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct schema_memory {
    char name[256], format[32];
    struct ArrowSchema **children;
};

struct array_memory {
    void *values; /* owned */
    const void *buffers[2];
    struct ArrowArray **children;
};

enum rc lib_result_create(const struct train_score_output *outputs, size_t n,
                          int64_t rows, struct lib_result *out, struct err *err)
{
    *out = (struct lib_result){.outputs = outputs, .n = n, .rows = rows};
    out->values = mem_calloc(n + 1, sizeof(*out->values));
    for (size_t i = 0; i < n; i++) {
        size_t floats = (size_t)rows * (size_t)outputs[i].width;
        out->values[i] = mem_try_alloc(floats + 1, sizeof(float));
        if (!out->values[i]) {
            lib_result_release(out);
            return err_set(err, RC_NOMEM, "scores of %jd rows", (intmax_t)rows);
        }
    }
    return RC_OK;
}

void lib_result_release(struct lib_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        mem_free(r->values[i]);
    mem_free(r->values);
    *r = (struct lib_result){0};
}

static void release_schema(struct ArrowSchema *s)
{
    struct schema_memory *m = s->private_data;
    for (int64_t i = 0; i < s->n_children; i++) {
        if (m->children[i]->release)
            m->children[i]->release(m->children[i]);
        mem_free(m->children[i]);
    }
    mem_free(m->children);
    mem_free(m);
    s->release = NULL;
}

static void make_schema(const char *name, const char *format, int64_t n_children,
                        struct ArrowSchema *s)
{
    struct schema_memory *m = mem_calloc(1, sizeof(*m));
    snprintf(m->name, sizeof(m->name), "%s", name);
    snprintf(m->format, sizeof(m->format), "%s", format);
    m->children = mem_calloc((size_t)n_children + 1, sizeof(struct ArrowSchema *));
    for (int64_t i = 0; i < n_children; i++)
        m->children[i] = mem_calloc(1, sizeof(struct ArrowSchema));
    *s = (struct ArrowSchema){.format = m->format,
                              .name = m->name,
                              .n_children = n_children,
                              .children = m->children,
                              .release = release_schema,
                              .private_data = m};
}

static void release_array(struct ArrowArray *a)
{
    struct array_memory *m = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (m->children[i]->release)
            m->children[i]->release(m->children[i]);
        mem_free(m->children[i]);
    }
    mem_free(m->children);
    mem_free(m->values);
    mem_free(m);
    a->release = NULL;
}

/* `values` becomes the array's; NULL: it has none of its own. */
static void make_array(int64_t length, float *values, int64_t n_children,
                       struct ArrowArray *a)
{
    struct array_memory *m = mem_calloc(1, sizeof(*m));
    m->values = values;
    m->buffers[1] = values;
    m->children = mem_calloc((size_t)n_children + 1, sizeof(struct ArrowArray *));
    for (int64_t i = 0; i < n_children; i++)
        m->children[i] = mem_calloc(1, sizeof(struct ArrowArray));
    *a = (struct ArrowArray){.length = length,
                             .n_buffers = values ? 2 : 1,
                             .n_children = n_children,
                             .buffers = m->buffers,
                             .children = m->children,
                             .release = release_array,
                             .private_data = m};
}

static void export_output(const struct train_score_output *o, int64_t rows, float *values,
                          struct ArrowSchema *schema, struct ArrowArray *array)
{
    if (o->width == 1) {
        make_schema(o->name, "f", 0, schema);
        make_array(rows, values, 0, array);
        return;
    }
    char format[32];
    snprintf(format, sizeof(format), "+w:%jd", (intmax_t)o->width);
    make_schema(o->name, format, 1, schema);
    make_schema("item", "f", 0, schema->children[0]);
    make_array(rows, NULL, 1, array);
    make_array(rows * o->width, values, 0, array->children[0]);
}

void lib_result_export(struct lib_result *r, struct ArrowSchema *schema,
                       struct ArrowArray *array)
{
    make_schema("", "+s", (int64_t)r->n, schema);
    make_array(r->rows, NULL, (int64_t)r->n, array);
    for (size_t i = 0; i < r->n; i++)
        export_output(&r->outputs[i], r->rows, r->values[i], schema->children[i],
                      array->children[i]);
    mem_free(r->values);
    *r = (struct lib_result){0};
}
