/* SPDX-License-Identifier: Apache-2.0 */
/* tune_bench TUNER [ARGS-JSON [SEEDS [CONCURRENCY [FUNCTION]]]] - the best value that a
 * tuner has found after 50, 100 and 200 evaluations: mean and median over the seeds.
 * `tune_bench --paired TUNER ARGS-JSON SEEDS CONCURRENCY [FUNCTION...]` - the second set: a
 * line per run with its seed and the distance of the tuner's best from the minimum after 50,
 * 100 and 200 evaluations. Where a function has noise, that is the best's value without it.
 * `tune_bench --points FUNCTION N`, `tune_bench --noise SEED N` - what peer.py compares.
 * `tune_bench --scale TUNER N` - time per suggestion and memory at N trials.
 * `tune_bench --replay N` - time and memory to open an experiment of N trials, which
 * gives its tuner the whole log again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/fs.h"
#include "base/vec.h"
#include "functions.h"
#include "text/diag.h"
#include "text/json.h"
#include "tune/experiment.h"
#include "tune/tuner.h"

#define TRIALS 200
#define MARKS 3
static const int marks[MARKS] = {50, 100, 200};

static void parse(const char *text, struct doc *d)
{
    struct diags diags = {0};
    struct err err = {0};
    if (source_from("argument", text, strlen(text), &d->src, &err))
        exit(2);
    if (json_parse(d, &diags)) {
        fprintf(stderr, "tune_bench: not JSON: %s\n", text);
        exit(2);
    }
    diags_release(&diags);
}

struct bench {
    const char *tuner;
    struct doc args;
    long concurrency;
};

static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The normal deviate of result n of a run; peer.py has the same. */
static double noise(uint64_t seed, uint64_t n)
{
    uint64_t a = mix(seed * 1000003 + n), b = mix(a);
    double u = (double)(a >> 11) * 0x1p-53, v = (double)(b >> 11) * 0x1p-53;
    return sqrt(-2 * log(u + 0x1p-54)) * cos(2 * 3.14159265358979323846 * v);
}

/* best[k]: after marks[k] results. Results come back in the order of the asks. */
static void run(const struct bench *b, const struct function *f,
                const struct nni_space *s, uint64_t seed, double *best)
{
    struct tuner_conf conf = {
        .name = b->tuner, .args = b->args.root, .space = s, .seed = seed};
    struct err err = {0};
    struct tuner *t = NULL;
    if (tuner_create(&conf, &t, &err)) {
        fprintf(stderr, "tune_bench: %s\n", err.msg);
        exit(2);
    }
    VEC(int64_t) flight = {0};
    size_t next = 0;
    int mark = 0;
    bool over = false;
    for (int64_t n = 0; n < TRIALS;) {
        int64_t trial;
        while (!over && (long)(flight.n - next) < b->concurrency) {
            enum tuner_answer a = tuner_ask(t, &trial);
            if (a == TUNER_GIVES)
                VEC_PUSH(&flight, trial);
            over = a == TUNER_ENDS;
            if (a != TUNER_GIVES)
                break;
        }
        if (next == flight.n)
            break;
        trial = flight.at[next++];
        double v = f->f(s, tuner_history(t)->trials.at[trial].x);
        if (f->noise > 0)
            v += f->noise * noise(seed, (uint64_t)n + 1);
        v = tuner_maximizes(t, 0) ? -v : v;
        tuner_tell(t, trial, &v, 0);
        tuner_end(t, trial);
        n++;
        while (mark < MARKS && marks[mark] == n)
            best[mark++] = f->f(s, tuner_history(t)->trials.at[tuner_best(t)].x);
    }
    for (; mark < MARKS; mark++)
        best[mark] = f->f(s, tuner_history(t)->trials.at[tuner_best(t)].x);
    VEC_RELEASE(&flight);
    tuner_destroy(t);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* `d` is to be released behind the space. */
static void space_of(const struct function *f, struct doc *d, struct nni_space *out)
{
    struct diags diags = {0};
    parse(f->space, d);
    if (nni_space_build(d->root, &d->arena, &diags, out))
        exit(2);
    diags_release(&diags);
}

/* A line per run. */
static void measure_each(const struct bench *b, const struct function *f, long seeds)
{
    struct doc d = {0};
    struct nni_space space;
    space_of(f, &d, &space);
    for (long s = 0; s < seeds; s++) {
        double best[MARKS];
        run(b, f, &space, (uint64_t)s, best);
        printf("%s %ld", f->name, s);
        for (int k = 0; k < MARKS; k++)
            printf(" %.8g", best[k] - f->least);
        printf("\n");
        fflush(stdout);
    }
    doc_release(&d);
}

static const struct function *second_find(const char *name)
{
    for (int i = 0; i < n_second_functions; i++)
        if (strcmp(name, second_functions[i].name) == 0)
            return &second_functions[i];
    fprintf(stderr, "tune_bench: no function '%s'\n", name);
    exit(2);
}

static int paired(const struct bench *b, long seeds, char **names, int n_names)
{
    for (int i = 0; i < (n_names ? n_names : n_second_functions); i++)
        measure_each(b, n_names ? second_find(names[i]) : &second_functions[i], seeds);
    return 0;
}

/* Values at random points, with the points as trials get them. */
static int points(const char *name, long n)
{
    const struct function *f = second_find(name);
    struct doc d = {0};
    struct nni_space space;
    space_of(f, &d, &space);
    struct tuner_conf conf = {.name = "Random", .space = &space, .seed = 1};
    struct err err = {0};
    struct tuner *t = NULL;
    struct buf out;
    buf_init(&out, 1 << 16);
    if (tuner_create(&conf, &t, &err))
        return 2;
    for (long i = 0; i < n; i++) {
        int64_t trial;
        if (tuner_ask(t, &trial) != TUNER_GIVES)
            break;
        out.n = 0;
        tuner_params(t, trial, &out);
        printf("%.17g %.*s\n", f->f(&space, tuner_history(t)->trials.at[trial].x),
               (int)out.n, out.p);
    }
    buf_release(&out);
    tuner_destroy(t);
    doc_release(&d);
    return 0;
}

static void measure(const struct bench *b, const struct function *f, long seeds)
{
    struct doc d = {0};
    struct nni_space space;
    space_of(f, &d, &space);
    double *all = mem_calloc((size_t)seeds * MARKS, sizeof(*all)), mean[MARKS] = {0};
    for (long s = 0; s < seeds; s++) {
        double best[MARKS];
        run(b, f, &space, (uint64_t)s, best);
        for (int k = 0; k < MARKS; k++) {
            all[k * seeds + s] = best[k] - f->least;
            mean[k] += (best[k] - f->least) / (double)seeds;
        }
    }
    printf("%-12s mean", f->name);
    for (int k = 0; k < MARKS; k++)
        printf(" %.6g", mean[k]);
    printf(" median");
    for (int k = 0; k < MARKS; k++) {
        qsort(all + k * seeds, (size_t)seeds, sizeof(*all), ascending);
        double *a = all + k * seeds;
        printf(" %.6g", (a[(seeds - 1) / 2] + a[seeds / 2]) / 2);
    }
    printf("\n");
    mem_free(all);
    doc_release(&d);
}

/* Of this process: other programs on the machine do not count. */
static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* N trials of the mixed function; the processor time of the last hundred asks. */
static int scale(const char *name, long n)
{
    const struct function *f = NULL;
    for (int i = 0; i < n_functions; i++)
        if (strcmp(functions[i].name, "mixed6") == 0)
            f = &functions[i];
    struct doc d = {0};
    struct diags diags = {0};
    struct nni_space space;
    parse(f->space, &d);
    if (nni_space_build(d.root, &d.arena, &diags, &space))
        return 2;
    struct tuner_conf conf = {.name = name, .space = &space, .seed = 1};
    struct err err = {0};
    struct tuner *t = NULL;
    if (tuner_create(&conf, &t, &err))
        return 2;
    int64_t start = cpu_ns(), late = 0;
    for (long i = 0; i < n; i++) {
        int64_t trial, before = cpu_ns();
        if (tuner_ask(t, &trial) != TUNER_GIVES)
            break;
        if (i >= n - 100)
            late += cpu_ns() - before;
        double v = f->f(&space, tuner_history(t)->trials.at[trial].x);
        tuner_tell(t, trial, &v, 0);
    }
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%s: %ld trials in %.2f s, %.3f ms for each of the last 100, %.0f MB\n", name,
           n, (double)(cpu_ns() - start) * 1e-9, (double)late * 1e-6 / 100,
           (double)u.ru_maxrss / 1024);
    tuner_destroy(t);
    diags_release(&diags);
    doc_release(&d);
    return 0;
}

/* The log that N trials leave: three intermediate results and a final one each. */
static void write_log(const char *path, const struct function *f,
                      const struct nni_space *space, long n)
{
    struct tuner_conf conf = {.name = "Random", .space = space, .seed = 1};
    struct err err = {0};
    struct tuner *t = NULL;
    FILE *out = fopen(path, "w");
    if (!out || tuner_create(&conf, &t, &err))
        exit(2);
    for (long i = 0; i < n; i++) {
        int64_t trial;
        if (tuner_ask(t, &trial) != TUNER_GIVES)
            break;
        const double *x = tuner_history(t)->trials.at[trial].x;
        fprintf(out, "{\"e\": \"ask\", \"t\": %ld, \"x\": [", i);
        for (int64_t k = 0; k < space->n; k++)
            fprintf(out, isnan(x[k]) ? "%snull" : "%s%.17g", k ? ", " : "", x[k]);
        fprintf(out,
                "]}\n{\"e\": \"job\", \"t\": 1, \"trial\": %ld, \"job\": \"jb-%012ld\"}\n"
                "{\"e\": \"running\", \"t\": 1, \"trial\": %ld}\n",
                i, i, i);
        for (int k = 0; k < 4; k++)
            fprintf(out,
                    "{\"e\": \"result\", \"t\": 2, \"trial\": %ld, \"step\": %d, "
                    "\"value\": \"%.17g\", \"records\": %d}\n",
                    i, k < 3 ? k : -1, f->f(space, x), k + 1);
        fprintf(out,
                "{\"e\": \"end\", \"t\": 3, \"trial\": %ld, \"status\": \"SUCCEEDED\", "
                "\"message\": \"\"}\n",
                i);
    }
    fclose(out);
    tuner_destroy(t);
}

static int replay(long n)
{
    const struct function *f = &functions[4]; /* mixed6 */
    struct doc d = {0};
    struct diags diags = {0};
    struct nni_space space;
    struct err err = {0};
    char *dir = NULL;
    parse(f->space, &d);
    if (nni_space_build(d.root, &d.arena, &diags, &space) ||
        fs_temp_dir("tune-bench-", &dir, &err))
        return 2;
    struct exp_settings set = {.id = "bench",
                               .command = "true",
                               .code_dir = "/",
                               .tuner = "TPE",
                               .space = d.root,
                               .limits = {.concurrency = 1}};
    char *log = fs_join(dir, "log.jsonl");
    struct experiment *e = NULL;
    if (experiment_create(dir, &set, &err))
        return 2;
    write_log(log, f, &space, n);
    int64_t start = cpu_ns();
    if (experiment_open(dir, &e, &err)) {
        fprintf(stderr, "tune_bench: %s\n", err.msg);
        return 2;
    }
    struct rusage u;
    double took = (double)(cpu_ns() - start) * 1e-9;
    getrusage(RUSAGE_SELF, &u);
    printf("replay: %zu trials in %.2f s, %.0f MB\n", e->trials.n, took,
           (double)u.ru_maxrss / 1024);
    experiment_close(e);
    if (fs_remove_all(dir, &err))
        fprintf(stderr, "tune_bench: %s\n", err.msg);
    mem_free(log);
    mem_free(dir);
    diags_release(&diags);
    doc_release(&d);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--replay") == 0)
        return replay(strtol(argv[2], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "--scale") == 0)
        return scale(argv[2], strtol(argv[3], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "--points") == 0)
        return points(argv[2], strtol(argv[3], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "--noise") == 0) {
        printf("%.17g\n",
               noise(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10)));
        return 0;
    }
    if (argc >= 6 && strcmp(argv[1], "--paired") == 0) {
        struct bench b = {.tuner = argv[2], .concurrency = strtol(argv[5], NULL, 10)};
        parse(argv[3], &b.args);
        paired(&b, strtol(argv[4], NULL, 10), argv + 6, argc - 6);
        doc_release(&b.args);
        return 0;
    }
    struct bench b = {.tuner = argc > 1 ? argv[1] : "TPE"};
    parse(argc > 2 ? argv[2] : "{}", &b.args);
    long seeds = argc > 3 ? strtol(argv[3], NULL, 10) : 100;
    b.concurrency = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    for (int i = 0; i < n_functions; i++)
        if (argc <= 5 || strcmp(argv[5], functions[i].name) == 0)
            measure(&b, &functions[i], seeds);
    doc_release(&b.args);
    return 0;
}
