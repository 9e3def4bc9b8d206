/* SPDX-License-Identifier: Apache-2.0 */
/* A table is made by a statement of SQL, as the public client does it: the statement goes
 * to the service as an instance, whose address comes back; that is asked until it has
 * ended, then what became of its task.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/env.h"
#include "base/mem.h"
#include "data/odps/client.h"
#include "io/xml.h"

#define SQL_MAX ((size_t)4 << 20)
#define TASK "SQLCreateTableTask"
#define POLLS_MAX 600
#define PAUSE_MS 500
#define DAYS_MAX 37231 /* what the service takes */

static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '_')
            return false;
    return s.n > 0 && s.n <= 128;
}

static const char *scalar_name(const struct type *t)
{
    static const char *const names[TYPE_COUNT] = {
        [TYPE_BOOL] = "BOOLEAN", [TYPE_I32] = "INT",    [TYPE_I64] = "BIGINT",
        [TYPE_U32] = "BIGINT",   [TYPE_U64] = "BIGINT", [TYPE_F32] = "FLOAT",
        [TYPE_F64] = "DOUBLE",   [TYPE_STR] = "STRING"};
    switch (t->logical) {
    case LOGICAL_NONE:
    case LOGICAL_DECIMAL:
    case LOGICAL_FLOAT16:
        return names[t->id];
    case LOGICAL_BINARY:
        return "BINARY";
    case LOGICAL_DATE:
        return "DATE";
    case LOGICAL_TIMESTAMP_MS:
        return "DATETIME";
    default:
        return NULL;
    }
}

/* False for a type that no table of ours gets. */
static bool put_type(struct buf *out, const struct type *t)
{
    const char *name = scalar_name(t);
    if (name) {
        buf_puts(out, name);
        return true;
    }
    if (t->id != TYPE_LIST && t->id != TYPE_MAP)
        return false;
    buf_puts(out, t->id == TYPE_LIST ? "ARRAY<" : "MAP<");
    bool good = put_type(out, &t->kids[0].type);
    if (good && t->id == TYPE_MAP) {
        buf_puts(out, ",");
        good = put_type(out, &t->kids[1].type);
    }
    buf_puts(out, ">");
    return good;
}

static bool is_key(const struct odps_path *path, const char *name)
{
    struct str rest = str_c(path->partition ? path->partition : ""), part;
    size_t n = strlen(name);
    while (rest.n && str_split(&rest, ',', &part))
        if (part.n > n && part.p[n] == '=' && strncasecmp(part.p, name, n) == 0)
            return true;
    return false;
}

static enum rc put_columns(struct buf *out, const struct odps_path *path,
                           const struct data_schema *schema, struct err *err)
{
    bool first = true;
    for (size_t i = 0; i < schema->n; i++) {
        const char *name = schema->at[i].name;
        if (is_key(path, name))
            continue;
        if (!is_word(str_c(name)))
            return err_coded(
                err, RC_INVAL, E1709,
                "'%.300s': no table can be made with a column '%.100s': names "
                "are letters, digits and '_'",
                path->url, name);
        buf_printf(out, "%s`%s` ", first ? "" : ", ", name);
        if (!put_type(out, &schema->at[i].type))
            return err_coded(err, RC_INVAL, E1709,
                             "'%.300s': no table can be made for the type of column "
                             "'%.100s'",
                             path->url, name);
        first = false;
    }
    return RC_OK;
}

static enum rc put_keys(struct buf *out, const struct odps_path *path, struct err *err)
{
    struct str rest = str_c(path->partition ? path->partition : ""), part;
    if (!rest.n)
        return RC_OK;
    buf_puts(out, " PARTITIONED BY (");
    for (bool first = true; rest.n && str_split(&rest, ',', &part); first = false) {
        struct str name = str_of(part.p, strcspn(part.p, "="));
        if (!is_word(name))
            return err_coded(err, RC_INVAL, E1709,
                             "'%.300s': '%.*s' is not the name of a key", path->url,
                             (int)name.n, name.p);
        buf_printf(out, "%s`%.*s` STRING", first ? "" : ", ", (int)name.n, name.p);
    }
    buf_puts(out, ")");
    return RC_OK;
}

static enum rc put_lifecycle(struct buf *out, struct err *err)
{
    const char *text = env_get("ODPS_TABLE_LIFECYCLE");
    int64_t days = 0;
    if (!text)
        return RC_OK;
    if (!str_to_i64(str_c(text), &days) || days < 1 || days > DAYS_MAX)
        return err_coded(
            err, RC_INVAL, E1702,
            "ODPS_TABLE_LIFECYCLE: '%.60s' is not a number of days from 1 to %d", text,
            DAYS_MAX);
    buf_printf(out, " LIFECYCLE %jd", (intmax_t)days);
    return RC_OK;
}

static enum rc put_statement(struct buf *out, const struct odps_path *path,
                             const struct data_schema *schema, struct err *err)
{
    buf_printf(out, "CREATE TABLE IF NOT EXISTS %s.", path->project);
    if (path->schema)
        buf_printf(out, "`%s`.", path->schema);
    buf_printf(out, "`%s` (", path->table);
    enum rc rc = put_columns(out, path, schema, err);
    buf_puts(out, ")");
    if (!rc)
        rc = put_keys(out, path, err);
    if (!rc)
        rc = put_lifecycle(out, err);
    buf_puts(out, ";");
    return rc ? rc : buf_check(out, err);
}

static enum rc refused(const struct odps_path *path, struct str why, struct err *err)
{
    return err_coded(err, RC_IO, E1711, "'%.300s': the table cannot be created: %.*s",
                     path->url, (int)(why.n < 300 ? why.n : 300), why.p);
}

/* The instance that runs the statement; *id is to be freed. */
static enum rc submit(struct odps *o, const struct odps_path *path, const char *sql,
                      char **id, struct err *err)
{
    struct odps_param p[] = {{"curr_project", path->project}};
    struct io_http_reply r;
    char *body = mem_printf(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><Instance><Job><Priority>9</Priority>"
        "<Tasks><SQL><Name>" TASK "</Name><Config><Property><Name>settings</Name><Value>"
        "{\"odps.sql.type.system.odps2\": \"true\"%s}"
        "</Value></Property></Config><Query><![CDATA[%s]]></Query></SQL></Tasks><DAG>"
        "<RunMode>Sequence</RunMode></DAG></Job></Instance>",
        path->schema ? ", \"odps.namespace.schema\": \"true\"" : "", sql);
    struct odps_call c = {.method = "POST",
                          .path = path,
                          .params = p,
                          .n_params = 1,
                          .body = body,
                          .n_body = strlen(body)};
    enum rc rc = odps_ask(o, &c, "/instances", &r, err);
    if (!rc && r.status / 100 != 2)
        rc = odps_refused(path, &r, err);
    struct str at = rc ? (struct str){0} : io_http_header(&r, "Location");
    while (!rc && at.n && memchr(at.p, '/', at.n)) {
        const char *slash = memchr(at.p, '/', at.n);
        at = str_of(slash + 1, at.n - (size_t)(slash + 1 - at.p));
    }
    if (!rc && !is_word(at))
        rc = err_coded(err, RC_FORMAT, E1705,
                       "'%.300s': the answer makes no sense: no address of the instance",
                       path->url);
    if (!rc)
        *id = mem_strndup(at.p, at.n);
    io_http_reply_release(&r);
    mem_free(body);
    return rc;
}

/* An answer about the instance (`action` NULL), or about what its task did. */
static enum rc ask_instance(struct odps *o, const struct odps_path *path, const char *id,
                            const char *action, struct io_http_reply *r, struct err *err)
{
    struct odps_param p[] = {{"curr_project", path->project}, {action, NULL}};
    struct odps_call c = {
        .method = "GET", .path = path, .params = p, .n_params = action ? 2 : 1};
    char *resource = mem_printf("/instances/%s", id);
    enum rc rc = odps_ask(o, &c, resource, r, err);
    if (!rc && r->status / 100 != 2)
        rc = odps_refused(path, r, err);
    mem_free(resource);
    return rc;
}

/* Whether the text of the first element `name` is `word`, in any case. */
static bool says(const struct io_http_reply *r, const char *name, const char *word)
{
    char *text = xml_text(str_of(buf_str(&r->body), r->body.n), name);
    bool same = text && strcasecmp(text, word) == 0;
    mem_free(text);
    return same;
}

static enum rc wait_for(struct odps *o, const struct odps_path *path, const char *id,
                        struct err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (int i = 0; i < POLLS_MAX; i++) {
        struct io_http_reply r;
        enum rc rc = ask_instance(o, path, id, NULL, &r, err);
        bool ended = !rc && says(&r, "Status", "Terminated");
        io_http_reply_release(&r);
        if (rc || ended)
            return rc;
        (void)nanosleep(&pause, NULL);
    }
    return refused(path, str_c("the statement does not end"), err);
}

/* The text of a result, without the mark-up around it. */
static struct str plain(struct str text)
{
    static const char open[] = "<![CDATA[";
    text = str_trim(text);
    if (text.n >= sizeof(open) + 2 && memcmp(text.p, open, sizeof(open) - 1) == 0)
        text = str_of(text.p + sizeof(open) - 1, text.n - (sizeof(open) - 1) - 3);
    return text;
}

static enum rc check_task(struct odps *o, const struct odps_path *path, const char *id,
                          struct err *err)
{
    struct io_http_reply r;
    struct str task = {0}, why = {0};
    enum rc rc = ask_instance(o, path, id, "taskstatus", &r, err);
    struct str all = str_of(buf_str(&r.body), r.body.n);
    bool good = false;
    if (!rc && xml_find(all, "Task", &task, NULL)) {
        char *status = xml_text(task, "Status");
        good = status && strcasecmp(status, "Success") == 0;
        mem_free(status);
    }
    io_http_reply_release(&r);
    if (rc || good)
        return rc;
    rc = ask_instance(o, path, id, "result", &r, err);
    if (!rc && !xml_find(str_of(buf_str(&r.body), r.body.n), "Result", &why, NULL))
        why = str_c("the service does not say why");
    if (!rc)
        rc = refused(path, plain(why), err);
    io_http_reply_release(&r);
    return rc;
}

enum rc odps_create_table(struct odps *o, const struct odps_path *path,
                          const struct data_schema *schema, struct err *err)
{
    struct buf sql;
    char *id = NULL;
    buf_init(&sql, SQL_MAX);
    enum rc rc = put_statement(&sql, path, schema, err);
    if (!rc)
        rc = submit(o, path, buf_str(&sql), &id, err);
    if (!rc)
        rc = wait_for(o, path, id, err);
    if (!rc)
        rc = check_task(o, path, id, err);
    buf_release(&sql);
    mem_free(id);
    return rc;
}
