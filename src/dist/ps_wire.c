/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/ps_wire.h"

#include <string.h>

#define MAGIC 0x53507954u /* "TyPS" */
#define VERSION 1u

void dist_ps_put_u32(struct buf *b, uint32_t v)
{
    buf_add(b, &v, sizeof(v));
}

void dist_ps_put_u64(struct buf *b, uint64_t v)
{
    buf_add(b, &v, sizeof(v));
}

void dist_ps_put_bytes(struct buf *b, const void *v, size_t n)
{
    dist_ps_put_u64(b, n);
    if (n)
        buf_add(b, v, n);
}

void dist_ps_put_floats(struct buf *b, const float *v, int64_t n)
{
    dist_ps_put_u64(b, (uint64_t)n);
    if (n)
        buf_add(b, v, (size_t)n * sizeof(*v));
}

void dist_ps_put_ids(struct buf *b, const int64_t *v, int64_t n)
{
    dist_ps_put_u64(b, (uint64_t)n);
    if (n)
        buf_add(b, v, (size_t)n * sizeof(*v));
}

void dist_ps_begin(struct buf *b, const struct dist_ps_head *h)
{
    buf_clear(b);
    dist_ps_put_u32(b, MAGIC);
    dist_ps_put_u32(b, VERSION);
    dist_ps_put_u32(b, h->kind);
    dist_ps_put_u32(b, h->worker);
    dist_ps_put_u64(b, h->seq);
}

const void *dist_ps_get_some(struct dist_ps_in *in, int64_t n, size_t size)
{
    const void *at = in->p;
    if (in->bad || n < 0 || (uint64_t)n > in->n / size) {
        in->bad = true;
        return NULL;
    }
    in->p += (size_t)n * size;
    in->n -= (size_t)n * size;
    return at;
}

uint32_t dist_ps_get_u32(struct dist_ps_in *in)
{
    uint32_t v = 0;
    const void *at = dist_ps_get_some(in, 1, sizeof(v));
    if (at)
        memcpy(&v, at, sizeof(v));
    return v;
}

uint64_t dist_ps_get_u64(struct dist_ps_in *in)
{
    uint64_t v = 0;
    const void *at = dist_ps_get_some(in, 1, sizeof(v));
    if (at)
        memcpy(&v, at, sizeof(v));
    return v;
}

int64_t dist_ps_get_list(struct dist_ps_in *in, size_t size, const void **at)
{
    uint64_t n = dist_ps_get_u64(in);
    if (n > INT64_MAX)
        in->bad = true;
    *at = dist_ps_get_some(in, in->bad ? -1 : (int64_t)n, size);
    return *at ? (int64_t)n : 0;
}

enum rc dist_ps_open(const void *data, size_t n, struct dist_ps_in *in,
                     struct dist_ps_head *h, struct err *err)
{
    *in = (struct dist_ps_in){.p = data, .n = n};
    uint32_t magic = dist_ps_get_u32(in), version = dist_ps_get_u32(in);
    h->kind = dist_ps_get_u32(in);
    h->worker = dist_ps_get_u32(in);
    h->seq = dist_ps_get_u64(in);
    if (in->bad || magic != MAGIC)
        return err_coded(err, RC_FORMAT, E2703, "%zu bytes that are no message", n);
    if (version != VERSION || h->kind == 0 || h->kind >= PS_KINDS)
        return err_coded(err, RC_FORMAT, E2703,
                         "a message %u of version %u, where %u is spoken", h->kind,
                         version, VERSION);
    return RC_OK;
}

enum rc dist_ps_end(const struct dist_ps_in *in, struct err *err)
{
    if (!in->bad && in->n == 0)
        return RC_OK;
    return err_coded(err, RC_FORMAT, E2703, "a message that is %s",
                     in->bad ? "cut short" : "too long");
}
