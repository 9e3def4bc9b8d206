/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "kube/config.h"
#include "kube/credential.h"
#include "tap.h"

static char dir[] = "/tmp/trainyard-kube.XXXXXX";

static char *put(const char *name, const char *text)
{
    char *path = fs_join(dir, name);
    CHECK(fs_write(path, text, strlen(text), 0600, NULL) == RC_OK);
    return path;
}

static enum rc load(const char *files, const char *context, struct kube_config *c,
                    struct err *err)
{
    *err = (struct err){0};
    return kube_config_load(&(struct kube_options){.files = files, .context = context}, c,
                            err);
}

static void a_context_names_cluster_user_and_namespace(void)
{
    char *ca = put("ca.pem", "CERTIFICATE");
    char *a = put(
        "a",
        "current-context: two\n"
        "contexts:\n"
        "- {name: one, context: {cluster: c, user: u}}\n"
        "- {name: two, context: {cluster: c, user: v, namespace: lab}}\n"
        "clusters:\n"
        "- {name: c, cluster: {server: 'https://h:1/', certificate-authority: ca.pem}}\n"
        "users:\n"
        "- {name: u, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}\n"
        "- {name: v, user: {tokenFile: token}}\n");
    struct kube_config c;
    struct err err;
    CHECK_INT(load(a, NULL, &c, &err), RC_OK);
    CHECK_STR(c.server, "https://h:1");
    CHECK_STR(c.ca, "CERTIFICATE");
    CHECK_STR(c.ns, "lab");
    CHECK(c.token_file && strncmp(c.token_file, dir, strlen(dir)) == 0);
    kube_config_release(&c);
    CHECK_INT(load(a, "one", &c, &err), RC_OK);
    CHECK_STR(c.ns, "default");
    CHECK_STR(c.cert, "CERT");
    CHECK_STR(c.key, "KEY");
    kube_config_release(&c);
    CHECK_INT(load(a, "three", &c, &err), RC_INVAL);
    CHECK(strstr(err.msg, "has no context 'three'"));
    kube_config_release(&c);
    mem_free(a);
    mem_free(ca);
}

static void the_first_file_of_a_list_wins(void)
{
    char *a =
        put("a", "current-context: x\ncontexts:\n- {name: x, context: {cluster: c}}\n");
    char *b = put(
        "b",
        "current-context: y\nclusters:\n- {name: c, cluster: {server: 'http://b'}}\n");
    char *list = mem_printf("%s:/not/there:%s", a, b);
    struct kube_config c;
    struct err err;
    CHECK_INT(load(list, NULL, &c, &err), RC_OK);
    CHECK_STR(c.server, "http://b");
    CHECK_STR(c.name, "context 'x'");
    kube_config_release(&c);
    CHECK_INT(load("/not/there", NULL, &c, &err), RC_NOTFOUND);
    kube_config_release(&c);
    mem_free(list);
    mem_free(b);
    mem_free(a);
}

static void what_is_refused_is_named(void)
{
    static const struct {
        const char *cluster, *user, *words;
        enum rc rc;
    } rows[] = {
        {"server: 'https://h', insecure-skip-tls-verify: true", "token: x",
         "insecure-skip-tls-verify is not supported", RC_UNSUPPORTED},
        {"server: 'https://h', proxy-url: 'http://p'", "token: x",
         "proxy-url is not supported", RC_UNSUPPORTED},
        {"server: ftp", "token: x", "server 'ftp' is no http(s) address", RC_INVAL},
        {"server: 'https://h', certificate-authority-data: '###'", "token: x",
         "certificate-authority-data is not base64", RC_FORMAT},
        {"server: 'https://h'", "auth-provider: {name: gcp}",
         "auth-provider is not supported", RC_UNSUPPORTED},
        {"server: 'https://h'", "exec: {command: x, apiVersion: v9}",
         "exec has the apiVersion 'v9'", RC_UNSUPPORTED},
        {"server: 'https://h'", "exec: {apiVersion: v9}", "exec has no command",
         RC_INVAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = mem_printf(
            "current-context: x\ncontexts:\n- {name: x, context: {cluster: c, user: u}}\n"
            "clusters:\n- {name: c, cluster: {%s}}\nusers:\n- {name: u, user: {%s}}\n",
            rows[i].cluster, rows[i].user);
        char *path = put("bad", text);
        struct kube_config c;
        struct err err;
        CHECK_INT(load(path, NULL, &c, &err), rows[i].rc);
        if (!strstr(err.msg, rows[i].words))
            printf("# %s\n", err.msg);
        CHECK(strstr(err.msg, rows[i].words));
        kube_config_release(&c);
        mem_free(path);
        mem_free(text);
    }
}

static void base64_is_read_and_nothing_else(void)
{
    struct arena a = {0};
    CHECK_STR(kube_base64_read("aGVsbG8=", 8, &a), "hello");
    CHECK_STR(kube_base64_read("aGVs\nbG8=\n", 10, &a), "hello");
    CHECK(!kube_base64_read("aGV?", 4, &a));
    CHECK(!kube_base64_read("aGVsbG8=x", 9, &a));
    CHECK(!kube_base64_read("a", 1, &a));
    CHECK(!kube_base64_read("", 0, &a));
    arena_release(&a);
}

static void times_are_read_with_their_zones(void)
{
    CHECK(kube_time_read("1970-01-01T00:00:01Z") == 1000000000);
    CHECK(kube_time_read("1970-01-01T01:00:00.5+01:00") == 500000000);
    CHECK(kube_time_read("1970-01-01T00:00:00.123456789Z") == 123456789);
    CHECK(kube_time_read("yesterday") == 0);
    CHECK(kube_time_read("1970-01-01T00:00:01") == 0);
    CHECK(kube_time_read(NULL) == 0);
}

static void remove_files(void)
{
    static const char *const names[] = {"ca.pem", "a", "b", "bad"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = fs_join(dir, names[i]);
        unlink(path);
        mem_free(path);
    }
    rmdir(dir);
}

static const struct tap_case cases[] = {
    TAP(a_context_names_cluster_user_and_namespace),
    TAP(the_first_file_of_a_list_wins),
    TAP(what_is_refused_is_named),
    TAP(base64_is_read_and_nothing_else),
    TAP(times_are_read_with_their_zones),
};

int main(int argc, char **argv)
{
    if (!mkdtemp(dir))
        return 1;
    unsetenv("KUBERNETES_SERVICE_HOST");
    int status = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    remove_files();
    return status;
}
