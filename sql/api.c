/* api.c - SQLite's functions, as the program or the loading connection hands them over */
#include "sql/sql_internal.h"

SQLITE_EXTENSION_INIT1
