/*
 * intervals_follow.h - `state` and `when` with --follow: an interval is a row when its end is final
 */
#ifndef REPL_COMMANDS_INTERVALS_FOLLOW_H
#define REPL_COMMANDS_INTERVALS_FOLLOW_H

#include "repl/commands/intervals.h"

MUST_CHECK bool intervals_follow(struct session *session, const struct options *options,
				 enum want_value value, struct sink *sink, struct error *err);

#endif
