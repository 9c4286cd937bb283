/*
 * class_lines.h - do rules mean for each class what they meant when the trace was shorter?
 *
 * Rules are compiled anew for a trace that is opened anew as it grows. Where lines mean something
 * else for classes that were there before, as has(event/NAME) may, nothing that was evaluated
 * before can be gone on with.
 */
#ifndef STATE_CONTEXT_CLASS_LINES_H
#define STATE_CONTEXT_CLASS_LINES_H

#include "state/program/program.h"

/* Appends which classes have lines, and which these are: hashes. */
void class_lines_put(const struct program *program, struct buf *out);
/* Has each class of those bytes the lines that it had? New classes may have any. */
bool class_lines_agree(const struct program *program, const void *bytes, size_t size);

#endif
