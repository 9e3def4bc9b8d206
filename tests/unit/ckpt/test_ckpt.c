/* SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/ckpt.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *dir; /* model_dir of the current case */
static struct err err;
static int64_t live;

static void begin(void)
{
    err = (struct err){0};
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    live = mem_live();
}

static void end(void)
{
    CHECK_INT(mem_live(), live);
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(dir);
}

static const float values[] = {1, 2, 3, -1, 4, 5, 6, -1}; /* rows of 3, 4 apart */

static struct ckpt_writer *writer(int64_t step, int64_t shard_bytes)
{
    struct ckpt_writer_conf conf = {
        .step = step, .epoch = 2, .config = "a: \"b\"\n", .shard_bytes = shard_bytes};
    struct ckpt_writer *w = ckpt_writer_open(dir, &conf);
    ckpt_add_f32(w, CKPT_MODEL, "w", (int64_t[]){2, 3}, 2, values, 4);
    ckpt_add_f32(w, CKPT_MODEL, "b", (int64_t[]){3}, 1, values, 1);
    ckpt_add_f32(w, CKPT_OPTIMIZER, "optimizer.b.m", (int64_t[]){3}, 1, values + 4, 1);
    ckpt_add_f32(w, CKPT_MODEL, "scalar", NULL, 0, values, 1);
    ckpt_add_bytes(w, CKPT_STATE, "bytes", "xyz", 3);
    ckpt_add_bytes(w, CKPT_STATE, "no bytes", NULL, 0);
    ckpt_add_json(w, "cursor", "{\"row\": 17, \"x\": 0.1}");
    return w;
}

static void save(int64_t step)
{
    CHECK(ckpt_commit(writer(step, 0), &err) == RC_OK);
}

static char *file_of(int64_t step, const char *name)
{
    char *path = ckpt_dir(dir, step), *file = fs_join(path, name);
    mem_free(path);
    return file;
}

/* Texts without the changing name of the directory. */
static const char *plain(char *text)
{
    for (char *at; text && (at = strstr(text, dir));)
        memmove(at, at + strlen(dir) + 1, strlen(at + strlen(dir)));
    return text;
}

static void check_content(const struct ckpt *c, int64_t step)
{
    float got[8] = {0};
    int64_t row;
    CHECK_INT(ckpt_step(c), step);
    CHECK_INT(ckpt_epoch(c), 2);
    CHECK_STR(ckpt_config(c), "a: \"b\"\n");
    CHECK_INT(ckpt_count(c), 6);
    const struct ckpt_st_tensor *t = ckpt_find(c, "w");
    CHECK(t && t->n_dims == 2 && t->dims[0] == 2 && t->dims[1] == 3);
    CHECK(t && ckpt_st_read_f32(t, 0, 2, got, 4, &err) == RC_OK);
    CHECK(got[0] == 1 && got[2] == 3 && got[3] == 0 && got[4] == 4 && got[6] == 6);
    CHECK(t && ckpt_st_read_f32(t, 1, 1, got, 3, &err) == RC_OK);
    CHECK(got[0] == 4 && got[2] == 6);
    t = ckpt_find(c, "scalar");
    CHECK(t && t->n_dims == 0 && t->bytes == 4);
    t = ckpt_find(c, "bytes");
    CHECK(t && t->type == ST_U8 && memcmp(t->data, "xyz", 3) == 0);
    t = ckpt_find(c, "no bytes");
    CHECK(t && t->bytes == 0 && t->dims[0] == 0);
    CHECK(ckpt_find(c, "nothing") == NULL);
    CHECK(node_i64(node_find(ckpt_json(c, "cursor"), "row"), &row) && row == 17);
    CHECK(ckpt_json(c, "other") == NULL);
}

static void what_is_saved_is_loaded(void)
{
    begin();
    for (int64_t shard = 0; shard < 30; shard += 13) {
        struct ckpt *c = NULL;
        CHECK(ckpt_commit(writer(7, shard), &err) == RC_OK);
        CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
        if (!c)
            break;
        check_content(c, 7);
        CHECK_STR(plain((char *)(uintptr_t)ckpt_path(c)), "model.ckpt-7");
        ckpt_close(c);
    }
    struct fs_names names; /* the last one: files of at most 26 bytes */
    char *path = ckpt_dir(dir, 7);
    CHECK(fs_list(path, &names, &err) == RC_OK);
    CHECK_INT(names.n, 5);
    CHECK_STR(names.at[0], "manifest.json");
    CHECK_STR(names.at[1], "model-00001-of-00002.safetensors");
    CHECK_STR(names.at[2], "model-00002-of-00002.safetensors");
    CHECK_STR(names.at[3], "optimizer-00001-of-00001.safetensors");
    CHECK_STR(names.at[4], "state-00001-of-00001.safetensors");
    fs_names_release(&names);
    mem_free(path);
    end();
}

static void equal_state_gives_equal_bytes(void)
{
    begin();
    save(1);
    char *path = file_of(1, "manifest.json"), *one = NULL, *two = NULL;
    size_t n = 0, m = 0;
    CHECK(fs_read(path, 1 << 20, &one, &n, &err) == RC_OK);
    struct ckpt_writer *w = writer(1, 0);
    CHECK_INT(ckpt_copy_bytes(w), 24 + 12 + 12 + 4 + 3);
    CHECK(ckpt_detach(w, &err) == RC_OK);
    CHECK(ckpt_commit(w, &err) == RC_OK);
    CHECK(fs_read(path, 1 << 20, &two, &m, &err) == RC_OK);
    CHECK(n == m && memcmp(one, two, n) == 0); /* checksums included */
    mem_free(one);
    mem_free(two);
    mem_free(path);
    end();
}

static void names_are_checked_when_added(void)
{
    static const struct {
        const char *name, *json, *msg;
    } bad[] = {
        {"w", NULL, "the name 'w' was given twice"},
        {"", NULL, "the name '' is empty or not UTF-8"},
        {"a\xff", NULL, "the name 'a\xff' is empty or not UTF-8"},
        {"cursor", "{}", "the name 'cursor' was given twice"},
        {"blob", "{",
         "blob: line 1, column 2: expected a key in double quotes or '}', found "
         "the end of the text"},
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct ckpt_writer *w = writer(3, 0);
        if (bad[i].json)
            ckpt_add_json(w, bad[i].name, bad[i].json);
        else
            ckpt_add_bytes(w, CKPT_MODEL, bad[i].name, "", 0);
        ckpt_add_bytes(w, CKPT_MODEL, "good", "", 0);
        CHECK(ckpt_commit(w, &err) != RC_OK);
        CHECK_HAS(err.msg, bad[i].msg);
        CHECK_INT(err.code, E1513);
    }
    struct ckpt_writer *w = writer(3, 0);
    ckpt_add_f32(w, CKPT_MODEL, "huge", (int64_t[]){INT64_MAX, 3}, 2, values, 3);
    CHECK(ckpt_commit(w, &err) == RC_INVAL);
    CHECK_STR(plain(err.msg),
              "checkpoint 'model.ckpt-3' was not saved: tensor 'huge' has "
              "no sensible shape");
    ckpt_abort(writer(4, 0));
    int64_t step;
    CHECK(ckpt_latest(dir, &step, &err) == RC_OK && step == -1);
    end();
}

static void lists_are_sorted_and_pruned(void)
{
    begin();
    static const int64_t steps[] = {100, 9, 20, 0, 3000};
    static const char *const others[] = {"model.ckpt-7.tmp", "model.ckpt-",
                                         "model.ckpt-x", "model.ckpt-07", "other"};
    struct ckpt_list list;
    CHECK(ckpt_list("/no/such/dir", &list, &err) == RC_OK && list.n == 0);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        save(steps[i]);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        char *path = fs_join(dir, others[i]);
        CHECK(fs_mkdirs(path, 0700, &err) == RC_OK);
        mem_free(path);
    }
    CHECK(ckpt_list(dir, &list, &err) == RC_OK);
    CHECK_INT(list.n, 5);
    CHECK(list.steps[0] == 0 && list.steps[1] == 9 && list.steps[4] == 3000);
    ckpt_list_release(&list);
    CHECK(ckpt_prune(dir, 2, 9, &err) == RC_OK);
    CHECK(ckpt_list(dir, &list, &err) == RC_OK);
    CHECK_INT(list.n, 3);
    CHECK(list.steps[0] == 9 && list.steps[1] == 100 && list.steps[2] == 3000);
    ckpt_list_release(&list);
    CHECK(ckpt_prune(dir, 0, -1, &err) == RC_OK); /* never the last one */
    int64_t step;
    CHECK(ckpt_latest(dir, &step, &err) == RC_OK && step == 3000);
    save(3001);
    char *left = fs_join(dir, "model.ckpt-7.tmp"); /* removed by the save */
    CHECK(!fs_exists(left));
    mem_free(left);
    end();
}

static void missing_things_are_named(void)
{
    begin();
    struct ckpt *c = NULL;
    CHECK(ckpt_open("/no/such", 0, &c, NULL, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "checkpoint '/no/such' does not exist");
    CHECK_INT(err.code, E1504);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_NOTFOUND);
    CHECK_HAS(err.msg, "no checkpoint in '");
    save(5);
    char *path = file_of(5, "manifest.json"), *ckpt = ckpt_dir(dir, 5);
    unlink(path);
    CHECK(ckpt_open(ckpt, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_STR(plain(err.msg), "checkpoint 'model.ckpt-5': it has no manifest.json");
    CHECK_INT(err.code, E1506);
    mem_free(path);
    save(5);
    path = file_of(5, "optimizer-00001-of-00001.safetensors");
    unlink(path);
    CHECK(ckpt_open(ckpt, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_STR(plain(err.msg), "checkpoint 'model.ckpt-5': file "
                              "'optimizer-00001-of-00001.safetensors' is missing");
    CHECK(c == NULL);
    mem_free(path);
    mem_free(ckpt);
    end();
}

/* Adds `add` to the byte `back` bytes before the end of a file, or cuts it there. */
static void damage(int64_t step, const char *name, long back, int add)
{
    char *path = file_of(step, name);
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL);
    if (f) {
        fseek(f, -back, SEEK_END);
        int c = fgetc(f);
        fseek(f, -1, SEEK_CUR);
        long at = ftell(f);
        if (add)
            fputc(c + add, f);
        fclose(f);
        if (!add)
            CHECK(truncate(path, at) == 0);
    }
    mem_free(path);
}

static void damage_is_located(void)
{
    static const char *const model = "model-00001-of-00001.safetensors";
    begin();
    struct ckpt *c = NULL;
    char *path = ckpt_dir(dir, 6);
    save(6);
    damage(6, model, 10, 1); /* 40 bytes of data: w 24, b 12, scalar 4 */
    CHECK(ckpt_open(path, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_HAS(err.msg, "file 'model-00001-of-00001.safetensors': tensor 'b' (bytes ");
    CHECK_HAS(err.msg, ") is damaged: checksum ");
    CHECK_INT(err.code, E1507);
    CHECK(ckpt_open(path, CKPT_NO_CHECKSUMS, &c, NULL, &err) == RC_OK);
    ckpt_close(c);
    c = NULL;
    save(6);
    damage(6, model, 300, 1);
    CHECK(ckpt_open(path, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_HAS(err.msg, "its header is damaged");
    save(6);
    damage(6, model, 30, 0);
    CHECK(ckpt_open(path, CKPT_NO_CHECKSUMS, &c, NULL, &err) == RC_FORMAT);
    CHECK_HAS(err.msg, "file 'model-00001-of-00001.safetensors': it ends at byte ");
    CHECK_HAS(err.msg, ", within tensor 'w' (bytes ");
    CHECK_INT(err.code, E1506);
    damage(6, model, 60, 0);
    CHECK(ckpt_open(path, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_HAS(err.msg, ", within its header");
    save(6);
    damage(6, "manifest.json", 60, 1);
    CHECK(ckpt_open(path, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_INT(err.code, E1505);
    CHECK_HAS(err.msg, "manifest.json: ");
    CHECK(c == NULL);
    mem_free(path);
    end();
}

/* Every byte of the manifest counts. */
static void no_byte_of_the_manifest_may_change(void)
{
    begin();
    save(6);
    char *path = file_of(6, "manifest.json"), *ckpt = ckpt_dir(dir, 6), *text = NULL;
    size_t n = 0;
    struct ckpt *c = NULL;
    CHECK(fs_read(path, 1 << 20, &text, &n, &err) == RC_OK);
    for (size_t i = 0; i < n; i++) {
        text[i] ^= 1;
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(text, 1, n, f) == n);
        if (f)
            fclose(f);
        text[i] ^= 1;
        CHECK(ckpt_open(ckpt, 0, &c, NULL, &err) == RC_FORMAT);
    }
    CHECK(c == NULL && n > 500);
    mem_free(text);
    mem_free(path);
    mem_free(ckpt);
    end();
}

static void the_one_before_a_damaged_one_is_taken(void)
{
    begin();
    struct ckpt *c = NULL;
    char *note = NULL, *want;
    save(1);
    save(2);
    save(30);
    damage(30, "state-00001-of-00001.safetensors", 1, 0);
    CHECK(ckpt_open(dir, 0, &c, &note, &err) == RC_OK);
    CHECK_INT(ckpt_step(c), 2);
    ckpt_close(c);
    CHECK_HAS(plain(note), "checkpoint 'model.ckpt-30': file "
                           "'state-00001-of-00001.safetensors': it ends at byte ");
    CHECK_HAS(note, "; 'model.ckpt-2' is used instead");
    mem_free(note);
    damage(2, "manifest.json", 1, 0);
    CHECK(ckpt_open(dir, 0, &c, &note, &err) == RC_OK);
    CHECK_INT(ckpt_step(c), 1);
    ckpt_close(c);
    CHECK_HAS(note, "no checksum on its last line; '");
    mem_free(note);
    c = NULL;
    damage(1, "manifest.json", 1, 0);
    CHECK(ckpt_open(dir, 0, &c, &note, &err) == RC_FORMAT);
    CHECK_HAS(plain(err.msg), "none of 3 checkpoints can be loaded: checkpoint "
                              "'model.ckpt-30': file ");
    CHECK_INT(err.code, E1515);
    CHECK(c == NULL && note == NULL);
    want = ckpt_dir(dir, 30); /* a new save heals */
    save(30);
    CHECK(ckpt_open(want, 0, &c, &note, &err) == RC_OK);
    check_content(c, 30);
    ckpt_close(c);
    mem_free(want);
    end();
}

static void a_newer_version_is_no_damage(void)
{
    begin();
    save(1);
    save(2);
    char *path = file_of(2, "manifest.json"), *note = NULL;
    static const char text[] = "{\n  \"format\": \"trainyard-checkpoint\",\n"
                               "  \"version\": 99,\n  \"checksum\": \"crc32c:%08x\"\n}\n";
    struct ckpt *c = NULL;
    /* The checksum of this text, from an independent implementation. */
    char *manifest = mem_printf(text, 0x0);
    CHECK(fs_write(path, manifest, strlen(manifest), 0600, &err) == RC_OK);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK); /* damaged: falls back */
    CHECK_INT(ckpt_step(c), 1);
    ckpt_close(c);
    c = NULL;
    CHECK(ckpt_open(dir, 0, &c, &note, &err) == RC_OK);
    unsigned sum = 0;
    CHECK(note &&
          sscanf(strstr(note, "its checksum is "), "its checksum is %x", &sum) == 1);
    ckpt_close(c);
    c = NULL;
    mem_free(note);
    mem_free(manifest);
    manifest = mem_printf(text, sum);
    CHECK(fs_write(path, manifest, strlen(manifest), 0600, &err) == RC_OK);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_UNSUPPORTED);
    CHECK_STR(plain(err.msg),
              "checkpoint 'model.ckpt-2': manifest.json: version 99 of the "
              "format, this program knows up to 1");
    CHECK_INT(err.code, E1508);
    CHECK(c == NULL);
    mem_free(manifest);
    mem_free(path);
    end();
}

static void a_single_file_is_a_checkpoint_too(void)
{
    begin();
    save(1);
    struct ckpt *c = NULL;
    char *path = file_of(1, "model-00001-of-00001.safetensors");
    CHECK(ckpt_open(path, 0, &c, NULL, &err) == RC_OK);
    CHECK_INT(ckpt_count(c), 3);
    CHECK_INT(ckpt_step(c), -1);
    CHECK_STR(ckpt_config(c), "");
    CHECK(ckpt_json(c, "cursor") == NULL);
    CHECK(ckpt_part_at(c, 0) == CKPT_MODEL);
    ckpt_close(c);
    mem_free(path);
    path = file_of(1, "manifest.json");
    CHECK(ckpt_open(path, 0, &c, NULL, &err) == RC_FORMAT);
    CHECK_INT(err.code, E1501);
    mem_free(path);
    end();
}

static const struct tap_case cases[] = {
    TAP(what_is_saved_is_loaded),
    TAP(equal_state_gives_equal_bytes),
    TAP(names_are_checked_when_added),
    TAP(lists_are_sorted_and_pruned),
    TAP(missing_things_are_named),
    TAP(damage_is_located),
    TAP(no_byte_of_the_manifest_may_change),
    TAP(the_one_before_a_damaged_one_is_taken),
    TAP(a_newer_version_is_no_damage),
    TAP(a_single_file_is_a_checkpoint_too),
};
TAP_MAIN(cases)
