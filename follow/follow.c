/*
 * follow.c - see follow.h
 *
 *     wall clock    0 s           1 s           2 s           3 s   patience: 2 s
 *     stream a      ├── to 10 ────┼── to 11 ────┼── to 12 ────┼──
 *     stream b      ├── to 10 ────┴─ (brings nothing) ────────────
 *     final         10            10            10            11    what a had reached at 1 s
 *
 * Empty files count as idle streams. For idle streams of a mirror the relay says up to when they
 * have no events (live/beacons.h), so they hold nothing back. Events that come after their time was
 * reported are late: they are counted, never inserted.
 */
#include "follow/follow.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "engine/timetext.h"
#include "follow/watch.h"
#include "follow/watermark.h"
#include "live/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STEP_NS = 5000000, /* least time between two steps, */
	STEP_FACTOR = 3,   /* and as a multiple of the last step's duration */
	REACHED_MOST = 64, /* moments that are stored */
	SMALL_FILE = 4096  /* a shorter file may become a trace */
};

/* The latest event time of any stream, at a moment of the wall clock. */
struct reached {
	int64_t wall;
	nstime time;
};

struct followed { /* a stream, by its name */
	struct follow_lateness late;
	uint32_t number;  /* counts streams in the order of their first step */
	nstime watermark; /* no event before it comes any more */
	uint64_t count;   /* packet records */
	int64_t moved;    /* when the watermark last rose */
	/* its last file, known up to this byte */
	uint64_t inode, offset;
};

struct follow {
	struct follow_trace *of;
	const char *copy; /* path of the copy of an input; NULL: no input */
	struct beside beside;
	struct watch *watch;
	int64_t patience;
	bool dirty;     /* files changed since the trace was opened */
	bool unsure;    /* files appeared or are being moved: what is final is not known */
	int64_t moving; /* since when folders are being moved; 0: they are not */
	int64_t begun;  /* when the first packets came, if more streams may appear; else 0 */
	bool ended, told_waiting, told_idle, told_lack;
	int64_t pace;              /* least time between begins of steps */
	int64_t started, earliest; /* begin of the step; earliest begin of the next */
	int64_t worked;            /* processor time when follow_next() last returned; 0: not yet */

	struct followed *streams, *older; /* this step's, the last step's; in the trace's order */
	size_t nstreams, nolder;
	uint32_t nnumbers;
	nstime least, greatest; /* least watermark; latest time of any stream */
	nstime told;            /* all before it was reported, */
	nstime shown;           /* and shown; NSTIME_MAX: the same */
	struct reached reached[REACHED_MOST];
	size_t nreached;
	struct reached newest; /* the latest, not yet in `reached` */
	struct follow_late *late;
	size_t nlate, late_capacity;
};

__attribute__((format(printf, 2, 3))) static void note(const struct follow *follow, const char *fmt,
						       ...)
{
	struct buf text = {0};
	va_list args;

	va_start(args, fmt);
	buf_vprintf(&text, fmt, args);
	va_end(args);
	follow->of->note(follow->of->arg, buf_text(&text));
	buf_release(&text);
}

/* Opening -------------------------------------------------------------------------------------- */

/* Binds a socket and copies what comes; notes its address. */
static bool open_socket(struct follow *follow, const char *url, struct error *err)
{
	enum socket_kind kind = socket_kind_of(url);
	const char *input = follow->of->input;
	struct buf where = {0};
	int fd;

	if (kind == SOCKET_DATAGRAMS && (!input || !strstr(input, ",datagrams")))
		return error_set(err, ERR_QUERY,
				 "%s: what datagrams hold must be said: --input "
				 "ctf,datagrams,metadata=FILE",
				 url);
	bool ok = socket_bind_url(url, &fd, &where, err) &&
		  watch_input(follow->watch, fd, kind, "input", &follow->copy, err);
	if (ok)
		note(follow, "%s %s",
		     kind == SOCKET_DATAGRAMS ? "datagrams are awaited at"
					      : "a connection is awaited at",
		     buf_text(&where));
	buf_release(&where);
	return ok;
}

static bool open_input(struct follow *follow, const char *path, struct error *err)
{
	if (socket_kind_of(path) != SOCKET_NO)
		return open_socket(follow, path, err);
	bool standard = !strcmp(path, "-");
	int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			  : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_set(err, ERR_IO, "%s: %s", standard ? "standard input" : path,
				 strerror(errno));
	return watch_input(follow->watch, fd, SOCKET_NO, standard ? "input" : basename(path),
			   &follow->copy, err);
}

static bool is_input(const char *path, const struct stat *st)
{
	return !strcmp(path, "-") || socket_kind_of(path) != SOCKET_NO || S_ISFIFO(st->st_mode) ||
	       S_ISCHR(st->st_mode) || S_ISSOCK(st->st_mode);
}

static void follow_add_path(struct follow *follow, const char *path)
{
	watch_add(follow->watch, path);
	beside_add(&follow->beside, path);
}

bool follow_open(struct follow_trace *of, int64_t patience, int reader, struct follow **out,
		 struct error *err)
{
	struct follow *follow = mem_new(sizeof *follow);
	const char *path = of->path;
	struct stat st = {0};

	*out = follow;
	follow->of = of;
	follow->patience = patience;
	follow->dirty = true;
	follow->told = follow->least = follow->greatest = NSTIME_MIN;
	follow->newest.time = NSTIME_MIN;
	follow->shown = NSTIME_MAX;
	follow->watch = watch_new(reader, of->stop);
	if (!is_input(path, &st) && stat(path, &st) != 0)
		return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	if (is_input(path, &st) && !open_input(follow, path, err))
		return false;
	if (!follow->copy)
		follow_add_path(follow, path);
	for (size_t i = 0; i < of->nwith; i++)
		follow_add_path(follow, of->with[i]);
	return true;
}

static void free_streams(struct followed *streams, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free(streams[i].late.name);
	mem_free(streams);
}

void follow_close(struct follow *follow)
{
	if (!follow)
		return;
	watch_free(follow->watch);
	beside_release(&follow->beside);
	free_streams(follow->streams, follow->nstreams);
	mem_free(follow->late);
	mem_free(follow);
}

static bool open_anew(struct follow *follow, bool grows, struct error *err)
{
	return follow->of->open(follow->of->arg, follow->copy, grows, err);
}

/* May the path, which cannot be opened, become a trace? */
static bool may_become_trace(const struct follow *follow, const struct error *cause)
{
	struct stat st;

	if (cause->kind == ERR_QUERY || cause->kind == ERR_INTERRUPTED)
		return false;
	if (follow->copy)
		return true;
	return stat(follow->of->path, &st) == 0 && (S_ISDIR(st.st_mode) || st.st_size < SMALL_FILE);
}

/* Watermarks ----------------------------------------------------------------------------------- */

/* Finds the stream's file with this inode; false: it is gone. */
static bool find_source(const struct stream *stream, uint64_t inode, uint32_t *out)
{
	for (*out = 0; *out < stream->nsources; ++*out)
		if (inode && stream_inode(stream, *out) == inode)
			return true;
	return false;
}

/*
 * Finds the last step's stream with this name, or with its last file among this one's; starts at
 * *at.
 */
static struct followed *find_by(struct follow *follow, const struct stream *stream, size_t *at,
				bool by_name, bool by_file)
{
	uint32_t ignored;

	for (size_t n = 0; n < follow->nolder; n++) {
		size_t i = (*at + n) % follow->nolder;
		struct followed *of = &follow->older[i];
		if (!of->late.name || (by_name && strcmp(of->late.name, stream->name) != 0) ||
		    (by_file && of->inode && !find_source(stream, of->inode, &ignored)) ||
		    (!by_name && !of->inode))
			continue;
		*at = i + 1;
		return of;
	}
	return NULL;
}

/*
 * The last step's state of a stream. New streams may stand between the others; a session's rotation
 * moves files and gives their names to others.
 */
static struct followed *find_older(struct follow *follow, const struct stream *stream, size_t *at)
{
	struct followed *of = find_by(follow, stream, at, true, true);

	of = of ? of : find_by(follow, stream, at, false, true);
	return of ? of : find_by(follow, stream, at, true, false);
}

/*
 * Reads new packet records: updates the last known byte, and adds a follow_late if some came late.
 */
static bool look_at_new(struct follow *follow, const struct stream *stream, struct table *table,
			struct followed *of, struct error *err)
{
	uint32_t source = 0;
	bool there = find_source(stream, of->inode, &source);
	bool turned = of->inode && !there; /* the file was replaced: all records may be new */
	struct follow_late late = {.stream = stream,
				   .begin = NSTIME_MAX,
				   .end = turned ? NSTIME_MIN : follow->told,
				   .source = there ? source : 0,
				   .offset = there ? of->offset : 0};
	uint64_t offset = late.offset, count = table_count(table);
	uint64_t wanted = count > of->count ? count - of->count : 0;
	bool met_known = false;
	struct packet_info info;

	source = late.source;
	/* ordered by begin: new records are at the end, except late ones */
	for (uint64_t i = count; i-- > 0 && (wanted || !met_known);) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.flags & PACKET_FOREIGN)
			return true; /* its format gives the watermark; records are made anew */
		uint64_t end = watermark_end(&info);
		bool is_new = info.rec.source > late.source ||
			      (info.rec.source == late.source && end > late.offset);
		met_known |= !is_new;
		wanted -= is_new && wanted;
		if (!is_new || info.rec.flags & PACKET_BEFORE_ALL)
			continue;
		if (info.rec.min < late.begin)
			late.begin = info.rec.min;
		if (info.rec.source > source || (info.rec.source == source && end > offset)) {
			source = info.rec.source;
			offset = end;
		}
	}
	of->inode = stream_inode(stream, source % (stream->nsources ? stream->nsources : 1));
	of->offset = offset;
	of->count = count;
	if (late.begin < late.end)
		*mem_push(follow->late, follow->nlate, follow->late_capacity) = late;
	return true;
}

static bool take_stream(struct follow *follow, const struct stream *stream, size_t *at,
			struct followed *out, struct error *err)
{
	struct followed *older = find_older(follow, stream, at);
	const struct follow_trace *trace = follow->of;
	struct table *table;
	nstime reached;

	if (older) {
		*out = *older;
		older->late.name = NULL;
		if (strcmp(out->late.name, stream->name) != 0) {
			mem_free(out->late.name);
			out->late.name = mem_strdup(stream->name);
		}
	} else {
		*out = (struct followed){.late = {.name = mem_strdup(stream->name),
						  .from = NSTIME_MAX,
						  .until = NSTIME_MIN},
					 .number = follow->nnumbers++,
					 .watermark = NSTIME_MIN};
	}
	if (!index_table(trace->index, stream, &table, err))
		return false;
	if (!look_at_new(follow, stream, table, out, err))
		return false;
	nstime watermark =
		watermark_of(&follow->beside, trace->trace, stream, table, follow->told, &reached);
	if (watermark > out->watermark) {
		out->watermark = watermark;
		out->moved = follow->started;
	}
	if (reached > follow->greatest)
		follow->greatest = reached;
	return true;
}

static bool take_streams(struct follow *follow, struct error *err)
{
	const struct trace *trace = follow->of->trace;
	bool good = true;
	size_t at = 0;

	follow->older = follow->streams;
	follow->nolder = follow->nstreams;
	follow->streams = mem_new_array(trace->nstreams + 1, sizeof *follow->streams);
	follow->nstreams = trace->nstreams;
	follow->nlate = 0;
	follow->least = trace->awaited || !trace->nstreams ? NSTIME_MIN : NSTIME_MAX;
	for (size_t i = 0; i < trace->nempties; i++) {
		nstime until = watermark_of_empty(&follow->beside, trace, &trace->empties[i]);
		follow->least = until < follow->least ? until : follow->least;
	}
	for (size_t i = 0; i < trace->nstreams && good; i++) {
		struct followed *of = &follow->streams[i];
		good = take_stream(follow, trace->streams[i], &at, of, err);
		if (watermark_counts(trace, trace->streams[i]) && of->watermark < follow->least)
			follow->least = of->watermark;
		if (trace->streams[i]->gathered && !follow->begun)
			follow->begun = follow->started;
	}
	/* other streams may not have appeared yet */
	if (follow->begun && follow->started - follow->begun < follow->patience)
		follow->least = NSTIME_MIN;
	free_streams(follow->older, follow->nolder);
	/* all streams of a mirror ended, but not its session: more may come */
	if (follow->least == NSTIME_MAX && beside_any(&follow->beside))
		follow->least = follow->greatest == NSTIME_MIN ? NSTIME_MIN : follow->greatest + 1;
	return good;
}

/* Time that passes ----------------------------------------------------------------------------- */

static void push_reached(struct follow *follow, struct reached one)
{
	if (follow->nreached == REACHED_MOST) {
		memmove(follow->reached, follow->reached + 1,
			(REACHED_MOST - 1) * sizeof *follow->reached);
		follow->nreached--;
	}
	follow->reached[follow->nreached++] = one;
}

/* Stores what is reached now; moments are spaced so that the array covers the patience. */
static void note_reached(struct follow *follow)
{
	const struct reached *last =
		follow->nreached ? &follow->reached[follow->nreached - 1] : NULL;

	if (follow->greatest <= follow->newest.time)
		return;
	if (follow->newest.time != NSTIME_MIN &&
	    (!last || follow->newest.wall - last->wall >= follow->patience / (REACHED_MOST - 2)))
		push_reached(follow, follow->newest);
	follow->newest = (struct reached){follow->started, follow->greatest};
}

/* The latest time that was reached a patience ago; NSTIME_MIN: none. */
static nstime reached_before(const struct follow *follow, int64_t now)
{
	nstime time = NSTIME_MIN;

	for (size_t i = 0; i < follow->nreached; i++)
		if (now - follow->reached[i].wall >= follow->patience)
			time = follow->reached[i].time;
	if (follow->newest.time != NSTIME_MIN && now - follow->newest.wall >= follow->patience)
		time = follow->newest.time;
	return time;
}

static int ms_between(int64_t now, int64_t then)
{
	int64_t ms = (then - now) / 1000000 + 1;

	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

/* ms until a reached time becomes final by patience; -1: none waits. */
static int ms_to_patience(const struct follow *follow, int64_t now)
{
	int64_t until = INT64_MAX;

	if (!follow->of->trace || follow->unsure)
		return -1;
	for (size_t i = 0; i < follow->nreached && until == INT64_MAX; i++)
		if (follow->reached[i].time >= follow->told)
			until = follow->reached[i].wall + follow->patience;
	if (until == INT64_MAX && follow->newest.time != NSTIME_MIN &&
	    follow->newest.time >= follow->told)
		until = follow->newest.wall + follow->patience;
	if (until == INT64_MAX)
		return -1;
	return until > now ? ms_between(now, until) : 0;
}

/* The lesser of two waiting times in ms; -1: no limit. */
static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* ms until folders that are being moved count as moved; -1: none are. */
static int ms_to_moved(const struct follow *follow, int64_t now)
{
	if (!follow->moving || !follow->unsure || follow->dirty)
		return -1;
	int64_t until = follow->moving + follow->of->trace->moving;

	return until > now ? ms_between(now, until) : 0;
}

/*
 * Waits until a step or a report is due. *over: `until` (watch_now()) has passed. False:
 * interrupted, or *left.
 */
static bool wait_for_news(struct follow *follow, int64_t until, bool *over, bool *left,
			  struct error *err)
{
	int64_t now = watch_now();

	for (;;) {
		int moved = ms_to_moved(follow, now);
		int ms = sooner(moved, ms_to_patience(follow, now));
		follow->dirty |= !moved;
		int most = until < now ? 0 : until == INT64_MAX ? -1 : ms_between(now, until);
		if (follow->dirty)
			ms = follow->earliest > now ? ms_between(now, follow->earliest) : 0;
		if (!ms)
			break;
		*over = !most;
		if (*over)
			return true;
		unsigned news = watch_wait(follow->watch, sooner(ms, most));
		if (news & WATCH_STOPPED)
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		*left = news & WATCH_READER;
		if (*left)
			return false;
		follow->dirty |= news & WATCH_CHANGED;
		now = watch_now();
	}
	return !watch_stopped(follow->watch) || error_set(err, ERR_INTERRUPTED, "interrupted");
}

/* Steps ---------------------------------------------------------------------------------------- */

static bool follow_refuse(struct follow *follow, const struct error *cause, struct error *err)
{
	const char *path = follow->of->path;

	if (follow->of->trace)
		return true; /* being written: the next step may read it */
	if (!may_become_trace(follow, cause)) {
		*err = *cause;
		return false;
	}
	if (!follow->told_waiting && !follow->copy)
		note(follow, "%s is no trace yet, it is waited for: %s", path, cause->text);
	follow->told_waiting = true;
	return true;
}

/* Have all streams ended? */
static bool follow_is_over(const struct follow *follow)
{
	return !follow->copy && follow->least == NSTIME_MAX;
}

static bool open_last(struct follow *follow, struct error *err)
{
	follow->ended = true;
	follow->unsure = false; /* no file appears any more */
	return open_anew(follow, false, err) && take_streams(follow, err);
}

/*
 * Are folders being moved? Not for longer than trace->moving: a tracer may have been killed
 * meanwhile.
 */
static bool is_moving(struct follow *follow)
{
	if (!follow->of->trace->moving)
		follow->moving = 0;
	else if (!follow->moving)
		follow->moving = follow->started;
	return follow->moving && follow->started - follow->moving < follow->of->trace->moving;
}

/* Opens the trace as it is now. */
static bool follow_step(struct follow *follow, struct error *err)
{
	struct error cause = {0};
	bool over;

	follow->dirty = false;
	follow->started = watch_now();
	/* a write from here on causes another step */
	(void)watch_wait(follow->watch, 0);
	if (!watch_input_ended(follow->watch, &over, err))
		return false;
	/* a mirror is complete before its mark says so */
	if (over || mirror_has_ended(follow->of->path))
		return open_last(follow, err);
	beside_read(&follow->beside);
	bool good = open_anew(follow, true, &cause);
	unsigned news = watch_wait(follow->watch, 0);
	follow->dirty = news & WATCH_CHANGED;
	/* a new file may have events older than those of files read before it */
	follow->unsure = news & WATCH_ADDED || (good && is_moving(follow));
	if (good && !follow->unsure && !take_streams(follow, err))
		return false;
	if (good && follow->of->trace->lacks && !follow->told_lack)
		note(follow, "%s: %s", follow->of->path, follow->of->trace->lacks);
	follow->told_lack |= good;
	if (good && !follow->unsure && follow_is_over(follow))
		return open_last(follow, err);
	int64_t took = watch_now() - follow->started;
	follow->earliest =
		watch_now() + (took * STEP_FACTOR > STEP_NS ? took * STEP_FACTOR : STEP_NS);
	if (follow->earliest < follow->started + follow->pace)
		follow->earliest = follow->started + follow->pace;
	return good || follow_refuse(follow, &cause, err);
}

/* Notes, once, that others no longer wait for an idle stream. */
static void tell_idle(struct follow *follow)
{
	const struct trace *trace = follow->of->trace;
	const struct followed *first = NULL;
	char span[TIME_TEXT_MAX];
	size_t more = 0;

	for (size_t i = 0; i < follow->nstreams; i++) {
		const struct followed *of = &follow->streams[i];
		if (!watermark_counts(trace, trace->streams[i]) ||
		    time_later(of->watermark, 1) >= follow->told ||
		    watch_now() - of->moved < follow->patience)
			continue;
		more += first != NULL;
		first = first ? first : of;
	}
	if (!first || follow->told_idle)
		return;
	follow->told_idle = true;
	*span_put(follow->patience, span) = '\0';
	note(follow,
	     "stream %s%s brings nothing: the others are shown %s after they came, without "
	     "waiting for it (--patience)",
	     first->late.name, more ? " (and others)" : "", span);
}

/* Computes what is final now. True: there are news. */
static bool follow_advance(struct follow *follow, struct follow_news *out)
{
	nstime before = follow->told, reached;

	if (!follow->of->trace || follow->unsure)
		return false;
	note_reached(follow);
	if (follow->ended) {
		follow->told = NSTIME_MAX;
	} else {
		reached = reached_before(follow, watch_now());
		if (follow->least > follow->told)
			follow->told = follow->least;
		if (reached != NSTIME_MIN && reached >= follow->told) {
			follow->told = reached + 1;
			tell_idle(follow);
		}
	}
	*out = (struct follow_news){.begin = before,
				    .end = follow->told,
				    .ended = follow->ended,
				    .late = follow->late,
				    .nlate = follow->nlate};
	follow->nlate = 0;
	return out->ended || out->end > out->begin || out->nlate;
}

static bool next(struct follow *follow, int ms, struct follow_news *out, struct error *err)
{
	int64_t until = ms < 0 ? INT64_MAX : watch_now() + (int64_t)ms * 1000000;
	bool left = false, over = false;

	*out = (struct follow_news){0};
	do {
		if (!wait_for_news(follow, until, &over, &left, err)) {
			out->left = left;
			return left;
		}
		if (over) {
			out->waited = true;
			return true;
		}
		if (follow->dirty && !follow_step(follow, err))
			return false;
	} while (!follow_advance(follow, out));
	return true;
}

static int64_t processor_now(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/*
 * Counts the caller's work since the last step as part of it: the next step is delayed accordingly.
 */
static void rest(struct follow *follow)
{
	int64_t until = watch_now() + (processor_now() - follow->worked) * STEP_FACTOR;

	if (follow->worked && until > follow->earliest)
		follow->earliest = until;
}

bool follow_next(struct follow *follow, int ms, struct follow_news *out, struct error *err)
{
	rest(follow);
	bool good = next(follow, ms, out, err);
	follow->worked = processor_now();
	return good;
}

/* What came late ------------------------------------------------------------------------------- */

uint32_t follow_number(const struct follow *follow, size_t stream)
{
	return follow->streams[stream].number;
}

void follow_count_late(struct follow *follow, const struct follow_late *late, uint64_t events,
		       uint64_t losses)
{
	struct follow_lateness *of = &follow->streams[late->stream->index].late;

	if (!events && !losses)
		return;
	if (!of->events && !of->losses)
		note(follow,
		     "stream %s brought events of a time that was shown already: they are counted, "
		     "and left out",
		     of->name);
	of->events += events;
	of->losses += losses;
	of->from = late->begin < of->from ? late->begin : of->from;
	of->until = late->end > of->until ? late->end : of->until;
}

const struct follow_lateness *follow_lateness(const struct follow *follow, size_t stream)
{
	return stream < follow->nstreams ? &follow->streams[stream].late : NULL;
}

/* Is the event, or the packet after the loss, new? */
static bool is_new(const struct follow_late *late, const struct event *event)
{
	const struct position *at = &event->position;
	uint64_t byte = at->offset + (event->class ? at->at / 8 : 0);

	return at->source > late->source || (at->source == late->source && byte >= late->offset);
}

bool follow_each_late(struct index *index, const struct follow_late *late,
		      struct events_options *open, follow_late_event *each, void *arg,
		      struct error *err)
{
	struct events *events;
	struct event event;
	enum step step;

	open->begin = late->begin > open->begin ? late->begin : open->begin;
	open->end = late->end < open->end ? late->end : open->end;
	open->only = late->stream;
	if (open->begin >= open->end)
		return true;
	if (!events_open(index, open, &events, err))
		return false;
	while ((step = events_next(events, &event, err)) == STEP_ITEM)
		if (is_new(late, &event) && !each(arg, events, &event, err)) {
			step = STEP_ERROR;
			break;
		}
	events_close(events);
	return step != STEP_ERROR;
}

/* ---- */

void follow_pace(struct follow *follow, int64_t ns)
{
	follow->pace = ns;
	if (follow->earliest < follow->started + ns)
		follow->earliest = follow->started + ns;
}

void follow_has_shown(struct follow *follow, nstime end)
{
	follow->shown = end;
}

void follow_reached(const struct follow *follow, nstime *reached, nstime *told)
{
	*reached = follow->ended ? NSTIME_MAX : follow->greatest;
	*told = follow->shown < follow->told ? follow->shown : follow->told;
}

bool follow_is_of_input(const struct follow *follow)
{
	return follow->copy != NULL;
}
