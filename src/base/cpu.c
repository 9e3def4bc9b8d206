/* SPDX-License-Identifier: Apache-2.0 */
/* CPUID says what the silicon has, XGETBV which registers the system saves. Asking is
 * slow on virtual machines (each CPUID leaves the guest), so the answer is kept as a set
 * of bits; threads that race for it write the same value.
 */
#include "base/cpu.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define BIT(feature) (UINT32_C(1) << (feature))
#define KNOWN BIT(31) /* the set has been filled */

static const char *const feature_names[CPU_FEATURES] = {
    [CPU_SSE42] = "sse4_2",
    [CPU_AVX2] = "avx2",
    [CPU_FMA] = "fma",
    [CPU_F16C] = "f16c",
    [CPU_BMI2] = "bmi2",
    [CPU_SHA_NI] = "sha_ni",
    [CPU_AVX512F] = "avx512f",
    [CPU_AVX512BW] = "avx512bw",
    [CPU_AVX512DQ] = "avx512dq",
    [CPU_AVX512VL] = "avx512vl",
    [CPU_AVX512VBMI] = "avx512vbmi",
    [CPU_AVX512_VBMI2] = "avx512_vbmi2",
    [CPU_AVX512_VNNI] = "avx512_vnni",
    [CPU_AVX512_BF16] = "avx512_bf16",
    [CPU_AMX_TILE] = "amx_tile",
    [CPU_AMX_BF16] = "amx_bf16",
};

/* What a level adds: `needs` must be there, `allows` may be used from here on. */
static const struct {
    const char *name;
    uint32_t needs, allows;
} levels[CPU_LEVELS] = {
    [CPU_LEVEL_BASE] = {"base", 0, BIT(CPU_SSE42)},
    [CPU_LEVEL_AVX2] = {"avx2",
                        BIT(CPU_AVX2) | BIT(CPU_FMA) | BIT(CPU_F16C) | BIT(CPU_BMI2),
                        BIT(CPU_AVX2) | BIT(CPU_FMA) | BIT(CPU_F16C) | BIT(CPU_BMI2) |
                            BIT(CPU_SHA_NI)},
    [CPU_LEVEL_AVX512] = {"avx512",
                          BIT(CPU_AVX512F) | BIT(CPU_AVX512BW) | BIT(CPU_AVX512DQ) |
                              BIT(CPU_AVX512VL),
                          BIT(CPU_AVX512F) | BIT(CPU_AVX512BW) | BIT(CPU_AVX512DQ) |
                              BIT(CPU_AVX512VL) | BIT(CPU_AVX512VBMI) |
                              BIT(CPU_AVX512_VBMI2) | BIT(CPU_AVX512_VNNI)},
    [CPU_LEVEL_BF16] = {"bf16", BIT(CPU_AVX512_BF16), BIT(CPU_AVX512_BF16)},
    [CPU_LEVEL_AMX] = {"amx", BIT(CPU_AMX_TILE) | BIT(CPU_AMX_BF16),
                       BIT(CPU_AMX_TILE) | BIT(CPU_AMX_BF16)},
};

static atomic_uint found;
static atomic_int limit = CPU_LEVEL_AMX;

#ifdef __x86_64__
#include <cpuid.h>

struct regs {
    uint32_t r[4]; /* eax ebx ecx edx */
};

static struct regs cpuid(uint32_t leaf, uint32_t sub)
{
    struct regs x = {{0}};
    if (!__get_cpuid_count(leaf, sub, &x.r[0], &x.r[1], &x.r[2], &x.r[3]))
        return (struct regs){{0}};
    return x;
}

/* Which register files the system saves. There is no way to say it in C. */
static uint64_t saved_registers(struct regs leaf1)
{
    uint32_t low, high;
    if (!(leaf1.r[2] >> 27 & 1)) /* osxsave */
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static uint32_t detect(void)
{
    enum { XMM_YMM = 0x6, ZMM = 0xe6, TILES = 0x60000 };
    struct regs one = cpuid(1, 0), seven = cpuid(7, 0), seven1 = cpuid(7, 1);
    uint64_t saved = saved_registers(one);
    const struct {
        enum cpu_feature feature;
        uint32_t reg;
        int bit;
        uint64_t state;
    } bits[] = {
        {CPU_SSE42, one.r[2], 20, 0},           {CPU_FMA, one.r[2], 12, XMM_YMM},
        {CPU_F16C, one.r[2], 29, XMM_YMM},      {CPU_AVX2, seven.r[1], 5, XMM_YMM},
        {CPU_BMI2, seven.r[1], 8, 0},           {CPU_AVX512F, seven.r[1], 16, ZMM},
        {CPU_AVX512DQ, seven.r[1], 17, ZMM},    {CPU_AVX512BW, seven.r[1], 30, ZMM},
        {CPU_AVX512VL, seven.r[1], 31, ZMM},    {CPU_AVX512VBMI, seven.r[2], 1, ZMM},
        {CPU_AVX512_VBMI2, seven.r[2], 6, ZMM}, {CPU_AVX512_VNNI, seven.r[2], 11, ZMM},
        {CPU_AVX512_BF16, seven1.r[0], 5, ZMM}, {CPU_AMX_BF16, seven.r[3], 22, TILES},
        {CPU_AMX_TILE, seven.r[3], 24, TILES},  {CPU_SHA_NI, seven.r[1], 29, 0},
    };
    uint32_t set = 0;
    for (size_t i = 0; i < ARRAY_LEN(bits); i++)
        if ((bits[i].reg >> bits[i].bit & 1) && (saved & bits[i].state) == bits[i].state)
            set |= BIT(bits[i].feature);
    return set;
}

void cpu_model(char out[CPU_MODEL_SIZE])
{
    char text[49] = "";
    for (uint32_t i = 0; i < 3; i++) {
        struct regs x = cpuid(0x80000002 + i, 0);
        memcpy(text + 16 * i, x.r, 16);
    }
    struct str name = str_trim(str_of(text, strnlen(text, 48)));
    if (name.n == 0)
        name = str_c("unknown");
    memcpy(out, name.p, name.n);
    out[name.n] = '\0';
}
#else
static uint32_t detect(void)
{
    return 0;
}

void cpu_model(char out[CPU_MODEL_SIZE])
{
    memcpy(out, "unknown", 8);
}
#endif

static uint32_t features(void)
{
    uint32_t set = atomic_load_explicit(&found, memory_order_relaxed);
    if (!(set & KNOWN)) {
        set = detect() | KNOWN;
        atomic_store_explicit(&found, set, memory_order_relaxed);
    }
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    uint32_t allowed = 0;
    for (int i = 0; i <= most; i++)
        allowed |= levels[i].allows;
    return set & allowed;
}

bool cpu_has(enum cpu_feature feature)
{
    return features() & BIT(feature);
}

enum cpu_level cpu_level(void)
{
    uint32_t set = features();
    int level = CPU_LEVEL_BASE;
    while (level + 1 < CPU_LEVELS &&
           (set & levels[level + 1].needs) == levels[level + 1].needs)
        level++;
    return (enum cpu_level)level;
}

void cpu_limit(enum cpu_level most)
{
    limit = (int)most;
}

const char *cpu_feature_name(enum cpu_feature feature)
{
    return feature_names[feature];
}

const char *cpu_level_name(enum cpu_level level)
{
    return levels[level].name;
}

bool cpu_level_find(const char *name, enum cpu_level *out)
{
    for (int i = 0; i < CPU_LEVELS; i++)
        if (strcmp(name, levels[i].name) == 0) {
            *out = (enum cpu_level)i;
            return true;
        }
    return false;
}

bool cpu_allow_amx(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
#ifdef SYS_arch_prctl
    return cpu_has(CPU_AMX_TILE) &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static int bound_to(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN); /* more than CPU_SETSIZE of them */
    return n > 0 ? (int)n : 1;
}

/* "quota period" in microseconds of a control group (version 2); 0 for no limit. */
static int granted(const char *path)
{
    char *text;
    size_t n;
    int64_t quota, period;
    if (fs_read(path, 256, &text, &n, NULL))
        return 0;
    struct str rest = str_trim(str_of(text, n)), first, second;
    bool ok = str_split(&rest, ' ', &first) && str_split(&rest, ' ', &second) &&
              str_to_i64(first, &quota) && str_to_i64(second, &period) && quota > 0 &&
              period > 0;
    mem_free(text);
    return ok ? (int)ceil((double)quota / (double)period) : 0;
}

int cpu_count(void)
{
    int bound = bound_to(), quota = granted("/sys/fs/cgroup/cpu.max");
    return quota > 0 && quota < bound ? quota : bound > 0 ? bound : 1;
}
