/* SPDX-License-Identifier: Apache-2.0 */
/* Expands schema .def files into the rows of a struct schema_family. Define
 * SCHEMA_LIST_MSG(name) and SCHEMA_LIST_ENUM(name) first, one of them empty.
 */
#define MSG(name_, doc_, ...) SCHEMA_LIST_MSG(name_)
#define END(name_)
#define OPT(type_, name_, init_, doc_, ...)
#define REQ(type_, name_, init_, doc_, ...)
#define REP(type_, name_, doc_, ...)
#define CHOICE(enum_, name_, init_, doc_, ...)
#define CHOICES(enum_, name_, doc_, ...)
#define SUB(msg_, name_, doc_, ...)
#define SUB_REQ(msg_, name_, doc_, ...)
#define SUBS(msg_, name_, doc_, ...)
#define ONE(oneof_, msg_, name_, doc_, ...)
#define DICT(type_, name_, doc_, ...)
#define ANY(name_, doc_, ...)
#define UNION(name_, tag_, variants_, doc_, ...)
#define ENUM(name_, doc_) SCHEMA_LIST_ENUM(name_)
#define VALUE(enum_, word_, number_, doc_)
#define END_ENUM(name_)
