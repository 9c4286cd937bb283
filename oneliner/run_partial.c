/* run_partial.c - what a chunk of a sweep counted, as bytes of a partial file */
#include "oneliner/run_internal.h"

#include <stdio.h>
#include <string.h>

void run_add_body(const struct work *work, const struct oneliner_result *result)
{
	const struct ast *lack = work->rt->lack;
	struct buf *body = work->of->partial->body;

	partial_add_u64(body, result->losses);
	partial_add_u64(body, result->unknown);
	partial_add_u64(body, lack != NULL);
	partial_add_u64(body, lack ? lack->at : 0);
	partial_add_text(body, result->lack, strlen(result->lack));
	partial_add_u64(body, program_of(work)->nmaps);
	for (size_t i = 0; i < program_of(work)->nmaps; i++)
		partial_add_groups(body, &work->rt->maps[i].groups);
}

/* The leftmost of all chunks is told. */
static void take_lack(struct oneliner_run *run, struct cursor *body)
{
	bool has = cursor_u64le(body) != 0;
	uint64_t at = cursor_u64le(body);
	size_t len;
	const char *text = partial_take_text(body, &len);

	if (!has || (run->has_lack && run->lack_at <= at))
		return;
	run->has_lack = true;
	run->lack_at = at;
	snprintf(run->lack, sizeof run->lack, "%.*s", (int)(len < LACK_ROOM ? len : LACK_ROOM - 1),
		 text);
}

static enum partial_taken join_body(struct work *work, struct cursor *body)
{
	const size_t nmaps = program_of(work)->nmaps;
	enum partial_taken taken = PARTIAL_TAKEN;

	work->run->losses += cursor_u64le(body);
	work->rt->unknown += cursor_u64le(body);
	take_lack(work->run, body);
	if (cursor_u64le(body) != nmaps)
		return PARTIAL_DAMAGED;
	for (size_t i = 0; i < nmaps && taken == PARTIAL_TAKEN; i++)
		taken = partial_take_groups(body, &work->rt->maps[i].groups);
	if (taken == PARTIAL_TAKEN && body->pos != body->size)
		taken = PARTIAL_DAMAGED;
	return taken;
}

bool run_join_bodies(struct work *work, struct error *err)
{
	struct partial_work *partial = work->of->partial;

	for (uint32_t i = 0; i < partial->count; i++) {
		enum partial_taken taken = join_body(work, &partial->bodies[i]);
		if (taken != PARTIAL_TAKEN)
			return partial_refuse(partial, i, taken, err);
	}
	return true;
}
