/*
 * class_lines.h - checks that each class has the same lines as when the trace was shorter
 *
 * A growing trace is opened anew in steps, and its rules are compiled anew. If a class that was
 * there before now has other lines (has(event/NAME) may cause that), the state of the last step
 * cannot be continued.
 */
#ifndef STATE_CONTEXT_CLASS_LINES_H
#define STATE_CONTEXT_CLASS_LINES_H

#include "state/program/program.h"

/* Appends hashes of the classes that have lines, and of these lines. */
void class_lines_put(const struct program *program, struct buf *out);
/* Does each class in these bytes still have the same lines? New classes may have any. */
bool class_lines_agree(const struct program *program, const void *bytes, size_t size);

#endif
