/* SPDX-License-Identifier: Apache-2.0 */
#include "job/log_read.h"

#include <unistd.h>

ssize_t job_log_read(int fd, char *to, size_t n, int64_t *at, int64_t *gap)
{
    off_t data = lseek(fd, *at, SEEK_DATA);
    *gap = 0;
    if (data > *at) {
        *gap = data - *at;
        *at = data;
    }
    off_t hole = lseek(fd, *at, SEEK_HOLE);
    if (hole > *at && (size_t)(hole - *at) < n)
        n = (size_t)(hole - *at);
    return pread(fd, to, n, *at);
}

void job_log_gap(int64_t gap, struct buf *out)
{
    if (gap > 0)
        buf_printf(out, "\n[%jd bytes were dropped here: the log reached its limit]\n",
                   (intmax_t)gap);
}
