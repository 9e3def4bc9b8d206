/* SPDX-License-Identifier: Apache-2.0 */
/* Ratings: label is 1 for 4 and 5 stars. Users and movies as many as MovieLens-1M has;
 * genres are a list of words joined by '|', each with an effect of its own that depends
 * on the user's age.
 */
#include "data/gen/gen_private.h"

#define USER 1
#define MOVIE 6
#define AGE 3
#define N_GENRES 18

static const char *const genders[] = {"F", "M"};
static const char *const genres[N_GENRES] = {
    "Action",      "Adventure", "Animation", "Children's", "Comedy", "Crime",
    "Documentary", "Drama",     "Fantasy",   "Film-Noir",  "Horror", "Musical",
    "Mystery",     "Romance",   "Sci-Fi",    "Thriller",   "War",    "Western",
};

enum { GENRES_AT = 7, RATING_AT = 9 };

static const struct gen_field fields[] = {
    {.name = "user_id", .value = GEN_ID, .card = 6040, .side = GEN_USER, .effect = 0.4f},
    {.name = "gender",
     .value = GEN_WORD,
     .card = 2,
     .of = USER,
     .effect = 0.1f,
     .words = genders},
    {.name = "age",
     .value = GEN_ID,
     .card = 7,
     .of = USER,
     .side = GEN_USER,
     .effect = 0.1f},
    {.name = "occupation",
     .value = GEN_ID,
     .card = 21,
     .of = USER,
     .side = GEN_USER,
     .effect = 0.2f},
    {.name = "zip", .value = GEN_ID, .card = 3439, .of = USER, .effect = 0},
    {.name = "movie_id", .value = GEN_ID, .card = 3952, .side = GEN_ITEM, .effect = 0.6f},
    {.name = "year", .value = GEN_ID, .card = 81, .of = MOVIE, .effect = 0.2f},
    {.name = "genres", .value = GEN_OWN, .type = TYPE_STR},
    {.name = "timestamp", .value = GEN_OWN, .type = TYPE_I64},
    {.name = "rating", .value = GEN_OWN, .type = TYPE_I64},
    {.name = "label", .value = GEN_LABEL},
};

static enum rc movielens_score(struct gen_row *row, double *z, struct err *err)
{
    char text[N_GENRES * 16];
    uint64_t h = gen_mix(row->seed, (uint64_t)row->v[MOVIE - 1] ^ 0x67656e7265);
    size_t n = 0, count = 1 + h % 3, at = h >> 8 & 0xff;
    for (size_t i = 0; i < count; i++) {
        size_t g = (at + i * (1 + (h >> 16) % 5)) % N_GENRES;
        uint64_t e = gen_mix(row->seed ^ g, (uint64_t)row->v[AGE - 1]);
        z[0] += 0.45 * (double)(int16_t)e * 0x1p-15;
        if (i)
            text[n++] = '|';
        size_t len = strlen(genres[g]);
        memcpy(text + n, genres[g], len);
        n += len;
    }
    return column_add_str(&row->b->cols[GENRES_AT], str_of(text, n), err);
}

static enum rc movielens_finish(struct gen_row *row, struct err *err)
{
    uint32_t word = rng_u32(&row->rng);
    int64_t rating =
        row->y[0] ? 4 + (word >> 16 & 0xff) % 5 / 3 : 1 + (word >> 16 & 0xff) % 6 / 2;
    enum rc rc =
        column_add_i64(&row->b->cols[GENRES_AT + 1],
                       956703932 + (int64_t)(word % 86400) + row->number * 60, err);
    return rc ? rc : column_add_i64(&row->b->cols[RATING_AT], rating, err);
}

const struct gen_kind gen_movielens = {
    .name = "movielens",
    .summary =
        "ratings: users, movies, genres joined by '|', rating, label (4 or 5 stars)",
    .fields = fields,
    .n_fields = ARRAY_LEN(fields),
    .bias = {0.3},
    .taste = 0.25,
    .score = movielens_score,
    .finish = movielens_finish,
};
