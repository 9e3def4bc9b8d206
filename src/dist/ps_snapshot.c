/* SPDX-License-Identifier: Apache-2.0 */
/* A server's file is a message to itself: digest, updates so far, the last update of each trainer,
 * dense values and their optimizer state, then rows in pieces. It replaces the one before when it is
 * whole. Because the number of each trainer's last update is in it, a question that was under way when
 * the server died is neither lost nor done twice.
 */
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "dist/ps_server_private.h"

static void put_head(const struct dist_ps_server *s, struct buf *b)
{
    dist_ps_begin(b, &(struct dist_ps_head){.kind = PS_OK});
    dist_ps_put_bytes(b, s->conf.digest, strlen(s->conf.digest));
    dist_ps_put_u64(b, dist_ps_store_steps(s->conf.store));
    for (int w = 0; w < s->conf.job.workers; w++) {
        dist_ps_put_u64(b, s->workers[w].done);
        dist_ps_put_u32(b, s->workers[w].complete);
    }
    dist_ps_put_floats(b, dist_ps_store_dense(s->conf.store),
                       dist_ps_store_n_dense(s->conf.store));
    dist_ps_put_state(b, s->conf.store);
}

static enum rc flush(struct fs_file *f, struct buf *b, struct err *err)
{
    enum rc rc = buf_check(b, err);
    if (!rc)
        rc = fs_append(f, b->p, b->n, err);
    buf_clear(b);
    return rc;
}

static enum rc put_table(struct dist_ps_server *s, int table, struct fs_file *f,
                         struct buf *b, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t from = 0; from >= 0 && !rc;) {
        struct dist_ps_piece piece;
        rc = dist_ps_store_piece(s->conf.store, table, from,
                                 dist_ps_piece_rows(s->conf.store, table), &piece, err);
        if (rc)
            return rc;
        from = piece.next;
        dist_ps_put_u32(b, from >= 0);
        dist_ps_put_ids(b, piece.ids, piece.n);
        dist_ps_put_floats(b, piece.rows, piece.n * piece.stride);
        mem_free(piece.ids);
        mem_free(piece.rows);
        rc = flush(f, b, err);
    }
    return rc;
}

static enum rc write_file(struct dist_ps_server *s, struct err *err)
{
    struct fs_file *f = NULL;
    struct buf b;
    buf_init(&b, COMM_LINK_MESSAGE_MAX);
    enum rc rc = fs_create(s->conf.snapshot, 0600, &f, err);
    if (!rc) {
        put_head(s, &b);
        rc = flush(f, &b, err);
    }
    for (int t = 0; dist_ps_store_dim(s->conf.store, t) && !rc; t++)
        rc = put_table(s, t, f, &b, err);
    if (!rc)
        rc = fs_commit(f, err);
    else
        fs_abandon(f);
    buf_release(&b);
    return rc;
}

enum rc dist_ps_snapshot_write(struct dist_ps_server *s, struct err *err)
{
    int64_t now = clock_mono_ns();
    uint64_t steps = dist_ps_store_steps(s->conf.store);
    if (!s->conf.snapshot || steps == s->saved_steps ||
        now - s->saved_ns < s->conf.snapshot_ms * 1000000)
        return RC_OK;
    s->saved_ns = now;
    s->saved_steps = steps;
    enum rc rc = write_file(s, err);
    return rc ? err_wrap(err, rc, "snapshot") : RC_OK;
}

/* --- back again --- */

static bool get_item(struct dist_ps_in *in, struct arena *a, struct nn_state *out)
{
    const void *name, *data;
    int64_t n_name = dist_ps_get_list(in, 1, &name);
    uint32_t type = dist_ps_get_u32(in);
    int64_t bytes = dist_ps_get_list(in, 1, &data);
    if (in->bad || type > STATE_I64 ||
        bytes % (int64_t)nn_state_size((enum nn_state_type)type) != 0)
        return false;
    void *own = arena_alloc(a, (size_t)bytes + 1);
    memcpy(own, data, (size_t)bytes);
    nn_state_add(out, (enum nn_state_type)type, own,
                 bytes / (int64_t)nn_state_size((enum nn_state_type)type), "%s",
                 arena_strndup(a, name, (size_t)n_name));
    return true;
}

static enum rc get_dense(struct dist_ps_server *s, struct dist_ps_in *in, uint64_t steps,
                         struct err *err)
{
    struct arena a = {0};
    struct nn_state state = {0};
    const void *values;
    int64_t n = dist_ps_get_list(in, sizeof(float), &values);
    in->bad |= n != dist_ps_store_n_dense(s->conf.store);
    for (uint32_t k = dist_ps_get_u32(in); k > 0 && !in->bad; k--)
        in->bad |= !get_item(in, &a, &state);
    enum rc rc = in->bad
                     ? dist_ps_end(in, err)
                     : dist_ps_store_put_dense(s->conf.store, values, &state, steps, err);
    nn_state_release(&state);
    arena_release(&a);
    return rc;
}

static enum rc get_table(struct dist_ps_server *s, int table, struct dist_ps_in *in,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (bool more = true; more && !rc;) {
        const void *ids, *rows;
        more = dist_ps_get_u32(in) != 0;
        int64_t n = dist_ps_get_list(in, sizeof(int64_t), &ids);
        int64_t floats = dist_ps_get_list(in, sizeof(float), &rows);
        in->bad |= floats != n * dist_ps_store_stride(s->conf.store, table);
        rc = in->bad ? dist_ps_end(in, err)
                     : dist_ps_store_put_piece(s->conf.store, table, ids, rows, n, err);
    }
    return rc;
}

static enum rc read_file(struct dist_ps_server *s, const struct fs_map *map,
                         struct err *err)
{
    struct dist_ps_in in;
    struct dist_ps_head h;
    const void *digest;
    enum rc rc = dist_ps_open(map->data, map->n, &in, &h, err);
    int64_t n = rc ? 0 : dist_ps_get_list(&in, 1, &digest);
    if (!rc && (n != (int64_t)strlen(s->conf.digest) ||
                memcmp(digest, s->conf.digest, (size_t)n) != 0))
        rc = err_coded(err, RC_FORMAT, E2703, "it is of another model or job");
    uint64_t steps = rc ? 0 : dist_ps_get_u64(&in);
    for (int w = 0; w < s->conf.job.workers && !rc; w++) {
        s->workers[w].done = dist_ps_get_u64(&in);
        s->workers[w].complete = dist_ps_get_u32(&in) != 0;
    }
    if (!rc)
        rc = get_dense(s, &in, steps, err);
    for (int t = 0; dist_ps_store_dim(s->conf.store, t) && !rc; t++)
        rc = get_table(s, t, &in, err);
    return rc ? rc : dist_ps_end(&in, err);
}

enum rc dist_ps_server_restore(struct dist_ps_server *s, struct err *err)
{
    struct fs_map map;
    if (!s->conf.snapshot || !fs_exists(s->conf.snapshot))
        return RC_OK;
    enum rc rc = fs_map(s->conf.snapshot, &map, err);
    if (rc)
        return rc;
    rc = read_file(s, &map, err);
    fs_unmap(&map);
    s->saved_steps = dist_ps_store_steps(s->conf.store);
    return rc ? err_wrap(err, rc, "snapshot '%s'", s->conf.snapshot) : RC_OK;
}
