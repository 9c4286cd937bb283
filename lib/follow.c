/*
 * follow.c - follows a trace that is being written: a cursor for each range that became final
 *
 *     yore_follow_next() ── cursor over [begin, end) ── at its end follow_next() waits, and calls
 *     open_anew() ── cursor over [end, ...)
 */
#include "lib/lib_internal.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "follow/follow.h"

#include <stdlib.h>

struct yore_follow {
	struct yore_options options;
	struct yore_follow_options asked;
	char *path;
	struct follow_trace of;
	struct follow *follow;
	struct yore *yore, *before; /* the trace as opened last, and the time before */
	struct yore_events *events; /* cursor over the final range; NULL: all of it was returned */
	nstime from;                /* begin of the next range */
	bool ended;                 /* the trace ends with this range */
	uint64_t late;              /* events that came after their range was final */
	struct nameset said;        /* notices that were given */
};

/* Passes on each notice once, except on damage: the trace is opened many times. */
static void say_once(void *arg, enum yore_notice kind, const char *text)
{
	struct yore_follow *follow = arg;

	if (follow->options.say && (kind == YORE_DAMAGE || nameset_add(&follow->said, text, 0)))
		follow->options.say(follow->options.arg, kind, text);
}

static void follow_note(void *arg, const char *text)
{
	say_once(arg, YORE_INFO, text);
}

/* struct follow_trace, open(): opens the trace again, after it grew. */
static bool open_anew(void *arg, const char *copy, bool grows, struct error *err)
{
	struct yore_follow *follow = arg;
	struct yore *yore = mem_new(sizeof *yore);

	yore_close(follow->before);
	follow->before = NULL;
	yore->options = follow->options;
	yore->options.say = say_once;
	yore->options.arg = follow;
	if (!lib_open(yore, copy ? copy : follow->path, true, grows, follow->yore, err)) {
		mem_free(yore);
		return false;
	}
	if (!index_forget_before(yore->index, err)) {
		yore_close(yore);
		return false;
	}
	follow->before = follow->yore;
	follow->yore = yore;
	follow->of.trace = yore->trace;
	follow->of.index = yore->index;
	return true;
}

int yore_follow_open(const char *path, const struct yore_options *options,
		     const struct yore_follow_options *asked, struct yore_follow **out,
		     struct yore_error *err)
{
	struct yore_follow *follow = mem_new(sizeof *follow);
	struct error cause;

	*out = NULL;
	follow->asked = (struct yore_follow_options)YORE_FOLLOW_ALL;
	lib_take_options(&follow->options, sizeof follow->options, options,
			 options ? options->size : 0);
	lib_take_options(&follow->asked, sizeof follow->asked, asked, asked ? asked->size : 0);
	follow->path = mem_strdup(path);
	follow->from = NSTIME_MIN;
	follow->of = (struct follow_trace){.path = follow->path,
					   .with = follow->options.more,
					   .nwith = follow->options.nmore,
					   .open = open_anew,
					   .note = follow_note,
					   .arg = follow};
	int64_t patience = follow->asked.patience ? follow->asked.patience : FOLLOW_PATIENCE;
	if (!follow_open(&follow->of, patience, -1, &follow->follow, &cause)) {
		yore_follow_close(follow);
		return lib_fail(err, &cause);
	}
	*out = follow;
	return 0;
}

void yore_follow_close(struct yore_follow *follow)
{
	if (!follow)
		return;
	yore_events_close(follow->events);
	follow_close(follow->follow);
	yore_close(follow->yore);
	yore_close(follow->before);
	nameset_release(&follow->said);
	mem_free(follow->path);
	mem_free(follow);
}

struct yore *yore_follow_trace(const struct yore_follow *follow)
{
	return follow->yore;
}

uint64_t yore_follow_late(const struct yore_follow *follow)
{
	return follow->late;
}

static struct yore_events_options options_of(const struct yore_follow *follow, nstime begin,
					     nstime end)
{
	const struct yore_follow_options *asked = &follow->asked;
	struct yore_events_options out = YORE_EVENTS_ALL;

	out.begin = begin > asked->begin ? begin : asked->begin;
	out.end = end;
	out.names = asked->names;
	out.nnames = asked->nnames;
	out.losses = asked->losses;
	out.fields = asked->fields;
	return out;
}

static bool count_late(void *arg, struct events *events, const struct event *event,
		       struct error *err)
{
	struct yore_follow *follow = arg;

	(void)events;
	(void)event;
	(void)err;
	follow->late++;
	return true;
}

static bool look_at_late(struct yore_follow *follow, const struct follow_late *late,
			 struct error *err)
{
	const struct yore_follow_options *asked = &follow->asked;
	uint64_t *classes =
		asked->names ? lib_classes(follow->yore->trace, asked->names, asked->nnames) : NULL;
	struct events_options open = {.begin = asked->begin,
				      .end = NSTIME_MAX,
				      .classes = classes,
				      .losses = asked->losses != 0};
	uint64_t before = follow->late;
	bool good = follow_each_late(follow->yore->index, late, &open, count_late, follow, err);

	if (good)
		follow_count_late(follow->follow, late, follow->late - before, 0);
	mem_free(classes);
	return good;
}

/* Waits until more is final. 1: go on, with a cursor if events came; else as yore_follow_next(). */
static int go_on(struct yore_follow *follow, int ms, struct yore_error *err)
{
	struct follow_news news;
	struct error cause;

	if (!follow_next(follow->follow, ms, &news, &cause))
		return lib_fail(err, &cause);
	if (news.waited)
		return 2;
	follow->ended = news.ended;
	for (size_t i = 0; i < news.nlate; i++)
		if (!look_at_late(follow, &news.late[i], &cause))
			return lib_fail(err, &cause);
	if (news.end <= follow->from)
		return 1;
	struct yore_events_options range = options_of(follow, follow->from, news.end);
	follow->from = news.end;
	if (range.begin >= range.end)
		return 1;
	return yore_events_open(follow->yore, &range, &follow->events, err) == 0 ? 1 : -1;
}

static int next_of_cursor(struct yore_follow *follow, struct yore_events **events,
			  struct yore_error *err)
{
	int status = follow->events ? yore_events_next(follow->events, err) : 0;

	if (status == 1)
		*events = follow->events;
	if (status != 0)
		return status;
	yore_events_close(follow->events);
	follow->events = NULL;
	return 0;
}

int yore_follow_next(struct yore_follow *follow, int timeout_ms, struct yore_events **events,
		     struct yore_error *err)
{
	int64_t until = timeout_ms < 0 ? INT64_MAX : watch_now() + timeout_ms * INT64_C(1000000);

	*events = NULL;
	for (;;) {
		int status = next_of_cursor(follow, events, err);
		if (status != 0 || follow->ended)
			return status;
		int64_t left = until == INT64_MAX ? -1 : (until - watch_now()) / 1000000;
		status = go_on(follow, until == INT64_MAX || left > 0 ? (int)left : 0, err);
		if (status != 1)
			return status;
	}
}
