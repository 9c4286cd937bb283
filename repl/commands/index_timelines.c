/* index_timelines.c - `yore index --timelines`: whole, by threads, or chunk by chunk */
#include "repl/commands/cmds.h"
#include "repl/render/contradicted.h"
#include "state/timelines/shards.h"

#include <stdio.h>
#include <string.h>

enum { WORTH_SHARDS = 32 << 20 }; /* bytes of trace: threads do not pay below */

static void say_built(const struct options *options, struct sink *sink,
		      const struct timelines_built *built)
{
	if (built->disorderly)
		sink_printf(sink, "%s\n",
			    options->format == FORMAT_JSON ? "{\"timelines\":null}"
							   : "no timelines: events come late, or "
							     "lie outside of what their packets "
							     "claim; questions read the trace");
	else if (options->format == FORMAT_JSON)
		sink_printf(sink,
			    "{\"timelines\":{\"changes\":%llu,\"slices\":%u,\"bytes\":%llu}}\n",
			    (unsigned long long)built->changes, built->slices,
			    (unsigned long long)built->bytes);
	else
		sink_printf(sink, "%llu change%s of state in %u slice%s, %llu bytes\n",
			    (unsigned long long)built->changes, built->changes == 1 ? "" : "s",
			    built->slices, built->slices == 1 ? "" : "s",
			    (unsigned long long)built->bytes);
	sink_row(sink);
}

static void say_joined(const struct options *options, struct sink *sink, uint32_t chunks,
		       uint64_t replayed)
{
	if (options->format == FORMAT_JSON)
		sink_printf(sink, "{\"joined\":%u,\"replayed\":%llu}\n", chunks,
			    (unsigned long long)replayed);
	else
		sink_printf(sink, "%u chunks joined, %llu events replayed for it\n", chunks,
			    (unsigned long long)replayed);
	sink_row(sink);
}

static void say_digest(const struct options *options, struct sink *sink, uint32_t i, uint32_t n)
{
	if (options->format == FORMAT_JSON)
		sink_printf(sink, "{\"chunk\":%u,\"of\":%u,\"pass\":1}\n", i, n);
	else
		sink_printf(sink, "pass 1 of chunk %u/%u done\n", i, n);
	sink_row(sink);
}

/* I/N: from 1, or from 0: chunk N is chunk 0. */
static bool parse_chunk(const char *text, uint32_t *i, uint32_t *n, struct error *err)
{
	char end;

	if (sscanf(text, "%u/%u%c", i, n, &end) != 2 || *n == 0 || *n > SHARDS_MAX || *i > *n)
		return error_set(err, ERR_QUERY,
				 "--chunk takes I/N, such as 2/8: N at most %d, I at most N",
				 SHARDS_MAX);
	return true;
}

static bool one_step(struct state *state, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct shards_plan plan = {0};
	struct shards_work work;
	struct timelines_built built;
	uint32_t i = 0, n = 0;
	uint64_t replayed;
	bool ok;

	if (index_choices(options)->chunk &&
	    !parse_chunk(index_choices(options)->chunk, &i, &n, err))
		return false;
	ok = shards_plan(state, n, 1, &plan, err);
	work = shards_work_of(state, &plan);
	if (ok && index_choices(options)->join) {
		ok = shards_merge(&work, &replayed, err);
		if (ok)
			say_joined(options, sink, plan.n, replayed);
	} else if (ok && index_choices(options)->pass[0] == '1') {
		ok = shards_summarize(&work, i % n, err);
		if (ok)
			say_digest(options, sink, i, n);
	} else if (ok) {
		ok = shards_build(&work, i % n, &built, err);
		if (ok)
			say_built(options, sink, &built);
	}
	shards_plan_release(&plan);
	return ok;
}

static unsigned threads_of(const struct options *options, const struct trace *trace)
{
	return trace_bytes(trace) < WORTH_SHARDS ? 1 : options_threads(options);
}

/* The build has found them. */
static bool say_contradictions(struct session *session, struct state *state, struct error *err)
{
	uint64_t count;

	if (!contradicted_count(state, session->trace, &count, err))
		return false;
	if (count)
		session_note(session,
			     "events contradict each other at %llu place%s, where some must be "
			     "missing: 'yore check %s' says where",
			     (unsigned long long)count, count == 1 ? "" : "s", session->path);
	return true;
}

static bool everything(struct session *session, struct state *state, const struct options *options,
		       struct sink *sink, struct error *err)
{
	struct timelines_built built;

	if (!timelines_build(state, threads_of(options, session->trace), &built, err))
		return false;
	say_built(options, sink, &built);
	return say_contradictions(session, state, err);
}

bool index_timelines(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	bool step = index_choices(options)->chunk || index_choices(options)->join;
	struct state *state;

	if (index_choices(options)->pass && strcmp(index_choices(options)->pass, "1") &&
	    strcmp(index_choices(options)->pass, "2"))
		return error_set(err, ERR_QUERY, "--pass is 1 or 2");
	if (!index_choices(options)->chunk != !index_choices(options)->pass)
		return error_set(err, ERR_QUERY, "--chunk I/N and --pass 1 or 2 go together");
	if (index_choices(options)->join && index_choices(options)->chunk)
		return error_set(err, ERR_QUERY, "--join is of all chunks: it takes no --chunk");
	state = session_state(session, err);
	if (!state)
		return false;
	return step ? one_step(state, options, sink, err)
		    : everything(session, state, options, sink, err);
}
