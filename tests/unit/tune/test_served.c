/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"
#include "tune/served.h"

#define JOB "jb-0123456789ab"

struct place {
    char dir[64];
    char *ml, *trial, *file;
    struct job_place p;
};

static void open_place(struct place *s)
{
    struct err err = {0};
    strcpy(s->dir, "/tmp/served-XXXXXX");
    CHECK(mkdtemp(s->dir) != NULL);
    s->p = (struct job_place){.dir = s->dir};
    s->ml = job_place_file(&s->p, JOB, "ml");
    s->trial = fs_join(s->ml, "output/trial/.nni");
    s->file = fs_join(s->trial, "metrics");
    CHECK_INT(fs_mkdirs(s->trial, 0755, &err), RC_OK);
}

static void close_place(struct place *s)
{
    CHECK_INT(fs_remove_all(s->dir, NULL), RC_OK);
    mem_free(s->file);
    mem_free(s->trial);
    mem_free(s->ml);
}

static bool can_read(struct place *s)
{
    char *data = NULL;
    size_t n = 0;
    tune_served_read(&s->p, JOB, ".nni/metrics", &data, &n);
    bool got = data && n == 5 && strcmp(data, "hello") == 0;
    CHECK(got || !data);
    mem_free(data);
    return got;
}

static void a_plain_file_is_read(void)
{
    struct place s;
    open_place(&s);
    CHECK(!can_read(&s)); /* not there yet */
    CHECK_INT(fs_write(s.file, "hello", 5, 0644, NULL), RC_OK);
    CHECK(can_read(&s));
    close_place(&s);
}

static void no_link_is_followed(void)
{
    struct place s;
    open_place(&s);
    char *elsewhere = fs_join(s.dir, "secret");
    CHECK_INT(fs_mkdirs(elsewhere, 0755, NULL), RC_OK);
    char *secret = fs_join(elsewhere, "metrics");
    CHECK_INT(fs_write(secret, "hello", 5, 0644, NULL), RC_OK);
    CHECK_INT(symlink(secret, s.file), 0);
    CHECK(!can_read(&s));
    CHECK_INT(fs_remove_all(s.trial, NULL), RC_OK);
    CHECK_INT(symlink(elsewhere, s.trial), 0); /* a directory on the way */
    CHECK(!can_read(&s));
    mem_free(secret);
    mem_free(elsewhere);
    close_place(&s);
}

static void pipes_and_directories_are_passed_over(void)
{
    struct place s;
    open_place(&s);
    CHECK_INT(mkfifo(s.file, 0644), 0); /* and nobody waits for a writer */
    CHECK(!can_read(&s));
    CHECK_INT(unlink(s.file), 0);
    CHECK_INT(mkdir(s.file, 0755), 0);
    CHECK(!can_read(&s));
    CHECK_INT(tune_served_open(&s.p, "../../etc", "passwd"), -1);
    close_place(&s);
}

static void a_long_file_is_cut(void)
{
    struct place s;
    char *data = NULL;
    size_t n = 0;
    open_place(&s);
    CHECK_INT(fs_write(s.file, "hello", 5, 0644, NULL), RC_OK);
    CHECK_INT(truncate(s.file, (off_t)TUNE_SERVED_BYTES + 100), 0);
    tune_served_read(&s.p, JOB, ".nni/metrics", &data, &n);
    CHECK_INT((int64_t)n, (int64_t)TUNE_SERVED_BYTES);
    mem_free(data);
    close_place(&s);
}

static void the_command_comes_behind_its_folder(void)
{
    char *command = tune_served_command("echo 'it%s' && exit 3");
    CHECK(strstr(command, "${PAI_CONFIG_DIR%%/input/config*}/output/trial") != NULL);
    CHECK(strstr(command, "printf %s \"$TRAINYARD_TRIAL\"") != NULL);
    CHECK(strcmp(strrchr(command, '\n') + 1, "echo 'it%s' && exit 3") == 0);
    mem_free(command);
}

static const struct tap_case cases[] = {
    TAP(a_plain_file_is_read),
    TAP(no_link_is_followed),
    TAP(pipes_and_directories_are_passed_over),
    TAP(a_long_file_is_cut),
    TAP(the_command_comes_behind_its_folder),
};
TAP_MAIN(cases)
