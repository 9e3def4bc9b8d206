/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define VERDICT_MAX 4096

enum backend_state backend_verdict_set(struct backend_verdict *v,
                                       enum backend_state state,
                                       const struct backend_exit *e)
{
    *v = (struct backend_verdict){.known = true, .state = state, .exit = *e};
    return state;
}

enum backend_state backend_verdict_keep(struct backend_verdict *v, const char *handle,
                                        enum backend_state state,
                                        const struct backend_exit *e)
{
    char *path = mem_printf("%s.verdict", handle);
    char *text =
        mem_printf("%d %d %d %jd %s\n%s", state == BACKEND_ENDED, e->code, e->signal,
                   (intmax_t)e->ended, job_reason_name(e->why), e->text);
    enum rc rc = job_file_put(path, text, strlen(text), 0600, NULL);
    (void)rc; /* the next supervisor asks again */
    mem_free(text);
    mem_free(path);
    return backend_verdict_set(v, state, e);
}

/* "1 0 0 0 REASON" */
static bool parse_words(struct str words, enum backend_state *state,
                        struct backend_exit *e)
{
    int64_t v[4] = {0};
    struct str part;
    for (size_t n = 0; n < ARRAY_LEN(v); n++)
        if (!str_split(&words, ' ', &part) || !str_to_i64(part, &v[n]))
            return false;
    char *reason = mem_strndup(words.n ? words.p : "", words.n);
    bool good = !*reason || job_reason_find(reason, &e->why);
    mem_free(reason);
    *state = v[0] ? BACKEND_ENDED : BACKEND_LOST;
    e->code = (int)v[1];
    e->signal = (int)v[2];
    e->ended = v[3];
    e->out_of_memory = e->why == WHY_OutOfMemory;
    return good;
}

static bool parse_verdict(struct str text, struct backend_verdict *v)
{
    struct str words;
    v->exit = (struct backend_exit){.code = -1};
    if (!str_split(&text, '\n', &words) || !parse_words(words, &v->state, &v->exit))
        return false;
    snprintf(v->exit.text, sizeof(v->exit.text), "%.*s", (int)text.n,
             text.n ? text.p : "");
    return true;
}

bool backend_verdict_find(struct backend_verdict *v, const char *handle)
{
    if (v->known)
        return true;
    char *path = mem_printf("%s.verdict", handle), *text = NULL;
    size_t n = 0;
    struct backend_verdict is = {.known = true};
    if (fs_exists(path) && fs_read(path, VERDICT_MAX, &text, &n, NULL) == RC_OK &&
        parse_verdict(str_of(text, n), &is))
        *v = is;
    mem_free(text);
    mem_free(path);
    return v->known;
}
