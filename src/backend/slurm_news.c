/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/slurm_news.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/helper_env.h"
#include "base/mem.h"

#define ANSWER_MAX (64 << 20)
#define ASK_S 30.0 /* squeue of a busy controller */
#define ACCOUNT_S 5.0

static bool is_wanted(const char *variable)
{
    static const char *const names[] = {
        "PATH=",   "HOME=", "USER=",       "LOGNAME=",       "LANG=",
        "LC_ALL=", "TZ=",   "SLURM_CONF=", "SLURM_CLUSTERS="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(variable, names[i]))
            return true;
    return false;
}

void slurm_env_fill(struct job_contract_env *out)
{
    backend_helper_env_fill(out, (const char *const *)(uintptr_t)environ, is_wanted);
}

/* What a failure means, in the command's own words. */
static enum rc failure(const char *const *argv, const struct proc_output *out,
                       struct err *err)
{
    struct buf b;
    buf_init(&b, ERR_MSG_SIZE);
    slurm_message_put(out->err, &b);
    enum rc rc = slurm_failure_of(out->err) == SLURM_REFUSED ? RC_INVAL : RC_CANCELED;
    rc = err_set(err, rc, "%s: %s", argv[0], buf_str(&b));
    buf_release(&b);
    return rc;
}

enum rc slurm_run(const char *const *argv, double seconds, struct proc_output *out,
                  struct err *err)
{
    struct job_contract_env env = {.list = {0}};
    slurm_env_fill(&env);
    struct proc_spec spec = {.argv = argv, .env = job_contract_env_list(&env)};
    struct proc_limits limits = {.seconds = seconds, .max_bytes = ANSWER_MAX};
    enum rc rc = proc_capture(&spec, &limits, out, err);
    if (!rc && out->exit.code != 0)
        rc = failure(argv, out, err);
    job_contract_env_release(&env);
    return rc;
}

enum rc slurm_news_ask(void *arg, char **out, struct err *err)
{
    char user[32];
    snprintf(user, sizeof(user), "--user=%ju", (uintmax_t)geteuid());
    const char *const argv[] = {"squeue",     user,       "--states=all",
                                "--noheader", "--sort=i", "--format=%A|%T|%r|%N|%j",
                                "--local",    NULL};
    struct proc_output got = {0};
    enum rc rc = slurm_run(argv, ASK_S, &got, err);
    if (!rc) {
        *out = got.out;
        got.out = NULL;
    }
    proc_output_release(&got);
    return rc;
}

bool slurm_news_next(struct str *answer, struct slurm_news *out)
{
    struct str line, number, state;
    while (answer->n && str_split(answer, '\n', &line)) {
        struct slurm_news n = {.number = 0};
        if (!str_split(&line, '|', &number) || !str_to_i64(number, &n.number) ||
            !str_split(&line, '|', &state) || !str_split(&line, '|', &n.reason) ||
            !str_split(&line, '|', &n.nodes))
            continue; /* a name of somebody else's job with a line end in it */
        n.state = slurm_state_find(state);
        n.name = str_trim(line);
        *out = n;
        return true;
    }
    return false;
}

static bool has_tag(struct str name, const char *tag)
{
    size_t n = strlen(tag);
    return name.n > n && name.p[name.n - n - 1] == '.' &&
           memcmp(name.p + name.n - n, tag, n) == 0;
}

bool slurm_news_find(const char *answer, int64_t number, const char *tag,
                     struct slurm_news *out)
{
    struct str rest = str_c(answer);
    struct slurm_news n;
    bool found = false;
    while (slurm_news_next(&rest, &n))
        if ((!number || n.number == number) && has_tag(n.name, tag) &&
            (!found || n.number < out->number)) {
            *out = n;
            found = true;
        }
    return found;
}

const struct slurm_state *slurm_news_account(int64_t number, const char *tag)
{
    char id[32];
    const struct slurm_state *state = NULL;
    struct proc_output got = {0};
    snprintf(id, sizeof(id), "--jobs=%jd", (intmax_t)number);
    const char *const argv[] = {
        "sacct", "--noheader", "--parsable2", "--allocations", "--format=State,JobName",
        id,      NULL};
    if (slurm_run(argv, ACCOUNT_S, &got, NULL) == RC_OK) {
        struct str rest = str_c(got.out), line, word;
        while (rest.n && str_split(&rest, '\n', &line))
            if (str_split(&line, '|', &word) && has_tag(str_trim(line), tag))
                state = slurm_state_find(word);
    }
    proc_output_release(&got);
    return state;
}

bool slurm_news_preempted(int64_t number)
{
    char id[32];
    struct proc_output got = {0};
    snprintf(id, sizeof(id), "%jd", (intmax_t)number);
    const char *const argv[] = {"scontrol", "--oneliner", "show", "job", id, NULL};
    const char *at = NULL;
    if (slurm_run(argv, ACCOUNT_S, &got, NULL) == RC_OK)
        at = strstr(got.out, " PreemptTime=");
    bool is = at && !str_starts(at, " PreemptTime=None");
    proc_output_release(&got);
    return is;
}
