/* SPDX-License-Identifier: Apache-2.0 */
/* A number of at most 15 digits and 22 decimals is a quotient of two exact doubles, hence
 * correctly rounded by one division. Others take the long way.
 */
#include "feature/number.h"

#include "base/compiler.h"

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool number_parse(struct str s, double *out)
{
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+'), start = i;
    uint64_t m = 0;
    size_t digits = 0, point = 0;
    bool seen = false;
    for (; i < s.n; i++) {
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d <= 9) {
            m = m * 10 + d;
            digits++;
            point += seen;
        } else if (s.p[i] == '.' && !seen) {
            seen = true;
        } else {
            break;
        }
        if (digits > 15)
            break;
    }
    if (LIKELY(i == s.n && digits > 0 && i > start)) {
        double v = (double)m / tens[point];
        *out = s.p[0] == '-' ? -v : v;
        return true;
    }
    return str_to_f64(s, out);
}
