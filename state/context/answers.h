/* answers.h - values at moments: as they are found, and as the caller gets them */
#ifndef STATE_CONTEXT_ANSWERS_H
#define STATE_CONTEXT_ANSWERS_H

#include "state/context/context.h"

struct record {
	uint32_t moment; /* as asked */
	uint32_t attr;
	struct fact fact;
};

struct records {
	struct record *items;
	size_t count, capacity;
};

void records_add(struct records *records, uint32_t moment, uint32_t attr, const struct fact *fact);
void records_sort(struct records *records); /* by moment, then by attribute */
/* One of the first `count`, which are sorted like that; NULL: it is not among them. */
struct record *records_find(const struct records *records, size_t count, uint32_t moment,
			    uint32_t attr);
struct record_place {
	uint32_t moment, attr;
};
/* Of moments 0 to nmoments - 1: attributes that some has and that one has not; to be freed. */
struct record_place *records_missing(const struct records *records, size_t nmoments, size_t *count);
/* Sorts, copies what must outlive the evaluation, and frees the records. */
void records_finish(struct state *state, struct records *records, const struct moment *moments,
		    bool why, struct answers *out);
/* One of them; its path is left out. */
void record_answer(struct state *state, const struct record *record, const struct moment *moment,
		   bool why, struct arena *arena, struct answer *out);
void fact_of_cell(const struct cell *cell, struct fact *out);

/* Gives what a stored attribute is at the moment in question; false: not known yet. */
typedef bool get_fact(void *arg, uint32_t attr, struct fact *out);
struct view_result {
	bool open;         /* some read was not known yet */
	bool read_unknown; /* some operand was unknown */
};
/* The attribute, stored or computed. */
struct view_result fact_compute(struct state *state, uint32_t attr, get_fact *get, void *arg,
				struct fact *out);

/* Where a list finds values of the variable; false: nowhere. */
bool view_source(const struct view *view, uint32_t variable, uint32_t *shape, uint32_t *atom);
/* The attribute that the view is for these values of its variables. */
uint32_t view_attr(struct attrs *attrs, const struct view *view, const struct value *values);

#endif
