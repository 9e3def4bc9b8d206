/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/served.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define FOLDER "output/trial"

char *tune_served_command(const char *command)
{
    return mem_printf("export NNI_SYS_DIR=\"${PAI_CONFIG_DIR%%%%/input/config*}/" FOLDER
                      "\"\n"
                      "export NNI_OUTPUT_DIR=\"$NNI_SYS_DIR\" NNI_CODE_DIR=\"$PWD\"\n"
                      "mkdir -p \"$NNI_SYS_DIR/.nni\" || exit\n"
                      "printf %%s \"$" TUNE_SERVED_RECORD "\" "
                      ">\"$NNI_SYS_DIR/parameter.cfg\" || exit\n"
                      "unset " TUNE_SERVED_RECORD "\n"
                      "%s",
                      command);
}

/* Below `dir`, part by part, each of which must be what it seems. -1: it is not. */
static int open_below(const char *dir, const char *path)
{
    struct str rest = str_c(path), part;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (at >= 0 && rest.n && str_split(&rest, '/', &part)) {
        char *name = mem_strndup(part.p, part.n);
        int flags = rest.n ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
        int next = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
        mem_free(name);
        close(at);
        at = next;
    }
    return at;
}

static void read_start(int fd, char **data, size_t *n)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return;
    size_t want =
        st.st_size > (off_t)TUNE_SERVED_BYTES ? TUNE_SERVED_BYTES : (size_t)st.st_size;
    char *text = mem_alloc(want + 1);
    ssize_t got = pread(fd, text, want, 0);
    text[got > 0 ? got : 0] = '\0';
    *data = text;
    *n = got > 0 ? (size_t)got : 0;
}

int tune_served_open(const struct job_place *p, const char *job, const char *name)
{
    struct stat st;
    if (!job_id_ok(job))
        return -1;
    char *dir = job_place_file(p, job, "ml"), *path = mem_printf(FOLDER "/%s", name);
    int fd = open_below(dir, path);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    mem_free(path);
    mem_free(dir);
    return fd;
}

void tune_served_read(const struct job_place *p, const char *job, const char *name,
                      char **data, size_t *n)
{
    int fd = tune_served_open(p, job, name);
    if (fd < 0)
        return;
    read_start(fd, data, n);
    close(fd);
}
