/* SPDX-License-Identifier: Apache-2.0 */
/* Making a download session takes the service seconds, and readers of one dataset must
 * see the same snapshot: sessions are kept by path for the life of the process, which is
 * the only state here.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/map.h"
#include "base/mem.h"
#include "data/odps/client.h"
#include "data/odps/encoding.h"
#include "text/json.h"

#define COLUMNS_MAX 10000
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 5000
#define POLLS_MAX 200

/* Lives as long as the process. Its lock is held while the session is made, so that only
 * those wait who need the same one.
 */
struct entry {
    pthread_mutex_t lock;
    char *text; /* JSON of the session; NULL: none. Guarded by lock */
};

static struct {
    pthread_mutex_t lock;
    struct map by_path; /* guarded by lock; values: struct entry */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct entry *entry_of(const char *url)
{
    pthread_mutex_lock(&known.lock);
    struct map_entry *e = map_put(&known.by_path, str_c(url));
    struct entry *one = e->value;
    if (!one) {
        e->value = one = mem_calloc(1, sizeof(*one));
        pthread_mutex_init(&one->lock, NULL);
    }
    pthread_mutex_unlock(&known.lock);
    return one;
}

void odps_session_release(struct odps_session *s)
{
    for (size_t i = 0; i < s->n; i++)
        mem_free(s->columns[i].name);
    mem_free(s->columns);
    mem_free(s->id);
    arena_release(&s->mem);
    *s = (struct odps_session){0};
}

static enum rc odd(const struct odps_path *path, const char *what, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1705, "'%.300s': the answer makes no sense: %s",
                     path->url, what);
}

static enum rc add_column(struct odps_session *s, const struct node *at, bool is_key,
                          const struct odps_path *path, struct err *err)
{
    const struct node *name = node_find(at, "name"), *type = node_find(at, "type");
    if (!name || name->kind != NODE_STR || !type || type->kind != NODE_STR)
        return odd(path, "a column without name or type", err);
    struct odps_column *c = &s->columns[s->n];
    enum rc rc = odps_type_parse(type->text, &s->mem, &c->type, err);
    if (rc)
        return err_wrap(err, rc, "'%.300s': column '%.100s'", path->url, name->text.p);
    c->name = mem_strndup(name->text.p, name->text.n);
    c->is_key = is_key;
    s->n++;
    s->n_keys += is_key;
    return RC_OK;
}

static enum rc read_schema(const struct node *root, const struct odps_path *path,
                           struct odps_session *s, struct err *err)
{
    const struct node *schema = node_find(root, "Schema");
    const struct node *lists[] = {node_find(schema, "columns"),
                                  node_find(schema, "partitionKeys")};
    size_t n = 0;
    enum rc rc = RC_OK;
    if (!lists[0] || lists[0]->kind != NODE_LIST)
        return odd(path, "a session without columns", err);
    for (size_t k = 0; k < 2; k++)
        n += lists[k] && lists[k]->kind == NODE_LIST ? lists[k]->list.n : 0;
    if (n == 0 || n > COLUMNS_MAX)
        return odd(path, "a table of no or too many columns", err);
    s->columns = mem_calloc(n, sizeof(*s->columns));
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0;
             !rc && lists[k] && lists[k]->kind == NODE_LIST && i < lists[k]->list.n; i++)
            rc = add_column(s, lists[k]->list.at[i], k == 1, path, err);
    return rc;
}

static enum rc odps_session_parse(struct str text, const struct odps_path *path,
                                  struct doc *doc, struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_from("answer", text.p, text.n, &doc->src, err);
    if (!rc)
        rc = json_parse(doc, &diags);
    diags_release(&diags);
    return rc ? odd(path, "not JSON", err) : RC_OK;
}

/* What the JSON of a session says. `id_name` is "DownloadID" or "UploadID". *ready is
 * false while the service is still at it.
 */
static enum rc read_session(struct str text, const struct odps_path *path,
                            const char *id_name, struct odps_session *s, bool *ready,
                            struct err *err)
{
    struct doc doc = {0};
    enum rc rc = odps_session_parse(text, path, &doc, err);
    const struct node *id = node_find(doc.root, id_name),
                      *status = node_find(doc.root, "Status"),
                      *rows = node_find(doc.root, "RecordCount");
    *ready = true;
    if (!rc && (!id || id->kind != NODE_STR || !id->text.n))
        rc = odd(path, "a session without an id", err);
    if (!rc) {
        s->id = mem_strndup(id->text.p, id->text.n);
        if (status && status->kind == NODE_STR &&
            strcasecmp(status->text.p, "initiating") == 0)
            *ready = false;
    }
    if (!rc && *ready) {
        if (strcmp(id_name, "DownloadID") == 0 &&
            (!rows || !node_i64(rows, &s->rows) || s->rows < 0))
            rc = odd(path, "a session without a number of rows", err);
        if (!rc)
            rc = read_schema(doc.root, path, s, err);
    }
    doc_release(&doc);
    return rc;
}

/* Parameters come sorted by name; the partition may be absent. */
static size_t add_param(struct odps_param *p, size_t n, const char *name,
                        const char *value)
{
    p[n] = (struct odps_param){name, value};
    return n + 1;
}

/* The partition and the quota, where there are any. */
static size_t add_place(struct odps_param *p, size_t n, const struct odps *o,
                        const struct odps_path *path)
{
    if (path->partition)
        n = add_param(p, n, "partition", path->partition);
    if (odps_quota(o))
        n = add_param(p, n, "quotaName", odps_quota(o));
    return n;
}

static void nap(int try)
{
    int64_t ms = PAUSE_FIRST_MS;
    for (int i = 0; i < try && ms < PAUSE_MAX_MS; i++)
        ms *= 2;
    ms = ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

/* Makes a session, or asks for the one with this id; the JSON goes to *text. */
static enum rc ask_session(struct odps *o, const struct odps_path *path, const char *id,
                           char **text, struct err *err)
{
    struct odps_param p[8];
    size_t n = 0;
    if (!id)
        n = add_param(p, n, "asyncmode", "true");
    n = add_param(p, n, "curr_project", path->project);
    if (id)
        n = add_param(p, n, "downloadid", id);
    else
        n = add_param(p, n, "downloads", "");
    n = add_place(p, n, o, path);
    struct odps_call c = {.method = id ? "GET" : "POST",
                          .path = path,
                          .params = p,
                          .n_params = n,
                          .body = id ? NULL : ""};
    struct io_http_reply r;
    enum rc rc = odps_send(o, &c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    if (!rc)
        *text = mem_strdup(buf_str(&r.body));
    io_http_reply_release(&r);
    return rc;
}

static enum rc make_session(struct odps *o, const struct odps_path *path, char **out,
                            struct err *err)
{
    struct odps_session s = {0};
    bool ready = false;
    char *text = NULL;
    enum rc rc = ask_session(o, path, NULL, &text, err);
    for (int try = 0; !rc; try++) {
        odps_session_release(&s);
        rc = read_session(str_c(text), path, "DownloadID", &s, &ready, err);
        if (rc || ready)
            break;
        if (try == POLLS_MAX) {
            rc = err_coded(err, RC_IO, E1607, "'%.300s': the session does not get ready",
                           path->url);
            break;
        }
        nap(try);
        mem_free(text);
        text = NULL;
        rc = ask_session(o, path, s.id, &text, err);
    }
    odps_session_release(&s);
    if (rc)
        mem_free(text);
    else
        *out = text;
    return rc;
}

enum rc odps_download(struct odps *o, const struct odps_path *path,
                      struct odps_session *out, struct err *err)
{
    bool ready;
    struct odps_session s = {0};
    struct entry *e = entry_of(path->url);
    pthread_mutex_lock(&e->lock);
    enum rc rc = e->text ? RC_OK : make_session(o, path, &e->text, err);
    if (!rc)
        rc = read_session(str_c(e->text), path, "DownloadID", &s, &ready, err);
    pthread_mutex_unlock(&e->lock);
    if (rc)
        odps_session_release(&s);
    else
        *out = s;
    return rc;
}

void odps_forget(const char *url)
{
    struct entry *e = entry_of(url);
    pthread_mutex_lock(&e->lock);
    mem_free(e->text);
    e->text = NULL;
    pthread_mutex_unlock(&e->lock);
}

enum rc odps_rows(struct odps *o, const struct odps_path *path, const char *session,
                  const char *columns, int64_t from, int64_t n, struct buf *out,
                  struct err *err)
{
    struct odps_param p[8];
    size_t k = 0;
    char range[64];
    (void)snprintf(range, sizeof(range), "(%jd,%jd)", (intmax_t)from, (intmax_t)n);
    if (columns)
        k = add_param(p, k, "columns", columns);
    k = add_param(p, k, "curr_project", path->project);
    k = add_param(p, k, "data", NULL);
    k = add_param(p, k, "downloadid", session);
    k = add_place(p, k, o, path);
    k = add_param(p, k, "rowrange", range);
    struct odps_call c = {.method = "GET",
                          .path = path,
                          .params = p,
                          .n_params = k,
                          .max = out->max,
                          .compressed = true};
    struct io_http_reply r;
    enum rc rc = odps_send(o, &c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    if (!rc && r.overflowed)
        rc = err_coded(err, RC_INVAL, E1090, "'%.300s': %jd rows do not fit in %zu bytes",
                       path->url, (intmax_t)n, out->max);
    if (!rc)
        rc = odps_decode(io_http_header(&r, "Content-Encoding"), &r.body, out->max, err);
    if (rc) {
        rc =
            err_code_of(err, rc) == E1705 ? err_wrap(err, rc, "'%.300s'", path->url) : rc;
    } else {
        buf_release(out);
        *out = r.body;
        r.body = (struct buf){0};
    }
    io_http_reply_release(&r);
    return rc;
}

enum rc odps_upload(struct odps *o, const struct odps_path *path, bool overwrite,
                    struct odps_session *out, bool *no_table, struct err *err)
{
    struct odps_param p[8];
    struct odps_session s = {0};
    bool ready = true;
    size_t n = 0;
    if (path->partition)
        n = add_param(p, n, "create_partition", "true");
    n = add_param(p, n, "curr_project", path->project);
    if (overwrite)
        n = add_param(p, n, "overwrite", "true");
    n = add_place(p, n, o, path);
    n = add_param(p, n, "reload", "False");
    n = add_param(p, n, "uploads", "1");
    struct odps_call c = {
        .method = "POST", .path = path, .params = p, .n_params = n, .body = ""};
    struct io_http_reply r;
    enum rc rc = odps_send(o, &c, &r, err);
    *no_table = !rc && odps_lacks_table(&r);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    if (!rc)
        rc = read_session(str_of(buf_str(&r.body), r.body.n), path, "UploadID", &s,
                          &ready, err);
    if (!rc && !ready)
        rc = odd(path, "an upload that is not ready", err);
    io_http_reply_release(&r);
    if (rc)
        odps_session_release(&s);
    else
        *out = s;
    return rc;
}

enum rc odps_block(struct odps *o, const struct odps_path *path, const char *session,
                   int64_t number, const void *bytes, size_t n, struct err *err)
{
    struct odps_param p[8];
    size_t k = 0;
    char digits[32];
    (void)snprintf(digits, sizeof(digits), "%jd", (intmax_t)number);
    k = add_param(p, k, "blockid", digits);
    k = add_param(p, k, "curr_project", path->project);
    k = add_place(p, k, o, path);
    k = add_param(p, k, "uploadid", session);
    struct odps_call c = {.method = "PUT",
                          .path = path,
                          .params = p,
                          .n_params = k,
                          .body = bytes,
                          .n_body = n};
    struct io_http_reply r;
    enum rc rc = odps_send(o, &c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    io_http_reply_release(&r);
    return rc;
}

/* How many blocks the server has. */
static enum rc count_blocks(struct str text, const struct odps_path *path, int64_t *out,
                            struct err *err)
{
    struct doc doc = {0};
    enum rc rc = odps_session_parse(text, path, &doc, err);
    const struct node *list = node_find(doc.root, "UploadedBlockList");
    *out = list && list->kind == NODE_LIST ? (int64_t)list->list.n : 0;
    doc_release(&doc);
    return rc;
}

enum rc odps_commit(struct odps *o, const struct odps_path *path, const char *session,
                    int64_t n_blocks, struct err *err)
{
    struct odps_param p[8];
    size_t n = 0;
    int64_t there = 0;
    n = add_param(p, n, "curr_project", path->project);
    n = add_place(p, n, o, path);
    n = add_param(p, n, "uploadid", session);
    struct odps_call c = {.method = "GET", .path = path, .params = p, .n_params = n};
    struct io_http_reply r;
    enum rc rc = odps_send(o, &c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    if (!rc)
        rc = count_blocks(str_of(buf_str(&r.body), r.body.n), path, &there, err);
    io_http_reply_release(&r);
    if (!rc && there != n_blocks)
        rc = err_coded(err, RC_IO, E1710,
                       "'%.300s': %jd blocks were sent, the server has %jd", path->url,
                       (intmax_t)n_blocks, (intmax_t)there);
    if (rc)
        return rc;
    c.method = "POST";
    c.body = "";
    rc = odps_send(o, &c, &r, err);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    io_http_reply_release(&r);
    return rc;
}
