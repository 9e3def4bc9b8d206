/* SPDX-License-Identifier: Apache-2.0 */
/* An export and a prediction whose every call to the system fails once, and every larger
 * allocation.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"
#include "train/export/export.h"
#include "train/export/parity.h"
#include "train/export/predict.h"
#include "train/save.h"

#define ROWS 300
#define TRIES_MAX 1000

static const char config_text[] =
    "train_input_path: \"rows.csv\" model_dir: \"m\"\n"
    "train_config { num_epochs: 1\n"
    "  sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }\n"
    "  dense_optimizer { adam_optimizer { lr: 0.1 } constant_learning_rate {} } }\n"
    "data_config { batch_size: 64 dataset_type: CsvDataset with_header: true\n"
    "  fg_mode: FG_DAG label_fields: \"clk\"\n"
    "  input_fields { input_name: \"clk\" input_type: INT64 }\n"
    "  input_fields { input_name: \"u\" input_type: STRING }\n"
    "  input_fields { input_name: \"p\" input_type: FLOAT } }\n"
    "feature_configs { id_feature { feature_name: \"u\" expression: \"user:u\"\n"
    "  hash_bucket_size: 100 embedding_dim: 4 } }\n"
    "feature_configs { raw_feature { feature_name: \"p\" expression: \"item:p\" } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"d\" group_type: DEEP feature_names: [\"u\", \"p\"] }\n"
    "  multi_tower { towers { input: \"d\" mlp { hidden_units: 4 } } final { hidden_units: 4 "
    "} }\n"
    "  losses { binary_cross_entropy {} } metrics { auc {} } }\n";

static struct conf conf;
static struct diags diags;
static char *top;

/* A checkpoint of a model as it begins, and rows. */
static void set_up(void)
{
    struct err err = {0};
    struct conf_options co = {.kind = &conf_kind_pipeline};
    struct train_session_options so = {.training = true, .seed = 5};
    struct train_session *s = NULL;
    struct buf rows;
    CHECK(fs_temp_dir("trainyard-export", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    buf_init(&rows, (size_t)1 << 20);
    buf_puts(&rows, "clk,u,p\n");
    for (int i = 0; i < ROWS; i++)
        buf_printf(&rows, "%d,u%d,%d.5\n", i % 2, i * 7 % 90, i % 13);
    CHECK(fs_write("rows.csv", rows.p, rows.n, 0644, &err) == RC_OK);
    buf_release(&rows);
    CHECK(conf_from("c", config_text, sizeof(config_text) - 1, &co, &conf, &diags,
                    &err) == RC_OK);
    CHECK(train_session_create(conf.data, &so, &s, &diags, &err) == RC_OK);
    s->step = 1;
    CHECK(ckpt_commit(train_session_save(s, "m", config_text, NULL), &err) == RC_OK);
    train_session_destroy(s);
}

static void tear_down(void)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
    diags_release(&diags);
    conf_release(&conf);
}

static struct train_export_options options(const char *dir)
{
    return (struct train_export_options){
        .dir = dir, .sample_rows = 8, .tables = EXPORT_INT8};
}

static int left; /* calls before the one that fails; -1: none fails */

static int fail_one(void *arg, enum fs_call call)
{
    if (left < 0 || call == FS_READ || call == FS_OPEN)
        return 0;
    return left-- == 0 ? ENOSPC : 0;
}

static bool is_clean(void)
{
    struct fs_names names = {0};
    bool clean = fs_list(".", &names, NULL) == RC_OK;
    for (size_t i = 0; i < names.n; i++)
        clean &= strstr(names.at[i], ".tmp") == NULL;
    fs_names_release(&names);
    return clean;
}

static void a_full_disk_leaves_no_export(void)
{
    struct train_export_summary summary;
    struct train_export_options o = options("x");
    int n = 0;
    enum rc rc = RC_IO;
    for (; n < TRIES_MAX && rc; n++) {
        struct err err = {0};
        left = n;
        fs_set_hook(fail_one, NULL);
        rc = train_export_write(&conf, &o, &diags, &summary, &err);
        fs_set_hook(NULL, NULL);
        if (rc && left < 0) { /* only the last sync of a directory may come too late */
            CHECK(err.msg[0]);
            if (fs_exists("x"))
                CHECK(fs_remove_all("x", NULL) == RC_OK);
            CHECK(is_clean());
        }
    }
    CHECK(rc == RC_OK && n > 20);
    CHECK(fs_exists("x/manifest.json"));
}

static void without_memory_there_is_no_export(void)
{
    struct train_export_summary summary;
    struct train_export_options o = options("y");
    enum rc rc = RC_NOMEM;
    int n = 1;
    for (; n < TRIES_MAX && rc; n += n < 40 ? 1 : 7) {
        struct err err = {0};
        mem_fail_at(n);
        rc = train_export_write(&conf, &o, &diags, &summary, &err);
        mem_fail_at(0);
        if (rc) {
            CHECK(!fs_exists("y") && is_clean());
            if (fs_exists("y"))
                break;
        }
    }
    CHECK(rc == RC_OK);
}

static char *whole(const char *dir, int parts)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 24);
    for (int i = 0; i < parts; i++) {
        char path[64], *text = NULL;
        size_t n = 0;
        snprintf(path, sizeof(path), "%s/part-%05d.csv", dir, i);
        CHECK(fs_read(path, (size_t)1 << 24, &text, &n, NULL) == RC_OK);
        buf_add(&b, text ? text : "", n);
        mem_free(text);
    }
    return buf_take(&b);
}

static enum rc predict_to(struct train_export *x, const char *dir,
                          struct train_predict_summary *summary, struct err *err)
{
    struct train_predict_options o = {.input = "rows.csv",
                                      .output = dir,
                                      .data = train_export_conf(x)->data_config,
                                      .model = train_export_id(x),
                                      .reserved = "u",
                                      .threads = 2,
                                      .batch_size = 20,
                                      .part_rows = 60};
    train_predict_summary_release(summary); /* of the run before */
    return train_predict_run(train_export_session(x), &o, summary, &diags, err);
}

/* Each try gets a little further, from where the one before was stopped. */
static void a_full_disk_loses_no_row(void)
{
    struct train_export_summary es;
    struct train_export_options o = options("p");
    struct train_predict_summary s = {0};
    struct train_export *x = NULL;
    struct err err = {0};
    CHECK(train_export_write(&conf, &o, &diags, &es, &err) == RC_OK);
    CHECK(train_export_open("p", 0, NULL, &x, &err) == RC_OK);
    CHECK(predict_to(x, "whole", &s, &err) == RC_OK);
    CHECK(s.rows == ROWS && s.parts == 5);
    char *want = whole("whole", 5);
    enum rc rc = RC_IO;
    int n = 0;
    for (; n < TRIES_MAX && rc; n++) {
        left = n % 40;
        fs_set_hook(fail_one, NULL);
        rc = predict_to(x, "broken", &s, &err);
        fs_set_hook(NULL, NULL);
    }
    CHECK(rc == RC_OK && n > 5);
    CHECK(s.before + s.rows == ROWS);
    char *got = whole("broken", 5);
    CHECK(strcmp(got, want) == 0);
    mem_free(got);
    mem_free(want);
    train_predict_summary_release(&s);
    train_export_close(x);
}

static void the_export_agrees_with_training(void)
{
    struct train_export_summary es;
    struct train_export_options o = options("q");
    struct train_parity_result r;
    struct train_export *x = NULL;
    struct err err = {0};
    o.tables = EXPORT_F32;
    CHECK(train_export_write(&conf, &o, &diags, &es, &err) == RC_OK);
    CHECK(es.tables == 1 && es.samples == 8 && es.step == 0);
    CHECK(train_export_open("q", 0, NULL, &x, &err) == RC_OK);
    struct train_parity_options po = {.input = "rows.csv", .tolerance = 1e-6};
    CHECK(train_parity_run(x, &po, &r, &diags, &err) == RC_OK);
    CHECK(r.rows == ROWS && r.features == 2 && r.outputs == 2);
    po.checkpoint = "nowhere";
    CHECK(train_parity_run(x, &po, &r, &diags, &err) == RC_NOTFOUND && err.code == E2022);
    train_export_close(x);
}

static void all(void)
{
    set_up();
    a_full_disk_leaves_no_export();
    without_memory_there_is_no_export();
    a_full_disk_loses_no_row();
    the_export_agrees_with_training();
    tear_down();
}

static const struct tap_case cases[] = {TAP(all)};
TAP_MAIN(cases)
