/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/transpose_body.h - included after a vec_*.h with v_transpose(). */
static void transpose(const float *from, int64_t ld, int64_t rows, int64_t cols,
                      float *to, int64_t ld_to)
{
    for (int64_t i = 0; i < rows; i += VL)
        for (int64_t j = 0; j < cols; j += VL) {
            int m = rows - i < VL ? (int)(rows - i) : VL;
            int n = cols - j < VL ? (int)(cols - j) : VL;
            VF v[VL];
            UNROLLED
            for (int k = 0; k < VL; k++)
                v[k] = k < m ? v_get(from + (i + k) * ld + j, n) : V_ZERO;
            v_transpose(v);
            UNROLLED
            for (int k = 0; k < VL; k++)
                if (k < n)
                    v_put(to + (j + k) * ld_to + i, v[k], m);
        }
}
