/* SPDX-License-Identifier: Apache-2.0 */
/* One function per service writes the request. All say the same: a title of the job's name
 * and state, the sentence that mails have, and a line with id, owner, project and time.
 * What people name their jobs comes from others, so each service's marks are escaped or taken
 * out. DingTalk signs in the URL (HMAC of "TIME\nSECRET" under the secret), Feishu in the
 * body (HMAC of nothing under "TIME\nSECRET"), Slack not at all: its URL is the secret.
 */
#include "team/chat.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/digest.h"
#include "io/http.h"
#include "job/status.h"
#include "text/json_out.h"

#define TEXT_MAX ((size_t)1 << 20)
#define SIGN_SIZE 64

/* What is told, in parts; texts lie in the payload's document. */
struct news {
    const char *text, *time, *id, *name, *owner, *project, *state;
    const char *secret; /* of the robot; "": none */
    const char *url;
    int64_t now; /* ns */
};

struct team_chat {
    const char *name, *title;
    void (*make)(const struct news *n, struct buf *url, struct buf *body);
    enum rc (*judge)(const char *answer, struct err *err);
};

/* HMAC-SHA256 as base64. */
static void sign(struct str key, struct str text, char out[SIGN_SIZE])
{
    unsigned char mac[DIGEST_SHA256];
    digest_hmac_sha256(key.p, key.n, text, mac);
    digest_base64(mac, sizeof(mac), out);
}

/* Marks of Markdown lose their meaning. */
static void put_markdown(struct buf *b, const char *s)
{
    for (; *s; s++) {
        if (strchr("\\`*_[]<>#|", *s))
            buf_putc(b, '\\');
        buf_putc(b, *s == '\n' ? ' ' : *s);
    }
}

/* Slack's own: three characters have a meaning. */
static void put_mrkdwn(struct buf *b, const char *s)
{
    for (; *s; s++)
        if (*s == '&')
            buf_puts(b, "&amp;");
        else if (*s == '<')
            buf_puts(b, "&lt;");
        else if (*s == '>')
            buf_puts(b, "&gt;");
        else
            buf_putc(b, *s);
}

typedef void put_fn(struct buf *b, const char *s);

static void put_title(const struct news *n, put_fn *put, struct buf *b)
{
    put(b, n->name);
    buf_putc(b, ' ');
    put(b, n->state);
}

static void put_origin(const struct news *n, put_fn *put, struct buf *b)
{
    put(b, n->id);
    buf_puts(b, ", ");
    put(b, n->owner);
    if (*n->project) {
        buf_puts(b, ", project ");
        put(b, n->project);
    }
    buf_puts(b, ", ");
    put(b, n->time);
}

static void plain(struct buf *b, const char *s)
{
    buf_puts(b, s);
}

static void make_dingtalk(const struct news *n, struct buf *url, struct buf *body)
{
    struct json_out j = {.out = body};
    struct buf title, text;
    buf_init(&title, TEXT_MAX);
    buf_init(&text, TEXT_MAX);
    put_title(n, plain, &title);
    buf_puts(&text, "#### ");
    put_title(n, put_markdown, &text);
    buf_puts(&text, "\n\n");
    put_markdown(&text, n->text);
    buf_puts(&text, "\n\n> ");
    put_origin(n, put_markdown, &text);
    json_open(&j, NULL, '{');
    json_put_str(&j, "msgtype", "markdown");
    json_open(&j, "markdown", '{');
    json_put_str(&j, "title", buf_str(&title));
    json_put_str(&j, "text", buf_str(&text));
    json_close(&j, '}');
    json_close(&j, '}');
    buf_puts(url, n->url);
    if (*n->secret) {
        char mac[SIGN_SIZE];
        char *line = mem_printf("%jd\n%s", (intmax_t)(n->now / 1000000), n->secret);
        sign(str_c(n->secret), str_c(line), mac);
        buf_printf(url, "%ctimestamp=%jd&sign=", strchr(n->url, '?') ? '&' : '?',
                   (intmax_t)(n->now / 1000000));
        io_http_escape(url, str_c(mac), false);
        mem_free(line);
    }
    buf_release(&title);
    buf_release(&text);
}

static const char *colour_of(const char *state)
{
    return strcmp(state, "Failed") == 0      ? "red"
           : strcmp(state, "Succeeded") == 0 ? "green"
                                             : "blue";
}

static void put_tagged(struct json_out *j, const char *key, const char *tag,
                       const char *content)
{
    json_open(j, key, '{');
    json_put_str(j, "tag", tag);
    json_put_str(j, "content", content);
    json_close(j, '}');
}

static void put_card(const struct news *n, struct json_out *j)
{
    struct buf title, origin;
    buf_init(&title, TEXT_MAX);
    buf_init(&origin, TEXT_MAX);
    put_title(n, plain, &title);
    put_origin(n, plain, &origin);
    json_open(j, "card", '{');
    json_open(j, "header", '{');
    put_tagged(j, "title", "plain_text", buf_str(&title));
    json_put_str(j, "template", colour_of(n->state));
    json_close(j, '}');
    json_open(j, "elements", '[');
    json_open(j, NULL, '{');
    json_put_str(j, "tag", "div");
    put_tagged(j, "text", "plain_text", n->text);
    json_close(j, '}');
    json_open(j, NULL, '{');
    json_put_str(j, "tag", "note");
    json_open(j, "elements", '[');
    put_tagged(j, NULL, "plain_text", buf_str(&origin));
    json_close(j, ']');
    json_close(j, '}');
    json_close(j, ']');
    json_close(j, '}');
    buf_release(&title);
    buf_release(&origin);
}

static void make_feishu(const struct news *n, struct buf *url, struct buf *body)
{
    struct json_out j = {.out = body};
    json_open(&j, NULL, '{');
    if (*n->secret) {
        char mac[SIGN_SIZE], *time = mem_printf("%jd", (intmax_t)(n->now / CLOCK_SECOND));
        char *key = mem_printf("%s\n%s", time, n->secret);
        sign(str_c(key), str_c(""), mac);
        json_put_str(&j, "timestamp", time);
        json_put_str(&j, "sign", mac);
        mem_free(key);
        mem_free(time);
    }
    json_put_str(&j, "msg_type", "interactive");
    put_card(n, &j);
    json_close(&j, '}');
    buf_puts(url, n->url);
}

static void put_section(struct json_out *j, const char *text)
{
    json_open(j, NULL, '{');
    json_put_str(j, "type", "mrkdwn");
    json_put_str(j, "text", text);
    json_close(j, '}');
}

static void make_slack(const struct news *n, struct buf *url, struct buf *body)
{
    struct json_out j = {.out = body};
    struct buf plain_text, text, origin;
    buf_init(&plain_text, TEXT_MAX);
    buf_init(&text, TEXT_MAX);
    buf_init(&origin, TEXT_MAX);
    put_mrkdwn(&plain_text, n->text);
    buf_putc(&text, '*');
    put_title(n, put_mrkdwn, &text);
    buf_puts(&text, "*\n");
    put_mrkdwn(&text, n->text);
    put_origin(n, put_mrkdwn, &origin);
    json_open(&j, NULL, '{');
    json_put_str(&j, "text", buf_str(&plain_text));
    json_open(&j, "blocks", '[');
    json_open(&j, NULL, '{');
    json_put_str(&j, "type", "section");
    json_open(&j, "text", '{');
    json_put_str(&j, "type", "mrkdwn");
    json_put_str(&j, "text", buf_str(&text));
    json_close(&j, '}');
    json_close(&j, '}');
    json_open(&j, NULL, '{');
    json_put_str(&j, "type", "context");
    json_open(&j, "elements", '[');
    put_section(&j, buf_str(&origin));
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, ']');
    json_close(&j, '}');
    buf_puts(url, n->url);
    buf_release(&plain_text);
    buf_release(&text);
    buf_release(&origin);
}

static enum rc judge_nothing(const char *answer, struct err *err)
{
    return RC_OK;
}

/* 0 is fine; `busy` means that it may be taken later. */
static enum rc judge_code(int64_t code, int64_t busy, const char *message,
                          struct err *err)
{
    return code == 0
               ? RC_OK
               : err_coded(err, code == busy ? RC_IO : RC_INVAL, E5303,
                           "the robot answered %jd: %.200s", (intmax_t)code, message);
}

static enum rc judge_dingtalk(const char *answer, struct err *err)
{
    struct doc doc = {0};
    const struct node *map = job_json_open(answer, &doc);
    enum rc rc = judge_code(node_get_int(map, "errcode", 0), 130101,
                            node_get_text(map, "errmsg", ""), err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc judge_feishu(const char *answer, struct err *err)
{
    struct doc doc = {0};
    const struct node *map = job_json_open(answer, &doc);
    enum rc rc = judge_code(node_get_int(map, "code", node_get_int(map, "StatusCode", 0)),
                            11232, node_get_text(map, "msg", ""), err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static const struct team_chat chats[] = {
#define CHAT(name_, title_, make_, judge_) \
    {.name = #name_, .title = title_, .make = make_, .judge = judge_},
#include "team/chats.def"
#undef CHAT
};

const struct team_chat *team_chat_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(chats); i++)
        if (strcmp(chats[i].name, name) == 0)
            return &chats[i];
    return NULL;
}

void team_chat_make(const struct team_chat *c, const char *target, const char *payload,
                    int64_t now, struct team_chat_message *out)
{
    static const char mark[] = "#secret=";
    struct doc doc = {0};
    const struct node *map = job_json_open(payload, &doc), *job = node_find(map, "job");
    const char *at = strstr(target, mark);
    char *bare = mem_strndup(target, at ? (size_t)(at - target) : strlen(target));
    struct news n = {.text = node_get_text(map, "text", ""),
                     .time = node_get_text(map, "time", ""),
                     .id = node_get_text(job, "id", ""),
                     .name = node_get_text(job, "name", ""),
                     .owner = node_get_text(job, "owner", ""),
                     .project = node_get_text(job, "project", ""),
                     .state = node_get_text(job, "state", ""),
                     .secret = at ? at + strlen(mark) : "",
                     .url = bare,
                     .now = now};
    struct buf url, body;
    buf_init(&url, TEXT_MAX);
    buf_init(&body, TEXT_MAX);
    c->make(&n, &url, &body);
    *out = (struct team_chat_message){.url = buf_take(&url), .body = buf_take(&body)};
    buf_release(&url);
    buf_release(&body);
    mem_free(bare);
    if (doc.src)
        doc_release(&doc);
}

void team_chat_release(struct team_chat_message *m)
{
    mem_free(m->url);
    mem_free(m->body);
    *m = (struct team_chat_message){.url = NULL};
}

enum rc team_chat_judge(const struct team_chat *c, const char *answer, struct err *err)
{
    return c->judge(answer, err);
}

char *team_chat_shown(const char *target)
{
    const char *at = strstr(target, "#secret=");
    return at ? mem_printf("%.*s#secret=...", (int)(at - target), target)
              : mem_strdup(target);
}
