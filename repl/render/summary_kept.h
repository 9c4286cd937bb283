/*
 * summary_kept.h - counts of a trace that is opened again and again, added up
 *
 * Classes are known by their names, streams by their numbers (follow_number()): both have other
 * indices when others came.
 */
#ifndef REPL_RENDER_SUMMARY_KEPT_H
#define REPL_RENDER_SUMMARY_KEPT_H

#include "follow/follow.h"
#include "repl/render/summary.h"

struct summary_kept;

struct summary_kept *summary_kept_new(void);
void summary_kept_free(struct summary_kept *kept); /* NULL is fine */
/* Adds what was counted in the trace as it is open now. */
void summary_keep(struct summary_kept *kept, const struct follow *follow, const struct trace *trace,
		  const struct summary *sum);
/*
 * All of it as of the trace that is open now, of which something was kept last; classes of one name
 * are counted with the first. The caller ends *out with summary_release().
 */
void summary_of_kept(const struct summary_kept *kept, const struct trace *trace,
		     struct summary *out);

#endif
