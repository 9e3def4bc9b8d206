/* SPDX-License-Identifier: Apache-2.0 */
#include "trainyard/features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fs.h"
#include "tap.h"

static const char config[] =
    "train_input_path: \"rows.csv\"\n"
    "eval_input_path: \"rows.csv\"\n"
    "data_config { batch_size: 2 dataset_type: CsvDataset fg_mode: FG_NORMAL with_header: true\n"
    "  label_fields: \"y\"\n"
    "  input_fields { input_name: \"y\" input_type: INT32 }\n"
    "  input_fields { input_name: \"id\" input_type: INT64 }\n"
    "  input_fields { input_name: \"tags\" input_type: STRING }\n"
    "  input_fields { input_name: \"x\" input_type: FLOAT } }\n"
    "feature_configs { id_feature { feature_name: \"id\" expression: \"user:id\" num_buckets: 100 embedding_dim: 4 } }\n"
    "feature_configs { id_feature { feature_name: \"tags\" expression: \"item:tags\" num_buckets: 9 embedding_dim: 4 separator: \"|\" } }\n"
    "feature_configs { raw_feature { feature_name: \"x\" expression: \"item:x\" } }\n";
static const char rows[] = "y,id,tags,x\n1,7,1|2,0.5\n0,8,,1.5\n1,9,3,2.5\n";

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void enter_place(char *place)
{
    CHECK(mkdtemp(place) && chdir(place) == 0);
    write_text("pipeline.config", config);
    write_text("rows.csv", rows);
}

static struct ty_features *open_all(int64_t epochs)
{
    struct ty_features_options o = {.config = "pipeline.config", .epochs = epochs};
    struct ty_features *f = NULL;
    struct ty_error error;
    CHECK(ty_features_open(&o, &f, &error) == 0);
    if (!f)
        fprintf(stderr, "%s\n", error.message);
    return f;
}

static void has_integers(struct ty_batch *b, int64_t column, int part, int64_t n,
                         const int64_t *want)
{
    struct ty_tensor *t = ty_batch_tensor(b, column, part);
    CHECK(t && t->ndim == 1 && t->shape[0] == n && t->type_code == 0 &&
          t->type_bits == 64);
    CHECK(t && memcmp(t->data, want, (size_t)n * 8) == 0);
    if (t)
        t->deleter(t);
}

static void batches_hold_ids_numbers_and_labels(void)
{
    struct ty_features *f = open_all(1);
    struct ty_features_column c;
    struct ty_batch *b = NULL;
    CHECK(ty_features_columns(f) == 4 && ty_features_rows(f) == -1);
    ty_features_column(f, 0, &c);
    CHECK(strcmp(c.name, "id") == 0 && c.sparse && c.rows == 100 &&
          c.kind == TY_COLUMN_FEATURE);
    ty_features_column(f, 3, &c);
    CHECK(strcmp(c.name, "y") == 0 && c.kind == TY_COLUMN_LABEL);
    CHECK(ty_features_next(f, &b, NULL) == 0 && b && ty_batch_rows(b) == 2);
    has_integers(b, 0, TY_PART_VALUES, 2, (int64_t[]){7, 8});
    has_integers(b, 1, TY_PART_OFFSETS, 3, (int64_t[]){0, 2, 2});
    has_integers(b, 1, TY_PART_VALUES, 2, (int64_t[]){1, 2});
    struct ty_tensor *x = ty_batch_tensor(b, 2, TY_PART_VALUES);
    CHECK(x && x->type_code == 2 && x->type_bits == 32 && ((float *)x->data)[1] == 1.5f);
    CHECK(ty_batch_tensor(b, 2, TY_PART_OFFSETS) == NULL);
    CHECK(ty_batch_tensor(b, 9, TY_PART_VALUES) == NULL);
    ty_batch_release(b);
    ty_features_close(f); /* before its last tensor */
    CHECK(((float *)x->data)[0] == 0.5f);
    x->deleter(x);
}

static void kept_batches_stay_as_they_are(void)
{
    struct ty_features *f = open_all(2);
    struct ty_batch *kept[4] = {NULL}, *b = NULL;
    int n = 0, ends = 0;
    while (ends < 2 && ty_features_next(f, &b, NULL) == 0) {
        ends += b == NULL;
        if (b && n < 4)
            kept[n++] = b;
    }
    CHECK(n == 4);
    for (int i = 0; i < 4; i += 2) {
        has_integers(kept[i], 0, TY_PART_VALUES, 2, (int64_t[]){7, 8});
        has_integers(kept[i + 1], 0, TY_PART_VALUES, 1, (int64_t[]){9});
    }
    for (int i = 0; i < 4; i++)
        ty_batch_release(kept[i]);
    ty_features_close(f);
}

static void workers_share_the_rows(void)
{
    int64_t seen = 0;
    for (int64_t w = 0; w < 2; w++) {
        struct ty_features_options o = {
            .config = "pipeline.config", .epochs = 1, .worker = w, .workers = 2};
        struct ty_features *f = NULL;
        struct ty_batch *b = NULL;
        CHECK(ty_features_open(&o, &f, NULL) == 0);
        while (ty_features_next(f, &b, NULL) == 0 && b) {
            seen += ty_batch_rows(b);
            ty_batch_release(b);
        }
        ty_features_close(f);
    }
    CHECK(seen == 3);
}

static void a_position_is_gone_on_from(void)
{
    struct ty_features_options o = {
        .config = "pipeline.config", .epochs = 1, .keep_positions = 1};
    struct ty_features *f = NULL, *again = NULL;
    struct ty_batch *b = NULL;
    CHECK(ty_features_open(&o, &f, NULL) == 0 && ty_features_next(f, &b, NULL) == 0);
    o.position = ty_batch_position(b);
    CHECK(ty_features_open(&o, &again, NULL) == 0);
    ty_batch_release(b);
    ty_features_close(f);
    CHECK(ty_features_next(again, &b, NULL) == 0 && b);
    has_integers(b, 0, TY_PART_VALUES, 1, (int64_t[]){9});
    ty_batch_release(b);
    ty_features_close(again);
}

static void a_wrong_config_is_told_with_its_line(void)
{
    struct ty_features_options o = {.config = "pipeline.config",
                                    .edits = "{\"data_config.batch_sise\": 3}"};
    struct ty_features *f = NULL;
    struct ty_error error;
    CHECK(ty_features_open(&o, &f, &error) == 1 && f == NULL);
    CHECK_STR(error.code, "E0121");
    write_text("bad.config", "model_dir: \"a\"\nmodel_dri: \"b\"\n");
    o = (struct ty_features_options){.config = "bad.config"};
    CHECK(ty_features_open(&o, &f, &error) == 1);
    CHECK_STR(error.file, "bad.config");
    CHECK(error.line == 2 && error.column == 1);
    o = (struct ty_features_options){.config = "pipeline.config", .input = "nowhere.csv"};
    CHECK(ty_features_open(&o, &f, &error) == 1 && strstr(error.message, "nowhere.csv"));
    o = (struct ty_features_options){
        .config = "pipeline.config", .worker = 2, .workers = 2};
    CHECK(ty_features_open(&o, &f, &error) == 1);
    CHECK_STR(error.message, "worker: 2 is outside [0, 2)");
}

static void a_bad_value_is_told_with_its_row(void)
{
    struct ty_features *f = NULL;
    struct ty_batch *b = NULL;
    struct ty_error error;
    struct ty_features_options o = {
        .config = "pipeline.config", .input = "odd.csv", .epochs = 1};
    write_text("odd.csv", "y,id,tags,x\n1,7,1|2,0.5\n0,8,q,1.5\n");
    CHECK(ty_features_open(&o, &f, NULL) == 0);
    CHECK(ty_features_next(f, &b, &error) == 1 && b == NULL);
    CHECK(strstr(error.message, "odd.csv") && strstr(error.message, "'q'"));
    ty_features_close(f);
}

static const struct tap_case cases[] = {
    TAP(batches_hold_ids_numbers_and_labels),
    TAP(kept_batches_stay_as_they_are),
    TAP(workers_share_the_rows),
    TAP(a_position_is_gone_on_from),
    TAP(a_wrong_config_is_told_with_its_line),
    TAP(a_bad_value_is_told_with_its_row),
};

int main(int argc, char **argv)
{
    char place[] = "/tmp/ty-features-XXXXXX";
    enter_place(place);
    int failed = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    return fs_remove_all(place, NULL) || failed;
}
