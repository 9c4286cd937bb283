/*
 * line_names.h - names of threads in lines of kernel traces, where not all events are shown
 *
 * A line has the name that the events up to it told, shown or not: with a filter it is the line
 * that there would be without.
 *
 *     before the first line    the state is asked, thread by thread, when a line first needs one
 *     from there on            a cursor of its own over the events that tell names, on all CPUs
 *
 * What must be read for that is bounded: where the search would go too far, lines have no name.
 */
#ifndef REPL_RENDER_LINE_NAMES_H
#define REPL_RENDER_LINE_NAMES_H

#include "index/events.h"
#include "repl/session.h"
#include "repl/render/thread_names.h"

struct line_names;

/*
 * `hidden`: events that tell names may be among those that are not shown. All is borrowed. NULL:
 * no event of the trace tells names, or an error.
 */
struct line_names *line_names_new(struct session *session, struct thread_names *names, bool hidden);
/* The same for rows that go on at `begin` behind others, whose names were taken. */
struct line_names *line_names_go_on(struct session *session, struct thread_names *names,
				    bool hidden, nstime begin);
/* Behind the last row: learns what is told before `end`. False: *err. */
MUST_CHECK bool line_names_finish(struct line_names *line_names, nstime end, struct error *err);
void line_names_free(struct line_names *line_names); /* NULL is fine */
/* Before the line of entry i of the run. False: *err. */
MUST_CHECK bool line_names_reach(struct line_names *line_names, const struct run *run, uint32_t i,
				 struct error *err);
/* Do shown events tell names, too? They do where none is hidden. */
bool line_names_learns(const struct line_names *line_names);

#endif
