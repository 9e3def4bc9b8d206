/* SPDX-License-Identifier: Apache-2.0 */
#include "job/ignore.h"

#include <fnmatch.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define FILE_MAX (1 << 20)

static void add_rule(struct job_ignore *g, struct str line)
{
    struct job_ignore_rule r = {0};
    line = str_trim(line);
    if (!line.n || line.p[0] == '#')
        return;
    if (line.p[0] == '!') {
        r.negate = true;
        line = str_of(line.p + 1, line.n - 1);
    }
    if (line.n && line.p[line.n - 1] == '/') {
        r.dir_only = true;
        line.n--;
    }
    if (line.n && line.p[0] == '/') {
        r.anchored = true;
        line = str_of(line.p + 1, line.n - 1);
    }
    if (!line.n)
        return;
    r.anchored = r.anchored || memchr(line.p, '/', line.n);
    r.pattern = arena_strndup(&g->arena, line.p, line.n);
    VEC_PUSH(&g->rules, r);
}

enum rc job_ignore_open(const char *dir, struct job_ignore *out, struct err *err)
{
    char *path = fs_join(dir, ".trainyardignore"), *text = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    add_rule(out, str_c(".git"));
    add_rule(out, str_c("__pycache__/"));
    if (fs_exists(path))
        rc = fs_read(path, FILE_MAX, &text, &n, err);
    struct str rest = str_of(text, n), line;
    while (text && str_split(&rest, '\n', &line))
        add_rule(out, line);
    mem_free(text);
    mem_free(path);
    return rc;
}

void job_ignore_release(struct job_ignore *g)
{
    VEC_RELEASE(&g->rules);
    arena_release(&g->arena);
    *g = (struct job_ignore){0};
}

bool job_ignore_match(const struct job_ignore *g, const char *rel, bool is_dir)
{
    const char *slash = strrchr(rel, '/'), *base = slash ? slash + 1 : rel;
    bool out = false;
    for (size_t i = 0; i < g->rules.n; i++) {
        const struct job_ignore_rule *r = &g->rules.at[i];
        if (r->dir_only && !is_dir)
            continue;
        if (fnmatch(r->pattern, r->anchored ? rel : base, FNM_PATHNAME) == 0)
            out = !r->negate;
    }
    return out;
}
