/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of its corpus, so that every finding stays a test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) < 0) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    size_t n = (size_t)st.st_size;
    /* Exactly n bytes, so that a sanitizer sees the first byte read past the end. */
    uint8_t *data = malloc(n ? n : 1);
    int bad = !data || fread(data, 1, n, f) != n;
    fclose(f);
    if (!bad)
        LLVMFuzzerTestOneInput(data, n);
    free(data);
    return bad;
}

static int replay_dir(const char *path, int *count)
{
    DIR *dir = opendir(path);
    if (!dir) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    int bad = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char file[4096];
        if (e->d_name[0] == '.')
            continue;
        int n = snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        if (n < 0 || (size_t)n >= sizeof(file))
            continue;
        bad += replay_file(file);
        (*count)++;
    }
    closedir(dir);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            bad += replay_dir(argv[i], &count);
        } else {
            bad += replay_file(argv[i]);
            count++;
        }
    }
    printf("%d inputs replayed\n", count);
    return bad || count == 0;
}
