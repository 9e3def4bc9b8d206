/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: rank 0 asks all ranks for each piece that is read, and those that keep the rows
 * answer. So no rank ever holds more than its own rows and one piece. Of a table that is cut by
 * columns every part is asked for on its own, and put into its columns of the piece.
 *
 * Writing: rank 0 tells the others into which file a column goes, and where. Pieces of it go
 * round the ranks: in a round every rank sends its rows of all pieces to those that write them.
 * The checksum of the column is put together from those of the pieces. Where one of the ranks
 * does not see the file, rank 0 reads instead.
 */
#include "dist/spread.h"

#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "dist/sharded.h"

/* What rank 0 wants of the others. */
enum { END, READ, WRITE };
struct request {
    int64_t what, table, column;
    int64_t part, from, n;   /* READ: rows of a part */
    int64_t offset, n_where; /* WRITE: where in a file, and how long its name is */
};
#define REQUEST_WORDS ((int64_t)(sizeof(struct request) / sizeof(int64_t)))

static size_t row_bytes(const struct lookup_column *c)
{
    return (size_t)c->width * dtype_size(c->type);
}

/* Rows of the image on rank 0. */
static int64_t n_rows(const struct dist_spread *s)
{
    return dist_spread_is_ordered(s) ? s->order.n : s->base.image.n;
}

/* The table's row that is the i-th of the image, or -1: it was never used. */
static int64_t place_of(const struct dist_spread *s, int64_t i)
{
    int64_t row = s->places ? s->places[i] : i;
    return s->base.image.form == LOOKUP_KEYED || dist_has_bit(s->used, row) ? row : -1;
}

/* Who keeps it; -1 when nobody does, so that whoever asks works it out. */
static int keeper_of(const struct dist_spread *s, const struct dist_spread_part *p,
                     int64_t i)
{
    if (dist_spread_is_ordered(s))
        return dist_key_order_keeper(&s->order, i);
    int64_t row = place_of(s, i);
    return row < 0 ? -1 : dist_owner_at(&p->owner, row);
}

static enum rc answer_room(struct dist_spread *s, size_t bytes, struct err *err)
{
    if (bytes <= s->piece_room)
        return RC_OK;
    mem_free(s->piece);
    s->piece = mem_try_alloc(bytes, 1);
    s->piece_room = s->piece ? bytes : 0;
    return s->piece ? RC_OK
                    : err_set(err, RC_NOMEM, "no memory for %zu bytes of rows", bytes);
}

/* Row i of the image, as this rank has it. */
static enum rc read_own(const struct dist_spread *s, const struct dist_spread_part *p,
                        int column, int64_t i, void *out, struct err *err)
{
    const struct lookup_image *own = &p->own->image;
    int64_t at = dist_spread_is_ordered(s) ? dist_key_order_place(&s->order, i)
                 : s->places               ? s->places[i]
                                           : i;
    return lookup_image_read(own, column, at, 1, out, err);
}

/* counts[r]: bytes that rank r sends to rank 0. */
static void count_answer(const struct dist_spread *s, const struct request *q,
                         size_t bytes)
{
    const struct dist_spread_part *p = &s->parts[q->part];
    memset(s->counts, 0, 2 * (size_t)p->owner.world * sizeof(*s->counts));
    for (int64_t i = q->from; i < q->from + q->n; i++) {
        int keeper = keeper_of(s, p, i);
        if (keeper > 0)
            s->counts[keeper] += (int64_t)bytes;
    }
}

/* On a rank that was asked. */
static enum rc answer(struct dist_spread *s, const struct request *q, struct err *err)
{
    const struct dist_spread_part *p = &s->parts[q->part];
    size_t bytes = row_bytes(&p->columns[q->column]);
    int rank = comm_rank(s->x->comm);
    count_answer(s, q, bytes);
    int64_t *send = s->counts + p->owner.world, *receive = s->counts;
    send[0] = receive[rank];
    memset(receive, 0, (size_t)p->owner.world * sizeof(*receive));
    enum rc rc = answer_room(s, (size_t)send[0] + 1, err);
    unsigned char *to = s->piece;
    for (int64_t i = q->from; i < q->from + q->n && !rc; i++) {
        if (keeper_of(s, p, i) != rank)
            continue;
        rc = read_own(s, p, (int)q->column, i, to, err);
        to += bytes;
    }
    return rc ? rc
              : comm_all_to_all(s->x->comm, comm_bytes(s->piece), send, comm_bytes(NULL),
                                receive, err);
}

/* From rank 0 to the others. */
static enum rc ask(const struct dist_sharded *x, struct request *q, struct err *err)
{
    return comm_broadcast(x->comm, comm_i64(&q->what), REQUEST_WORDS, 0, err);
}

/* What the others answered, and this rank's own, in the order of the image; `step` bytes
 * from one row to the next.
 */
static enum rc place_rows(const struct dist_spread *s, const struct request *q,
                          size_t step, unsigned char *out, struct err *err)
{
    const struct dist_spread_part *p = &s->parts[q->part];
    size_t bytes = row_bytes(&p->columns[q->column]);
    int64_t *at = s->counts + p->owner.world; /* where each rank's next row lies */
    enum rc rc = RC_OK;
    for (int r = 1; r < p->owner.world; r++)
        at[r] = at[r - 1] + s->counts[r - 1];
    for (int64_t i = q->from; i < q->from + q->n && !rc; i++, out += step) {
        int keeper = keeper_of(s, p, i);
        if (keeper <= 0) {
            rc = read_own(s, p, (int)q->column, i, out, err);
            continue;
        }
        memcpy(out, s->piece + at[keeper], bytes);
        at[keeper] += (int64_t)bytes;
    }
    return rc;
}

/* On rank 0: one part of a piece into its columns. */
static enum rc read_part(struct dist_spread *s, struct request *q, unsigned char *out,
                         struct err *err)
{
    const struct dist_spread_part *p = &s->parts[q->part];
    const struct lookup_column *c = &s->columns[q->column];
    int64_t *none = s->counts + p->owner.world, total = 0;
    enum rc rc = ask(s->x, q, err);
    count_answer(s, q, row_bytes(&p->columns[q->column]));
    for (int r = 0; r < p->owner.world; r++)
        total += s->counts[r];
    if (!rc)
        rc = answer_room(s, (size_t)total + 1, err);
    if (!rc)
        rc = comm_all_to_all(s->x->comm, comm_bytes(NULL), none, comm_bytes(s->piece),
                             s->counts, err);
    out += (size_t)p->col * dtype_size(c->type);
    return rc ? rc : place_rows(s, q, row_bytes(c), out, err);
}

/* With one rank: nobody is asked. */
static enum rc read_alone(const struct dist_spread *s, int column, int64_t from,
                          int64_t n, unsigned char *out, struct err *err)
{
    size_t bytes = row_bytes(&s->columns[column]);
    enum rc rc = RC_OK;
    for (int64_t i = from; i < from + n && !rc; i++, out += bytes)
        rc = read_own(s, &s->parts[0], column, i, out, err);
    return rc;
}

enum rc dist_spread_read(const void *arg, int column, int64_t from, int64_t n, void *out,
                         struct err *err)
{
    struct dist_spread *s = (struct dist_spread *)(uintptr_t)arg;
    struct request q = {
        .what = READ, .table = s->table, .column = column, .from = from, .n = n};
    enum rc rc = RC_OK;
    if (comm_world(s->x->comm) == 1)
        return read_alone(s, column, from, n, out, err);
    for (q.part = 0; q.part < s->n_parts && !rc; q.part++)
        rc = read_part(s, &q, out, err);
    return rc;
}

/* --- written by all ranks --- */

/* A column in a file is cut into pieces of whole pages, which go round the ranks. The first and
 * the last may share a page with what stands before and behind: they are rank 0's.
 */
struct cut {
    int64_t begin, end; /* bytes of the file */
    int64_t piece, n;   /* bytes of a piece; pieces */
    int64_t row;        /* bytes */
    int world;
};
#define PAGE ((int64_t)4096)
#define PIECES_MAX ((int64_t)4 << 20) /* bytes of the pieces of all ranks at once ... */
#define PIECE_MIN ((int64_t)64 << 10) /* ... unless one would be shorter */

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A column of few bytes is cut into about two pieces for each rank. */
static struct cut cut_column(int64_t offset, int64_t rows, int64_t row, int world)
{
    struct cut c = {
        .begin = offset, .end = offset + rows * row, .row = row, .world = world};
    int64_t most = at_least(PIECES_MAX / world, PIECE_MIN);
    c.piece = at_most(most, rows * row / (2 * world));
    c.piece = at_least(PAGE, (c.piece + PAGE - 1) / PAGE * PAGE);
    c.n = (c.end + c.piece - 1) / c.piece - c.begin / c.piece;
    return c;
}

/* In a round each rank has one piece; the last piece has a round of its own. */
static int64_t rounds_of(const struct cut *c)
{
    return (c->n - 1 + c->world - 1) / c->world + 1;
}

static int64_t piece_of(const struct cut *c, int64_t round, int rank)
{
    int64_t i = round * c->world + rank;
    if (round == rounds_of(c) - 1)
        return rank == 0 ? c->n - 1 : -1;
    return i < c->n - 1 ? i : -1;
}

/* Bytes of the file, and the rows that these are of. */
struct stretch {
    int64_t begin, end;
    int64_t from, to;
};

static struct stretch stretch_of(const struct cut *c, int64_t piece)
{
    struct stretch s = {0};
    if (piece < 0)
        return s;
    int64_t first = c->begin / c->piece + piece;
    s.begin = at_least(c->begin, first * c->piece);
    s.end = at_most(c->end, (first + 1) * c->piece);
    s.from = (s.begin - c->begin) / c->row;
    s.to = (s.end - c->begin + c->row - 1) / c->row;
    return s;
}

/* What a rank needs to write its pieces of a column. */
struct writing {
    struct dist_spread *s;
    struct cut cut;
    int column;
    struct fs_part *file;
    unsigned char *rows;     /* of this rank's piece */
    unsigned char *to, *got; /* rows for others, and from them */
    int64_t *send, *receive; /* [world]: bytes */
    uint32_t *sums;          /* [rounds]: of this rank's pieces */
    int64_t n_sums;
};

static void release_writing(struct writing *w)
{
    (void)!fs_part_close(w->file, false, NULL);
    mem_free(w->rows);
    mem_free(w->to);
    mem_free(w->got);
    mem_free(w->send);
    mem_free(w->sums);
}

static enum rc make_room(struct writing *w, struct err *err)
{
    const struct cut *c = &w->cut;
    size_t rows = (size_t)(c->piece / c->row) + 2, world = (size_t)c->world;
    w->rows = mem_try_alloc(rows, (size_t)c->row);
    w->got = mem_try_alloc(rows, (size_t)c->row);
    w->to = mem_try_alloc(rows * world, (size_t)c->row);
    w->send = mem_try_alloc(2 * world, sizeof(*w->send));
    w->sums = mem_try_alloc((size_t)rounds_of(c), sizeof(*w->sums));
    w->receive = w->send ? w->send + world : NULL;
    return w->rows && w->got && w->to && w->send && w->sums
               ? RC_OK
               : err_set(err, RC_NOMEM, "no memory to write %zu rows of %jd bytes", rows,
                         (intmax_t)c->row);
}

/* This rank's rows of a part for the pieces of the others. */
static enum rc pack_rows(struct writing *w, const struct dist_spread_part *p,
                         int64_t round, struct err *err)
{
    size_t bytes = row_bytes(&p->columns[w->column]);
    int rank = comm_rank(w->s->x->comm);
    unsigned char *to = w->to;
    enum rc rc = RC_OK;
    for (int r = 0; r < w->cut.world; r++) {
        const unsigned char *before = to;
        struct stretch b = stretch_of(&w->cut, piece_of(&w->cut, round, r));
        for (int64_t i = b.from; i < b.to && r != rank && !rc; i++) {
            if (keeper_of(w->s, p, i) != rank)
                continue;
            rc = read_own(w->s, p, w->column, i, to, err);
            to += bytes;
        }
        w->send[r] = to - before;
    }
    return rc;
}

static void count_rows(struct writing *w, const struct dist_spread_part *p,
                       const struct stretch *b)
{
    size_t bytes = row_bytes(&p->columns[w->column]);
    int rank = comm_rank(w->s->x->comm);
    memset(w->receive, 0, (size_t)w->cut.world * sizeof(*w->receive));
    for (int64_t i = b->from; i < b->to; i++) {
        int keeper = keeper_of(w->s, p, i);
        if (keeper >= 0 && keeper != rank)
            w->receive[keeper] += (int64_t)bytes;
    }
}

/* Rows of a part, those of the others and this rank's own, into its columns of the piece. */
static enum rc merge_rows(struct writing *w, const struct dist_spread_part *p,
                          const struct stretch *b, struct err *err)
{
    const struct lookup_column *whole = &w->s->columns[w->column];
    size_t bytes = row_bytes(&p->columns[w->column]);
    unsigned char *to = w->rows + (size_t)p->col * dtype_size(whole->type);
    int64_t *at = w->receive; /* from here on: where each rank's next row lies */
    int rank = comm_rank(w->s->x->comm);
    enum rc rc = RC_OK;
    for (int64_t r = 0, sum = 0, n; r < w->cut.world; r++, sum += n) {
        n = at[r];
        at[r] = sum;
    }
    for (int64_t i = b->from; i < b->to && !rc; i++, to += w->cut.row) {
        int keeper = keeper_of(w->s, p, i);
        if (keeper < 0 || keeper == rank) {
            rc = read_own(w->s, p, w->column, i, to, err);
            continue;
        }
        memcpy(to, w->got + at[keeper], bytes);
        at[keeper] += (int64_t)bytes;
    }
    return rc;
}

static enum rc write_piece(struct writing *w, const struct stretch *b, struct err *err)
{
    const unsigned char *from = w->rows + (b->begin - w->cut.begin) % w->cut.row;
    size_t n = (size_t)(b->end - b->begin);
    if (n == 0)
        return RC_OK;
    w->sums[w->n_sums++] = hash_crc32c(0, from, n);
    w->s->x->written += (int64_t)n;
    return fs_part_write(w->file, b->begin, from, n, err);
}

static enum rc write_round(struct writing *w, int64_t round, struct err *err)
{
    struct comm *comm = w->s->x->comm;
    struct stretch b = stretch_of(&w->cut, piece_of(&w->cut, round, comm_rank(comm)));
    enum rc rc = RC_OK;
    for (int i = 0; i < w->s->n_parts && !rc; i++) {
        const struct dist_spread_part *p = &w->s->parts[i];
        rc = pack_rows(w, p, round, err);
        count_rows(w, p, &b);
        if (!rc)
            rc = comm_all_to_all(comm, comm_bytes(w->to), w->send, comm_bytes(w->got),
                                 w->receive, err);
        if (!rc)
            rc = merge_rows(w, p, &b, err);
    }
    return rc ? rc : write_piece(w, &b, err);
}

/* all[]: of rank 0, then of rank 1, ... */
static uint32_t join_sums(const struct writing *w, const uint32_t *all)
{
    const struct cut *c = &w->cut;
    int64_t *at = w->send, last = c->n - 1; /* [world]: the next of each rank */
    uint32_t sum = 0;
    for (int64_t r = 0, n = 0; r < c->world; r++) {
        at[r] = n;
        n += (last - r + c->world - 1) / c->world + (r == 0);
    }
    for (int64_t i = 0; i <= last; i++) {
        struct stretch b = stretch_of(c, i);
        int64_t place = at[i < last ? i % c->world : 0]++;
        sum = hash_crc32c_join(sum, all[place], (uint64_t)(b.end - b.begin));
    }
    return sum;
}

static enum rc gather_sums(const struct writing *w, uint32_t *crc32c, struct err *err)
{
    int64_t bytes = 0, size = (int64_t)sizeof(*w->sums);
    void *all = NULL;
    enum rc rc =
        comm_gather_bytes(w->s->x->comm, w->sums, w->n_sums * size, &all, &bytes, err);
    if (!rc && bytes != w->cut.n * size)
        rc = comm_broken(w->s->x->comm, "all_gather", err,
                         "%jd bytes of checksums of %jd pieces", (intmax_t)bytes,
                         (intmax_t)w->cut.n);
    if (!rc)
        *crc32c = join_sums(w, all);
    mem_free(all);
    return rc;
}

/* The kernel that runs this process, for the time until it starts anew. */
#define KERNEL_ID 36
static void kernel_id(char out[KERNEL_ID + 1])
{
    char *text = NULL;
    size_t n = 0;
    memset(out, '-', KERNEL_ID);
    out[KERNEL_ID] = '\0';
    if (fs_read("/proc/sys/kernel/random/boot_id", 4096, &text, &n, NULL) == RC_OK &&
        n >= KERNEL_ID)
        memcpy(out, text, KERNEL_ID);
    mem_free(text);
}

/* What rank 0 writes itself reaches the disk when it commits the file. */
static bool must_sync(const struct writing *w, const char *where)
{
    char id[KERNEL_ID + 1];
    kernel_id(id);
    return w->n_sums && (id[0] == '-' || memcmp(id, where, KERNEL_ID) != 0);
}

/* On all ranks. `where`: rank 0's kernel, and the name of the file. */
static enum rc write_rows(struct dist_spread *s, const struct request *q,
                          const char *where, bool *done, uint32_t *crc32c,
                          struct err *err)
{
    struct comm *comm = s->x->comm;
    struct writing w = {.s = s, .column = (int)q->column};
    int64_t sees = fs_part_open(where + KERNEL_ID, &w.file, NULL) == RC_OK;
    w.cut = cut_column(q->offset, n_rows(s), (int64_t)row_bytes(&s->columns[q->column]),
                       comm_world(comm));
    enum rc rc = comm_all_reduce(comm, comm_i64(&sees), 1, COMM_MIN, err);
    *done = !rc && sees;
    if (*done)
        rc = make_room(&w, err);
    for (int64_t i = 0; *done && i < rounds_of(&w.cut) && !rc; i++)
        rc = write_round(&w, i, err);
    if (!rc && *done) {
        rc = fs_part_close(w.file, must_sync(&w, where), err);
        w.file = NULL;
    }
    if (!rc && *done) /* when all that others wrote is safe */
        rc = gather_sums(&w, crc32c, err);
    release_writing(&w);
    return rc;
}

enum rc dist_spread_write(const void *arg, int column, const char *temp, int64_t offset,
                          bool *done, uint32_t *crc32c, struct err *err)
{
    struct dist_spread *s = (struct dist_spread *)(uintptr_t)arg;
    struct request q = {
        .what = WRITE, .table = s->table, .column = column, .offset = offset};
    char id[KERNEL_ID + 1];
    *done = false;
    if (s->x->apart || n_rows(s) == 0)
        return RC_OK;
    kernel_id(id);
    char *where = mem_printf("%s%s", id, temp);
    q.n_where = (int64_t)strlen(where);
    enum rc rc = ask(s->x, &q, err);
    if (!rc)
        rc = comm_broadcast(s->x->comm, comm_bytes(where), q.n_where, 0, err);
    if (!rc)
        rc = write_rows(s, &q, where, done, crc32c, err);
    s->x->apart = !rc && !*done;
    mem_free(where);
    return rc;
}

/* On a rank that was asked to write its part. */
static enum rc take_part(struct dist_spread *s, const struct request *q, struct err *err)
{
    char *where = mem_calloc((size_t)q->n_where + 1, 1);
    uint32_t crc32c;
    bool done;
    enum rc rc = comm_broadcast(s->x->comm, comm_bytes(where), q->n_where, 0, err);
    if (!rc)
        rc = write_rows(s, q, where, &done, &crc32c, err);
    mem_free(where);
    return rc;
}

/* --- the other ranks --- */

#define WHERE_MAX ((int64_t)65536)
#define OFFSET_MAX ((int64_t)1 << 48)

static bool is_sensible(const struct dist_spread *s, const struct request *q)
{
    if (q->column < 0 || q->column >= LOOKUP_COLUMNS_MAX || !s->base.image.has[q->column])
        return false;
    if (q->what == WRITE)
        return q->offset >= 0 && q->offset < OFFSET_MAX && q->n_where > KERNEL_ID &&
               q->n_where < WHERE_MAX;
    return q->what == READ && q->part >= 0 && q->part < s->n_parts && q->from >= 0 &&
           q->from <= n_rows(s) && q->n >= 0 && q->n <= n_rows(s) - q->from;
}

/* The request is for rows that the image has. */
static enum rc check_request(struct dist_sharded *x, const struct request *q,
                             struct err *err)
{
    const struct dist_spread *s =
        x->images && q->table >= 0 && q->table < lookup_n_tables(&x->wrap.lookup)
            ? x->images[q->table]
            : NULL;
    if (s && is_sensible(s, q))
        return RC_OK;
    return comm_broken(x->comm, "broadcast", err,
                       "a request for rows %jd to %jd of column %jd of table %jd",
                       (intmax_t)q->from, (intmax_t)q->n, (intmax_t)q->column,
                       (intmax_t)q->table);
}

enum rc dist_sharded_serve(struct lookup *l, struct err *err)
{
    struct dist_sharded *x = (struct dist_sharded *)l;
    struct request q = {.what = END};
    if (comm_world(x->comm) == 1)
        return RC_OK;
    if (comm_rank(x->comm) == 0)
        return ask(x, &q, err);
    for (;;) {
        enum rc rc = ask(x, &q, err);
        if (rc || q.what == END)
            return rc;
        rc = check_request(x, &q, err);
        if (!rc)
            rc = q.what == WRITE ? take_part(x->images[q.table], &q, err)
                                 : answer(x->images[q.table], &q, err);
        if (rc)
            return rc;
    }
}
