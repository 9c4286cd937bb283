/* catalog_traces.h - which traces `catalog` and `sql --catalog` are of, and the session of one */
#ifndef REPL_COMMANDS_CATALOG_TRACES_H
#define REPL_COMMANDS_CATALOG_TRACES_H

#include "engine/base/folder.h"
#include "repl/session.h"

/* The table, and the column of it, in which `catalog --to` writes paths. */
#define CATALOG_TABLE "traces"
#define CATALOG_PATH "path"

/*
 * Adds the paths of the traces that a word names: a folder or trace, see find_traces(), or a file
 * of `catalog --to`. The caller ends *out with folder_release(), also after false.
 */
MUST_CHECK bool catalog_traces(const char *word, struct folder_names *out, struct error *err);

/*
 * Options that make no sense with many traces, and the prompt, whose trace is open: ERR_QUERY.
 * `what` is the command: "catalog".
 */
MUST_CHECK bool catalog_check(const struct session *session, const char *what, struct error *err);

/* Parts of the session's trace that could not be read so far. */
uint64_t catalog_damaged(const struct session *session);

#endif
