/* frame_values.h - what one variable is in frames of GDB: a register, a trace state variable, or
 * one of the program */
#ifndef REPL_RENDER_FRAME_VALUES_H
#define REPL_RENDER_FRAME_VALUES_H

#include "engine/base/buf.h"
#include "engine/event.h"
#include "repl/cmd.h"

/*
 * `name` as GDB writes it: "$rdi", "$hits", or by the debug information of --program a variable
 * that is seen at the frame's pc, "n", "*it". *out becomes its value as text. False: the frame has
 * none.
 */
bool frame_value(struct session *session, nstime number, const struct fields *fields,
		 const char *name, struct buf *out);

/* NAME OP NUMBER */
struct frame_condition {
	char *name; /* to be freed by mem_free() */
	char op[3]; /* == != < <= > >= */
	int64_t than;
};
MUST_CHECK bool frame_condition_parse(const char *text, struct frame_condition *out,
				      struct error *err);
/* Does it hold in the frame? A value that is no number, or was not collected, does not. */
bool frame_condition_holds(struct session *session, nstime number, const struct fields *fields,
			   const struct frame_condition *condition);

/*
 * A line per frame that has one of the variables, "N  FUNCTION  NAME = VALUE  ..."; `changes`: only
 * where one has another value than in the last frame that had it.
 */
struct frame_list {
	const char *const *names;
	size_t nnames;
	bool changes;
	char **last; /* by name: its value in the frame before that has one; NULL: none */
	uint64_t lines;
};
void frame_list_add(struct session *session, nstime number, const struct fields *fields,
		    struct frame_list *list, struct sink *out);
void frame_list_release(struct frame_list *list);

#endif
