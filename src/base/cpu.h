/* SPDX-License-Identifier: Apache-2.0 */
/* base/cpu.h - what this processor can do and how much of it we may use.
 *
 * A feature counts only when the operating system saves its registers too. The answers
 * do not change while the program runs, unless a test calls cpu_limit(). Any thread may
 * ask; on processors other than x86-64 every answer is no.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

enum cpu_feature {
    CPU_SSE42,
    CPU_AVX2,
    CPU_FMA,
    CPU_F16C,
    CPU_BMI2,
    CPU_SHA_NI,
    CPU_AVX512F,
    CPU_AVX512BW,
    CPU_AVX512DQ,
    CPU_AVX512VL,
    CPU_AVX512VBMI,
    CPU_AVX512_VBMI2,
    CPU_AVX512_VNNI,
    CPU_AVX512_BF16,
    CPU_AMX_TILE,
    CPU_AMX_BF16,
    CPU_FEATURES
};

/* Steps at which kernels are chosen; each includes the ones before it. */
enum cpu_level {
    CPU_LEVEL_BASE,   /* x86-64-v2, or anything else */
    CPU_LEVEL_AVX2,   /* avx2 fma f16c bmi2 */
    CPU_LEVEL_AVX512, /* avx512 f bw dq vl */
    CPU_LEVEL_BF16,   /* avx512_bf16 */
    CPU_LEVEL_AMX,    /* amx_tile amx_bf16 */
    CPU_LEVELS
};

bool cpu_has(enum cpu_feature feature);
enum cpu_level cpu_level(void);
/* From now on nothing above `most` is admitted, by cpu_has() neither; CPU_LEVEL_AMX takes
 * the limit away. Call it before kernels are chosen.
 */
void cpu_limit(enum cpu_level most);

const char *cpu_feature_name(enum cpu_feature feature); /* "avx512_bf16", as in /proc */
const char *cpu_level_name(enum cpu_level level);       /* "base", "avx2", ... */
bool cpu_level_find(const char *name, enum cpu_level *out) MUST_CHECK;

#define CPU_MODEL_SIZE 64
void cpu_model(char out[CPU_MODEL_SIZE]); /* the maker's name for it, or "unknown" */

/* Asks the system to let this process use the tile registers; false when it refuses or
 * cpu_has(CPU_AMX_TILE) is false. Once per process, before threads that use them start.
 */
bool cpu_allow_amx(void) MUST_CHECK;

/* Processors that this process may keep busy: at most those it is bound to, and no more
 * than its control group is given time for. At least 1.
 */
int cpu_count(void);

#endif
