/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc_private.h"
#include "base/str.h"
#include "tap.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SH(script) ARGV("/bin/sh", "-c", script)

static const struct proc_limits limits = {.seconds = 60, .max_bytes = 1 << 20};

static struct proc_output run(const struct proc_spec *spec)
{
    struct proc_output out = {0};
    struct err err = {0};
    CHECK(proc_capture(spec, &limits, &out, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return out;
}

static void output_and_status_come_back(void)
{
    int64_t live = mem_live();
    struct proc_spec spec = {.argv = SH("echo out; echo err >&2; exit 3")};
    struct proc_output out = run(&spec);
    CHECK_STR(out.out, "out\n");
    CHECK_STR(out.err, "err\n");
    CHECK_INT(out.n_out, 4);
    CHECK_INT(out.exit.code, 3);
    CHECK_INT(out.exit.signal, 0);
    CHECK(!out.cut);
    char words[PROC_WORDS_SIZE];
    proc_exit_words(out.exit, words);
    CHECK_STR(words, "exit status 3");
    proc_output_release(&out);
    proc_output_release(&out);
    CHECK_INT(mem_live(), live);
}

static void arguments_are_not_a_shell_line(void)
{
    struct proc_spec spec = {.argv = ARGV("printf", "%s|", "$HOME; exit 1", "a b", "")};
    struct proc_output out = run(&spec);
    CHECK_STR(out.out, "$HOME; exit 1|a b||");
    proc_output_release(&out);
}

static void a_program_that_is_not_there_is_not_started(void)
{
    int64_t live = mem_live();
    struct proc *p = NULL;
    struct err err = {0};
    struct proc_spec spec = {.argv = ARGV("no-such-program")};
    CHECK(proc_start(&spec, &p, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "cannot start 'no-such-program': no such program in PATH");
    spec.argv = ARGV("/no/such/program");
    CHECK(proc_start(&spec, &p, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "cannot start '/no/such/program': cannot execute "
                       "'/no/such/program': No such file or directory");
    spec.argv = ARGV("/etc/passwd");
    CHECK(proc_start(&spec, &p, &err) == RC_IO);
    CHECK_HAS(err.msg, "cannot execute '/etc/passwd': Permission denied");
    spec.argv = ARGV("true");
    spec.cwd = "/no/such/dir";
    CHECK(proc_start(&spec, &p, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg,
              "cannot start 'true': its working directory '/no/such/dir' is not there");
    spec.cwd = NULL;
    spec.out = (struct proc_io){.kind = PROC_FILE, .path = "/no/such/file"};
    CHECK(proc_start(&spec, &p, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "cannot start 'true': stdout /no/such/file: No such file or "
                       "directory");
    spec.argv = ARGV(NULL);
    CHECK(proc_start(&spec, &p, &err) == RC_INVAL);
    CHECK_STR(err.msg, "cannot start a program: its command is empty");
    CHECK(p == NULL);
    CHECK_INT(mem_live(), live);
}

static void environment_can_be_given_and_changed(void)
{
    setenv("TY_KEEP", "kept", 1);
    setenv("TY_GONE", "x", 1);
    setenv("TY_NEW", "old", 1);
    struct proc_spec spec = {
        .argv = SH("echo $TY_KEEP-$TY_GONE-$TY_NEW-${TY_NEWER-none}; pwd"),
        .env_add = ARGV("TY_GONE", "TY_NEW=new=1"),
        .cwd = "/usr",
    };
    struct proc_output out = run(&spec);
    CHECK_STR(out.out, "kept--new=1-none\n/usr\n");
    proc_output_release(&out);
    spec = (struct proc_spec){
        .argv = ARGV("/usr/bin/env"), .env = ARGV("A=1", "B=2"), .env_add = ARGV("B=3")};
    out = run(&spec);
    CHECK_STR(out.out, "A=1\nB=3\n");
    proc_output_release(&out);
    struct err err = {0};
    struct proc *p = NULL;
    spec = (struct proc_spec){.argv = ARGV("env"), .env = ARGV("A=1")};
    CHECK(proc_start(&spec, &p, &err) == RC_NOTFOUND); /* its own PATH counts */
}

static void input_is_read(void)
{
    struct proc_output out = {0};
    struct proc_spec spec = {.argv = ARGV("wc", "-c")};
    size_t n = 300000;
    char *big = mem_alloc(n);
    memset(big, 'x', n);
    struct proc_limits with = limits;
    with.input = big;
    with.n_input = n;
    CHECK(proc_capture(&spec, &with, &out, NULL) == RC_OK);
    CHECK_STR(out.out, "300000\n");
    proc_output_release(&out);
    mem_free(big);
    spec.argv = ARGV("cat");
    out = run(&spec); /* nothing to read: /dev/null */
    CHECK_STR(out.out, "");
    proc_output_release(&out);
}

static void long_output_is_cut_and_the_child_not_blocked(void)
{
    struct proc_output out = {0};
    struct proc_spec spec = {.argv = SH("head -c 500000 /dev/zero | tr '\\0' x; exit 4")};
    struct proc_limits small = {.seconds = 60, .max_bytes = 1000};
    CHECK(proc_capture(&spec, &small, &out, NULL) == RC_OK);
    CHECK_INT(out.n_out, 1000);
    CHECK(out.cut);
    CHECK_INT(out.exit.code, 4);
    proc_output_release(&out);
}

static void a_slow_program_is_stopped(void)
{
    int64_t live = mem_live();
    struct proc_output out = {0};
    struct err err = {0};
    struct proc_spec spec = {.argv = SH("sleep 1000 & sleep 1000")};
    struct proc_limits quick = {.seconds = 0.1, .max_bytes = 1000};
    CHECK(proc_capture(&spec, &quick, &out, &err) == RC_CANCELED);
    CHECK_STR(err.msg, "'/bin/sh': took longer than 100ms and was stopped");
    CHECK(out.out == NULL);
    CHECK_INT(mem_live(), live);
}

static void what_was_left_behind_is_not_waited_for(void)
{
    struct proc_spec spec = {.argv = SH("sleep 60 & echo $!")};
    struct proc_output out = run(&spec);
    int64_t pid = 0;
    CHECK(str_to_i64(str_trim(str_c(out.out)), &pid));
    CHECK_INT(out.exit.code, 0);
    if (pid > 1)
        kill((pid_t)pid, SIGKILL);
    proc_output_release(&out);
}

static struct proc *start(const struct proc_spec *spec)
{
    struct proc *p = NULL;
    struct err err = {0};
    CHECK(proc_start(spec, &p, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return p;
}

/* Reads until `n` bytes or the end. */
static size_t read_some(int fd, char *out, size_t n)
{
    size_t at = 0;
    while (at < n) {
        ssize_t got = read(fd, out + at, n - at);
        if (got <= 0 && errno != EINTR)
            break;
        at += got > 0 ? (size_t)got : 0;
    }
    out[at] = '\0';
    return at;
}

static void pipes_lead_both_ways(void)
{
    struct proc_spec spec = {
        .argv = ARGV("cat"), .in = {.kind = PROC_PIPE}, .out = {.kind = PROC_PIPE}};
    struct proc *p = start(&spec);
    struct proc_exit exit = {0};
    char text[16];
    CHECK(proc_pid(p) > 1);
    CHECK_INT(proc_pipe(p, 2), -1);
    CHECK(!proc_poll(p, &exit));
    CHECK(!proc_wait(p, 0.01, &exit));
    CHECK(write(proc_pipe(p, 0), "hello", 5) == 5);
    CHECK_INT(read_some(proc_pipe(p, 1), text, 5), 5);
    CHECK_STR(text, "hello");
    proc_pipe_close(p, 0);
    proc_pipe_close(p, 0);
    CHECK(proc_wait(p, -1, &exit));
    CHECK(proc_poll(p, &exit) && exit.code == 0);
    proc_destroy(p);
    proc_destroy(NULL);
}

static void waiting_works_without_pidfds(void)
{
    struct proc_spec spec = {.argv = ARGV("cat"), .in = {.kind = PROC_PIPE}};
    struct proc *p = start(&spec);
    struct proc_exit exit = {0};
    proc_drop_pidfd(p);
    CHECK_INT(proc_pidfd(p), -1);
    CHECK(!proc_wait(p, 0.01, &exit));
    proc_pipe_close(p, 0);
    CHECK(proc_wait(p, -1, &exit) && exit.code == 0 && exit.signal == 0);
    proc_destroy(p);
}

static void files_and_joined_streams(void)
{
    char *dir = NULL, *text = NULL;
    size_t n;
    CHECK(fs_temp_dir("ty-proc", &dir, NULL) == RC_OK);
    char *log = fs_join(dir, "log");
    struct proc_exit exit;
    for (int i = 0; i < 3; i++) {
        struct proc_spec spec = {
            .argv = SH("echo out; echo err >&2"),
            .out = {.kind = i == 1 ? PROC_APPEND : PROC_FILE, .path = log},
            .err = {.kind = PROC_STDOUT},
        };
        struct proc *p = start(&spec);
        CHECK(proc_wait(p, -1, &exit) && exit.code == 0);
        proc_destroy(p);
        CHECK(fs_read(log, 1000, &text, &n, NULL) == RC_OK);
        CHECK_STR(text, i == 1 ? "out\nerr\nout\nerr\n" : "out\nerr\n");
        mem_free(text);
    }
    struct proc_spec spec = {.argv = ARGV("cat"),
                             .in = {.kind = PROC_FILE, .path = log},
                             .out = {.kind = PROC_NULL},
                             .err = {.kind = PROC_NULL}};
    struct proc *p = start(&spec);
    CHECK(proc_wait(p, -1, &exit) && exit.code == 0);
    proc_destroy(p);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(log);
    mem_free(dir);
}

static void streams_may_be_crossed(void)
{
    int fds[2], back[2];
    CHECK(pipe2(fds, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
    int in = dup(0), out = dup(1);
    dup2(back[1],
         0); /* our 0 is where the child shall write, our 1 where it shall read */
    dup2(fds[0], 1);
    struct proc_spec spec = {.argv = ARGV("cat"),
                             .in = {.kind = PROC_FD, .fd = 1},
                             .out = {.kind = PROC_FD, .fd = 0}};
    struct proc *p = NULL;
    enum rc rc = proc_start(&spec, &p, NULL);
    dup2(in, 0);
    dup2(out, 1);
    close(in);
    close(out);
    CHECK(rc == RC_OK);
    close(fds[0]);
    close(back[1]);
    char text[16];
    CHECK(write(fds[1], "abc", 3) == 3);
    close(fds[1]);
    CHECK_INT(read_some(back[0], text, 10), 3);
    CHECK_STR(text, "abc");
    close(back[0]);
    proc_destroy(p);
}

static void no_other_file_is_inherited(void)
{
    int fds[2];
    CHECK(pipe2(fds, 0) == 0);
    struct proc_spec spec = {.argv = SH("ls /proc/self/fd")};
    struct proc_output out = run(&spec);
    CHECK_STR(out.out, "0\n1\n2\n3\n"); /* 3 is the directory itself */
    proc_output_release(&out);
    close(fds[0]);
    close(fds[1]);
}

static void the_whole_group_is_ended(void)
{
    struct proc_spec spec = {.argv = SH("sleep 1000 & echo $!; wait"),
                             .out = {.kind = PROC_PIPE}};
    struct proc *p = start(&spec);
    char text[32];
    struct proc_exit exit = {0};
    CHECK(read(proc_pipe(p, 1), text, 1) == 1);
    proc_terminate(p, 30, &exit);
    char words[PROC_WORDS_SIZE];
    proc_exit_words(exit, words);
    CHECK_STR(words, "killed by SIGTERM");
    /* The grandchild held the pipe open: its end means that it is gone. */
    read_some(proc_pipe(p, 1), text, sizeof(text) - 1);
    proc_terminate(p, 30, &exit);
    CHECK_INT(exit.signal, SIGTERM);
    proc_destroy(p);
}

static void one_that_will_not_stop_is_killed(void)
{
    struct proc_spec spec = {
        .argv = SH("trap '' TERM; echo ready; while :; do sleep 1; done"),
        .out = {.kind = PROC_PIPE}};
    struct proc *p = start(&spec);
    char text[32];
    struct proc_exit exit = {0};
    CHECK_INT(read_some(proc_pipe(p, 1), text, 6), 6);
    proc_terminate(p, 0.05, &exit);
    CHECK_INT(exit.signal, SIGKILL);
    CHECK_INT(exit.code, -1);
    proc_destroy(p);
}

static void destroying_a_running_one_kills_its_group(void)
{
    struct proc_spec spec = {.argv = SH("sleep 1000 & echo x; wait"),
                             .out = {.kind = PROC_PIPE}};
    struct proc *p = start(&spec);
    char text[8];
    CHECK_INT(read_some(proc_pipe(p, 1), text, 2), 2);
    int fd = dup(proc_pipe(p, 1));
    proc_destroy(p);
    CHECK_INT(read_some(fd, text, 1), 0);
    close(fd);
}

static void groups_and_sessions_are_as_asked(void)
{
    struct proc_spec spec = {.argv = ARGV("sleep", "1000")};
    struct proc *p = start(&spec);
    CHECK_INT(getpgid(proc_pid(p)), proc_pid(p));
    CHECK_INT(getsid(proc_pid(p)), getsid(0));
    proc_destroy(p);
    spec.same_group = true;
    p = start(&spec);
    CHECK_INT(getpgid(proc_pid(p)), getpgid(0));
    struct proc_exit exit;
    proc_terminate(p, 30, &exit); /* reaches the child, not us */
    CHECK_INT(exit.signal, SIGTERM);
    proc_destroy(p);
    spec.same_group = false;
    spec.new_session = true;
    p = start(&spec);
    CHECK_INT(getsid(proc_pid(p)), proc_pid(p));
    proc_destroy(p);
}

static void ignored_and_blocked_signals_are_reset(void)
{
    sigset_t set, before;
    sigfillset(&set);
    signal(SIGTERM, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &set, &before);
    struct proc_spec spec = {.argv = ARGV("sleep", "1000")};
    struct proc *p = start(&spec);
    struct proc_exit exit;
    proc_terminate(p, 30, &exit);
    CHECK_INT(exit.signal, SIGTERM);
    proc_destroy(p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGTERM, SIG_DFL);
}

static void programs_are_found_in_a_path(void)
{
    char *found = proc_which("sh", "/no/such::/bin");
    CHECK_STR(found, "/bin/sh");
    mem_free(found);
    CHECK(proc_which("sh", "") == NULL);
    CHECK(proc_which("", "/bin") == NULL);
    CHECK(proc_which("tmp", "/") == NULL);           /* a directory */
    CHECK(proc_which("passwd", "/etc") == NULL);     /* not executable */
    CHECK(proc_which("/bin/no-such", NULL) == NULL); /* a path */
    found = proc_which("/bin/sh", "");
    CHECK_STR(found, "/bin/sh");
    mem_free(found);
}

static const struct tap_case cases[] = {
    TAP(output_and_status_come_back),
    TAP(arguments_are_not_a_shell_line),
    TAP(a_program_that_is_not_there_is_not_started),
    TAP(environment_can_be_given_and_changed),
    TAP(input_is_read),
    TAP(long_output_is_cut_and_the_child_not_blocked),
    TAP(a_slow_program_is_stopped),
    TAP(what_was_left_behind_is_not_waited_for),
    TAP(pipes_lead_both_ways),
    TAP(waiting_works_without_pidfds),
    TAP(files_and_joined_streams),
    TAP(streams_may_be_crossed),
    TAP(no_other_file_is_inherited),
    TAP(the_whole_group_is_ended),
    TAP(one_that_will_not_stop_is_killed),
    TAP(destroying_a_running_one_kills_its_group),
    TAP(groups_and_sessions_are_as_asked),
    TAP(ignored_and_blocked_signals_are_reset),
    TAP(programs_are_found_in_a_path),
};
TAP_MAIN(cases)
