/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/reduce.h"

#include <string.h>

#define ADD(a, b) ((a) + (b))
#define WRAP(a, b) ((uint64_t)(a) + (uint64_t)(b)) /* integers */
/* A NaN on either side stays. */
#define LESS(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define MORE(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))

/* Element by element over the ranks: what is read is behind what was written, so that the
 * output may be one of the inputs.
 */
#define COMBINE(T, W, load, store, f)                     \
    do {                                                  \
        T *to = out;                                      \
        for (int64_t i = 0; i < n; i++) {                 \
            W sum = load(((const T *)in[0])[from + i]);   \
            for (int r = 1; r < world; r++) {             \
                W x = load(((const T *)in[r])[from + i]); \
                sum = (W)f(sum, x);                       \
            }                                             \
            to[i] = store(sum);                           \
        }                                                 \
    } while (0)
#define REDUCE(T, W, load, store, add)        \
    do {                                      \
        if (op == COMM_SUM)                   \
            COMBINE(T, W, load, store, add);  \
        else if (op == COMM_MIN)              \
            COMBINE(T, W, load, store, LESS); \
        else                                  \
            COMBINE(T, W, load, store, MORE); \
    } while (0)
#define AS_IT_IS(x) (x)

static float bf16_load(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* To nearest even; a NaN stays one. */
static uint16_t bf16_store(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    if (f != f)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void comm_reduce(enum comm_type type, enum comm_op op, const void *const *in, int world,
                 int64_t from, int64_t n, void *out)
{
    switch (type) {
    case COMM_U8:
        REDUCE(uint8_t, uint8_t, AS_IT_IS, AS_IT_IS, WRAP);
        break;
    case COMM_I32:
        REDUCE(int32_t, int32_t, AS_IT_IS, AS_IT_IS, WRAP);
        break;
    case COMM_I64:
        REDUCE(int64_t, int64_t, AS_IT_IS, AS_IT_IS, WRAP);
        break;
    case COMM_F32:
        REDUCE(float, float, AS_IT_IS, AS_IT_IS, ADD);
        break;
    case COMM_F64:
        REDUCE(double, double, AS_IT_IS, AS_IT_IS, ADD);
        break;
    case COMM_BF16:
        REDUCE(uint16_t, float, bf16_load, bf16_store, ADD);
        break;
    case COMM_TYPES:
        break;
    }
}
