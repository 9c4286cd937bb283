/*
 * intervals.h - tracks of attributes over a range: internal header of the room
 *
 *     queries ──> names, shapes ──> a source of spans ──> tracks ──> intervals
 *                      ^            timelines, near, run      │
 *                      └──── missing operands <── computed attributes
 *
 * A source fills tracks of stored attributes (source.c). Computed attributes (views) are evaluated
 * over the spans of their operands, whichever source filled these (computed.c).
 */
#ifndef STATE_INTERVALS_INTERVALS_H
#define STATE_INTERVALS_INTERVALS_H

#include "state/context/answers.h"
#include "state/context/wanted.h"
#include "state/intervals/spool.h"
#include "state/intervals/sums.h"
#include "state/model/number_map.h"
#include "state/slices/dominant.h"
#include "state/state.h"

struct track_sums {       /* sums of a slice, in place of its spans */
	struct sums sums; /* without its `values` */
	struct summed_value values[DOMINANT_VALUES];
};

/* An attribute whose path or value binds variables of a view. */
struct track_source {
	uint32_t attr;
	uint32_t variables; /* which variables, as bits */
	bool initial;       /* it has an `initial` value, before lists name it */
};

/* Rare members of a track, allocated when needed. */
struct track_more {
	/* computed: lists have it while each variable has a source with a value */
	struct track_source *sources;
	size_t nsources, sources_capacity;
	struct totals *totals;   /* totals of earlier spans; NULL: not wanted, or not asked yet */
	struct track_sums *sums; /* by rising time; the track has VALUE_NONE there */
	size_t nsums, sums_capacity;
	nstime dead;  /* timelines: its last span has no value since then; NSTIME_MAX: it has */
	nstime ended; /* past the range: when it last became unknown; NSTIME_MIN: never */
};

struct track { /* there may be millions */
	uint32_t attr;
	union {
		uint32_t seen; /* operands: 1 + index of the span read last; 0: none */
		uint32_t run;  /* if spooled: its last run in the spool, of earlier spans */
	};
	uint32_t count; /* of spans */
	bool computed : 1;
	bool down : 1, up : 1;      /* computed: first, last span may go on beyond what was read */
	bool operand : 1;           /* views may read it, also outside of the range */
	bool open : 1, unknown : 1; /* past the range: value at its end holds on; became unknown */
	bool touched : 1, totals_asked : 1;
	bool given : 1;   /* window: an event in it gives the attribute a value */
	bool cut : 1;     /* cut its intervals at the range's end, even if !range.within */
	bool ended : 1;   /* more than `stay` spans: it is in spooling.ended, or an operand */
	bool spooled : 1; /* earlier spans are in the spool; never of an operand */
	bool unknown_before : 1;           /* its first span was unknown, and was dropped */
	bool named_ever : 1, named_at : 1; /* see track_named(); neither: never */
	uint8_t room : 6;                  /* capacity: 2^room spans, by rising begin */
	union {
		struct span one;   /* if room is 0 */
		struct span *many; /* else */
	};
};
_Static_assert(sizeof(struct track) == 40, "no byte is left over");

/* The range of a question. */
struct intervals_range {
	nstime begin, end;
	bool within;         /* intervals may be cut at the range's ends (INTERVALS_CUT) */
	bool window;         /* lists have only what gets a value in the range */
	bool all;            /* lists are never those of a window */
	const nstime *edges; /* of columns: sums may replace the intervals within one column */
	size_t nedges;       /* 0: no sums */
};

/* Attributes that get a track even if no event writes them; without repetition. */
struct attr_list {
	struct attr_from {
		uint32_t attr;
		nstime from; /* its track may begin there, if after the range's begin */
		bool listed; /* window: in lists even if no event gives it a value */
	} * items;
	size_t count, capacity;
	struct number_map places; /* attribute → 1 + its place */
};

/* What reading past the range found out about the values at its end. */
struct overhang {
	bool past;            /* reading is past the range's end */
	size_t open, unknown; /* number of tracks with this flag */
	size_t fillable;      /* of the unknown ones: those that some `was` may fill */
	nstime fills;         /* fills that begin at or after it do not matter */
	uint32_t *touched;    /* tracks that changed at the newest time */
	size_t ntouched, capacity;
};

/* Spans that were moved to the spool. */
struct spooling {
	struct spool *spool; /* NULL: there are none */
	size_t at;           /* tracks_spool() is due after so many changes; 0: never */
	size_t changes;      /* so far */
	uint8_t stay;        /* so many last spans of a track stay; 2 if the last is unknown */
	uint32_t *ended;     /* indexes of tracks with more spans, without operands */
	size_t nended, capacity;
};

/* The `delete` and `unknown` writes that were seen. They may cover operands that have no track. */
struct buried {
	struct stored *stored; /* timelines, to be searched instead; NULL: use the members below */
	struct number_map at;  /* attribute → 1: it or what is below it */
	struct pattern *patterns; /* those with `*` */
	size_t npatterns, capacity;
};

struct tracks {
	struct state *state;
	struct intervals_range range;
	/* what a source has to read */
	struct attr_list names;
	struct wanted *wanted; /* the queries; only their lists are read from here */
	bool all_known;   /* there are no lists, or `names` has all attributes that they may have */
	bool *shapes;     /* by shape: views read it */
	uint32_t nshapes; /* 0: operands of views are not wanted */
	/* what the source found */
	struct track *items;
	size_t count, capacity;
	struct number_map places; /* attribute → 1 + index into items */
	nstime from_all;          /* track_from() of all tracks, while `from` is NULL */
	/* by track, each of `capacity`, or NULL where no track needs it: */
	nstime *from, *named;
	nstime *ends; /* of the last spans of computed ones */
	struct track_more **more;
	bool by_need;     /* an operand without a track is missing; else nothing ever wrote it */
	nstime low, high; /* operands are known in [low, high), which includes the range */
	struct overhang over;
	struct buried buried;
	struct spooling spooling;
	const struct sums_sink *sink;        /* receiver of the answer */
	const struct intervals_first *first; /* answered before all others; NULL: none */
};

/* Do wanted views read attributes of the shape? */
static inline bool is_operand_shape(const struct tracks *tracks, uint32_t shape)
{
	return shape < tracks->nshapes && tracks->shapes[shape];
}
static inline bool is_operand(const struct tracks *tracks, uint32_t attr)
{
	return is_operand_shape(tracks, attr_shape(tracks->state->attrs, attr));
}
/* Does one of the first queries (`first`), or one of the others (!first), match the attribute? */
bool tracks_ask(const struct tracks *tracks, bool first, uint32_t attr);
/* Does a list have the attribute, or may a wanted view read it? */
static inline bool tracks_want(const struct tracks *tracks, uint32_t attr)
{
	return wanted_lists(tracks->state, tracks->wanted, attr) || is_operand(tracks, attr);
}
static inline bool tracks_want_shape(const struct tracks *tracks, uint32_t shape)
{
	return wanted_lists_shape(tracks->state, tracks->wanted, shape) ||
	       is_operand_shape(tracks, shape);
}

/*
 * Is the value hidden by the horizon (value_open())? It then counts as unknown, but no `was` may
 * fill it, and views over it are undecided.
 */
static inline bool is_beyond(const struct tracks *tracks, const struct value *value)
{
	return tracks->state->horizon && value_is_open(value);
}

/* ---- tracks.c ---- */

void attr_list_add(struct attr_list *names, uint32_t attr, nstime from);
void attr_list_clear(struct attr_list *names);
void attr_list_release(struct attr_list *names);

/*
 * tracks_heard() returns a bit per statement that may give a value to a wanted attribute, and sets
 * *has_was if one of them is a `was`. tracks_closure() returns the closure of these attributes. The
 * caller frees both.
 */
uint64_t *tracks_heard(const struct tracks *tracks, bool *has_was);
struct closure *tracks_closure(const struct tracks *tracks);

static inline const struct span *track_spans(const struct track *track)
{
	return track->room ? track->many : &track->one;
}
static inline const struct span *track_last(const struct track *track) /* count > 0 */
{
	return track_spans(track) + track->count - 1;
}
static inline struct span *track_own_spans(struct track *track) /* as track_spans(), writable */
{
	return track->room ? track->many : &track->one;
}

/* Returns NULL if the attribute has no track. */
struct track *tracks_find(const struct tracks *tracks, uint32_t attr);
/* Adds a track without spans for an attribute without one. Its values are wanted from `from` on. */
struct track *tracks_add_from(struct tracks *tracks, uint32_t attr, nstime from);
static inline struct track *tracks_add(struct tracks *tracks, uint32_t attr)
{
	return tracks_add_from(tracks, attr, tracks->range.begin);
}
/* Moves the contents of a stored track into `to`, in place of the track that is there. */
void track_move(struct tracks *to, struct tracks *from, struct track *track);
/* Moves a computed track into `to`, as a new track. Only its spans and their end are moved. */
void track_move_computed(struct tracks *to, const struct tracks *from, struct track *track);
/* The time from which on the track's values are known. */
static inline nstime track_from(const struct tracks *tracks, const struct track *track)
{
	return tracks->from ? tracks->from[track - tracks->items] : tracks->from_all;
}
void track_set_from(struct tracks *tracks, const struct track *track, nstime from);
/* Where the last span of the track ends; NSTIME_MAX: it is open. */
static inline nstime track_end(const struct tracks *tracks, const struct track *track)
{
	return track->computed ? tracks->ends[track - tracks->items] : NSTIME_MAX;
}
static inline nstime span_end(const struct tracks *tracks, const struct track *track,
			      const struct span *span)
{
	return span + 1 < track_spans(track) + track->count ? span[1].begin
							    : track_end(tracks, track);
}
/* Sets where the last span of a computed track ends. */
void track_set_end(struct tracks *tracks, const struct track *track, nstime end);
/* When lists first had it; NSTIME_MIN also if it had no value before; NSTIME_MAX: never. */
static inline nstime track_named(const struct tracks *tracks, const struct track *track)
{
	return track->named_at     ? tracks->named[track - tracks->items]
	       : track->named_ever ? NSTIME_MIN
				   : NSTIME_MAX;
}
void track_set_named(struct tracks *tracks, struct track *track, nstime named);
/* Notes that lists have it from `at` on, perhaps already from an earlier time. */
void track_note_named(struct tracks *tracks, struct track *track, nstime at);
/* Returns the rare members of the track; NULL: there are none. */
static inline struct track_more *track_more(const struct tracks *tracks, const struct track *track)
{
	return tracks->more ? tracks->more[track - tracks->items] : NULL;
}
/* The same, allocated if there are none. */
struct track_more *track_make_more(struct tracks *tracks, const struct track *track);
static inline nstime track_dead(const struct tracks *tracks, const struct track *track)
{
	const struct track_more *more = track_more(tracks, track);

	return more ? more->dead : NSTIME_MAX;
}
void track_set_dead(struct tracks *tracks, const struct track *track, nstime dead);
/* Empties the set, as before the first track was added. */
void tracks_forget(struct tracks *tracks);
void tracks_release(struct tracks *tracks);
/* Makes `value` the last span, from `at` on. May drop spans that end at or before `keep`. */
void track_cut(struct track *track, nstime at, const struct value *value, nstime keep);
void track_push(struct track *track, nstime begin, const struct value *value);
/* Decides, before the first track is filled, whether spans may be spooled. */
void tracks_spool_begin(struct tracks *tracks);
/* Counts a change of the track (after track_cut()) for tracks_spool_due(). */
void tracks_changed(struct tracks *tracks, struct track *track);
/* Were there enough changes since the last tracks_spool()? */
bool tracks_spool_due(const struct tracks *tracks);
/* Moves spans that can no longer change to the spool, if due. To be called between two moments. */
void tracks_spool(struct tracks *tracks);
/* To be called at the range's end: begins to count the values that reach over it. */
void tracks_pass_end(struct tracks *tracks);
/*
 * tracks_touch() notes a change past the range. tracks_settle(), called when the nanosecond is
 * over, updates `open` and `unknown` of the tracks touched.
 */
void tracks_touch(struct tracks *tracks, struct track *track);
void tracks_settle(struct tracks *tracks);

/* Past the range: sets track->unknown, and counts such tracks. */
void track_set_unknown(struct tracks *tracks, struct track *track, bool unknown);
/* Past the range: is it unknown, and may a later `was` fill it? */
bool track_is_fillable(const struct tracks *tracks, const struct track *track);
/* Past the range: can no later event change its intervals in the range? */
bool track_is_settled(const struct tracks *tracks, const struct track *track);
/* Does the statement that wrote give a value (= += push pop)? */
bool tracks_gives(const struct tracks *tracks, const struct writer *writer);
/* Notes that a line gave it a value at `time`; `event`: the line was not one of @start or @end. */
void track_note_given(struct tracks *tracks, struct track *track, nstime time, bool event);
/* Writes a value from `at` on. `beyond`: the horizon hides whether the line writes, or what. */
void track_write(struct tracks *tracks, struct track *track, nstime at, const struct value *value,
		 bool beyond);
/*
 * Does a `was` with this value fill the last span? `beyond`: the horizon hides whether the line
 * holds; an unknown last span then becomes value_open(), and no later `was` fills it.
 */
bool track_takes_fill(const struct tracks *tracks, struct track *track, const struct value *value,
		      bool beyond);
/* Reading ended at the horizon. `may_fill`: events beyond it may fill what is unknown there. */
void tracks_end_beyond(struct tracks *tracks, bool may_fill);

/* Before this time, intervals of the track are not shown: lists did not have it yet. */
nstime track_shown(const struct tracks *tracks, const struct track *track);
/*
 * Sets *out to the interval that `span`, which ends at `end`, makes for the question: without the
 * time before `named`, and cut where the track is cut. Does not set `path` and `lost`. False: it
 * makes none.
 */
bool track_interval(const struct tracks *tracks, const struct track *track, nstime named,
		    const struct span *span, nstime end, struct interval *out);

/* ---- totals.c: how long each value held, in place of intervals ---- */

/* Are totals of the track wanted? The sink is called once per track. */
bool totals_wanted(struct tracks *tracks, struct track *track);
/* Adds the first `count` spans of the track, which are final, to its totals. */
void totals_add(const struct tracks *tracks, struct track *track, size_t count);
/* Calls sink->total() for each value. False: the sink wants no more. */
bool totals_give(const struct tracks *tracks, const struct track *track, const char *path);
void totals_free(struct totals *totals); /* NULL is fine */

/* ---- sources of spans; OUTCOME_GAVE_UP: not for this question, or a limit was met ---- */

MUST_CHECK enum outcome tracks_stored(struct tracks *tracks, struct error *err);
/* Reads the events of the range, and those around it that its ends depend on. */
MUST_CHECK enum outcome tracks_near(struct tracks *tracks, struct error *err);
/* Replays all events up to the range's end, from the begin or a checkpoint; never gives up. */
MUST_CHECK enum outcome tracks_run(struct tracks *tracks, struct error *err);

/* near.c: finds the true begin of values that hold at the range's begin. */
MUST_CHECK enum outcome tracks_find_beginnings(struct tracks *tracks, const struct closure *closure,
					       struct error *err);

/* Where the run over the range ended, and values that were still open there. */
struct rest {
	struct closure *closure; /* NULL: no event filter singles out their writes */
	nstime from;
	const struct cells *cells; /* the run's, at `from` */
};
struct closure *tracks_rest(const struct tracks *tracks);
/* Finds the ends of these values among the events after rest->from that may write them. */
MUST_CHECK enum outcome tracks_read_rest(struct tracks *tracks, const struct rest *rest,
					 struct error *err);

/* ends.c: a stretch between two neighbouring checkpoints, or an end of the range searched */
struct stretch_of_ends {
	nstime from, to;       /* NSTIME_MAX: the trace's end */
	const uint32_t *which; /* tracks that end here (NSTIME_MAX: or never) */
	size_t count;
};
struct ends {
	struct stretch_of_ends *items; /* rising */
	size_t count, capacity;
	uint32_t *tracks;
};
/* Finds the stretches in which open tracks end; their last spans hold at `from`. Release *out. */
void ends_find(const struct tracks *tracks, nstime from, struct ends *out);
void ends_release(struct ends *ends);

/* Does the range cover the whole trace, so that nothing needs to be read beyond it? */
bool tracks_are_whole(const struct tracks *tracks);

/* source.c: fills the tracks from the first source that can. */
MUST_CHECK enum outcome tracks_read(struct tracks *tracks, struct error *err);

/* ---- views.c: computed attributes over told spans ---- */

/* `computed` has tracks of computed attributes only. Adds one, or returns the one that is there. */
struct track *computed_add(struct tracks *computed, uint32_t attr);
/* Adds one that a list has: `source` binds these variables (bits) of its view. */
void computed_add_source(const struct tracks *tracks, struct tracks *computed, uint32_t attr,
			 uint32_t source, uint32_t variables);
/* Adds the computed attributes that queries without wildcards want. */
void computed_add_named(const struct tracks *tracks, struct tracks *computed);
/* The same and, once the tracks are filled, those that lists have. */
void computed_list(struct tracks *tracks, struct tracks *computed);

/* Computes the spans of all of `computed` in [begin, end). Adds missing operands to `names`. */
void views_compute(struct tracks *operands, struct tracks *computed, nstime begin, nstime end);
/* Extends the first (down) or last span of a computed track as far as its operands are known. */
void views_follow(struct tracks *operands, struct tracks *computed, struct track *track, bool down);
/* Sets the shapes of all operands of wanted views; adds those with `initial` values to `names`. */
void views_add_operands(struct tracks *tracks);
/*
 * A run before the range, at `now`: drops spans of operands that no view needs to find where its
 * value begins. Returns after how many changes of operands to call again.
 */
size_t views_prune(struct tracks *tracks, nstime now);
/*
 * A run past the range, at `now`: may some computed attribute's value at the range's end still
 * hold? 0: none, so operands need no longer be followed; else after how many changes to call again.
 */
size_t views_go_on(struct tracks *tracks, nstime now);
/* After how many changes of operands to call views_prune(), with so many computed attributes. */
size_t views_due(const struct state *state, size_t ncomputed);

/* ---- buried.c ---- */

void buried_add(struct buried *buried, const struct pattern *pattern);
/* May a `delete` or `unknown` before the range's end cover this attribute, which has no track? */
bool buried_covers(const struct tracks *tracks, uint32_t attr);
void buried_release(struct buried *buried);

/* ---- computed.c ---- */

/*
 * Fills the tracks with all wanted attributes, stored and computed. OUTCOME_GAVE_UP: it would take
 * a run (state->no_runs), or events beyond the horizon.
 */
MUST_CHECK enum outcome tracks_compute(struct tracks *tracks, const struct listed *listed,
				       size_t nlisted, struct error *err);
/*
 * The same without a run. If that gives up, reads at most `packets` packets of each stream around
 * the range: values that depend on earlier or later events are unknown.
 */
MUST_CHECK enum outcome tracks_compute_near(struct tracks *tracks, const struct listed *listed,
					    size_t nlisted, uint64_t packets, struct error *err);

/* The same for one step of a growing trace. Lists leave out what is computed late. */
MUST_CHECK bool tracks_compute_on(struct tracks *tracks, struct error *err);

/* Adds computed attributes to a window's tracks. OUTCOME_GAVE_UP: some operand is too far away. */
MUST_CHECK enum outcome tracks_compute_window(struct tracks *tracks, struct error *err);
/* Adds to `names` what lists have in every window: attributes with keys known without reading. */
MUST_CHECK bool tracks_name_known(struct tracks *tracks, struct error *err);
/* Adds what queries without wildcards want; over a window by tracks_compute_near(). */
MUST_CHECK bool tracks_compute_named(struct tracks *tracks, uint64_t packets, struct error *err);

/* ---- window.c ---- */

/*
 * Finds the attributes that lists have in the window, and reads them with up to `packets` packets
 * of each stream around it. OUTCOME_GAVE_UP: the rules cannot be read backward; a run can answer.
 */
MUST_CHECK enum outcome tracks_window(struct tracks *tracks, uint64_t packets, struct error *err);
/*
 * A source for questions with a horizon: replays the range for attributes known before reading.
 * OUTCOME_GAVE_UP: they are of single CPUs, for which near.c reads less.
 */
MUST_CHECK enum outcome tracks_replayed(struct tracks *tracks, struct error *err);

#endif
