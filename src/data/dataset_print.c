/* SPDX-License-Identifier: Apache-2.0 */
/* A file is known again by its content: a hash of its size and of all its bytes, or, of a
 * large one, of its first and last 64 KiB and of pages at equal distances between them.
 * That is read in no time, and a day of a log that is written anew does not agree in it.
 * Positions of earlier versions hold a hash of both ends alone, without "2:" before it.
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
#define WHOLE ((uint64_t)16 << 20) /* up to this size every byte counts */
#define PAGES 1024
#define PAGE ((size_t)4 << 10)
#define FORM "2:"

static bool is_local(const char *path)
{
    return !strstr(path, "://"); /* of services and stores the address must do */
}

/* Of both ends. */
static void print_ends(const char *path, char out[DS_PRINT_SIZE])
{
    struct io_file *f = NULL;
    size_t head = 0, tail = 0;
    out[0] = '\0';
    if (!is_local(path) || io_open(path, IO_FRONT, &f, NULL))
        return;
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

/* Adds n bytes from `at` on to the hash. */
static enum rc add_part(struct io_file *f, uint64_t at, size_t n, unsigned char *room,
                        uint64_t *hash)
{
    size_t got = 0;
    enum rc rc = io_read_at(f, at, n, room, &got, NULL);
    if (!rc)
        *hash = hash_xxh3_seeded(room, got, *hash);
    return rc;
}

static enum rc add_content(struct io_file *f, uint64_t size, unsigned char *room,
                           uint64_t *hash)
{
    enum rc rc = RC_OK;
    if (size <= WHOLE) {
        for (uint64_t at = 0; at < size && !rc; at += PART)
            rc = add_part(f, at, PART, room, hash);
        return rc;
    }
    rc = add_part(f, 0, PART, room, hash);
    for (uint64_t i = 1; i < PAGES && !rc; i++)
        rc = add_part(f, size / PAGES * i, PAGE, room, hash);
    return rc ? rc : add_part(f, size - PART, PART, room, hash);
}

void ds_print(const char *path, char out[DS_PRINT_SIZE])
{
    struct io_file *f = NULL;
    out[0] = '\0';
    if (!is_local(path) || io_open(path, IO_FRONT, &f, NULL))
        return;
    uint64_t size = io_size(f), hash = hash_xxh3(&size, sizeof(size));
    unsigned char *room = mem_alloc(PART);
    if (!add_content(f, size, room, &hash))
        snprintf(out, DS_PRINT_SIZE, FORM "%016" PRIx64, hash);
    mem_free(room);
    io_close(f);
}

void dataset_print(const char *input, char out[DATASET_PRINT_SIZE])
{
    struct fs_names files = {0};
    uint64_t hash = 0;
    out[0] = '\0';
    if (files_expand(input, &files, NULL))
        return;
    for (size_t i = 0; i < files.n; i++) {
        char print[DS_PRINT_SIZE];
        ds_print(files.at[i], print);
        const char *text = print[0] ? print : files.at[i];
        hash = hash_xxh3_seeded(text, strlen(text), hash);
    }
    snprintf(out, DATASET_PRINT_SIZE, "%016" PRIx64, hash);
    fs_names_release(&files);
}

bool ds_same_file(const struct node *then, const char *path, const char *print)
{
    const struct node *name = node_find(then, "path"), *p = node_find(then, "print");
    char ends[DS_PRINT_SIZE];
    if (p && p->kind == NODE_STR && p->text.n && print[0]) {
        if (str_starts(p->text.p, FORM))
            return str_is(p->text, print);
        print_ends(path, ends);
        return str_is(p->text, ends);
    }
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
