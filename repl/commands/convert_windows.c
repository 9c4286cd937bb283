/* convert_windows.c - see convert_windows.h: what is made of a window is a part */
#include "repl/commands/convert_windows.h"

#include "engine/base/mem.h"

enum {
	MADE_MOST = 128 << 20, /* bytes of parts that wait */
	PACKETS_EACH = 1       /* in a window: a head costs little beside the columns */
};

struct part_maker {
	const struct trace *trace;
	struct convert *convert; /* beside the one that takes the parts */
};

struct conversion {
	const struct trace *trace;
	struct convert *convert;
};

static void *maker_new(void *arg)
{
	const struct conversion *conversion = arg;
	struct part_maker *maker = mem_new(sizeof *maker);

	maker->trace = conversion->trace;
	maker->convert = convert_beside(conversion->convert);
	return maker;
}

static void maker_free(void *arg)
{
	struct part_maker *maker = arg;

	convert_close(maker->convert);
	mem_free(maker);
}

static bool convert_run(void *arg, const struct run *run)
{
	struct part_maker *maker = arg;
	struct error ignored; /* the plain way meets it at its place */

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct event_class *class = maker->trace->classes[run->batch->class_index[i]];
		struct fields fields;
		if (!run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored) ||
		    !convert_event(maker->convert, run->batch->time[i], run->stream, run->cpu,
				   class, &fields, &ignored))
			return false;
	}
	return true;
}

static void *take_part(void *arg, size_t *bytes)
{
	return convert_take(((struct part_maker *)arg)->convert, bytes);
}

/* Frees it. */
static bool give_part(void *arg, void *made, struct error *err)
{
	return convert_give(((struct conversion *)arg)->convert, made, err);
}

static void drop_part(void *arg, void *made)
{
	(void)arg;
	convert_part_free(made);
}

bool convert_windows(struct session *session, const struct filter *filter, struct convert *convert,
		     struct thread_pool *pool, const struct events_options *range,
		     struct windows_done *out, struct error *err)
{
	struct conversion conversion = {.trace = session->trace, .convert = convert};
	struct windows_setup setup = {.session = session,
				      .pool = pool,
				      .filter = filter,
				      .range = range,
				      .most = MADE_MOST,
				      .arg = &conversion,
				      .maker_new = maker_new,
				      .put = give_part,
				      .run = convert_run,
				      .take = take_part,
				      .maker_free = maker_free,
				      .drop = drop_part};
	nstime *cuts;

	*out = (struct windows_done){.last = NSTIME_MIN};
	bool ok = windows_find(session, range, PACKETS_EACH, &cuts, &setup.ncuts, err);
	setup.cuts = cuts;
	if (ok && setup.ncuts)
		ok = windows_run(&setup, out, err);
	mem_free(cuts);
	return ok;
}
