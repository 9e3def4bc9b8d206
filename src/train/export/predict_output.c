/* SPDX-License-Identifier: Apache-2.0 */
/* A part is committed before the note says so: killed in between, the run writes the same
 * part again. The note names the run by a hash over everything that the result depends
 * on, so that parts of different runs never meet in one directory. Of several ranks the first
 * keeps the note, and says at the end that all parts are there; parts behind what the note
 * knows are those of a run that was killed, and go.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "io/file.h"
#include "io/guard.h"
#include "train/export/export_private.h"
#include "train/export/predict_private.h"
#include "train/source.h"

#define STATE_MAX ((size_t)64 << 20)
#define PART_ROWS 1000000
#define PART_ROWS_OF_RANKS 65536

struct train_predict_dealer
train_predict_dealer_of(const struct train_predict_output *out)
{
    const struct train_predict_options *o = out->o;
    struct train_predict_dealer d = {.part = out->parts, .ranks = 1};
    if (!out->single) {
        d.rank = comm_rank(o->comm);
        d.ranks = comm_world(o->comm);
    }
    d.most = o->part_rows ? o->part_rows : d.ranks > 1 ? PART_ROWS_OF_RANKS : PART_ROWS;
    return d;
}

bool train_predict_deal(struct train_predict_dealer *d, int64_t n, int64_t *part,
                        bool *ends)
{
    *part = d->part;
    d->rows += n;
    d->seen++;
    *ends = d->rows >= d->most;
    d->part += *ends;
    d->rows = *ends ? 0 : d->rows;
    return *part % d->ranks == d->rank;
}

static char *state_path(const struct train_predict_output *out)
{
    return fs_join(out->o->output, PREDICT_STATE);
}

/* Model, files, options: what the rows of a part depend on. */
static void name_run(struct train_predict_output *out, const struct fs_names *files)
{
    const struct train_predict_options *o = out->o;
    struct buf b;
    buf_init(&b, STATE_MAX);
    buf_printf(&b, "%s\n%s\n%s\n%s\n%jd %d%s\n", o->model, out->format->name,
               o->reserved ? o->reserved : "", o->outputs ? o->outputs : "*",
               (intmax_t)o->steps, o->features, o->nulls ? " null" : "");
    for (size_t i = 0; i < files->n; i++) {
        struct stat st = {0};
        if (stat(files->at[i], &st) != 0)
            st.st_size = -1;
        buf_printf(&b, "%s %jd %jd.%09ld\n", files->at[i], (intmax_t)st.st_size,
                   (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    }
    snprintf(out->run, sizeof(out->run), "%016" PRIx64, hash_xxh3(buf_str(&b), b.n));
    buf_release(&b);
}

static enum rc write_state(const struct train_predict_output *out, struct err *err)
{
    struct buf b;
    char *path = state_path(out);
    const struct reader_cursor *c = &out->next.at;
    buf_init(&b, STATE_MAX);
    buf_printf(&b, "{\"version\": 1, \"run\": \"%s\", \"done\": %s,\n ", out->run,
               out->done ? "true" : "false");
    buf_printf(&b, "\"parts\": %jd, \"rows\": %jd, \"batches\": %jd,\n ",
               (intmax_t)out->parts, (intmax_t)out->rows, (intmax_t)out->batches);
    buf_printf(&b, "\"next\": {\"file\": %jd, \"row\": %jd, \"offset\": %jd, ",
               (intmax_t)out->next.file, (intmax_t)c->row, (intmax_t)c->offset);
    buf_printf(&b, "\"line\": %jd, \"back\": %jd, \"bad\": %jd}}\n", (intmax_t)c->line,
               (intmax_t)c->back, (intmax_t)c->bad);
    enum rc rc = fs_write(path, buf_str(&b), b.n, 0644, err);
    buf_release(&b);
    mem_free(path);
    return rc;
}

static bool number(const struct node *map, const char *key, int64_t *out)
{
    const struct node *n = node_find(map, key);
    return n && node_i64(n, out);
}

static enum rc take_state(struct train_predict_output *out, const struct node *root,
                          struct err *err)
{
    const struct node *run = node_find(root, "run"), *done = node_find(root, "done");
    const struct node *next = node_find(root, "next");
    struct reader_cursor *c = &out->next.at;
    bool whole = run && run->kind == NODE_STR && done && done->kind == NODE_BOOL &&
                 number(root, "parts", &out->parts) && number(root, "rows", &out->rows) &&
                 number(root, "batches", &out->batches) &&
                 number(next, "file", &out->next.file) && number(next, "row", &c->row) &&
                 number(next, "offset", &c->offset) && number(next, "line", &c->line) &&
                 number(next, "back", &c->back) && number(next, "bad", &c->bad);
    if (!whole)
        return err_coded(err, RC_FORMAT, E2013, "'%s' in it is not whole", PREDICT_STATE);
    if (!str_is(run->text, out->run))
        return err_coded(err, RC_INVAL, E2013,
                         "it holds a prediction with another model, other input or other "
                         "options; use another output or --overwrite");
    out->done = done->flag;
    return RC_OK;
}

static bool is_part(const char *name)
{
    return str_starts(name, "part-") || str_starts(name, ".part-") ||
           strcmp(name, PREDICT_STATE) == 0;
}

/* The parts of what is overwritten go when the first new one (`keep`) is in place, so that
 * a run that fails before leaves everything as it was.
 */
static enum rc remove_parts(const char *dir, const char *keep, struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = fs_list(dir, &names, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *path = fs_join(dir, names.at[i]);
        if (is_part(names.at[i]) && strcmp(path, keep) != 0)
            rc = fs_remove_all(path, err);
        mem_free(path);
    }
    fs_names_release(&names);
    return rc;
}

/* Parts from `first` on, which a run left that was killed. */
static enum rc remove_left(const char *dir, int64_t first, struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = fs_list(dir, &names, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *path = fs_join(dir, names.at[i]);
        intmax_t at = -1;
        if (sscanf(names.at[i], "part-%jd.", &at) == 1 && at >= first)
            rc = fs_remove_all(path, err);
        mem_free(path);
    }
    fs_names_release(&names);
    return rc;
}

static enum rc read_state(struct train_predict_output *out, struct err *err)
{
    struct fs_names names = {0};
    char *path = state_path(out), *text = NULL;
    struct doc d = {0};
    size_t n = 0;
    enum rc rc = fs_list(out->o->output, &names, err);
    bool parts = false;
    for (size_t i = 0; i < names.n; i++)
        parts |= is_part(names.at[i]);
    if (!rc && out->o->overwrite)
        out->replaces = parts;
    else if (!rc && fs_exists(path)) {
        rc = fs_read(path, STATE_MAX, &text, &n, err);
        if (!rc)
            rc = train_export_parse(path, text, n, &d, err);
        if (!rc)
            rc = take_state(out, d.root, err);
    } else if (!rc && parts)
        rc = err_coded(err, RC_INVAL, E2013,
                       "it holds parts of something else; use another output or "
                       "--overwrite");
    fs_names_release(&names);
    doc_release(&d);
    mem_free(text);
    mem_free(path);
    return rc ? err_wrap(err, rc, "output '%s'", out->o->output) : RC_OK;
}

/* The first rank prepares the directory; the others find it so. */
static enum rc open_dir(struct train_predict_output *out, struct err *err)
{
    const struct train_predict_options *o = out->o;
    bool first = comm_rank(o->comm) == 0, many = comm_world(o->comm) > 1;
    enum rc rc = first ? train_model_lock_take(o->output, "output", &out->lock, err)
                       : comm_barrier(o->comm, err);
    if (!rc && (first || !o->overwrite))
        rc = read_state(out, err);
    if (!rc && first && many && out->replaces) {
        rc = remove_parts(o->output, "", err);
        out->replaces = false;
    }
    if (!rc && first && !out->done && !out->replaces)
        rc = remove_left(o->output, out->parts, err);
    if (!rc && first && out->parts == 0 && !out->done &&
        !out->replaces) /* the first part is this run's as well */
        rc = write_state(out, err);
    out->before = (struct train_predict_counts){out->rows, out->parts, out->batches};
    return !rc && first ? comm_barrier(o->comm, err) : rc;
}

enum rc train_predict_output_open(struct train_predict_output *out,
                                  const struct train_predict_options *o,
                                  const struct writer_ops *format,
                                  const struct data_schema *schema,
                                  const struct fs_names *files, struct err *err)
{
    const struct writer_ops *named = writer_of_path(o->output);
    *out = (struct train_predict_output){.o = o, .schema = schema};
    out->single = io_is_direct(o->output) || (named && !fs_is_dir(o->output));
    out->format = o->format ? o->format : out->single && named ? named : format;
    name_run(out, files);
    for (size_t i = 0; out->format == &writer_csv && i < schema->n; i++)
        if (type_is_nested(schema->at[i].type.id))
            return err_coded(err, RC_INVAL, E2015,
                             "column '%s' holds lists, which CSV does not have",
                             schema->at[i].name);
    enum rc rc = io_guard_outside(o->output, o->input, err);
    if (rc)
        return rc;
    if (out->single)
        return io_guard_file(o->output, files, o->overwrite, err);
    if (io_is_remote(o->output))
        return err_coded(err, RC_INVAL, E2015,
                         "'%s' is a folder of an object store; name one object, such as "
                         "%s/out.parquet",
                         o->output, o->output);
    char *manifest = fs_join(o->output, "manifest.json");
    if (fs_exists(manifest))
        rc = err_coded(err, RC_INVAL, E2013,
                       "output '%s': it is an export or a checkpoint; use another output",
                       o->output);
    mem_free(manifest);
    if (!rc)
        rc = io_guard_dir(o->output, files, err);
    return rc ? rc : open_dir(out, err);
}

static enum rc open_part(struct train_predict_output *out, struct err *err)
{
    const char *suffix = out->format->suffixes;
    size_t n = strcspn(suffix, "|");
    char *name = mem_printf("part-%05jd.%.*s", (intmax_t)out->part, (int)n, suffix);
    out->path = out->single ? mem_strdup(out->o->output) : fs_join(out->o->output, name);
    mem_free(name);
    struct writer_conf conf = {.quota = out->o->data ? train_source_quota(out->o->data)
                                                     : NULL};
    return writer_open(out->path, out->format, out->schema, &conf, &out->writer, err);
}

static enum rc end_part(struct train_predict_output *out, struct err *err)
{
    struct writer *w = out->writer;
    out->writer = NULL;
    enum rc rc = w ? writer_commit(w, err) : RC_OK;
    if (!rc && w && out->replaces) {
        rc = remove_parts(out->o->output, out->path, err);
        out->replaces = false;
    }
    mem_free(out->path);
    out->path = NULL;
    if (rc)
        return rc;
    out->parts += w != NULL;
    out->part_rows = 0;
    return out->single || comm_world(out->o->comm) > 1 ? RC_OK : write_state(out, err);
}

enum rc train_predict_output_add(struct train_predict_output *out,
                                 const struct train_predict_rows *add, struct err *err)
{
    if (!out->writer)
        out->part = add->part;
    enum rc rc = out->writer ? RC_OK : open_part(out, err);
    if (!rc)
        rc = writer_add(out->writer, add->rows, err);
    if (rc)
        return rc;
    out->rows += add->rows->n;
    out->batches++;
    out->part_rows += add->rows->n;
    out->next = add->behind;
    return add->ends && !out->single ? end_part(out, err) : RC_OK;
}

/* All ranks have written their parts: the first says so. */
static enum rc end_of_all(struct train_predict_output *out, struct err *err)
{
    bool first = comm_rank(out->o->comm) == 0;
    const struct train_predict_counts *b = &out->before; /* which the first counts */
    int64_t sums[] = {out->rows - (first ? 0 : b->rows),
                      out->parts - (first ? 0 : b->parts),
                      out->batches - (first ? 0 : b->batches)};
    enum rc rc =
        comm_all_reduce(out->o->comm, comm_i64(sums), ARRAY_LEN(sums), COMM_SUM, err);
    if (rc)
        return rc;
    out->rows = sums[0];
    out->parts = sums[1];
    out->batches = sums[2];
    return first ? write_state(out, err) : RC_OK;
}

enum rc train_predict_output_finish(struct train_predict_output *out, enum rc rc,
                                    struct err *err)
{
    if (rc) {
        writer_abandon(out->writer);
        mem_free(out->path);
        return rc;
    }
    out->done = true;
    rc = end_part(out, err);
    return rc || comm_world(out->o->comm) == 1 ? rc : end_of_all(out, err);
}

void train_predict_output_release(struct train_predict_output *out)
{
    train_model_lock_release(out->lock);
    out->lock = NULL;
}
