/* SPDX-License-Identifier: Apache-2.0 */
/* A whole server within the test, asked over real connections by several threads. */
#include "http/api.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/http.h"
#include "job/status.h"
#include "store/users.h"
#include "tap.h"
#include "tune/experiment.h"

static char *temp;
static struct api *api;
static char *token, *base;
static struct job_place place;

static void start(void)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "TRAINYARD_X=1", NULL};
    static char where[256], experiments[256];
    struct err err = {0};
    snprintf(where, sizeof(where), "%s/jobs.db", temp);
    snprintf(experiments, sizeof(experiments), "%s/experiments", temp);
    place =
        (struct job_place){.dir = temp, .where = where, .owner = "me", .node = "here"};
    struct api_options o = {.place = place,
                            .listen = "127.0.0.1:0",
                            .slots = "cpu=4,memory=8g,gpu=1",
                            .version = "1.2.3",
                            .env = env,
                            .experiments = experiments,
                            .threads = 3,
                            .max_body = 1 << 20,
                            .header_timeout = 20,
                            .body_timeout = 20};
    CHECK_INT(api_start(&o, &api, &err), RC_OK);
    base = mem_printf("http://127.0.0.1:%d", api_port(api));
    if (api_token_file(api)) {
        size_t n;
        mem_free(token);
        CHECK_INT(fs_read(api_token_file(api), 1000, &token, &n, NULL), RC_OK);
        token[strcspn(token, "\n")] = '\0';
    }
}

static void stop(void)
{
    api_stop(api);
    api = NULL;
    mem_free(base);
}

static enum rc put_token(void *arg, struct io_http_lines *out, struct err *err)
{
    io_http_line(out, "Authorization: Bearer %s", token);
    io_http_line(out, "Content-Type: application/json");
    return RC_OK;
}

/* The status; the body goes to *body, to mem_free() (NULL: nobody wants it). */
static int ask(const char *method, const char *path, const char *json, char **body)
{
    char *url = mem_printf("%s%s", base, path);
    struct io_http_request q = {.method = method,
                                .url = url,
                                .body = json,
                                .n_body = json ? strlen(json) : 0,
                                .headers = put_token,
                                .attempts = 1,
                                .what = "test"};
    struct io_http_reply r = {0};
    int status = io_http_send(&q, &r, NULL) ? -1 : r.status;
    if (body)
        *body = mem_strdup(buf_str(&r.body));
    io_http_reply_release(&r);
    mem_free(url);
    return status;
}

static void a_job_goes_in_and_comes_out(void)
{
    char *body = NULL;
    struct doc doc = {0};
    CHECK_INT(ask("GET", "/healthz", NULL, &body), 200);
    CHECK_HAS(body, "\"version\":\"1.2.3\"");
    mem_free(body);
    CHECK_INT(ask("POST", "/api/v1/jobs",
                  "{\"command\": \"true\", \"client_token\": \"a\", \"secret\": [\"S\"], "
                  "\"secret_values\": {\"S\": \"hush-hush\"}, \"label\": {\"k\": \"v\"}}",
                  &body),
              201);
    const struct node *job = job_json_open(body, &doc);
    char *path = mem_printf("/api/v1/jobs/%s", node_get_text(job, "id", ""));
    if (doc.src)
        doc_release(&doc);
    mem_free(body);
    CHECK_INT(ask("GET", path, NULL, &body), 200);
    CHECK_HAS(body, "\"state\":\"Queuing\"");
    CHECK(!strstr(body, "hush-hush"));
    CHECK(!strstr(body, temp)); /* no path of ours */
    mem_free(body);
    CHECK_INT(ask("POST", "/api/v1/jobs", "{\"command\": \"x\", \"client_token\": \"a\"}",
                  NULL),
              200);
    static const char *const parts[] = {"/events", "/metrics", "/logs",
                                        "/logs/0", "/why",     "/script"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char *part = mem_printf("%s%s", path, parts[i]);
        CHECK_INT(ask("GET", part, NULL, NULL), 200);
        mem_free(part);
    }
    char *verb = mem_printf("%s/stop", path);
    CHECK_INT(ask("POST", verb, "{\"force\": true}", &body), 200);
    CHECK_HAS(body, "\"state\":\"Stopped\"");
    mem_free(body);
    CHECK_INT(ask("POST", verb, "{\"force\": 3}", &body), 400);
    CHECK_HAS(body, "\"code\":\"E5006\"");
    mem_free(body);
    mem_free(verb);
    mem_free(path);
}

static void all_that_is_wrong_with_a_job_is_told(void)
{
    char *body = NULL;
    CHECK_INT(
        ask("POST", "/api/v1/jobs", "{\"workers\": 0, \"gpu\": -1, \"foo\": 1}", &body),
        422);
    CHECK_HAS(body, "\"problems\":[");
    CHECK_HAS(body, "workers");
    CHECK_HAS(body, "foo");
    mem_free(body);
    CHECK_INT(ask("POST", "/api/v1/jobs", "{\"command\": ", &body), 400);
    CHECK_HAS(body, "\"code\":\"E5014\"");
    mem_free(body);
}

static void *hammer(void *arg)
{
    int64_t *bad = arg;
    for (int i = 0; i < 25; i++) {
        *bad += ask("GET", "/api/v1/jobs?limit=5", NULL, NULL) != 200;
        *bad += ask("GET", "/api/v1/jobs/jb-000000000000", NULL, NULL) != 404;
        *bad += ask("POST", "/api/v1/jobs", "{\"command\": \"true\"}", NULL) != 201;
        *bad += ask("PUT", "/api/v1/projects/p", "{\"gpu\": 1}", NULL) != 200;
        *bad += ask("GET", "/metrics", NULL, NULL) != 200;
    }
    return NULL;
}

static void many_may_ask_at_once(void)
{
    pthread_t threads[4];
    int64_t bad[4] = {0};
    for (int i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, hammer, &bad[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(bad[i], 0);
    }
}

static int open_stream(const char *path)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)api_port(api)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    char *head = mem_printf("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                            "%s\r\n\r\n",
                            path, token);
    CHECK_INT(write(fd, head, strlen(head)), (ssize_t)strlen(head));
    mem_free(head);
    return fd;
}

/* Reads until the text is there or the other side is done. */
static bool read_until(int fd, const char *text)
{
    char all[16384] = "";
    size_t n = 0;
    struct timeval limit = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    while (n + 1 < sizeof(all)) {
        ssize_t got = read(fd, all + n, sizeof(all) - 1 - n);
        if (got <= 0)
            return false;
        n += (size_t)got;
        all[n] = '\0';
        if (strstr(all, text))
            return true;
    }
    return false;
}

static void a_log_is_followed_until_the_server_ends(void)
{
    char *body = NULL;
    struct doc doc = {0};
    int fds[20];
    CHECK_INT(ask("POST", "/api/v1/jobs", "{\"command\": \"true\"}", &body), 201);
    const struct node *job = job_json_open(body, &doc);
    const char *id = node_get_text(job, "id", "");
    char *path = mem_printf("/api/v1/jobs/%s/logs/0?follow=true", id);
    char *log = job_place_log(&place, id, 0, 1);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = open_stream(path);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        CHECK(read_until(fds[i], "retry: 2000"));
    close(fds[0]); /* one goes away meanwhile */
    CHECK_INT(fs_write(log, "first\n\xff\xc3\xb6\n", 10, 0600, NULL), RC_OK);
    for (size_t i = 1; i < ARRAY_LEN(fds); i++)
        CHECK(read_until(fds[i], "\"text\":\"first\\n\xef\xbf\xbd\xc3\xb6\\n\""));
    stop(); /* with all of them waiting */
    for (size_t i = 1; i < ARRAY_LEN(fds); i++) {
        CHECK(!read_until(fds[i], "event: end"));
        close(fds[i]);
    }
    mem_free(log);
    mem_free(path);
    if (doc.src)
        doc_release(&doc);
    mem_free(body);
    start(); /* the next one finds everything */
    CHECK(!api_token_new(api));
    CHECK_INT(ask("GET", "/api/v1/me", NULL, &body), 200);
    CHECK_HAS(body, "\"name\":\"admin\"");
    mem_free(body);
}

/* This server isolates nothing. */
static void a_server_without_isolation_lets_in_admins_alone(void)
{
    static const struct {
        const char *method, *path, *body;
        int status;
    } rows[] = {
        {"POST", "/api/v1/users", "{\"name\": \"sam\", \"role\": \"submitter\"}", 409},
        {"POST", "/api/v1/users", "{\"name\": \"vera\", \"role\": \"viewer\"}", 409},
        {"POST", "/api/v1/users", "{\"name\": \"eve\", \"role\": \"admin\"}", 201},
        {"PATCH", "/api/v1/users/eve", "{\"role\": \"submitter\"}", 409},
        {"PATCH", "/api/v1/users/eve", "{\"disabled\": true}", 200},
        {"DELETE", "/api/v1/users/eve", NULL, 204},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *body = NULL;
        CHECK_INT(ask(rows[i].method, rows[i].path, rows[i].body, &body), rows[i].status);
        if (rows[i].status == 409)
            CHECK_HAS(body, "\"E5020\"");
        mem_free(body);
    }
}

static void what_cannot_be_started_says_why(void)
{
    struct api *other = NULL;
    struct err err = {0};
    struct api_options o = {.place = place, .listen = "0.0.0.0:0", .version = "1"};
    CHECK_INT(api_start(&o, &other, &err), RC_INVAL);
    CHECK_INT(err.code, E5002);
    o.listen = "localhost:80";
    CHECK_INT(api_start(&o, &other, &err), RC_INVAL);
    CHECK_STR(err.msg, "--listen: 'localhost:80' is not an address and a port, such as "
                       "127.0.0.1:8420");
    char *taken = mem_printf("127.0.0.1:%d", api_port(api));
    o.listen = taken;
    CHECK_INT(api_start(&o, &other, &err), RC_IO);
    CHECK_INT(err.code, E5001);
    CHECK(other == NULL);
    mem_free(taken);
}

/* Somebody was let in while jobs were isolated; by now they cannot be. */
static void a_start_that_cannot_isolate_is_refused_when_there_are_others(void)
{
    struct api *other = NULL;
    struct store *s = NULL;
    struct err err = {0};
    struct api_options o = {.place = place, .listen = "127.0.0.1:0", .version = "1"};
    struct store_user sam = {.name = "sam", .role = "submitter", .projects = ""};
    CHECK_INT(store_open(place.where, &s, &err), RC_OK);
    CHECK_INT(store_user_create(s, &sam, &err), RC_OK);
    CHECK_INT(api_start(&o, &other, &err), RC_INVAL);
    CHECK_INT(err.code, E5020);
    CHECK_HAS(err.msg, "sam");
    CHECK(other == NULL);
    CHECK_INT(store_user_delete(s, "sam", &err), RC_OK);
    store_close(s);
}

/* An experiment with one trial, which has ended. */
static void make_experiment(const char *name, const char *id, int64_t created)
{
    struct doc doc = {0};
    struct err err = {0};
    struct experiment *e = NULL;
    enum tuner_answer answer;
    int64_t trial = 0;
    bool ended;
    char *dir = mem_printf("%s/experiments/%s", temp, name);
    struct exp_settings set = {.command = "run",
                               .code_dir = "/",
                               .tuner = "Random",
                               .seed = 5,
                               .created = created,
                               .limits = {.concurrency = 2}};
    snprintf(set.id, sizeof(set.id), "%s", id);
    set.space = job_json_open("{\"x\": {\"_type\": \"choice\", \"_value\": [7]}}", &doc);
    CHECK_INT(fs_mkdirs(dir, 0755, &err), RC_OK);
    CHECK_INT(experiment_create(dir, &set, &err), RC_OK);
    CHECK_INT(experiment_open(dir, &e, &err), RC_OK);
    CHECK_INT(experiment_ask(e, &answer, &trial, &err), RC_OK);
    CHECK_INT(experiment_result(e, trial, true, 0, "0.5", 1, &ended, &err), RC_OK);
    CHECK_INT(experiment_ended(e, trial, TS_SUCCEEDED, "", &err), RC_OK);
    experiment_close(e);
    doc_release(&doc);
    mem_free(dir);
}

static void experiments_are_shown(void)
{
    static const struct {
        const char *path;
        int status;
        const char *has;
    } all[] = {
        {"experiments", 200, "\"total\":2}"},
        {"experiments?limit=1", 200, "{\"experiments\":[{\"id\": \"new1\""},
        {"experiments?limit=1&offset=1", 200, "{\"experiments\":[{\"id\": \"old1\""},
        {"experiments?offset=9", 200, "{\"experiments\":[],\"total\":2}"},
        {"experiments/a", 200, "\"id\": \"old1\""},
        {"experiments/old1", 200, "\"SUCCEEDED\": 1"},
        {"experiments/old1/best", 200, "\"parameters\": {\"x\": 7}"},
        {"experiments/old1/trials", 200, "\"value\": 0.5"},
        {"experiments/old1/trials?status=FAILED", 200, "\"total\":0}"},
        {"experiments/old1/trials?order=worst", 400, "E5006"},
        {"experiments/old1/trials/0", 200, "\"trial\": 0"},
        {"experiments/old1/trials/1", 404, "experiment old1 has no trial '1'"},
        {"experiments/old1/nni/check-status", 200, "\"status\":\"INITIALIZED\""},
        {"experiments/old1/nni/metric-data-range/0/0", 200, "FINAL"},
        {"experiments/old1/nni/trial-jobs/0", 404, "has nothing at '/trial-jobs/0'"},
        {"nni/experiment", 200, "\"id\":\"new1\""},
        {"nni/experiments-info", 200, "\"id\":\"old1\""},
        {"nni/picture", 404, "E5007"},
        {"experiments/none", 404, "there is no experiment 'none'"},
        {"experiments/_latest", 404, "E5007"},
        {"experiments/..%2fexperiments", 404, "E5007"},
    };
    make_experiment("a", "old1", 1000);
    make_experiment("b", "new1", 2000);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        char *path = mem_printf("/api/v1/%s", all[i].path), *body = NULL;
        CHECK_INT(ask("GET", path, NULL, &body), all[i].status);
        CHECK_HAS(body, all[i].has);
        mem_free(body);
        mem_free(path);
    }
    char *body = NULL;
    CHECK_INT(ask("POST", "/api/v1/experiments/old1/stop", "", &body), 409);
    CHECK_HAS(body, "\"message\":\"nothing runs experiment 'old1' now\"");
    mem_free(body);
    CHECK_INT(ask("POST", "/api/v1/experiments/a/update", "{\"max_seconds\": 60}", NULL),
              202);
    CHECK_INT(ask("POST", "/api/v1/experiments/a/update", "{\"concurrency\": 0}", NULL),
              400);
}

/* Two workers of one job on a node, and one of them on another. */
static void put_on_nodes(const char *id, const char *owner)
{
    static const struct store_event events[] = {
        {.time = 1000, .type = "Submitted", .worker = -1}};
    struct store_job row = {
        .id = id,
        .name = "far",
        .owner = owner,
        .state = "Running",
        .queue = "default",
        .backend = "slurm",
        .node = "far:/srv/yard",
        .status = "{\"message\": \"\", \"workers\": ["
                  "{\"index\": 0, \"state\": \"Running\", \"node\": \"n2\"}, "
                  "{\"index\": 1, \"state\": \"Running\", \"node\": \"n1\"}, "
                  "{\"index\": 2, \"state\": \"Failed\", \"node\": \"n9\"}, "
                  "{\"index\": 3, \"state\": \"Running\", \"node\": \"n2\"}]}",
        .created = 1000,
        .cpu_milli = 4000,
        .memory = 1 << 30,
        .workers = 4};
    struct store_new job = {
        .row = &row, .spec = "{\"name\": \"far\"}", .events = events, .n_events = 1};
    struct store *s = NULL;
    struct err err = {0};
    bool existed = false;
    CHECK_INT(store_open(place.where, &s, &err), RC_OK);
    CHECK_INT(store_create(s, &job, &existed, &err), RC_OK);
    store_close(s);
}

static void jobs_are_on_machines_and_nodes(void)
{
    char *body = NULL, *admin = token;
    struct doc doc = {0};
    put_on_nodes("jb-000000000001", "admin");
    put_on_nodes("jb-000000000002", "somebody");
    CHECK_INT(ask("GET", "/api/v1/clusters", NULL, &body), 200);
    CHECK_HAS(body, "{\"machine\":\"far:/srv/yard\",\"backend\":\"slurm\",\"waiting\":0,"
                    "\"running\":2,\"workers\":8,\"cpu_milli\":8000,"
                    "\"memory\":2147483648,\"gpu\":0}");
    CHECK_HAS(body, "{\"backend\":\"slurm\",\"node\":\"n1\",\"workers\":2,"
                    "\"jobs\":[\"jb-000000000001\",\"jb-000000000002\"]},"
                    "{\"backend\":\"slurm\",\"node\":\"n2\",\"workers\":4,"
                    "\"jobs\":[\"jb-000000000001\",\"jb-000000000002\"]}]");
    CHECK(!strstr(body, "n9"));
    mem_free(body);
    /* Less is told to who may see less. */
    CHECK_INT(ask("POST", "/api/v1/users/admin/tokens", "{\"role\": \"viewer\"}", &body),
              201);
    token = mem_strdup(node_get_text(job_json_open(body, &doc), "token", ""));
    if (doc.src)
        doc_release(&doc);
    mem_free(body);
    CHECK_INT(ask("GET", "/api/v1/clusters", NULL, &body), 200);
    CHECK_HAS(body,
              "{\"machine\":\"far\",\"backend\":\"slurm\",\"waiting\":0,\"running\":1,");
    CHECK_HAS(body, "\"node\":\"n2\",\"workers\":2,\"jobs\":[\"jb-000000000001\"]}");
    CHECK(!strstr(body, "jb-000000000002"));
    CHECK(!strstr(body, "/srv"));
    mem_free(body);
    mem_free(token);
    token = admin;
}

static const struct tap_case cases[] = {
    TAP(a_job_goes_in_and_comes_out),
    TAP(all_that_is_wrong_with_a_job_is_told),
    TAP(many_may_ask_at_once),
    TAP(experiments_are_shown),
    TAP(jobs_are_on_machines_and_nodes),
    TAP(a_server_without_isolation_lets_in_admins_alone),
    TAP(a_log_is_followed_until_the_server_ends),
    TAP(what_cannot_be_started_says_why),
    TAP(a_start_that_cannot_isolate_is_refused_when_there_are_others),
};

int main(int argc, char **argv)
{
    if (fs_temp_dir("ty-api", &temp, NULL))
        return 1;
    log_setup(LOG_LEVEL_ERROR, LOG_TEXT, 2);
    start();
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    stop();
    io_http_close_idle();
    if (fs_remove_all(temp, NULL))
        rc = 1;
    mem_free(token);
    mem_free(temp);
    return rc;
}
