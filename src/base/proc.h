/* SPDX-License-Identifier: Apache-2.0 */
/* base/proc.h - child processes.
 *
 * A command is a list of arguments, never a line for a shell. proc_start() succeeds only
 * when the program has really been executed. A child leads a process group of its own
 * unless told otherwise, starts with default signal handling and no blocked signals, and
 * inherits no file but the three named in its spec.
 * A struct proc is used by one thread at a time.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum proc_io_kind {
    PROC_INHERIT = 0,
    PROC_NULL,   /* /dev/null */
    PROC_FD,     /* `fd`, borrowed */
    PROC_FILE,   /* `path`: read, or created and emptied */
    PROC_APPEND, /* `path`: created, appended to */
    PROC_PIPE,   /* our end: proc_pipe() */
    PROC_STDOUT, /* of stderr: wherever stdout goes */
};

struct proc_io {
    enum proc_io_kind kind;
    int fd;
    const char *path;
};

/* All borrowed, only during the call. */
struct proc_spec {
    const char *const *argv; /* NULL behind the last; [0] is looked up in PATH */
    const char *const *env;  /* "NAME=value", NULL behind the last; NULL: as ours */
    /* On top of it; "NAME" alone takes one away. NULL: none. */
    const char *const *env_add;
    const char *cwd; /* NULL: as ours */
    struct proc_io in, out, err;
    bool same_group;  /* stay in our process group (a job of the terminal) */
    bool new_session; /* away from our terminal too */
};

/* How it ended. */
struct proc_exit {
    int code;   /* exit status, or -1 when a signal ended it */
    int signal; /* 0 when it ended by itself */
};

struct proc;

/* RC_NOTFOUND: no such program; RC_INVAL: a spec that cannot be; RC_IO. The message
 * begins with "cannot start 'NAME'".
 */
enum rc proc_start(const struct proc_spec *spec, struct proc **out,
                   struct err *err) MUST_CHECK;
/* Kills the group of a child that still runs, and reaps it. NULL is fine. */
void proc_destroy(struct proc *p);
/* Lets it run on without us and frees `p`; the pid is nobody's to wait for but init's
 * once we are gone.
 */
void proc_disown(struct proc *p);

pid_t proc_pid(const struct proc *p);
/* Readable when the child has ended; -1 when the kernel has none. Borrowed. */
int proc_pidfd(const struct proc *p);
/* Our end of stream 0, 1 or 2 when it is a PROC_PIPE; borrowed; -1 else. */
int proc_pipe(const struct proc *p, int stream);
void proc_pipe_close(struct proc *p, int stream); /* fine when it is closed already */

/* True once it has ended; *exit is filled then, now and on every later call. What is left
 * of its group stays alone.
 */
bool proc_poll(struct proc *p, struct proc_exit *exit);
/* Waits up to `seconds` (negative: as long as it takes). False when it still runs. */
bool proc_wait(struct proc *p, double seconds, struct proc_exit *exit);
/* Sends to the whole group, or to the child alone with same_group. Fine when it ended. */
void proc_signal(struct proc *p, int signal);
/* TERM to the group; KILL to what is left of it after `grace` seconds or when the child
 * has ended. Returns when the child is reaped.
 */
void proc_terminate(struct proc *p, double grace, struct proc_exit *exit);

/* "exit status 3", "killed by SIGKILL". */
#define PROC_WORDS_SIZE 48
void proc_exit_words(struct proc_exit exit, char out[PROC_WORDS_SIZE]);

/* A program's output, each NUL-terminated. */
struct proc_output {
    char *out, *err; /* owned */
    size_t n_out, n_err;
    bool cut; /* more than the limit came; the rest was thrown away */
    struct proc_exit exit;
};

struct proc_limits {
    double seconds;    /* then its group is killed: RC_CANCELED. 0: none */
    size_t max_bytes;  /* of each stream */
    const char *input; /* for its stdin; NULL: /dev/null */
    size_t n_input;
};

/* Runs `spec` to its end and collects stdout and stderr (spec's own in, out and err are
 * not looked at). RC_OK whatever its exit status. What processes that it left behind
 * write later is not waited for.
 */
enum rc proc_capture(const struct proc_spec *spec, const struct proc_limits *limits,
                     struct proc_output *out, struct err *err) MUST_CHECK;
void proc_output_release(struct proc_output *out);

/* The file that `name` stands for: itself with a '/' in it, else the first executable
 * file in `path` ("/a:/b"; NULL: our PATH). The caller's; NULL when there is none.
 */
char *proc_which(const char *name, const char *path) MUST_CHECK;
/* Takes directories that we may not enter out of the PATH of this process: with one of them
 * in it, a command that is nowhere is "permission denied", not "not found".
 */
void proc_trim_path(void);

#endif
