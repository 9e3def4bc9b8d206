/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec.h - a growing array of any type.
 *
 *     VEC(int) v = {0};
 *     VEC_PUSH(&v, 7);
 *     for (size_t i = 0; i < v.n; i++) printf("%d\n", v.at[i]);
 *     VEC_RELEASE(&v);
 *
 * For control structures: growing never fails (as mem_alloc).
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>

#include "base/mem.h"

#define VEC(T)         \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }

/* Room for one more element; the array may move. */
#define VEC_RESERVE(v)                                                  \
    do {                                                                \
        if ((v)->n == (v)->cap) {                                       \
            (v)->cap = (v)->cap ? (v)->cap * 2 : 8;                     \
            (v)->at = mem_realloc((v)->at, (v)->cap, sizeof(*(v)->at)); \
        }                                                               \
    } while (0)

#define VEC_PUSH(v, x)           \
    do {                         \
        VEC_RESERVE(v);          \
        (v)->at[(v)->n++] = (x); \
    } while (0)

#define VEC_RELEASE(v)         \
    do {                       \
        mem_free((v)->at);     \
        (v)->at = NULL;        \
        (v)->n = (v)->cap = 0; \
    } while (0)

#endif
