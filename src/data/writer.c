/* SPDX-License-Identifier: Apache-2.0 */
#include "data/writer.h"

#include <string.h>

#include "base/mem.h"
#include "data/suffix.h"

struct writer {
    const struct writer_ops *ops;
    void *state;
    char *path; /* owned */
    struct data_schema schema;
};

static const struct writer_ops *const writers[] = {
#define WRITER(name, where) &writer_##name,
#include "data/writers.def"
#undef WRITER
    NULL,
};

const char writer_formats[] =
#define WRITER_WORD_file(name) "|" #name
#define WRITER_WORD_address(name)
#define WRITER(name, where) WRITER_WORD_##where(name)
#include "data/writers.def"
#undef WRITER
    ;

const struct writer_ops *const *writer_all(size_t *n)
{
    *n = ARRAY_LEN(writers) - 1;
    return writers;
}

const struct writer_ops *writer_find(const char *name)
{
    for (const struct writer_ops *const *o = writers; *o; o++)
        if (strcmp((*o)->name, name) == 0)
            return *o;
    return NULL;
}

const struct writer_ops *writer_of_path(const char *path)
{
    for (const struct writer_ops *const *o = writers; *o; o++) {
        size_t n = (*o)->scheme ? strlen((*o)->scheme) : 0;
        if (n && strncmp(path, (*o)->scheme, n) == 0 && str_starts(path + n, "://"))
            return *o;
    }
    for (const struct writer_ops *const *o = writers; *o; o++)
        if (!(*o)->scheme && suffix_matches(path, (*o)->suffixes))
            return *o;
    return NULL;
}

static enum rc check_compression(const struct writer_ops *ops, const char *name,
                                 struct err *err)
{
    struct str rest = str_c(ops->compression), part;
    while (name && str_split(&rest, '|', &part))
        if (str_is(part, name))
            return RC_OK;
    return name ? err_coded(err, RC_INVAL, E1205,
                            "%s files have no compression '%.40s'; there is %s",
                            ops->name, name, ops->compression)
                : RC_OK;
}

enum rc writer_open(const char *path, const struct writer_ops *ops,
                    const struct data_schema *schema, const struct writer_conf *conf,
                    struct writer **out, struct err *err)
{
    enum rc rc = check_compression(ops, conf->compression, err);
    if (rc)
        return err_wrap(err, rc, "'%s'", path);
    struct writer *w = mem_calloc(1, sizeof(*w));
    w->ops = ops;
    w->path = mem_strdup(path);
    data_schema_copy(&w->schema, schema);
    rc = ops->open(path, &w->schema, conf, &w->state, err);
    if (rc) {
        writer_abandon(w);
        return rc;
    }
    *out = w;
    return RC_OK;
}

enum rc writer_add(struct writer *w, const struct batch *b, struct err *err)
{
    return w->ops->add(w->state, b, err);
}

static void writer_free(struct writer *w)
{
    data_schema_release(&w->schema);
    mem_free(w->path);
    mem_free(w);
}

enum rc writer_commit(struct writer *w, struct err *err)
{
    enum rc rc = w->ops->commit(w->state, err);
    writer_free(w);
    return rc;
}

void writer_abandon(struct writer *w)
{
    if (!w)
        return;
    if (w->state)
        w->ops->abandon(w->state);
    writer_free(w);
}
