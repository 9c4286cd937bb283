/*
 * stats_partial.c - see stats_partial.h
 *
 * Groups have two keys: of what they are (class, stream, all) and its number in the trace.
 */
#include "repl/commands/stats_partial.h"

enum { OF_CLASS, OF_STREAM, OF_ALL };
enum { EVENTS, BITS, FIRST, LAST, LOST, TOTALS };

static const struct aggregate totals[TOTALS] = {
	[EVENTS] = {.kind = AGGREGATE_COUNT}, [BITS] = {.kind = AGGREGATE_SUM},
	[FIRST] = {.kind = AGGREGATE_MIN},    [LAST] = {.kind = AGGREGATE_MAX},
	[LOST] = {.kind = AGGREGATE_SUM},
};

static struct groups no_groups(void)
{
	return (struct groups){.nkeys = 2, .naggregates = TOTALS, .aggregates = totals};
}

static void add(struct groups *groups, unsigned of, size_t i, const struct tally *tally,
		uint64_t lost)
{
	const struct value keys[] = {value_u64(of), value_u64(i)};

	if (!tally->events && !lost)
		return;
	struct accumulator *to = groups_at(groups, keys)->totals;
	to[EVENTS].count = tally->events;
	accumulate(&totals[BITS], &to[BITS], tally->bits);
	if (tally->first != NSTIME_MAX)
		accumulate(&totals[FIRST], &to[FIRST], tally->first);
	if (tally->last != NSTIME_MIN)
		accumulate(&totals[LAST], &to[LAST], tally->last);
	accumulate(&totals[LOST], &to[LOST], lost);
}

void stats_partial_add(struct buf *body, const struct trace *trace, const struct summary *sum)
{
	const struct tally none = {.first = NSTIME_MAX, .last = NSTIME_MIN};
	struct groups groups = no_groups();

	for (size_t i = 0; i < trace->nclasses; i++)
		add(&groups, OF_CLASS, i, &sum->classes[i], 0);
	for (size_t i = 0; i < trace->nstreams; i++)
		add(&groups, OF_STREAM, i, &sum->streams[i], sum->lost[i]);
	add(&groups, OF_ALL, 0, &none, sum->losses);
	partial_add_groups(body, &groups);
	groups_clear(&groups);
}

static struct tally tally_of(const struct accumulator *totals_of)
{
	const struct accumulator *first = &totals_of[FIRST], *last = &totals_of[LAST];

	return (struct tally){.events = totals_of[EVENTS].count,
			      .bits = (uint64_t)totals_of[BITS].number,
			      .first = first->count ? (nstime)first->number : NSTIME_MAX,
			      .last = last->count ? (nstime)last->number : NSTIME_MIN};
}

/* Has the trace such a class or stream? */
static bool fits(const struct group *group, const struct trace *trace)
{
	const uint64_t of = group->keys[0].u, i = group->keys[1].u;

	if (group->keys[0].kind != VALUE_INT || group->keys[1].kind != VALUE_INT)
		return false;
	return of == OF_CLASS    ? i < trace->nclasses
	       : of == OF_STREAM ? i < trace->nstreams
				 : of == OF_ALL;
}

static void take(const struct group *group, struct summary *out)
{
	const struct tally tally = tally_of(group->totals);
	const uint64_t of = group->keys[0].u, i = group->keys[1].u;
	const uint64_t lost = (uint64_t)group->totals[LOST].number;

	if (of == OF_CLASS) {
		out->classes[i] = tally;
	} else if (of == OF_STREAM) {
		out->streams[i] = tally;
		out->lost[i] = lost;
		tally_join(&out->all, &tally);
	} else {
		out->losses = lost;
	}
}

static bool join_file(const struct partials *partials, uint32_t i, const struct trace *trace,
		      struct groups *groups, struct error *err)
{
	struct cursor body = partials_body(partials, i);
	size_t next = groups->nitems; /* the first new one */
	enum partial_taken taken = partial_take_groups(&body, groups);
	bool good = taken == PARTIAL_TAKEN && body.pos == body.size;
	const struct group *group;

	while (good && (group = groups_next(groups, &next)))
		good = fits(group, trace);
	return good || partials_refuse(partials, i, PARTIAL_DAMAGED, err);
}

bool stats_partial_join(const struct partials *partials, const struct trace *trace,
			struct summary *out, struct error *err)
{
	struct groups groups = no_groups();
	const struct group *group;
	bool good = true;

	for (uint32_t i = 0; good && i < partials->count; i++)
		good = join_file(partials, i, trace, &groups, err);
	if (good)
		summary_init(out, trace);
	for (size_t k = 0; good && (group = groups_next(&groups, &k));)
		take(group, out);
	groups_clear(&groups);
	return good;
}
