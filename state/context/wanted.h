/* wanted.h - which attributes and lists a set of queries wants */
#ifndef STATE_CONTEXT_WANTED_H
#define STATE_CONTEXT_WANTED_H

#include "state/context/context.h"

struct wanted_attrs {
	const uint32_t *items;
	size_t count;
};

struct wanted {
	uint32_t *attrs; /* attributes of queries without wildcards: always answered; each once */
	size_t nattrs, capacity;
	struct wanted_attrs *at; /* by moment: those of `attrs` wanted there; NULL: all */
	uint8_t *named;          /* by attribute: it is in `attrs` */
	size_t nnamed;
	const struct query *const *queries; /* all queries */
	size_t nqueries;
	bool lists;       /* some query has wildcards, or there is none: the whole state */
	bool all_moments; /* what a list has at one moment is answered at all moments */
	bool some;        /* an interrupted backward pass returns what it found */
	bool settled;     /* lists have no view that is late, see view_is_late() */
	uint8_t *matches; /* by attribute, is it in a list: 0 not known yet, 1 no, 2 yes */
	size_t nmatches;
};

void wanted_init(struct state *state, const struct query *const *queries, size_t nqueries,
		 struct wanted *out);
void wanted_release(struct wanted *wanted);
/* Adds an attribute to `attrs`, unless it is there. */
void wanted_add(struct wanted *wanted, uint32_t attr);
bool wanted_by_name(const struct wanted *wanted, uint32_t attr);
/* The attributes without wildcards that are wanted at the moment. */
static inline struct wanted_attrs wanted_at(const struct wanted *wanted, size_t moment)
{
	return wanted->at ? wanted->at[moment]
			  : (struct wanted_attrs){wanted->attrs, wanted->nattrs};
}
/* Does a query with wildcards match the attribute (or is the whole state wanted)? */
bool wanted_lists(struct state *state, struct wanted *wanted, uint32_t attr);
bool wanted_lists_shape(const struct state *state, const struct wanted *wanted, uint32_t shape);
/* Does the view read attributes that a `was` may fill, so that its value may become known late? */
bool view_is_late(const struct state *state, const struct view *view);
/* May lists have attributes that the view computes? */
bool wanted_lists_view(const struct state *state, const struct wanted *wanted,
		       const struct view *view);
struct listed {
	uint32_t attr;
	uint32_t source; /* of a computed one: listed while this has a value; else ATTR_ABSENT */
};
/*
 * Finds all attributes that the lists may have, if this needs no reading: keys are constants in the
 * rules or the query, or section/cpu. False: it does, or *err has an error. The caller frees *out.
 */
MUST_CHECK bool wanted_enumerate(struct state *state, struct wanted *wanted, struct listed **out,
				 size_t *count, struct error *err);

/*
 * The same, as far as it is known without reading: stored attributes, and those that bind variables
 * of listed views. Keys that a line reads from a field are left out.
 */
MUST_CHECK bool wanted_enumerate_some(struct state *state, struct wanted *wanted, uint32_t **out,
				      size_t *count, struct error *err);
/* The closure of all attributes wanted, by name or in lists. The caller calls closure_free(). */
struct closure *wanted_closure(struct state *state, const struct wanted *wanted);
/* Does the shape bind a variable of a view that lists may have? */
bool wanted_is_source(struct state *state, const struct wanted *wanted, uint32_t shape);

/*
 * Calls named->each for the computed attributes that lists have, given the stored attributes that
 * lists have: for each view, all combinations of attributes that bind its variables. Variables that
 * one attribute binds together are bound together.
 */
struct named_attrs {
	/* Sets *attr to the next one of the shape. *at is 0 at first. False: no more. */
	bool (*next)(void *arg, uint32_t shape, uint64_t *at, uint32_t *attr);
	/* sources[v] is the attribute that binds variable v of the view */
	void (*each)(void *arg, uint32_t attr, const uint32_t *sources, uint32_t count);
	void *arg;
};
void wanted_views(struct state *state, struct wanted *wanted, const struct named_attrs *named);

#endif
