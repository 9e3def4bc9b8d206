/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as messages to a parameter server, cut where a length says: it answers each, or keeps
 * it for a round, and goes on. The first byte chooses the mode.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/link_local.h"
#include "dist/ps_server.h"
#include "dist/ps_wire.h"
#include "embed/embed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct dist_ps_store *make_store(struct dist_ps_job job, struct lookup *l,
                                        struct param *const *params)
{
    struct dist_ps_store *s = NULL;
    struct dist_ps_store_conf c = {
        .job = job,
        .model = {.lookup = l, .params = params, .n_params = 1},
        .rows = {.base = 0.1}};
    if (dist_ps_store_create(&c, &s, NULL))
        abort();
    return s;
}

/* A message as it is, or behind a head that is good. */
static void say(struct dist_ps_server *s, const uint8_t *data, size_t n, bool plain)
{
    struct buf b;
    struct err err = {0};
    buf_init(&b, 1 << 20);
    if (!plain)
        dist_ps_begin(&b, &(struct dist_ps_head){.kind = n ? data[0] % PS_KINDS : 1,
                                                 .worker = n > 1 ? data[1] % 3 : 0,
                                                 .seq = n > 2 ? data[2] : 0});
    else
        buf_clear(&b);
    size_t skip = plain ? 0 : n < 3 ? n : 3;
    buf_add(&b, data + skip, n - skip);
    struct comm_link_asked q = {.peer = {.n = 8}, .data = b.p, .n = b.n};
    if (b.n && dist_ps_server_handle(s, &q, &err))
        abort();
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    float value[4] = {0}, grad[4] = {0};
    struct param p = {.name = "w",
                      .n_dims = 1,
                      .dims = {4},
                      .n = 4,
                      .trainable = true,
                      .value = value,
                      .grad = grad};
    struct param *params[1] = {&p};
    struct embed_table_conf t = {
        .name = "t", .rows = 100, .dim = 3, .trainable = true, .opt = {.kind = ROW_ADAM}};
    struct dist_ps_job job = {1, 2,
                              n ? (enum dist_ps_mode)(data[0] % PS_MODES) : PS_SYNC};
    struct comm_link_hub *hub = comm_link_hub_create();
    struct comm_link_conf link = {.secret = "sixteen letters.", .hub = hub};
    struct dist_ps_server_conf c = {.job = job};
    struct lookup *l = NULL;
    if (lookup_create(NULL, &(struct lookup_conf){0}, &l, NULL) ||
        lookup_add_table(l, &t, NULL) != 0 ||
        comm_link_serve(&comm_link_local_ops, &link, "a:1", &c.link, NULL))
        abort();
    c.store = make_store(job, l, params);
    struct dist_ps_server *s = dist_ps_server_create(&c);
    for (size_t at = 1; at < n;) {
        size_t len = data[at] & 0x7f, left = n - at - 1;
        say(s, data + at + 1, len < left ? len : left, data[at] & 0x80);
        at += 1 + (len < left ? len : left);
    }
    dist_ps_server_destroy(s);
    dist_ps_store_destroy(c.store);
    comm_link_stop(c.link);
    comm_link_hub_destroy(hub);
    lookup_destroy(l);
    return 0;
}
