/* bind_stack.h - numbers of call chains, for ev:stack() */
#ifndef LUA_LIB_BINDING_BIND_STACK_H
#define LUA_LIB_BINDING_BIND_STACK_H

#include <stddef.h>
#include <stdint.h>

struct bind_stacks;
struct frame;

/*
 * The number of a chain of frames, from 1 on: chains have the same number if they have the same
 * functions, objects and lines, and where no function is known the same places. No number is given
 * to two chains; a chain gets another number after 32 MB of different chains. *stacks is NULL
 * before the first call, and belongs to the symbols that all frames are of.
 */
uint64_t bind_stacks_number(struct bind_stacks **stacks, const struct frame *frames, size_t count);
void bind_stacks_free(struct bind_stacks *stacks); /* NULL is fine */

#endif
