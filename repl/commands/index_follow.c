/*
 * index_follow.c - `yore index --follow`: what is stored of a trace that grows is kept up to date
 *
 *     step ── packets that can change no more ── slices of what is final ── rest ── step ── ...
 *
 * A step reads what is new since the last one, and what is behind the last slice that was full
 * then: about a megabyte. Readers read what is not stored yet for themselves, 16 MB in a tenth of a
 * second. So a step is worth it when the trace has grown by that, by a hundredth where that is
 * more, and by a quarter where it is small. Steps rest half the patience at least, and STEP_MOST at
 * most.
 */
#include "repl/commands/cmds.h"

#include "engine/base/mem.h"
#include "engine/timetext.h"
#include "repl/commands/following.h"
#include "repl/progress.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <string.h>

#define STEP_MOST INT64_C(30000000000) /* ns, from one step to the next */
enum { WORTH = 16 << 20, SHARE = 100, SHARE_SMALL = 4 };

struct keeping {
	struct session *session;
	bool timelines; /* are wanted */
	int64_t patience;
	char *path;   /* where the index was in the last step; NULL: there was none */
	nstime until; /* what is before it is final, and was read for timelines */
	nstime kept;  /* what is before it is in timelines */
	int64_t lag;  /* how far behind the newest event timelines end: what came late was older */
	uint64_t anew_from; /* bytes of the trace, from which on they may be made anew */
	uint64_t bytes;     /* of the trace in the last step, */
	int64_t at;         /* when that was; 0: it is the first */
	struct tombstones_known *known; /* of what is in timelines */
	bool disorderly;                /* no timelines */
	bool told_busy, told_later;
};

/* Late events are older than that. */
static void note_late(struct keeping *own, const struct follow_news *news)
{
	for (size_t i = 0; i < news->nlate; i++) {
		nstime begin = news->late[i].begin;
		int64_t lag;

		if (begin >= own->kept || __builtin_sub_overflow(own->kept, begin, &lag) ||
		    __builtin_mul_overflow(lag, 2, &lag))
			continue;
		own->lag = lag > own->lag ? lag : own->lag;
	}
}

/* The trace has another name where its first stream, or what describes it, turned up only now. */
static bool move_path(struct keeping *own, const char *path, struct error *err)
{
	bool ok = true;

	if (own->path && path && strcmp(own->path, path) != 0)
		ok = timelines_remove(own->path, err);
	if (path && (!own->path || strcmp(own->path, path) != 0)) {
		mem_free(own->path);
		own->path = mem_strdup(path);
	}
	return ok;
}

/* Until when all is final, and nothing that comes changes what it means. */
static bool find_settled(struct keeping *own, struct state *state, struct follow *follow,
			 const struct follow_news *news, nstime least, nstime *out,
			 struct error *err)
{
	nstime reached, told, end = news->end;

	follow_reached(follow, &reached, &told);
	if (own->lag && reached != NSTIME_MIN &&
	    (__builtin_sub_overflow(reached, own->lag, &reached) || reached < end))
		end = reached;
	*out = least;
	return end <= least || state_settled(state, least, end, out, err);
}

/*
 * What is stored of timelines does not hold any more. Is it worth it to make them anew? Each time
 * costs what is there, so that where it happens again and again the trace must have doubled.
 */
static bool may_begin_anew(struct keeping *own)
{
	uint64_t bytes = trace_bytes(own->session->trace);
	bool may = bytes <= WORTH || bytes >= own->anew_from;

	own->kept = own->until = NSTIME_MIN;
	if (!may)
		return false;
	own->anew_from = 2 * bytes;
	session_note(own->session, "events came late, streams turned up or files went: timelines "
				   "are made anew");
	return true;
}

static bool keep_timelines(struct keeping *own, struct follow *follow,
			   const struct follow_news *news, struct error *err)
{
	struct session *session = own->session;
	struct timelines_built built;
	struct error ignored; /* it is not there yet */
	struct state *state;
	nstime until, least;
	bool begun, anew;

	if (own->disorderly || session->trace->lacks ||
	    !follow_has_begun(session, own->kept, news->end, &begun, &ignored) || !begun)
		return true;
	state = session_state(session, err);
	if (!state)
		return false;
	least = timelines_stored_until(state, &anew);
	if (anew && !may_begin_anew(own))
		return true;
	if (!find_settled(own, state, follow, news, least, &until, err))
		return false;
	if (until <= own->until)
		return true;
	if (!timelines_go_on(state, until, own->known, &built, &own->kept, &anew, err))
		return false;
	own->until = until;
	own->disorderly = built.disorderly;
	if (built.disorderly)
		session_note(session, "events come late, or lie outside of what their packets "
				      "claim: there are no timelines, questions read the trace");
	return true;
}

/* By how many bytes a trace should grow. */
static uint64_t worth_of(uint64_t bytes)
{
	uint64_t worth = bytes / SHARE_SMALL < WORTH ? bytes / SHARE_SMALL : WORTH;

	return bytes / SHARE > worth ? bytes / SHARE : worth;
}

/* How long the trace takes to grow by what is worth a step. */
static int64_t rest_of(struct keeping *own)
{
	uint64_t bytes = trace_bytes(own->session->trace), worth = worth_of(bytes);
	int64_t now = watch_now(), least = own->patience / 2, rest = least;

	if (own->at && bytes > own->bytes) {
		double took = (double)(now - own->at), grown = (double)(bytes - own->bytes);
		double ns = took * (double)worth / grown;

		rest = ns < (double)STEP_MOST ? (int64_t)ns : STEP_MOST;
	}
	own->at = now;
	own->bytes = bytes;
	return rest > least ? rest : least;
}

static void show_progress(const struct keeping *own)
{
	struct session *session = own->session;
	struct buf text = {0};

	buf_printf(&text, "following: %llu MB", (unsigned long long)(own->bytes >> 20));
	if (own->kept > NSTIME_MIN) {
		buf_add_text(&text, ", timelines up to ");
		session_add_time(session, own->kept, &text);
	}
	progress_text(session->progress, buf_text(&text));
	buf_release(&text);
}

/* One step. *busy: another process writes what is stored, and it has to wait. */
static bool keep_stored(struct keeping *own, struct follow *follow, const struct follow_news *news,
			bool *busy, struct error *err)
{
	struct index *index = session_index(own->session, err);
	bool can;

	if (!index || !move_path(own, index_path(index), err) || !index_keep(index, busy, err))
		return false;
	if (*busy) {
		tombstones_known_free(own->known);
		own->known = tombstones_known_new();
		return true;
	}
	can = index_can_keep(index);
	if (!can && !own->told_later)
		session_note(own->session,
			     "streams lie among one another in one file: what is stored of them "
			     "comes when the recording has ended");
	own->told_later |= !can;
	return !can || !own->timelines || keep_timelines(own, follow, news, err);
}

/* A follow_more. */
static bool more(void *arg, struct follow *follow, const struct follow_news *news, bool *done,
		 struct error *err)
{
	struct keeping *own = arg;
	bool busy;

	(void)done;
	if (news->ended) {
		own->session->steps = false;
		progress_clear(own->session->progress);
		return true;
	}
	note_late(own, news);
	if (!keep_stored(own, follow, news, &busy, err))
		return false;
	if (busy && !own->told_busy)
		session_note(own->session,
			     "another process writes what is stored: it is waited for");
	own->told_busy |= busy;
	follow_has_shown(follow, busy || own->told_later ? NSTIME_MIN
				 : own->timelines        ? own->kept
							 : news->end);
	follow_pace(follow, rest_of(own));
	own->session->steps = true; /* the first may have had much to do */
	show_progress(own);
	return true;
}

bool index_follow(struct session *session, const struct options *options, struct error *err)
{
	const struct index_choices *choices = options->own;
	struct keeping own = {.session = session,
			      .timelines = choices->timelines,
			      .until = NSTIME_MIN,
			      .kept = NSTIME_MIN};
	bool ok;

	if (session_reads_once(session))
		return error_set(err, ERR_QUERY,
				 "index: what comes from %s can be read once, and has no index: "
				 "--follow of events, state and other commands reads it",
				 strcmp(session->path, "-") ? session->path : "standard input");
	session->keeps = true;
	own.known = tombstones_known_new();
	ok = follow_patience(options, &own.patience, err) &&
	     follow_run(session, options, -1, more, &own, err);
	tombstones_known_free(own.known);
	mem_free(own.path);
	session->follows = false; /* what is opened from now on is a recording that has ended */
	return ok;
}
