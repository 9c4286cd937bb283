/* convert_windows.h - events of a conversion by windows of time; for cmd_convert.c */
#ifndef REPL_COMMANDS_CONVERT_WINDOWS_H
#define REPL_COMMANDS_CONVERT_WINDOWS_H

#include "convert/convert.h"
#include "repl/windows.h"

/*
 * Converts the range's first windows, for a kind whose events come in parts; out->whole: all of
 * them. None, where the range cannot be cut. Also with one thread: what comes out must not depend
 * on how many there are.
 */
MUST_CHECK bool convert_windows(struct session *session, const struct filter *filter,
				struct convert *convert, struct thread_pool *pool,
				const struct events_options *range, struct windows_done *out,
				struct error *err);

#endif
