/* triggers.c - see triggers.h */
#include "repl/commands/triggers.h"

#include "engine/base/mem.h"
#include "repl/commands/commands.h"
#include "repl/filter.h"

struct triggers {
	struct session *session;
	const struct options *options;
	struct filter *until, *on; /* NULL: option not given, or not prepared */
	struct commands *commands;
	bool found;
	nstime time; /* of the event that was found */
	struct position at;
};

bool triggers_words(const struct options *options, struct error *err)
{
	bool has_do = options->do_command || options->do_shell;
	const char *other = options->reverse  ? "--reverse"
			    : options->around ? "--around"
			    : options->count  ? "--count"
					      : NULL;

	if (options->on && !has_do)
		return error_set(err, ERR_QUERY, "--on needs --do or --do-shell");
	if (has_do && !options->on)
		return error_set(err, ERR_QUERY, "--do needs --on EXPR, which says when");
	if ((options->on || options->until) && other)
		return error_set(err, ERR_QUERY, "%s and %s do not go together",
				 options->until ? "--until" : "--on", other);
	return true;
}

bool triggers_open(struct session *session, const struct options *options, struct triggers **out,
		   struct error *err)
{
	struct triggers *triggers;

	*out = NULL;
	if (!options->until && !options->on)
		return true;
	triggers = mem_new(sizeof *triggers);
	*out = triggers;
	triggers->session = session;
	triggers->options = options;
	return !options->on ||
	       commands_open(session, options, COMMAND_OF_EVENT, &triggers->commands, err);
}

bool triggers_close(struct triggers *triggers, bool ok, struct error *err)
{
	if (!triggers)
		return ok;
	triggers_pause(triggers);
	ok = commands_close(triggers->commands, ok, err);
	mem_free(triggers);
	return ok;
}

bool triggers_begin(struct triggers *triggers, struct error *err)
{
	if (!triggers)
		return true;
	const struct options *options = triggers->options;
	return (!options->until || filter_open_where(triggers->session, "--until", options->until,
						     &triggers->until, err)) &&
	       (!options->on ||
		filter_open_where(triggers->session, "--on", options->on, &triggers->on, err));
}

void triggers_pause(struct triggers *triggers)
{
	if (!triggers)
		return;
	filter_close(triggers->until);
	filter_close(triggers->on);
	triggers->until = triggers->on = NULL;
}

/*
 * Calls `each` for the events that pass the filter, until it clears *go_on.
 */
static bool find_events(struct triggers *triggers, struct filter *filter, nstime begin, nstime end,
			void (*each)(struct triggers *triggers, const struct event *event,
				     void *arg, bool *go_on),
			void *arg, struct error *err)
{
	struct index *index = session_index(triggers->session, err);
	struct events_options open = {0};
	struct events *events;
	struct event event;
	enum step step = STEP_END;
	bool go_on = true;

	filter_fill(filter, &open);
	open.begin = begin > open.begin ? begin : open.begin;
	open.end = end < open.end ? end : open.end;
	if (!index)
		return false;
	if (open.begin >= open.end)
		return true;
	if (!events_open(index, &open, &events, err))
		return false;
	while (go_on && (step = filter_next(filter, events, &event, err)) == STEP_ITEM)
		each(triggers, &event, arg, &go_on);
	events_close(events);
	return step != STEP_ERROR;
}

static void stop_at(struct triggers *triggers, const struct event *event, void *arg, bool *go_on)
{
	(void)arg;
	triggers->found = true;
	triggers->time = event->time;
	triggers->at = event->position;
	*go_on = false;
}

bool triggers_seek(struct triggers *triggers, nstime begin, nstime end, struct error *err)
{
	return !triggers || !triggers->until ||
	       find_events(triggers, triggers->until, begin, end, stop_at, NULL, err);
}

bool triggers_found(const struct triggers *triggers)
{
	return triggers && triggers->found;
}

nstime triggers_end(const struct triggers *triggers, nstime end)
{
	return triggers_found(triggers) && triggers->time < end ? triggers->time + 1 : end;
}

bool triggers_behind(const struct triggers *triggers, const struct event *event)
{
	if (!triggers_found(triggers) || event->time < triggers->time)
		return false;
	if (event->time > triggers->time)
		return true;
	/* at one time, a loss comes behind the events of its stream */
	return event->class ? position_compare(&event->position, &triggers->at) > 0
			    : event->stream->index >= triggers->at.stream;
}

bool triggers_met(const struct triggers *triggers, struct error *err)
{
	if (!triggers || !triggers->options->until || triggers->found)
		return true;
	return error_set(err, ERR_RANGE, "--until %s: it is true of no event",
			 triggers->options->until);
}

static void run_at(struct triggers *triggers, const struct event *event, void *arg, bool *go_on)
{
	struct command_moment moment = {.t = event->time,
					.name = event->class->name,
					.stream = event->stream->name,
					.cpu = event->cpu};

	if (triggers_behind(triggers, event)) {
		*go_on = false;
		return;
	}
	commands_add(triggers->commands, &moment, *(const bool *)arg);
	*go_on = !signals_interrupted();
}

bool triggers_run(struct triggers *triggers, nstime begin, nstime end, bool waits,
		  struct error *err)
{
	if (!triggers || !triggers->on)
		return true;
	return find_events(triggers, triggers->on, begin, end, run_at, &waits, err) &&
	       (!signals_interrupted() || error_set(err, ERR_INTERRUPTED, "interrupted"));
}
