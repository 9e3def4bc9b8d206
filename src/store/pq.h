/* SPDX-License-Identifier: Apache-2.0 */
/* store/pq.h - libpq, loaded when it is first needed: it brings a dozen libraries with
 * it, and most stores are files.
 */
#ifndef STORE_PQ_H
#define STORE_PQ_H

#include <libpq-fe.h>

#include "base/err.h"

#define PQ_FUNCTIONS(X)    \
    X(PQconnectdb)         \
    X(PQstatus)            \
    X(PQerrorMessage)      \
    X(PQfinish)            \
    X(PQreset)             \
    X(PQexec)              \
    X(PQexecParams)        \
    X(PQprepare)           \
    X(PQexecPrepared)      \
    X(PQresultStatus)      \
    X(PQresultErrorField)  \
    X(PQntuples)           \
    X(PQnfields)           \
    X(PQgetvalue)          \
    X(PQgetisnull)         \
    X(PQcmdTuples)         \
    X(PQclear)             \
    X(PQtransactionStatus) \
    X(PQsetNoticeProcessor)

struct store_pq {
    void *lib; /* from dlopen(), never closed: libpq keeps state of its own */
#define X(name) TYPEOF(name) * name;
    PQ_FUNCTIONS(X)
#undef X
};

/* RC_NOTFOUND (E3101) when the library is not here. */
enum rc store_pq_load(struct store_pq *out, struct err *err) MUST_CHECK;

#endif
