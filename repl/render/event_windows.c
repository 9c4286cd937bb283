/* event_windows.c - see event_rows.h: threads format rows, a window of time each */
#include "repl/render/event_rows.h"

#include "engine/base/mem.h"

#include <pthread.h>

enum {
	MADE_MOST = 512 << 20, /* bytes of text that may wait to be written */
	PACKETS_EACH = 2,      /* packets of a stream in a window, */
	BYTES_EACH = 2 << 20,  /* at most: longer texts cost more than heads that are read twice */
	LOOK_EACH = 64         /* rows between tests for Ctrl-C */
};

/* ---- where windows may be ---- */

static bool is_one_day(const struct times *times, nstime from, nstime to)
{
	struct times one = *times, other = *times;
	char unused[TIME_TEXT_MAX];

	time_put(&one, from, unused);
	time_put(&other, to, unused);
	return times->style != TIME_CLOCK || one.day == other.day;
}

bool event_windows_find(struct session *session, const struct filter *filter,
			const struct times *times, nstime row, nstime **cuts, size_t *count,
			struct error *err)
{
	struct events_options range = {0};

	filter_fill(filter, &range);
	range.begin = row < NSTIME_MAX ? row + 1 : NSTIME_MAX;
	struct index *index = session_index(session, err);
	if (!index || !windows_find(index, &range, PACKETS_EACH, BYTES_EACH, cuts, count, err))
		return false;
	if (*count && !is_one_day(times, row, (*cuts)[*count - 1]))
		*count = 0;
	return true;
}

/* ---- texts, whose memory is reused ---- */

struct window_texts {
	const struct event_windows_setup *setup;
	pthread_mutex_t lock; /* guards the spare texts */
	struct sink **spare;
	size_t nspare, capacity;
};

static struct sink *take_text(struct window_texts *texts)
{
	struct sink *text = NULL;

	pthread_mutex_lock(&texts->lock);
	if (texts->nspare)
		text = texts->spare[--texts->nspare];
	pthread_mutex_unlock(&texts->lock);
	if (!text) {
		text = mem_new(sizeof *text);
		sink_init(text, -1);
	}
	text->len = text->whole = 0;
	text->color = texts->setup->sink->color;
	return text;
}

static void drop_text(void *arg, void *made)
{
	struct window_texts *texts = arg;

	pthread_mutex_lock(&texts->lock);
	*mem_push(texts->spare, texts->nspare, texts->capacity) = made;
	pthread_mutex_unlock(&texts->lock);
}

static void texts_release(struct window_texts *texts)
{
	for (size_t i = 0; i < texts->nspare; i++) {
		sink_release(texts->spare[i]);
		mem_free(texts->spare[i]);
	}
	mem_free(texts->spare);
	pthread_mutex_destroy(&texts->lock);
}

/* ---- making a text ---- */

struct text_maker {
	struct window_texts *texts;
	struct where_pass *pass;
	struct row_maker rows;
	struct sink *text;
	/* What is said of rows meanwhile. It is dropped: such a window is damaged, and the plain
	   way says the same. */
	struct buf said, *before;
};

static void *maker_new(void *arg)
{
	struct window_texts *texts = arg;
	const struct event_windows_setup *setup = texts->setup;
	struct text_maker *maker = mem_new(sizeof *maker);

	maker->texts = texts;
	maker->pass = filter_pass_new(setup->filter);
	row_maker_init(&maker->rows, setup->session->trace, setup->format, setup->range->classes,
		       setup->times, setup->sink->color);
	return maker;
}

static void maker_free(void *arg)
{
	struct text_maker *maker = arg;

	row_maker_release(&maker->rows);
	where_pass_free(maker->pass);
	buf_release(&maker->said);
	mem_free(maker);
}

static void *pass_of(void *arg)
{
	return ((struct text_maker *)arg)->pass;
}

static void begin_text(void *arg)
{
	struct text_maker *maker = arg;

	maker->before = say_into(&maker->said);
	maker->text = take_text(maker->texts);
	event_writer_sink(maker->rows.writer, maker->text);
}

static bool write_run(void *arg, const struct run *run)
{
	struct text_maker *maker = arg;
	uint64_t damaged = 0;

	for (uint32_t n = 0; n < run->count; n++) {
		if (n % LOOK_EACH == 0 && signals_interrupted())
			return false;
		event_write_entry(maker->rows.writer, run, run->first + n, false, &damaged);
	}
	return !damaged;
}

static void *end_text(void *arg, size_t *bytes)
{
	struct text_maker *maker = arg;
	struct sink *text = maker->text;

	say_into(maker->before);
	buf_clear(&maker->said);
	text->printable = printable_length(text->data, text->whole) == text->whole;
	event_writer_sink(maker->rows.writer, &maker->rows.nowhere);
	*bytes = text->len;
	return text;
}

static bool put_text(void *arg, void *made, struct error *err)
{
	const struct window_texts *texts = arg;

	(void)err;
	sink_rows(texts->setup->sink, made);
	drop_text(arg, made);
	return true;
}

bool event_windows_run(const struct event_windows_setup *setup, struct windows_done *out,
		       struct error *err)
{
	struct window_texts texts = {.setup = setup};

	signals_at_once(setup->threads); /* each thread has texts of its own */
	struct events_options range = *setup->range;
	const struct windows_setup windows = {.index = session_index(setup->session, err),
					      .pool = windows_pool(setup->threads),
					      .range = &range,
					      .cuts = setup->cuts,
					      .ncuts = setup->ncuts,
					      .most = MADE_MOST,
					      .arg = &texts,
					      .interrupted = signals_stopped,
					      .maker_new = maker_new,
					      .select_arg = pass_of,
					      .put = put_text,
					      .closed = &setup->sink->closed,
					      .begin = begin_text,
					      .run = write_run,
					      .take = end_text,
					      .maker_free = maker_free,
					      .drop = drop_text};

	range.progress = session_progress_time;
	range.progress_arg = setup->session;
	pthread_mutex_init(&texts.lock, NULL);
	bool ok = windows.index && windows_run(&windows, out, err);
	thread_pool_free(windows.pool);
	texts_release(&texts);
	return ok;
}
