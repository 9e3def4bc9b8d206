/* SPDX-License-Identifier: Apache-2.0 */
/* `run config.yaml --backend backend.yaml` of a runner of class cluster_train. The folder
 * <job_name>_<YYYYmmddHHMM> below the current directory gets the files that submit.files
 * names and the four that are made; then `sh job.sh` runs in it, as the user may again
 * later. Folder and files are the user's alone. Access keys are in one hidden file, which
 * job.sh reads and does not upload; the copy of backend.yaml is without them.
 */
#include "cmd/paddlerec_submit.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "cmd/paddlerec_show.h"

#define FILE_BYTES_MAX ((size_t)64 << 20) /* of one file that is uploaded */
#define SAME_MINUTE_MAX 100               /* folders of one name and minute */
#define CLIENT_NAME "paddlecloud"

/* --- before anything is made --- */

static bool add_pattern(const char *pattern, struct fs_names *out)
{
    glob_t g = {0};
    bool any = glob(pattern, 0, NULL, &g) == 0;
    for (size_t i = 0; any && i < g.gl_pathc; i++) {
        if (fs_is_dir(g.gl_pathv[i]))
            continue;
        out->at = mem_realloc(out->at, out->n + 1, sizeof(*out->at));
        out->at[out->n++] = mem_strdup(g.gl_pathv[i]);
    }
    globfree(&g);
    return any;
}

static void files_fault(struct paddlerec_submit *s, struct diags *d, const char *what,
                        struct str of)
{
    schema_report(d, DIAG_ERROR, E0534, &s->job.b->submit->base, "files", "'%.*s' %s",
                  (int)of.n, of.p, what);
}

static bool expand_files(struct paddlerec_submit *s, struct diags *d)
{
    struct str rest = str_c(s->job.b->submit->files), word;
    bool good = true;
    while (str_split(&rest, ' ', &word)) {
        if (word.n == 0)
            continue;
        char *pattern = mem_printf("%.*s", (int)word.n, word.p);
        if (!add_pattern(pattern, &s->files)) {
            files_fault(s, d, "matches no file here", word);
            good = false;
        }
        mem_free(pattern);
    }
    return good;
}

static bool is_made(const struct paddlerec_submit *s, const char *name)
{
    struct paddlerec_made made[PADDLEREC_MADE];
    paddlerec_submission_files(&s->job, made);
    for (int i = 0; i < PADDLEREC_MADE; i++)
        if (strcmp(made[i].name, name) == 0)
            return true;
    return strcmp(name, PADDLEREC_KEYS_FILE) == 0;
}

/* Files lie side by side in the folder: a name may come once. */
static bool check_names(struct paddlerec_submit *s, struct diags *d)
{
    bool good = true;
    for (size_t i = 0; i < s->files.n; i++) {
        char *name = fs_basename(s->files.at[i]);
        const char *why = is_made(s, name) ? "has the name of a file that is made" : NULL;
        for (size_t k = 0; k < i && !why; k++) {
            char *other = fs_basename(s->files.at[k]);
            if (strcmp(name, other) == 0 && strcmp(s->files.at[i], s->files.at[k]) != 0)
                why = "has the name of another of them: the folder is flat";
            mem_free(other);
        }
        if (why)
            files_fault(s, d, why, str_c(s->files.at[i]));
        good = good && !why;
        mem_free(name);
    }
    return good;
}

bool paddlerec_submit_check(struct paddlerec_submit *s, struct diags *diags)
{
    char *client = proc_which(CLIENT_NAME, NULL);
    bool good = expand_files(s, diags) && check_names(s, diags);
    if (!client)
        schema_report(diags, DIAG_ERROR, E0538, &s->job.b->base, "backend",
                      "the client of PaddleCloud, '%s', is not in PATH", CLIENT_NAME);
    good = good && client;
    mem_free(client);
    return good;
}

void paddlerec_submit_release(struct paddlerec_submit *s)
{
    fs_names_release(&s->files);
}

/* --- the folder --- */

/* A second folder of the same minute gets a number. */
static enum rc make_folder(const struct paddlerec_submit *s, char **out, struct err *err)
{
    char minute[32], *here = getcwd(NULL, 0), *path = NULL;
    time_t now = time(NULL);
    struct tm tm;
    int failed = here ? EEXIST : errno;
    strftime(minute, sizeof(minute), "%Y%m%d%H%M", localtime_r(&now, &tm));
    for (int i = 1; i <= SAME_MINUTE_MAX && failed == EEXIST; i++) {
        mem_free(path);
        path = mem_printf("%s/%s_%s", here, s->job.b->submit->job_name, minute);
        if (i > 1) {
            char *first = path;
            path = mem_printf("%s_%d", first, i);
            mem_free(first);
        }
        failed = mkdir(path, 0700) == 0 ? 0 : errno;
    }
    free(here);
    if (!failed) {
        *out = path;
        return RC_OK;
    }
    enum rc rc = err_sys(err, failed, "cannot make '%s'", path ? path : "a folder here");
    mem_free(path);
    return rc;
}

static void drop_text(struct buf *b, const char *secret)
{
    size_t n = strlen(secret);
    char *at;
    while (n && b->n && (at = memmem(b->p, b->n, secret, n))) {
        memmove(at, at + n, b->n - (size_t)(at - b->p) - n);
        b->n -= n;
    }
}

/* Whether a line of YAML is "ak: ..." or "sk: ...": how many bytes its key has. */
static size_t key_of_secret(struct str line)
{
    size_t i = 0;
    while (i < line.n && line.p[i] == ' ')
        i++;
    bool named =
        line.n - i > 2 && (line.p[i] == 'a' || line.p[i] == 's') && line.p[i + 1] == 'k';
    for (i += 2; named && i < line.n && line.p[i] == ' ';)
        i++;
    return named && i < line.n && line.p[i] == ':' ? i + 1 : 0;
}

/* backend.yaml without its access keys, also those that a later key hides. */
static void without_keys(const struct prec_Submit *u, const char *text, size_t n,
                         struct buf *out)
{
    struct str rest = str_of(text, n), line;
    while (str_split(&rest, '\n', &line)) {
        size_t key = key_of_secret(line);
        buf_add(out, line.p, key ? key : line.n);
        buf_puts(out, key ? " \"\"\n" : "\n");
    }
    if (n && text[n - 1] != '\n' && out->n)
        out->n--;
    drop_text(out, u->ak);
    drop_text(out, u->sk);
}

/* One trainer of one card is no cluster for PaddleRec: its class is train on the node. */
static void as_single(const struct prec_Runner *r, const char *text, size_t n,
                      struct buf *out)
{
    static const char word[] = "cluster_train";
    const struct node *v = node_find(r->base.node, "class");
    const char *at = NULL;
    if (v && v->at.off <= n && v->at.len <= n - v->at.off)
        at = memmem(text + v->at.off, v->at.len, word, strlen(word));
    if (!at) {
        buf_add(out, text, n);
        return;
    }
    buf_add(out, text, (size_t)(at - text));
    buf_puts(out, "train");
    buf_add(out, at + strlen(word), n - (size_t)(at - text) - strlen(word));
}

static bool same_file(const char *a, const char *b)
{
    char *x = realpath(a, NULL), *y = realpath(b, NULL);
    bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

static enum rc put_file(const char *folder, const char *name, const struct buf *text,
                        struct err *err)
{
    char *path = fs_join(folder, name);
    enum rc rc = buf_check(text, err);
    if (!rc)
        rc = fs_write(path, buf_str(text), text->n, 0600, err);
    mem_free(path);
    return rc;
}

static enum rc copy_file(const struct paddlerec_submit *s, const char *folder,
                         const char *from, struct err *err)
{
    char *text = NULL, *name = fs_basename(from);
    size_t n = 0;
    struct buf out;
    buf_init(&out, FILE_BYTES_MAX);
    enum rc rc = fs_read(from, FILE_BYTES_MAX, &text, &n, err);
    if (!rc) {
        if (same_file(from, s->backend))
            without_keys(s->job.b->submit, text, n, &out);
        else if (paddlerec_submission_is_single(&s->job) && same_file(from, s->config))
            as_single(s->job.r, text, n, &out);
        else
            buf_add(&out, text, n);
        rc = put_file(folder, name, &out, err);
    }
    buf_release(&out);
    mem_free(text);
    mem_free(name);
    return rc;
}

static enum rc make_files(const struct paddlerec_submit *s, const char *folder,
                          struct err *err)
{
    struct paddlerec_made made[PADDLEREC_MADE];
    enum rc rc = RC_OK;
    paddlerec_submission_files(&s->job, made);
    for (int i = 0; i < PADDLEREC_MADE && !rc; i++) {
        struct buf text;
        buf_init(&text, 1 << 20);
        made[i].put(&s->job, &text);
        printf("gen %s\n", made[i].told);
        rc = put_file(folder, made[i].name, &text, err);
        buf_release(&text);
    }
    return rc;
}

static enum rc make_keys(const struct paddlerec_submit *s, const char *folder,
                         struct err *err)
{
    struct buf keys;
    buf_init(&keys, 1 << 16);
    paddlerec_submission_keys(&s->job, &keys);
    enum rc rc = put_file(folder, PADDLEREC_KEYS_FILE, &keys, err);
    buf_release(&keys);
    return rc;
}

static enum rc fill_folder(const struct paddlerec_submit *s, const char *folder,
                           struct err *err)
{
    enum rc rc = RC_OK;
    printf("The task submission folder is generated at %s\nbefore_submit\n", folder);
    for (size_t i = 0; i < s->files.n && !rc; i++)
        rc = copy_file(s, folder, s->files.at[i], err);
    if (!rc)
        rc = make_keys(s, folder, err);
    return rc ? rc : make_files(s, folder, err);
}

/* --- the client --- */

static enum rc call_client(const char *folder, struct err *err)
{
    static const char *const argv[] = {"sh", "job.sh", NULL};
    struct proc_spec spec = {.argv = argv, .cwd = folder, .same_group = true};
    struct proc *p = NULL;
    struct proc_exit end;
    fflush(stdout);
    spec.in.kind = PROC_NULL;
    enum rc rc = proc_start(&spec, &p, err);
    if (!rc && proc_wait(p, -1, &end) && end.code != 0) {
        char words[PROC_WORDS_SIZE];
        proc_exit_words(end, words);
        rc = err_coded(err, RC_IO, E0538,
                       "the client did not take the job (%s); mend what it says in "
                       "'%s' and run `sh job.sh` there",
                       words, folder);
        if (err)
            err->exit = 1; /* the files are in order */
    }
    proc_destroy(p);
    return rc;
}

enum rc paddlerec_submit_run(const struct paddlerec_submit *s, struct err *err)
{
    char *folder = NULL;
    paddlerec_show_cluster(&s->job);
    enum rc rc = make_folder(s, &folder, err);
    if (!rc)
        rc = fill_folder(s, folder, err);
    if (!rc)
        rc = call_client(folder, err);
    if (!rc)
        printf("end submit\n");
    fflush(stdout);
    mem_free(folder);
    return rc;
}
