/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor.h"

#include <string.h>

size_t dtype_size(enum dtype t)
{
    static const size_t sizes[] = {
        [DT_F32] = 4, [DT_BF16] = 2, [DT_F16] = 2, [DT_I32] = 4, [DT_I64] = 8};
    return sizes[t];
}

const char *dtype_name(enum dtype t)
{
    static const char *const names[] = {[DT_F32] = "f32",
                                        [DT_BF16] = "bf16",
                                        [DT_F16] = "f16",
                                        [DT_I32] = "i32",
                                        [DT_I64] = "i64"};
    return names[t];
}

static uint32_t bits_of(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof(u));
    return u;
}

static float float_of(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof(v));
    return v;
}

uint16_t bf16_from_f32(float v)
{
    uint32_t u = bits_of(v);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40); /* quiet NaN */
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

float bf16_to_f32(uint16_t v)
{
    return float_of((uint32_t)v << 16);
}

uint16_t f16_from_f32(float v)
{
    uint32_t u = bits_of(v), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    if (mag > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (mag >= 0x477ff000u) /* rounds to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (mag < 0x38800000u) { /* subnormal: let the adder round */
        float scaled = float_of(mag) + 0.5f;
        return (uint16_t)(sign | (bits_of(scaled) - bits_of(0.5f)));
    }
    mag += 0xc8000fffu + (mag >> 13 & 1);
    return (uint16_t)(sign | mag >> 13);
}

float f16_to_f32(uint16_t v)
{
    uint32_t sign = (uint32_t)(v & 0x8000u) << 16, exp = v >> 10 & 31u, mant = v & 0x3ffu;
    if (exp == 31)
        return float_of(sign | 0x7f800000u | mant << 13);
    if (exp == 0) {
        float f = (float)mant * 0x1p-24f;
        return float_of(sign | bits_of(f));
    }
    return float_of(sign | (exp + 112) << 23 | mant << 13);
}
