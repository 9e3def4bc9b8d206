/* SPDX-License-Identifier: Apache-2.0 */
/* zstd_alone FILE REPEATS - how long libzstd takes to decompress every page of a Parquet
 * file that is in memory already, nothing else: the floor of any reader that uses this
 * libzstd. Prints bytes and the least processor time of one pass.
 */
#include <stdio.h>
#include <time.h>
#include <zstd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "data/parquet/pages.h"

struct piece {
    const uint8_t *in;
    size_t n, size;
};
typedef VEC(struct piece) piece_vec;

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is compressed in one column chunk. */
static enum rc add_chunk(const struct pq_source *s, const struct pq_chunk *chunk,
                         piece_vec *out, struct err *err)
{
    struct pq_leaf leaf = {.physical = (enum pq_physical)chunk->physical};
    struct pq_pages p = {.source = s, .leaf = &leaf};
    struct pq_page h;
    bool more = true;
    enum rc rc = pq_pages_begin(&p, chunk, err);
    while (!rc) {
        rc = pq_pages_next(&p, &h, &more, err);
        if (rc || !more)
            break;
        size_t levels =
            h.type == PQ_DATA_PAGE_V2 ? (size_t)(h.rep_bytes + h.def_bytes) : 0;
        struct piece one = {.in = s->bytes + p.data_at + levels,
                            .n = (size_t)h.compressed - levels,
                            .size = (size_t)h.size - levels};
        VEC_PUSH(out, one);
    }
    pq_pages_release(&p);
    return rc;
}

static enum rc all_pieces(const struct pq_source *s, piece_vec *out, struct err *err)
{
    struct pq_file_meta m = {0};
    size_t n = s->size - 8 - s->data_end;
    enum rc rc = pq_file_meta_parse(&m, s->bytes + s->data_end, n, s->data_end, err);
    for (size_t g = 0; !rc && g < m.n_groups; g++)
        for (size_t c = 0; !rc && c < m.n_leaves; c++)
            rc = add_chunk(s, &m.groups[g].chunks[c], out, err);
    pq_file_meta_release(&m);
    return rc;
}

static bool pass(ZSTD_DCtx *ctx, const piece_vec *all, char *room, size_t max)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct piece *p = &all->at[i];
        if (p->size && ZSTD_decompressDCtx(ctx, room, max, p->in, p->n) != p->size)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    piece_vec all = {0};
    char *bytes = NULL;
    size_t n = 0, in = 0, size = 0, max = 0;
    int64_t repeats;
    double best = 1e9;
    if (argc != 3 || !str_to_i64(str_c(argv[2]), &repeats))
        return 2;
    enum rc rc = fs_read(argv[1], (size_t)4 << 30, &bytes, &n, &err);
    if (!rc && n > 12) {
        struct pq_source s = {.bytes = (const void *)bytes, .size = n};
        s.data_end = n - 8 - pq_load32(s.bytes + n - 8);
        rc = all_pieces(&s, &all, &err);
    }
    for (size_t i = 0; i < all.n; i++) {
        in += all.at[i].n;
        size += all.at[i].size;
        max = all.at[i].size > max ? all.at[i].size : max;
    }
    char *room = mem_alloc(max + 1);
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    for (int64_t i = 0; !rc && i < repeats; i++) {
        double start = cpu();
        if (!pass(ctx, &all, room, max))
            rc = err_set(&err, RC_FORMAT, "not zstd throughout");
        double t = cpu() - start;
        best = t < best ? t : best;
    }
    if (rc)
        fprintf(stderr, "%s\n", err.msg);
    else
        printf("{\"pages\": %zu, \"in\": %zu, \"out\": %zu, \"zstd\": \"%s\", "
               "\"seconds\": %.6f}\n",
               all.n, in, size, ZSTD_versionString(), best);
    ZSTD_freeDCtx(ctx);
    VEC_RELEASE(&all);
    mem_free(room);
    mem_free(bytes);
    return rc ? 1 : 0;
}
