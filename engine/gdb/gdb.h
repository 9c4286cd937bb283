/* gdb.h - the reader of GDB's trace files, as `tsave` writes them */
#ifndef ENGINE_GDB_GDB_H
#define ENGINE_GDB_GDB_H

#include "engine/reader.h"

extern const struct reader gdb_reader;

#endif
