/* chrome_stacks.h - stack frames of the Trace Event Format: each with its caller, once */
#ifndef CONVERT_CHROME_STACKS_H
#define CONVERT_CHROME_STACKS_H

#include "engine/base/buf.h"
#include "engine/symbols/symbols.h"

struct chrome_stacks;

struct chrome_stacks *chrome_stacks_new(void);
void chrome_stacks_free(struct chrome_stacks *stacks);
/* The number, from 1 on, of the innermost frame of a chain of `count` frames, the innermost first;
 * 0: it has none. */
uint64_t chrome_stacks_number(struct chrome_stacks *stacks, const struct frame *frames,
			      size_t count);
/* Adds all frames as members of an object: "NUMBER":{...},... */
void chrome_stacks_write(const struct chrome_stacks *stacks, struct buf *out);

#endif
