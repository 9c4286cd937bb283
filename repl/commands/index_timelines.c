/* index_timelines.c - `yore index --timelines`: whole, by threads, or with other processes */
#include "repl/commands/cmds.h"
#include "repl/render/contradicted.h"
#include "state/timelines/exchange.h"

enum { LAPSE_S = 30, WORTH_SHARDS = 32 << 20 /* bytes of trace: threads do not pay below */ };

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

static struct exchange_options exchange_options(const struct options *options)
{
	const struct index_choices *own = options->own;

	return (struct exchange_options){
		.dir = own->exchange,
		.workers = own->workers ? (uint32_t)own->workers : options_threads(options),
		.lapse = (own->lapse ? (unsigned)own->lapse : LAPSE_S) * 1000,
		.goes_on = signals_go_on};
}

bool index_exchange_records(struct index *index, const struct options *options, struct error *err)
{
	struct exchange_options exchange = exchange_options(options);

	return exchange_records(index, &exchange, err);
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
	const struct exchange_options exchange = exchange_options(options);
	struct timelines_built built;

	if (!(exchange.dir
		      ? exchange_build(state, &exchange, &built, err)
		      : timelines_build(state, threads_of(options, session->trace), &built, err)))
		return false;
	say_built(options, sink, &built);
	/* a process that evaluated some parts would have to read all others to say it */
	return exchange.dir || say_contradictions(session, state, err);
}

bool index_timelines(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct state *state = session_state(session, err);

	return state && everything(session, state, options, sink, err);
}
