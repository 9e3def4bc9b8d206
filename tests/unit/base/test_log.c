/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tap.h"

#define LOG_AREA "sched"

static int pipe_fds[2];
static char got[1 << 20];

static void begin(enum log_level most, enum log_format format)
{
    CHECK(pipe2(pipe_fds, O_CLOEXEC) == 0);
    fcntl(pipe_fds[1], F_SETPIPE_SZ, 1 << 20);
    log_setup(most, format, pipe_fds[1]);
}

static const char *end(void)
{
    size_t n = 0;
    ssize_t more;
    close(pipe_fds[1]);
    while ((more = read(pipe_fds[0], got + n, sizeof(got) - 1 - n)) > 0)
        n += (size_t)more;
    got[n] = '\0';
    close(pipe_fds[0]);
    log_setup(LOG_LEVEL_INFO, LOG_TEXT, STDERR_FILENO);
    return got;
}

static void text_lines_name_level_and_area(void)
{
    begin(LOG_LEVEL_INFO, LOG_TEXT);
    log_error("disk of %d GB is full", 3);
    log_warn("odd");
    log_info("a few");
    log_debug("never seen %d", 1);
    log_job(LOG_LEVEL_INFO, "j-1", "started on %s", "local");
    CHECK_STR(end(), "trainyard: error: sched: disk of 3 GB is full\n"
                     "trainyard: warn: sched: odd\n"
                     "trainyard: info: sched: a few\n"
                     "trainyard: info: sched: job j-1: started on local\n");
}

static void levels_are_a_threshold(void)
{
    enum log_level level = LOG_LEVEL_INFO;
    begin(LOG_LEVEL_ERROR, LOG_TEXT);
    log_warn("no");
    CHECK(log_wanted(LOG_LEVEL_ERROR) && !log_wanted(LOG_LEVEL_WARN));
    CHECK_STR(end(), "");
    CHECK(log_level_find("DEBUG", &level) && level == LOG_LEVEL_DEBUG);
    CHECK(!log_level_find("loud", &level) && level == LOG_LEVEL_DEBUG);
    CHECK_STR(log_level_name(LOG_LEVEL_WARN), "warn");
}

static void control_characters_cannot_forge_lines(void)
{
    begin(LOG_LEVEL_INFO, LOG_TEXT);
    log_info("%s", "a\ntrainyard: error: x\r\t\x1b[2J\x7f\xc2\x9b é");
    CHECK_STR(end(), "trainyard: info: sched: a\\ntrainyard: error: "
                     "x\\r\\t\\x1b[2J\\x7f\\x9b é\n");
}

static void json_lines_hold_the_fields(void)
{
    begin(LOG_LEVEL_DEBUG, LOG_JSON);
    log_debug("say \"%s\"", "hi\n");
    log_job(LOG_LEVEL_WARN, "j\"1", "slow");
    const char *text = end();
    int64_t at;
    CHECK(strncmp(text, "{\"time\":\"", 9) == 0);
    CHECK(clock_from_rfc3339(str_of(text + 9, 24), &at));
    const char *rest = text + 9 + 24;
    CHECK_HAS(rest, "\",\"level\":\"debug\",\"area\":\"sched\",\"msg\":\"say "
                    "\\\"hi\\n\\\"\"}\n{\"time\":\"");
    CHECK_HAS(rest, "\"level\":\"warn\",\"area\":\"sched\",\"job\":\"j\\\"1\",\"msg\":"
                    "\"slow\"}\n");
}

static void long_messages_are_cut_visibly(void)
{
    char big[20000];
    memset(big, '\x01', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    begin(LOG_LEVEL_INFO, LOG_TEXT);
    log_info("%s", big);
    const char *text = end();
    CHECK(strlen(text) <= 4096 && strlen(text) > 1000);
    CHECK_STR(text + strlen(text) - 4, "...\n");
    begin(LOG_LEVEL_INFO, LOG_JSON);
    log_job(LOG_LEVEL_INFO, big, "%s", big);
    text = end();
    CHECK(strlen(text) <= 4096 && strlen(text) > 1000);
    CHECK_HAS(text, "\\u0001\",\"cut\":true}\n");
}

static void logging_allocates_nothing_and_keeps_errno(void)
{
    begin(LOG_LEVEL_INFO, LOG_JSON);
    int64_t total = mem_total();
    close(pipe_fds[1]);
    errno = ENOSPC;
    log_info("to nobody");
    CHECK_INT(errno, ENOSPC);
    CHECK_INT(mem_total(), total);
    pipe_fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    end();
}

static void *shout(void *arg)
{
    for (int i = 0; i < 200; i++)
        log_info("thread %s", (const char *)arg);
    return NULL;
}

static void threads_do_not_mix_lines(void)
{
    static char words[4][64];
    pthread_t threads[4];
    begin(LOG_LEVEL_INFO, LOG_TEXT);
    for (int i = 0; i < 4; i++) {
        memset(words[i], 'a' + i, 60);
        CHECK(pthread_create(&threads[i], NULL, shout, words[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    struct str rest = str_c(end()), line;
    int n = 0;
    while (str_split(&rest, '\n', &line) && line.n) {
        static const char head[] = "trainyard: info: sched: thread ";
        CHECK(line.n == sizeof(head) - 1 + 60 &&
              memcmp(line.p, head, sizeof(head) - 1) == 0);
        CHECK(line.n && line.p[line.n - 1] == line.p[line.n - 60]);
        n++;
    }
    CHECK_INT(n, 800);
}

static const struct tap_case cases[] = {
    TAP(text_lines_name_level_and_area),
    TAP(levels_are_a_threshold),
    TAP(control_characters_cannot_forge_lines),
    TAP(json_lines_hold_the_fields),
    TAP(long_messages_are_cut_visibly),
    TAP(logging_allocates_nothing_and_keeps_errno),
    TAP(threads_do_not_mix_lines),
};
TAP_MAIN(cases)
