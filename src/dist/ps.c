/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/ps.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"

#define BLOCK_MIN 8192 /* values of a block, unless the parameter has fewer */

static const char *const names[PS_MODES] = {
    [PS_SYNC] = "sync",
    [PS_HALF_ASYNC] = "half_async",
    [PS_ASYNC] = "async",
    [PS_GEO_MODE] = "geo",
};

const char *dist_ps_mode_name(enum dist_ps_mode m)
{
    return names[m];
}

enum dist_ps_mode dist_ps_mode_find(const char *name)
{
    int m = 0;
    while (m < PS_MODES && strcasecmp(names[m], name) != 0)
        m++;
    return (enum dist_ps_mode)m;
}

enum rc dist_ps_model_check(const struct dist_ps_model *m, struct err *err)
{
    for (int t = 0; t < lookup_n_tables(m->lookup); t++) {
        const struct embed_table_conf *c = lookup_table(m->lookup, t);
        if (c->keyed.kind != KEYED_NONE)
            return err_coded(err, RC_UNSUPPORTED, E2704,
                             "table '%s': ids that own rows (zch, dynamicemb) are not "
                             "kept by parameter servers",
                             c->name);
    }
    return RC_OK;
}

void dist_ps_digest(const struct dist_ps_job *job, const struct dist_ps_model *m,
                    char out[DIST_PS_DIGEST])
{
    struct buf b;
    struct sha256 s;
    buf_init(&b, (size_t)1 << 30);
    buf_printf(&b, "%d %d %d\n", job->servers, job->workers, (int)job->mode);
    for (int t = 0; t < lookup_n_tables(m->lookup); t++) {
        const struct embed_table_conf *c = lookup_table(m->lookup, t);
        buf_printf(&b, "table %s %jd %jd %d\n", c->name, (intmax_t)c->rows,
                   (intmax_t)c->dim, (int)c->opt.kind);
    }
    for (size_t i = 0; i < m->n_params; i++)
        buf_printf(&b, "param %s %jd %d\n", m->params[i]->name, (intmax_t)m->params[i]->n,
                   m->params[i]->trainable);
    sha256_init(&s);
    sha256_add(&s, buf_str(&b), b.n);
    sha256_text(&s, out);
    buf_release(&b);
}

static int64_t rows_of(const struct param *p)
{
    return p->n_dims > 0 && p->dims[0] > 0 ? p->dims[0] : 1;
}

/* Rows of a block: as many blocks as there are servers, but none that is small. */
static int64_t rows_per_block(const struct dist_ps_job *job, const struct param *p)
{
    int64_t blocks = p->n / BLOCK_MIN, rows = rows_of(p);
    blocks = blocks < 1 ? 1 : blocks > job->servers ? job->servers : blocks;
    return (rows + blocks - 1) / blocks;
}

struct dist_ps_block *dist_ps_blocks(const struct dist_ps_job *job,
                                     const struct dist_ps_model *m, size_t *n)
{
    struct dist_ps_block *out = NULL;
    *n = 0;
    for (size_t i = 0; i < m->n_params; i++) {
        const struct param *p = m->params[i];
        if (!p->trainable || p->n == 0)
            continue;
        int64_t rows = rows_of(p), width = p->n / rows, each = rows_per_block(job, p);
        for (int64_t r = 0; r < rows; r += each, ++*n) {
            int64_t have = rows - r < each ? rows - r : each;
            out = mem_realloc(out, *n + 1, sizeof(*out));
            out[*n] = (struct dist_ps_block){.param = i,
                                             .at = r * width,
                                             .n = have * width,
                                             .rows = have,
                                             .server = (int)(*n % (size_t)job->servers)};
        }
    }
    return out;
}

int64_t dist_ps_blocks_total(const struct dist_ps_block *b, size_t n, int server)
{
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        if (server < 0 || b[i].server == server)
            total += b[i].n;
    return total;
}
