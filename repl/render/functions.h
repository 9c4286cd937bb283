/*
 * functions.h - functions beside addresses on stacks of the state
 *
 * Rules push addresses as texts: thread[T]/stack[1] and so on are those of LTTng-UST's cyg-profile.
 * Which function is there goes by what the thread's process had loaded.
 */
#ifndef REPL_RENDER_FUNCTIONS_H
#define REPL_RENDER_FUNCTIONS_H

#include "repl/render/names.h"

/* Is the value of such a path an address, as in thread[7]/stack[2]? */
bool functions_is_address(const char *path, const struct value *value);
/*
 * Finds the functions of items that are addresses, each at its time: "leaf", "leaf+0x4", or of a
 * file without symbols "[libx.so]".
 */
MUST_CHECK bool functions_put(struct session *session, struct named *items, size_t count,
			      struct arena *arena, struct error *err);

#endif
