/* findings.c - see findings.h; all functions may be called from any thread */
#include "index/tables/findings.h"

#include "engine/base/mem.h"
#include "index/tables/table.h"

#include <stdatomic.h>

struct stream_findings {
	struct table *table; /* its own, older ones behind it; NULL: none was needed */
	bool falls, told_late;
	bool listed; /* in findings->found */
};

struct findings {
	struct index *index;
	_Atomic size_t owners;
	pthread_mutex_t lock;            /* of all below */
	struct stream_findings *streams; /* by stream; NULL: nothing was found yet */
	uint32_t *found;                 /* the streams of which something was */
	size_t nfound, capacity;
};

struct findings *findings_new(struct index *index)
{
	struct findings *findings = mem_new(sizeof *findings);

	findings->index = index;
	findings->owners = 1;
	pthread_mutex_init(&findings->lock, NULL);
	return findings;
}

struct findings *findings_hold(struct findings *findings)
{
	atomic_fetch_add(&findings->owners, 1);
	return findings;
}

void findings_drop(struct findings *findings)
{
	if (!findings || atomic_fetch_sub(&findings->owners, 1) != 1)
		return;
	for (size_t i = 0; i < findings->nfound; i++)
		table_free(findings->streams[findings->found[i]].table);
	mem_free(findings->found);
	mem_free(findings->streams);
	pthread_mutex_destroy(&findings->lock);
	mem_free(findings);
}

bool findings_any(struct findings *findings)
{
	pthread_mutex_lock(&findings->lock);
	bool any = findings->streams != NULL;
	pthread_mutex_unlock(&findings->lock);
	return any;
}

/* With the lock. */
static struct stream_findings *of_stream(struct findings *findings, const struct stream *stream)
{
	if (!findings->streams)
		findings->streams = mem_new_array(index_trace(findings->index)->nstreams,
						  sizeof *findings->streams);
	struct stream_findings *of = &findings->streams[stream->index];
	if (!of->listed) {
		*mem_push(findings->found, findings->nfound, findings->capacity) = stream->index;
		of->listed = true;
	}
	return of;
}

bool findings_table(struct findings *findings, const struct stream *stream, struct table **out,
		    struct error *err)
{
	struct error rebuilding;
	struct table *own = NULL;

	pthread_mutex_lock(&findings->lock);
	if (findings->streams)
		own = findings->streams[stream->index].table;
	if (own && !table_is_current(own))
		own = NULL;
	if (own) {
		/* a table that cannot be rebuilt still finds everything, only slower */
		struct table *better = table_rebuilt(own, &rebuilding);
		if (better)
			findings->streams[stream->index].table = own = better;
	}
	pthread_mutex_unlock(&findings->lock);
	*out = own;
	return own || index_table(findings->index, stream, out, err);
}

/* The question's own table with the numbers of `shared`. With the lock. */
static struct table *own_table(struct stream_findings *of, struct table *shared)
{
	struct table *newest = of->table, *own = newest;

	if (newest && table_is_current(newest) && table_has_numbers_of(newest, shared))
		return newest;
	own = table_own(shared);
	if (newest && table_is_current(newest)) { /* rebuilt meanwhile, with other numbers */
		table_put_behind(newest, own);
		return own;
	}
	table_put_behind(own, newest);
	of->table = own;
	return own;
}

void findings_correct(struct findings *findings, const struct stream *stream, struct table **table,
		      uint64_t i, nstime true_min, nstime true_max)
{
	if (table_correct(*table, i, true_min, true_max))
		return;
	pthread_mutex_lock(&findings->lock);
	*table = own_table(of_stream(findings, stream), *table);
	pthread_mutex_unlock(&findings->lock);
	table_correct(*table, i, true_min, true_max);
}

bool findings_falls(struct findings *findings, const struct stream *stream)
{
	pthread_mutex_lock(&findings->lock);
	bool falls = findings->streams && findings->streams[stream->index].falls;
	pthread_mutex_unlock(&findings->lock);
	return falls;
}

void findings_set_falls(struct findings *findings, const struct stream *stream)
{
	pthread_mutex_lock(&findings->lock);
	of_stream(findings, stream)->falls = true;
	pthread_mutex_unlock(&findings->lock);
}

bool findings_tell_late(struct findings *findings, const struct stream *stream)
{
	pthread_mutex_lock(&findings->lock);
	struct stream_findings *of = of_stream(findings, stream);
	bool first = !of->told_late;
	of->told_late = true;
	pthread_mutex_unlock(&findings->lock);
	return first;
}
