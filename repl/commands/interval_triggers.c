/* interval_triggers.c - see triggers.h */
#include "repl/commands/triggers.h"

#include "engine/base/mem.h"
#include "repl/commands/commands.h"
#include "repl/render/row_threads.h"
#include "state/filter/rows.h"
#include "state/state.h"

#include <string.h>

enum column {
	COLUMN_PATH,
	COLUMN_VALUE,
	COLUMN_TS,
	COLUMN_DUR,
	COLUMN_TID,
	COLUMN_COMM,
	COLUMN_CPU,
	COLUMNS
};

const char *const interval_columns[] = {"path", "value", "ts", "dur", "tid", "comm", "cpu", NULL};

struct interval_triggers {
	struct session *session;
	const struct options *options;
	struct rows_where *wheres[INTERVAL_ON + 1]; /* NULL: option not given */
	struct commands *commands;
	nstime first, last; /* the state is known in between, both inclusive */
};

static bool parse(const char *option, const char *text, struct rows_where **out, struct error *err)
{
	return !text || rows_where_parse(text, interval_columns, COLUMNS, out, err) ||
	       error_while(err, "%s", option);
}

bool interval_triggers_open(struct session *session, const struct options *options,
			    struct interval_triggers **out, struct error *err)
{
	struct interval_triggers *triggers;

	*out = NULL;
	if (!triggers_words(options, err))
		return false;
	if (!options->until && !options->on)
		return true;
	triggers = mem_new(sizeof *triggers);
	*out = triggers;
	triggers->session = session;
	triggers->options = options;
	return parse("--until", options->until, &triggers->wheres[INTERVAL_UNTIL], err) &&
	       parse("--on", options->on, &triggers->wheres[INTERVAL_ON], err) &&
	       (!options->on ||
		commands_open(session, options, COMMAND_OF_INTERVAL, &triggers->commands, err));
}

bool interval_triggers_close(struct interval_triggers *triggers, bool ok, struct error *err)
{
	if (!triggers)
		return ok;
	ok = commands_close(triggers->commands, ok, err);
	rows_where_free(triggers->wheres[INTERVAL_UNTIL]);
	rows_where_free(triggers->wheres[INTERVAL_ON]);
	mem_free(triggers);
	return ok;
}

bool interval_triggers_begin(struct interval_triggers *triggers, struct error *err)
{
	struct session *session = triggers->session;
	struct state *state = session_state(session, err);
	nstime begin, end;
	bool window;

	if (!state || !state_recorded(state, &triggers->first, &triggers->last, err) ||
	    !session_range(session, &begin, &end, err) ||
	    !session_lists_window(session, &window, err))
		return false;
	if (!window || session->options->follow)
		return true;
	triggers->first = begin > triggers->first ? begin : triggers->first;
	triggers->last = end <= triggers->last ? end - 1 : triggers->last;
	return true;
}

/* The begin, and the end, between which the interval surely held. */
static nstime held_from(const struct interval_triggers *triggers, const struct interval *interval)
{
	return interval->begin == NSTIME_MIN ? triggers->first : interval->begin;
}

static nstime held_to(const struct interval_triggers *triggers, const struct interval *interval)
{
	return interval->end == NSTIME_MAX ? triggers->last : interval->end;
}

static uint64_t span(nstime begin, nstime end)
{
	return begin < end ? time_span(begin, end) : 0;
}

static bool has_ends(const struct interval *interval)
{
	return interval->begin > NSTIME_MIN && interval->end < NSTIME_MAX;
}

/* Sets the row's columns, with the length up to `to`; seen->open: the interval may go on. */
static void values_of(const struct interval_triggers *triggers, const struct interval_seen *seen,
		      nstime to, struct value *values)
{
	const struct interval *interval = seen->interval;
	static const struct value unknown = {.kind = VALUE_UNKNOWN};
	/* with an unknown begin, the name is that at the end, which may still change */
	bool named = seen->comm && !(seen->open && interval->begin == NSTIME_MIN);
	bool thread = row_thread(interval->path, &interval->value, &values[COLUMN_TID]);

	values[COLUMN_PATH] = value_text(interval->path, strlen(interval->path));
	values[COLUMN_VALUE] = interval->value;
	values[COLUMN_TS] = interval->begin == NSTIME_MIN ? unknown : value_s64(interval->begin);
	values[COLUMN_DUR] = value_u64(span(held_from(triggers, interval), to));
	if (!thread)
		values[COLUMN_TID] = unknown;
	values[COLUMN_COMM] = named                  ? value_text(seen->comm, strlen(seen->comm))
			      : thread && seen->open ? value_open()
						     : unknown;
	if (!row_cpu(interval->path, &values[COLUMN_CPU]))
		values[COLUMN_CPU] = unknown;
}

bool interval_triggers_meet(struct interval_triggers *triggers, enum interval_trigger which,
			    const struct interval_seen *seen, nstime *at)
{
	struct rows_where *where = triggers->wheres[which];
	nstime low = held_from(triggers, seen->interval), high = held_to(triggers, seen->interval);
	bool grows = seen->open || !has_ends(seen->interval);
	struct value values[COLUMNS];

	if (!where)
		return false;
	values_of(triggers, seen, high, values);
	if (!rows_where_surely(where, values, grows ? COLUMN_DUR : SIZE_MAX))
		return false;
	*at = high;
	/* finds the least length for which the condition is surely true, however long it gets */
	for (low = low < high ? low : high; low < high;) {
		nstime middle = (nstime)((uint64_t)low + time_span(low, high) / 2);
		values[COLUMN_DUR] = value_u64(span(held_from(triggers, seen->interval), middle));
		if (rows_where_surely(where, values, COLUMN_DUR))
			high = middle;
		else
			low = middle + 1;
	}
	*at = high;
	return true;
}

void interval_triggers_run(struct interval_triggers *triggers, const struct interval_seen *seen,
			   bool waits)
{
	const struct interval *interval = seen->interval;
	struct buf value = {0}, tid = {0};
	struct value values[COLUMNS];

	values_of(triggers, seen, held_to(triggers, interval), values);
	value_add_word(&interval->value, &value);
	if (value_exists(&values[COLUMN_TID]))
		value_add_word(&values[COLUMN_TID], &tid);
	const struct command_moment moment = {
		.t = interval->begin,
		.cpu = value_is_index(&values[COLUMN_CPU]) ? (int64_t)values[COLUMN_CPU].u : -1,
		.path = interval->path,
		.value = buf_text(&value),
		.tid = buf_text(&tid),
		.comm = seen->comm,
		.dur = values[COLUMN_DUR].u};
	commands_add(triggers->commands, &moment, waits);
	buf_release(&value);
	buf_release(&tid);
}

bool interval_triggers_met(const struct interval_triggers *triggers, bool met, struct error *err)
{
	if (!triggers || !triggers->options->until || met)
		return true;
	return error_set(err, ERR_RANGE, "--until %s: it is true of no interval",
			 triggers->options->until);
}
