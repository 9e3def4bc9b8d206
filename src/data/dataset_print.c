/* SPDX-License-Identifier: Apache-2.0 */
/* A file is known again by its content: a hash of its size, its first and its last 64 KiB.
 * That is read in no time, and two days of a log do not agree in it, since the footer of
 * Parquet holds statistics and the first and last lines of text hold their rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/dataset_private.h"
#include "data/files.h"
#include "io/file.h"
#include "text/json.h"

#define PART ((size_t)64 << 10)

void ds_print(const char *path, char out[DS_PRINT_SIZE])
{
    struct io_file *f = NULL;
    size_t head = 0, tail = 0;
    out[0] = '\0';
    if (strstr(path, "://") || io_open(path, IO_FRONT, &f, NULL))
        return; /* of services and stores the address must do */
    uint64_t size = io_size(f);
    unsigned char *p = mem_alloc(sizeof(size) + 2 * PART);
    memcpy(p, &size, sizeof(size));
    enum rc rc = io_read_at(f, 0, PART, p + sizeof(size), &head, NULL);
    if (!rc && size > PART)
        rc = io_read_at(f, size - PART, PART, p + sizeof(size) + head, &tail, NULL);
    if (!rc)
        snprintf(out, DS_PRINT_SIZE, "%016" PRIx64,
                 hash_xxh3(p, sizeof(size) + head + tail));
    mem_free(p);
    io_close(f);
}

bool ds_same_file(const struct node *then, const char *path, const char *print)
{
    const struct node *name = node_find(then, "path"), *p = node_find(then, "print");
    if (p && p->kind == NODE_STR && p->text.n && print[0])
        return str_is(p->text, print);
    return name && name->kind == NODE_STR && str_is(name->text, path);
}

static const struct node *files_of(const struct doc *doc)
{
    const struct node *files = doc->root ? node_find(doc->root, "files") : NULL;
    return files && files->kind == NODE_LIST ? files : NULL;
}

/* "" when all files are the same, else what differs first. */
static void compare(const struct node *then, const struct fs_names *now, struct buf *out)
{
    char print[DS_PRINT_SIZE];
    for (size_t i = 0; i < then->list.n && i < now->n; i++) {
        const struct node *name = node_find(then->list.at[i], "path");
        ds_print(now->at[i], print);
        if (ds_same_file(then->list.at[i], now->at[i], print))
            continue;
        bool same_name = name && name->kind == NODE_STR && str_is(name->text, now->at[i]);
        if (same_name)
            buf_printf(out, "'%.200s' has other content", now->at[i]);
        else
            buf_printf(out, "'%.200s' in place of '%.200s'", now->at[i],
                       name && name->kind == NODE_STR ? name->text.p : "?");
        return;
    }
    if (then->list.n != now->n)
        buf_printf(out, "%zu files in place of %zu", now->n, then->list.n);
}

enum rc dataset_compare(const char *input, const char *position, struct buf *out,
                        struct err *err)
{
    struct fs_names now = {0};
    struct doc doc = {0};
    struct diags unheard = {0};
    enum rc rc = files_expand(input, &now, err);
    if (!rc)
        rc = source_from("data position", position, strlen(position), &doc.src, err);
    if (!rc && (json_parse(&doc, &unheard) || !files_of(&doc)))
        rc = err_coded(err, RC_FORMAT, E1211, "data position: it names no files");
    if (!rc)
        compare(files_of(&doc), &now, out);
    diags_release(&unheard);
    doc_release(&doc);
    fs_names_release(&now);
    return rc;
}

uint64_t dataset_digest(const struct dataset *d)
{
    uint64_t h = d->n_files;
    for (size_t i = 0; i < d->n_files; i++)
        h = hash_xxh3_seeded(d->files[i].print, strlen(d->files[i].print), h);
    return h;
}
