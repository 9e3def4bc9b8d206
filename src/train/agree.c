/* SPDX-License-Identifier: Apache-2.0 */
#include "train/agree.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "text/conf.h"
#include "text/prototext.h"

#define FACTS_MAX ((size_t)1 << 16)

static const char *next_text(const char *at)
{
    return at + strlen(at) + 1;
}

/* Whether so many bytes are so many texts. */
static bool are_texts(const char *at, int64_t n, int64_t texts)
{
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; i++)
        zeros += at[i] == '\0';
    return n > 0 && at[n - 1] == '\0' && zeros == texts;
}

/* `other`: facts, then the host's name. */
static enum rc compare(const char *const *names, int n, const char *first,
                       const char *other, int rank, struct err *err)
{
    const char *a = first, *b = other, *host = other;
    for (int i = 0; i < n; i++)
        host = next_text(host);
    for (int i = 0; i < n; i++, a = next_text(a), b = next_text(b))
        if (strcmp(a, b) != 0)
            return err_coded(err, RC_INVAL, E2503,
                             "rank %d on host %s has another %s than rank 0: %.100s, not "
                             "%.100s",
                             rank, host, names[i], b, a);
    return RC_OK;
}

enum rc train_agree(struct comm *comm, const char *const *names, int n,
                    const struct buf *facts, struct err *err)
{
    int world = comm_world(comm);
    char host[256] = "";
    struct buf own;
    void *all = NULL;
    int64_t bytes = 0;
    if (world == 1)
        return RC_OK;
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    buf_init(&own, FACTS_MAX);
    buf_add(&own, facts->p, facts->n);
    buf_add(&own, host, strlen(host) + 1);
    enum rc rc = comm_gather_bytes(comm, own.p, (int64_t)own.n, &all, &bytes, err);
    const char *first = all, *at = all;
    if (!rc && !are_texts(all, bytes, (int64_t)world * (n + 1)))
        rc = comm_broken(comm, "all_gather", err,
                         "%jd bytes that do not describe %d ranks", (intmax_t)bytes,
                         world);
    for (int r = 0; r < world && !rc; r++) {
        rc = compare(names, n, first, at, r, err);
        for (int i = 0; i <= n; i++)
            at = next_text(at);
    }
    mem_free(all);
    buf_release(&own);
    return rc;
}

void train_agree_config(const struct conf *conf, struct buf *out)
{
    struct buf text;
    buf_init(&text, SOURCE_MAX);
    prototext_print(conf->doc.root, &text);
    buf_printf(out, "%016jx%c", (uintmax_t)hash_xxh3(buf_str(&text), text.n), 0);
    buf_release(&text);
}
