/* SPDX-License-Identifier: Apache-2.0 */
#include "job/environ.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/bucket.h"
#include "job/tree.h"
#include "tap.h"

static char *dir;

static void what_is_kept_comes_back(void)
{
    static const char *const env[] = {"PATH=/bin",
                                      "AWS_SECRET_ACCESS_KEY=a\"b\nc",
                                      "OSS_ENDPOINT=http://h",
                                      "OTHER=x",
                                      "EMPTY=",
                                      "odd",
                                      "=worse",
                                      NULL};
    char *path = fs_join(dir, "env.json");
    struct job_environ_list l;
    struct err err = {0};
    struct stat st;
    CHECK_INT(job_environ_write(path, env, job_environ_is_access, &err), RC_OK);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    job_environ_read(path, &l);
    CHECK_INT(l.list.n, 3);
    CHECK_STR(job_environ_get(&l, "PATH"), "/bin");
    CHECK_STR(job_environ_get(&l, "AWS_SECRET_ACCESS_KEY"), "a\"b\nc");
    CHECK(job_environ_get(&l, "OTHER") == NULL);
    CHECK(job_environ_get(&l, "AWS_SECRET") == NULL);
    CHECK(l.list.at[l.list.n] == NULL);
    job_environ_release(&l);
    CHECK_INT(job_environ_write(path, env, NULL, &err), RC_OK);
    job_environ_read(path, &l);
    CHECK_INT(l.list.n, 5);
    CHECK_STR(job_environ_get(&l, "EMPTY"), "");
    job_environ_release(&l);
    mem_free(path);
}

static void a_file_that_is_not_there_is_empty(void)
{
    char *path = fs_join(dir, "nothing.json");
    struct job_environ_list l;
    job_environ_read(path, &l);
    CHECK_INT(l.list.n, 0);
    CHECK(l.list.at[0] == NULL);
    job_environ_release(&l);
    mem_free(path);
}

static void secrets_are_no_plain_variables(void)
{
    CHECK(job_environ_is_plain("PATH=x"));
    CHECK(!job_environ_is_plain("PATHS=x"));
    CHECK(!job_environ_is_plain("AWS_SECRET_ACCESS_KEY=x"));
    CHECK(!job_environ_is_plain("PGPASSWORD=x"));
    CHECK(job_environ_is_access("AWS_PROFILE=x"));
    CHECK(job_environ_is_access("https_proxy=x"));
    CHECK(!job_environ_is_access("PGPASSWORD=x"));
}

static void addresses_may_name_their_endpoint(void)
{
    static const struct {
        const char *uri, *want;
    } cases[] = {
        {"s3://b/k?x", "s3://b/k?x"},
        {"oss://b/k/", "oss://b/k/"},
        {"oss://b/k?endpoint=oss-cn-x.aliyuncs.com", "oss://b.oss-cn-x.aliyuncs.com/k"},
        {"oss://b/d/?role_arn=r&host=oss-cn-x.aliyuncs.com",
         "oss://b.oss-cn-x.aliyuncs.com/d/"},
        {"oss://b/k?role_arn=r", "oss://b/k"},
        {"oss://b/k?endpoint=minio.local", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = {0};
        struct err err = {0};
        const char *got = NULL;
        enum rc rc = job_bucket_plain(cases[i].uri, &a, &got, &err);
        CHECK_INT(rc, cases[i].want ? RC_OK : RC_UNSUPPORTED);
        if (cases[i].want)
            CHECK_STR(got, cases[i].want);
        else
            CHECK_INT(err.code, E3006);
        arena_release(&a);
    }
}

/* Both directions with files of this machine: io/ makes no difference between them. */
static void a_plan_holds_every_file_once(void)
{
    char *from = fs_join(dir, "out"), *sub = fs_join(from, "a/b"),
         *one = fs_join(sub, "x"), *two = fs_join(from, "y");
    struct job_bucket_plan p = {.bytes = 0};
    struct err err = {0};
    CHECK_INT(fs_mkdirs(sub, 0755, &err), RC_OK);
    CHECK_INT(fs_write(one, "123", 3, 0644, &err), RC_OK);
    CHECK_INT(fs_write(two, "4567", 4, 0644, &err), RC_OK);
    CHECK_INT(job_bucket_plan_send(&p, dir, "out", "s3://b/run", &err), RC_OK);
    CHECK_INT(p.list.n, 2);
    CHECK_INT(p.bytes, 7);
    CHECK_STR(p.list.at[0].to, "s3://b/run/a/b/x");
    CHECK_STR(p.list.at[1].to, "s3://b/run/y");
    job_bucket_plan_release(&p);
    CHECK_INT(job_bucket_plan_send(&p, dir, "none", "s3://b/", &err), RC_NOTFOUND);
    job_bucket_plan_release(&p);
    mem_free(two);
    mem_free(one);
    mem_free(sub);
    mem_free(from);
}

/* The tree is a job's, and another process of its user may change it while it is sent. */
static void a_directory_that_becomes_a_link_is_not_sent(void)
{
    char *from = fs_join(dir, "swap/model"), *file = fs_join(from, "w"),
         *moved = fs_join(dir, "swap/model.real"), *secret = fs_join(dir, "secret"),
         *theirs = fs_join(secret, "w"), *to = fs_join(dir, "sent"),
         *sent = fs_join(to, "w"), *text = NULL;
    struct job_bucket_plan p = {.bytes = 0};
    struct err err = {0};
    size_t n = 0;
    CHECK_INT(fs_mkdirs(from, 0755, &err), RC_OK);
    CHECK_INT(fs_mkdirs(secret, 0755, &err), RC_OK);
    CHECK_INT(fs_write(file, "own", 3, 0644, &err), RC_OK);
    CHECK_INT(fs_write(theirs, "key", 3, 0644, &err), RC_OK);
    CHECK_INT(job_bucket_plan_send(&p, dir, "swap/model", to, &err), RC_OK);
    CHECK_INT(p.list.n, 1);
    CHECK_INT(rename(from, moved), 0);
    CHECK_INT(symlink(secret, from), 0);
    CHECK(job_bucket_copy(&p, NULL, NULL, &err) != RC_OK);
    CHECK(!fs_exists(sent));
    job_bucket_plan_release(&p);
    CHECK(job_bucket_plan_send(&p, dir, "swap/model", to, &err) != RC_OK);
    CHECK_INT(p.list.n, 0);
    job_bucket_plan_release(&p);
    /* Nor is a file read that is a link. */
    CHECK(!job_tree_read(dir, "swap/model/w", 100, &n));
    text = job_tree_read(dir, "swap/model.real/w", 100, &n);
    CHECK_STR(text, "own");
    mem_free(text);
    CHECK_INT(unlink(theirs) == 0 && symlink("/etc/passwd", theirs) == 0, 1);
    CHECK(!job_tree_read(dir, "secret/w", 1 << 20, &n));
    mem_free(sent);
    mem_free(to);
    mem_free(theirs);
    mem_free(secret);
    mem_free(moved);
    mem_free(file);
    mem_free(from);
}

static const struct tap_case cases[] = {
    TAP(what_is_kept_comes_back),        TAP(a_file_that_is_not_there_is_empty),
    TAP(secrets_are_no_plain_variables), TAP(addresses_may_name_their_endpoint),
    TAP(a_plan_holds_every_file_once),   TAP(a_directory_that_becomes_a_link_is_not_sent),
};

int main(int argc, char **argv)
{
    struct err err = {0};
    if (fs_temp_dir("environ", &dir, &err))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    enum rc gone = fs_remove_all(dir, NULL);
    (void)gone;
    mem_free(dir);
    return rc;
}
