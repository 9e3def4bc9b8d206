/* SPDX-License-Identifier: Apache-2.0 */
#include "job/log_read.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

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

/* "OFFSET MILLISECONDS o|e" a line, in the order of both. */
int64_t job_log_moment(const char *path, int64_t ms)
{
    char *index = mem_printf("%s.idx", path);
    struct fs_map m = {0};
    struct stat st;
    int64_t at = stat(path, &st) == 0 ? st.st_size : 0, offset, then;
    if (fs_map(index, &m, NULL)) {
        mem_free(index);
        return 0;
    }
    struct str rest = str_of((const char *)m.data, m.n), line, first, second;
    while (rest.n && str_split(&rest, '\n', &line))
        if (str_split(&line, ' ', &first) && str_split(&line, ' ', &second) &&
            str_to_i64(first, &offset) && str_to_i64(second, &then) && then >= ms) {
            at = offset;
            break;
        }
    fs_unmap(&m);
    mem_free(index);
    return at;
}

void job_log_gap(int64_t gap, struct buf *out)
{
    if (gap > 0)
        buf_printf(out, "\n[%jd bytes were dropped here: the log reached its limit]\n",
                   (intmax_t)gap);
}
