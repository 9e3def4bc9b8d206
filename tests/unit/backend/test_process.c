/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker ended, asked again and by another supervisor; and what containers cost. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/process.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *top;
static struct err err;

static void put(const char *name, const char *text)
{
    CHECK(fs_write(name, text, strlen(text), 0600, &err) == RC_OK);
}

static void begin(void)
{
    CHECK(fs_temp_dir("trainyard-process", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0 && mkdir("run", 0700) == 0);
}

static void end(void)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

/* As a new supervisor would ask. */
static struct backend_exit ask(void)
{
    struct backend_job j = {.dir = top};
    struct backend_worker w = {.handle = "run/0.1", .fd = -1};
    struct backend_exit out = {0};
    CHECK_INT(backend_process_reattach(&j, &w), BACKEND_ENDED);
    CHECK_INT(backend_process_poll(&j, &w, &out), BACKEND_ENDED);
    struct backend_exit again = {0};
    CHECK_INT(backend_process_poll(&j, &w, &again), BACKEND_ENDED);
    CHECK_INT(again.out_of_memory, out.out_of_memory);
    backend_process_release(&j, &w);
    return out;
}

/* The group of a worker that the kernel ended goes with the first answer. */
static void an_end_for_memory_is_told_again(void)
{
    begin();
    char *group = fs_join(top, "group");
    put("run/0.1", "");
    put("run/0.1.exit", "-1 9 0 0 1 0\n");
    put("run/0.1.cgroup", group);
    CHECK(mkdir(group, 0700) == 0);
    put("group/memory.events", "low 0\noom_kill 1\n");
    struct backend_exit out = ask();
    CHECK_INT(out.signal, 9);
    CHECK(out.out_of_memory);
    CHECK(fs_remove_all(group, &err) == RC_OK); /* what a real one is by now */
    CHECK(ask().out_of_memory);
    mem_free(group);
    end();
}

static void another_end_is_not_for_memory(void)
{
    begin();
    put("run/0.1", "");
    put("run/0.1.exit", "3 0 0 0 1 0\n");
    struct backend_exit out = ask();
    CHECK_INT(out.code, 3);
    CHECK(!out.out_of_memory);
    end();
}

/* An engine that writes down what it is asked. */
static void fake_engine(void)
{
    char *path = mem_printf("%s:/usr/bin:/bin", top);
    char *script = mem_printf("#!/bin/sh\necho \"$*\" >>'%s/asked'\nexit 1\n", top);
    put("podman", script);
    CHECK(chmod("podman", 0700) == 0);
    CHECK(setenv("PATH", path, 1) == 0);
    char *env = mem_printf("{\"PATH\": \"%s\"}", path);
    put("env.json", env);
    mem_free(env);
    mem_free(script);
    mem_free(path);
}

static char *asked(void)
{
    char *text = NULL;
    size_t n;
    if (fs_read("asked", 4096, &text, &n, NULL) != RC_OK)
        return mem_strdup("");
    unlink("asked");
    return text;
}

static void check_asked(const char *want)
{
    char *got = asked();
    CHECK_STR(got, want);
    mem_free(got);
}

static void all_containers_of_a_job_are_removed_by_one_call(void)
{
    struct job_spec spec = {.workers = 3};
    struct backend_job j = {.id = "j1", .spec = &spec, .attempt = 2};
    begin();
    j.dir = top;
    fake_engine();
    backend_container.clean(&j, -1, false);
    check_asked(
        "rm -f -t 0 --ignore -- trainyard-j1-0-2 trainyard-j1-1-2 trainyard-j1-2-2\n");
    backend_container.clean(&j, 1, false);
    check_asked("rm -f -t 0 --ignore -- trainyard-j1-1-2\n");
    end();
}

static void the_engine_is_asked_once_for_an_image(void)
{
    struct jobspec_JobSpec fields = {.image = "nowhere/none"};
    struct job_spec_role role = {0};
    struct job_spec spec = {.s = &fields, .workers = 1};
    struct backend_job j = {.id = "j1", .spec = &spec, .attempt = 1};
    struct backend_worker w = {
        .handle = "run/0.1", .log = "no-log", .role = &role, .fd = -1};
    begin();
    j.dir = top;
    fake_engine();
    put("run/0.1", "");
    put("run/0.1.exit", "125 0 0 0 1 0\n");
    for (int i = 0; i < 3; i++) {
        struct backend_exit out = {0};
        CHECK_INT(backend_container.poll(&j, &w, &out), BACKEND_ENDED);
        CHECK_INT(out.why, WHY_ImagePull);
        CHECK_STR(out.text, "image 'nowhere/none' could not be had; see the log");
    }
    check_asked("image inspect -- nowhere/none\n");
    backend_container.release(&j, &w);
    end();
}

/* How a container is told to have ended whose client had this status and this log. */
static void check_end(const char *exit, const char *log, enum job_reason why,
                      const char *text)
{
    struct jobspec_JobSpec fields = {.image = "busybox"};
    struct job_spec_role role = {0};
    struct job_spec spec = {.s = &fields, .workers = 1};
    struct backend_job j = {.id = "j1", .spec = &spec, .attempt = 1, .own = NULL};
    struct backend_worker w = {
        .handle = "run/0.1", .log = "log", .role = &role, .fd = -1};
    struct backend_exit out = {0};
    begin();
    j.dir = top;
    put("run/0.1", "");
    put("run/0.1.exit", exit);
    put("log", log);
    CHECK_INT(backend_container.poll(&j, &w, &out), BACKEND_ENDED);
    CHECK_INT(out.why, why);
    CHECK_STR(out.text, text);
    backend_container.release(&j, &w);
    end();
}

static void a_container_that_the_engine_cannot_start_is_told_in_its_words(void)
{
    check_end("126 0 0 0 1 0\n",
              "Trying\nError: runc: no rlimits: OCI permission denied\n",
              WHY_LaunchFailure,
              "the container engine could not start image 'busybox': runc: no rlimits: "
              "OCI permission denied");
    check_end("127 0 0 0 1 0\n",
              "docker: Error response from daemon: OCI runtime create failed: x",
              WHY_LaunchFailure,
              "the container engine could not start image 'busybox': OCI runtime create "
              "failed: x");
    check_end("127 0 0 0 1 0\n", "sh: 1: nosuch: not found\n", WHY_None, "");
    check_end("126 0 0 0 1 0\n", "Error: my own\n", WHY_None, "");
    check_end("3 0 0 0 1 0\n", "Error: OCI \n", WHY_None, "");
}

static void containers_without_a_network_are_refused_before_anything_starts(void)
{
    struct job_isolation_job isolation = {.no_network = true};
    struct job_spec spec = {.workers = 2};
    struct backend_job j = {
        .id = "j1", .spec = &spec, .attempt = 1, .isolation = &isolation};
    begin();
    j.dir = top;
    fake_engine();
    CHECK_INT(backend_container.start(&j, NULL, 2, &err), RC_UNSUPPORTED);
    CHECK_INT(err.code, E3207);
    CHECK_STR(err.msg, "the 2 workers of this job could not reach each other: the server "
                       "gives jobs no network (--job-network none), and containers have "
                       "one each");
    check_asked("");
    end();
}

static const struct tap_case cases[] = {
    TAP(an_end_for_memory_is_told_again),
    TAP(another_end_is_not_for_memory),
    TAP(all_containers_of_a_job_are_removed_by_one_call),
    TAP(the_engine_is_asked_once_for_an_image),
    TAP(a_container_that_the_engine_cannot_start_is_told_in_its_words),
    TAP(containers_without_a_network_are_refused_before_anything_starts),
};
TAP_MAIN(cases)
