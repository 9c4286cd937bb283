/* internal.h - what the files of this room know of an opened index */
#ifndef INDEX_TABLES_INTERNAL_H
#define INDEX_TABLES_INTERNAL_H

#include "index/index.h"
#include "index/tables/pages.h"
#include "index/tables/recorded.h"
#include "index/store/store.h"

#include <pthread.h>

enum {
	INDEX_JOBS_MAX = 64,
	STEP_RECORDS = 64 * CHUNK_RECORDS, /* of one stream in memory at a time: 4 MB */
	STEP_FACTOR_MAX = 8, /* ... or so many times it, where files are out of order */
	DATA_VERSION = 6     /* of all that is stored */
};

/* What other rooms stored: is it of these files? */
enum values_state { VALUES_UNKNOWN, VALUES_NONE, VALUES_GOOD, VALUES_BAD };

struct pending { /* scanned whole, answers already, stored when the index is closed */
	struct build_step step; /* its rows are the table's */
	struct pending *next;
};

struct index_slot {
	pthread_mutex_t lock;
	struct table *table;   /* the newest; older ones behind it live until the end */
	struct recorded recorded;
	bool has_recorded;     /* under recorded_lock, as the one above */
	_Atomic uint32_t told; /* how many of its damages were told: each once */
};

struct index {
	struct trace *trace;
	struct index_options options;
	char *path;               /* NULL: in memory */
	struct store *store;      /* NULL: in memory */
	struct index_slot *slots; /* per stream */
	struct packet_cache *packets;
	struct head_cache *head_cache;
	size_t step_records;      /* STEP_RECORDS; tests use fewer */
	_Atomic unsigned step_factor;
	pthread_mutex_t pending_lock;
	struct pending *pending;
	uint64_t npending; /* records */
	struct packet_filters
		*packet_filters; /* of classes alone, once wanted; under pending_lock */
	pthread_mutex_t values_lock;
	enum values_state values;
	_Atomic unsigned values_store; /* generation of the store that they are of */
	pthread_mutex_t recorded_lock;
	bool recorded; /* the next two are known */
	nstime begin, end;
	_Atomic uint64_t scanned; /* bytes, for progress */
	uint64_t all;
	_Atomic int stop; /* progress said so */
	_Atomic unsigned quiet; /* scans are not to tell progress: the thread that waits does */
	_Atomic int told; /* that another process writes */
	_Atomic int told_changed; /* that the trace is not the one that was indexed */
	_Atomic int told_damage;  /* of the stored index */
};

#endif
