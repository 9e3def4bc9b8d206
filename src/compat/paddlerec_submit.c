/* SPDX-License-Identifier: Apache-2.0 */
/* A job of PaddleCloud as its four files. Settings of nodes are listed once
 * (paddlerec_submission_settings) and become config.ini; arguments of the client are those
 * of PaddleRec 1.8.5, in its order. Every value is written as one word of the shell, or
 * refused when a line of config.ini cannot hold it.
 */
#include "compat/paddlerec_submit.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "compat/paddlerec.h"
#include "job/quote.h"

#define JOB_VERSION "paddle-fluid-v1.7.1"
#define WALL_TIME "2000:00:00"
#define AFS_ON_NODE "/root/paddlejob/workspace/env_run/afs/"
#define PACKAGE_URL "https://paddlerec.bj.bcebos.com/whl/PaddleRec.tar.gz"

static const struct prec_BackendConfig *config_of(const struct paddlerec_submission *s)
{
    return s->b->config;
}

static bool is_mpi(const struct paddlerec_submission *s)
{
    return s->cluster == PADDLEREC_MPI_PS;
}

bool paddlerec_submission_is_single(const struct paddlerec_submission *s)
{
    return s->cluster == PADDLEREC_K8S_COLLECTIVE && s->b->submit->k8s_trainers == 1 &&
           s->b->submit->k8s_gpu_card == 1;
}

/* --- checks --- */

static void fault(struct diags *d, enum code code, const struct msg *m, const char *field,
                  const char *why)
{
    schema_report(d, DIAG_ERROR, code, m, field, "%s", why);
}

static bool find_cluster(const struct prec_Runner *r, const struct prec_Backend *b,
                         enum paddlerec_cloud *out, struct diags *d)
{
    bool gpu = strcasecmp(r->device, "gpu") == 0;
    bool ps = strcasecmp(r->fleet_mode, "ps") == 0;
    bool collective = strcasecmp(r->fleet_mode, "collective") == 0;
    const char *why = NULL;
    if (strcasecmp(b->cluster_type, "mpi") == 0) {
        *out = PADDLEREC_MPI_PS;
        if (gpu || !ps)
            why = "Paddlecloud with Mpi don't support GPU training, check your "
                  "config.yaml & backend.yaml";
    } else if (collective && gpu) {
        *out = PADDLEREC_K8S_COLLECTIVE;
    } else if (ps && !gpu) {
        *out = PADDLEREC_K8S_PS;
    } else if (ps) {
        why = "PS-GPU on paddlecloud is not supported at this time, comming soon";
    } else {
        why = "Unexpected config -> device: CPU with fleet_mode: Collective, check your "
              "config.yaml";
    }
    if (why)
        fault(d, E0507, &r->base, r->has_fleet_mode ? "fleet_mode" : "device", why);
    return !why;
}

/* A name that begins a directory's, and no option of a program. */
static bool check_name(const struct prec_Submit *s, struct diags *d)
{
    const char *name = s->job_name;
    if (*name && *name != '-' && *name != '.' && !strchr(name, '/'))
        return true;
    fault(d, E0502, &s->base, "job_name",
          "job_name begins the name of a folder: it has no '/' and does not begin with "
          "'-' or '.'");
    return false;
}

struct line_check {
    const struct paddlerec_submission *s;
    struct diags *d;
    bool good;
};

static void check_line(void *arg, const char *name, const char *value, bool secret)
{
    struct line_check *x = arg;
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            schema_report(x->d, DIAG_ERROR, E0539, &x->s->b->base, NULL,
                          "%s holds a control character, which a line of config.ini "
                          "cannot",
                          name);
            x->good = false;
            return;
        }
}

static int64_t most_threads(const struct prec_Config *c, const struct prec_Runner *r)
{
    int64_t most = 1;
    for (int64_t i = 0; i < c->n_phase; i++) {
        bool mine = r->n_phases == 0;
        for (int64_t k = 0; k < r->n_phases && !mine; k++)
            mine = strcmp(r->phases[k], c->phase[i]->name) == 0;
        if (mine && c->phase[i]->thread_num > most)
            most = c->phase[i]->thread_num;
    }
    return most;
}

bool paddlerec_submission(const struct prec_Config *c, const struct prec_Runner *r,
                          const struct prec_Backend *b, struct paddlerec_submission *out,
                          struct diags *diags)
{
    *out = (struct paddlerec_submission){
        .c = c, .r = r, .b = b, .threads = most_threads(c, r)};
    if (strcasecmp(b->backend, "PaddleCloud") != 0) {
        fault(diags, E0529, &b->base, "backend",
              "jobs are submitted to PaddleCloud; one on Kubernetes is a job of its own: "
              "see `trainyard job submit --help`");
        return false;
    }
    struct line_check x = {.s = out, .d = diags, .good = true};
    bool good = find_cluster(r, b, &out->cluster, diags);
    good = check_name(b->submit, diags) && good;
    if (good)
        paddlerec_submission_settings(out, check_line, &x);
    return good && x.good;
}

/* --- settings of nodes --- */

struct settings {
    paddlerec_setting_fn *fn;
    void *arg;
    int64_t threads;
};

static void text(const struct settings *x, const char *name, const char *value)
{
    x->fn(x->arg, name, value, false);
}

static void number(const struct settings *x, const char *name, int64_t v)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%jd", (intmax_t)v);
    x->fn(x->arg, name, digits, false);
}

/* Flags that are not set follow the number of threads, as those of PaddleRec do. */
static void flags(const struct settings *x, const struct prec_Communicator *f)
{
    int64_t t = x->threads;
    bool q = f && f->has_FLAGS_communicator_send_queue_size;
    bool m = f && f->has_FLAGS_communicator_max_merge_var_num;
    bool b = f && f->has_FLAGS_communicator_max_send_grad_num_before_recv;
    number(x, "FLAGS_communicator_is_sgd_optimizer",
           f && f->FLAGS_communicator_is_sgd_optimizer);
    number(x, "FLAGS_communicator_send_queue_size",
           q ? f->FLAGS_communicator_send_queue_size : t);
    number(x, "FLAGS_communicator_thread_pool_size",
           f ? f->FLAGS_communicator_thread_pool_size : 32);
    number(x, "FLAGS_communicator_max_merge_var_num",
           m ? f->FLAGS_communicator_max_merge_var_num : t);
    number(x, "FLAGS_communicator_max_send_grad_num_before_recv",
           b ? f->FLAGS_communicator_max_send_grad_num_before_recv : t);
    number(x, "FLAGS_communicator_fake_rpc", f && f->FLAGS_communicator_fake_rpc);
    number(x, "FLAGS_rpc_retry_times", f ? f->FLAGS_rpc_retry_times : 3);
}

static void storage(const struct settings *x, const struct prec_BackendConfig *c)
{
    text(x, "fs_name", c->fs_name);
    x->fn(x->arg, "fs_ugi", c->fs_ugi, true);
}

static void role(const struct settings *x, const struct paddlerec_submission *s)
{
    text(x, "PADDLE_PADDLEREC_ROLE", "WORKER");
    text(x, "PADDLEREC_CLUSTER_TYPE", is_mpi(s) ? "MPI" : "K8S");
    number(x, "use_python3", config_of(s)->use_python3);
    number(x, "CPU_NUM", s->threads);
    text(x, "GLOG_v", "0");
    flags(x, config_of(s)->communicator);
}

void paddlerec_submission_settings(const struct paddlerec_submission *s,
                                   paddlerec_setting_fn *fn, void *arg)
{
    struct settings x = {.fn = fn, .arg = arg, .threads = s->threads};
    const struct prec_BackendConfig *c = config_of(s);
    if (is_mpi(s)) {
        text(&x, "storage_type", "\"hdfs\"");
        text(&x, "force_reuse_output_path", "\"True\"");
        storage(&x, c);
        text(&x, "FLAGS_rpc_deadline", "300000");
        text(&x, "train_data_path", c->train_data_path);
        text(&x, "test_data_path", c->test_data_path);
        text(&x, "output_path", c->output_path);
        text(&x, "thirdparty_path", c->thirdparty_path);
    } else {
        storage(&x, c);
        text(&x, "output_path", c->output_path);
        text(&x, "mount_afs", "\"true\"");
        text(&x, "AFS_REMOTE_MOUNT_POINT", c->afs_remote_mount_point);
        text(&x, "afs_local_mount_point", "\"" AFS_ON_NODE "\"");
    }
    role(&x, s);
}

/* --- files --- */

static void put_setting(void *arg, const char *name, const char *value, bool secret)
{
    buf_printf(arg, "%s=%s\n", name, value);
}

static void put_config_ini(const struct paddlerec_submission *s, struct buf *out)
{
    buf_puts(out, "# Settings of the nodes; made by trainyard from backend.yaml.\n");
    paddlerec_submission_settings(s, put_setting, out);
}

/* Nodes that have our program need nothing; others get PaddleRec and PaddlePaddle. */
static void put_before_hook(const struct paddlerec_submission *s, struct buf *out)
{
    bool gpu = s->cluster == PADDLEREC_K8S_COLLECTIVE;
    struct buf version;
    buf_init(&version, 256);
    buf_printf(&version, "paddlepaddle%s==%s%s", gpu ? "-gpu" : "",
               config_of(s)->paddle_version, gpu ? ".post107" : "");
    buf_puts(out, "echo \"Run before_hook.sh ...\"\n\n"
                  "if command -v trainyard >/dev/null; then\n"
                  "    trainyard version\n"
                  "else\n"
                  "    wget " PACKAGE_URL "\n"
                  "    tar -xf PaddleRec.tar.gz\n"
                  "    (cd PaddleRec && python setup.py install)\n"
                  "    python -m pip uninstall -y paddlepaddle\n"
                  "    python -m pip install ");
    job_quote_shell(str_c(buf_str(&version)), out);
    buf_puts(out, "\nfi\n\necho \"End before_hook.sh ...\"\n");
    buf_release(&version);
}

static void put_end_hook(const struct paddlerec_submission *s, struct buf *out)
{
    buf_puts(out, "echo \"Run end_hook.sh ...\"\n");
}

static void variable(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=", name);
    job_quote_shell(str_c(value), out);
    buf_putc(out, '\n');
}

static void put_head(const struct prec_Submit *u, struct buf *out)
{
    buf_puts(out, "#!/bin/sh\n# Submits this folder as it is; run it here: sh job.sh\n"
                  ". ./" PADDLEREC_KEYS_FILE "\n");
    variable(out, "job_name", u->job_name);
    variable(out, "group_name", u->group);
    variable(out, "priority", u->priority);
    variable(out, "start_cmd", u->start_cmd);
}

#define CLIENT \
    "\npaddlecloud job --ak \"$ak\" --sk \"$sk\" train --job-name \"$job_name\" \\\n"
#define FILES                                                                                     \
    "    --job-conf config.ini --start-cmd \"$start_cmd\" --files ./* --job-version " JOB_VERSION \
    " \\\n"

static void put_mpi(const struct prec_Submit *u, struct buf *out)
{
    buf_printf(out, "mpi_nodes=%jd\n" CLIENT, (intmax_t)u->nodes);
    buf_puts(out, "    --mpi-priority \"$priority\" --group-name \"$group_name\" "
                  "--mpi-wall-time " WALL_TIME " --mpi-nodes \"$mpi_nodes\" \\\n"
                  "    --is-standalone 0 --permission group --job-version " JOB_VERSION
                  " --job-conf config.ini \\\n"
                  "    --start-cmd \"$start_cmd\" --files ./* --json\n");
}

/* One trainer is told from several by the script, so that its numbers may be edited. */
static void put_collective(const struct prec_Submit *u, struct buf *out)
{
    buf_printf(out, "k8s_trainers=%jd\nk8s_cpu_cores=%jd\nk8s_gpu_cards=%jd\n",
               (intmax_t)u->k8s_trainers,
               (intmax_t)(u->has_k8s_cpu_cores ? u->k8s_cpu_cores : 1),
               (intmax_t)u->k8s_gpu_card);
    buf_puts(out,
             "\nis_standalone=0\nset -- --distribute-job-type NCCL2\n"
             "if [ \"$k8s_trainers\" -eq 1 ]; then\n"
             "    is_standalone=1\n"
             "    set -- --job-remark single-trainer\n"
             "    if [ \"$k8s_gpu_cards\" -eq 1 ]; then\n"
             "        echo \"Attention: Use single GPU card for PaddleRec distributed "
             "training, please set runner class from 'cluster_train' to 'train' in "
             "config.yaml.\"\n"
             "        set -- --job-remark single-gpu\n"
             "    fi\n"
             "fi\n" CLIENT "    --group-name \"$group_name\" \\\n" FILES
             "    --k8s-trainers \"$k8s_trainers\" --k8s-cpu-cores \"$k8s_cpu_cores\" "
             "--k8s-gpu-cards \"$k8s_gpu_cards\" \\\n"
             "    --k8s-priority \"$priority\" --wall-time " WALL_TIME
             " --is-standalone \"$is_standalone\" --json \"$@\"\n");
}

static void put_servers(const struct prec_Submit *u, struct buf *out)
{
    buf_printf(out,
               "k8s_trainers=%jd\nk8s_cpu_cores=%jd\nk8s_ps_num=%jd\nk8s_ps_cores=%jd\n",
               (intmax_t)u->k8s_trainers,
               (intmax_t)(u->has_k8s_cpu_cores ? u->k8s_cpu_cores : 2),
               (intmax_t)u->k8s_ps_num, (intmax_t)u->k8s_ps_cores);
    buf_puts(out,
             CLIENT "    --group-name \"$group_name\" \\\n" FILES
                    "    --k8s-priority \"$priority\" --wall-time " WALL_TIME
                    " --k8s-trainers \"$k8s_trainers\" --k8s-cpu-cores "
                    "\"$k8s_cpu_cores\" \\\n"
                    "    --k8s-ps-num \"$k8s_ps_num\" --k8s-ps-cores \"$k8s_ps_cores\" "
                    "--is-standalone 0 --distribute-job-type PSERVER --json\n");
}

static void put_job(const struct paddlerec_submission *s, struct buf *out)
{
    static void (*const rest[])(const struct prec_Submit *, struct buf *) = {
        [PADDLEREC_MPI_PS] = put_mpi,
        [PADDLEREC_K8S_COLLECTIVE] = put_collective,
        [PADDLEREC_K8S_PS] = put_servers,
    };
    put_head(s->b->submit, out);
    rest[s->cluster](s->b->submit, out);
}

void paddlerec_submission_keys(const struct paddlerec_submission *s, struct buf *out)
{
    variable(out, "ak", s->b->submit->ak);
    variable(out, "sk", s->b->submit->sk);
}

void paddlerec_submission_files(const struct paddlerec_submission *s,
                                struct paddlerec_made out[PADDLEREC_MADE])
{
    bool gpu = s->cluster == PADDLEREC_K8S_COLLECTIVE;
    out[0] = (struct paddlerec_made){"before_hook.sh",
                                     gpu ? "gpu before_hook.sh" : "cpu before_hook.sh",
                                     put_before_hook};
    out[1] = (struct paddlerec_made){
        "config.ini", is_mpi(s) ? "mpi_config.ini" : "k8s_config.ini", put_config_ini};
    out[2] = (struct paddlerec_made){"job.sh", is_mpi(s) ? "mpi_job.sh" : "k8s_job.sh",
                                     put_job};
    out[3] = (struct paddlerec_made){"end_hook.sh", "end_hook.sh", put_end_hook};
}
