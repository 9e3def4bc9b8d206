/* SPDX-License-Identifier: Apache-2.0 */
/* token_tool bpe|sentencepiece FILE - for each line of standard input, which is a JSON
 * string, prints its token ids as a JSON list. The first line of output is the number of
 * rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feature/token/token.h"
#include "text/json.h"

static enum rc line_ids(const struct tokenizer *t, struct token_scratch *s,
                        const char *line, size_t n, struct err *err)
{
    struct doc d = {0};
    struct diags diags = {0};
    const int64_t *ids = NULL;
    size_t count = 0;
    enum rc rc = source_from("line", line, n, &d.src, err);
    if (!rc && json_parse(&d, &diags))
        rc = err_set(err, RC_FORMAT, "a line is no JSON");
    if (!rc)
        rc = tokenizer_encode(t, s, d.root->text, &ids, &count, err);
    if (!rc) {
        putchar('[');
        for (size_t i = 0; i < count; i++)
            printf("%s%jd", i ? "," : "", (intmax_t)ids[i]);
        puts("]");
    }
    diags_release(&diags);
    doc_release(&d);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct tokenizer *t = NULL;
    char *line = NULL;
    size_t cap = 0;
    if (argc != 3)
        return 2;
    enum rc rc = tokenizer_open(
        argv[2], strcmp(argv[1], "bpe") == 0 ? TOKENIZER_BPE : TOKENIZER_SENTENCEPIECE,
        &t, &err);
    struct token_scratch *s = token_scratch_create();
    if (!rc)
        printf("%jd\n", (intmax_t)tokenizer_rows(t));
    for (ssize_t n; !rc && (n = getline(&line, &cap, stdin)) > 0;)
        rc = line_ids(t, s, line, (size_t)n, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.msg);
    free(line);
    token_scratch_destroy(s);
    tokenizer_close(t);
    return rc ? 1 : 0;
}
