/* internal.h - struct index, for the files of this room */
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
	DATA_VERSION = 9                   /* version of all stored data */
};

struct steps { /* a list of scanned steps, to be stored in one transaction */
	struct steps *next;
	struct build_step step;
};

struct index_slot {
	pthread_mutex_t lock;
	struct table *table; /* the newest; older ones, linked to it, live until index_close() */
	struct recorded recorded; /* under recorded_lock, */
	bool has_recorded;        /* likewise */
	_Atomic uint32_t told;    /* how many of its scan's failures were reported: each once */
	/* Of a growing trace: the scan's state before the first record that may change, */
	struct scan firm;
	size_t nfirm;   /* the number of records before that, */
	struct scan at; /* and the scan's state at its end */
	bool can_go_on;
};

struct index {
	struct trace *trace;
	struct index_options options;
	char *path;               /* NULL: in memory */
	struct store *store;      /* NULL: in memory */
	struct store *damaged;    /* the store before index_begin_anew(), for its tables; or NULL */
	_Atomic bool described;   /* the store has a note (see write.c) of these files, */
	_Atomic bool foreign;     /* ... or of others, written since it was opened */
	_Atomic bool grown;       /* the store is of a growing trace and may end before it */
	bool kept_out;            /* the store cannot be used: the index is in memory */
	struct store_txn *view; /* with `grown`, if another process writes: a fixed view; or NULL */
	struct index_slot *slots; /* per stream */
	struct packet_cache *packets;
	struct head_cache *head_cache;
	size_t step_records; /* STEP_RECORDS; tests use fewer */
	pthread_mutex_t pending_lock;
	/* Complete scans that are stored when the index is closed; they share rows with their
	 * tables. */
	struct steps *pending;
	uint64_t npending; /* records */
	struct packet_filters
		*packet_filters; /* of classes alone, once wanted; under pending_lock */
	pthread_mutex_t recorded_lock;
	bool recorded; /* the next two are known */
	nstime begin, end;
	_Atomic uint64_t scanned; /* bytes, for progress */
	uint64_t all;
	_Atomic int stop;       /* progress() returned false */
	bool far;               /* a file is on a server; then: */
	_Atomic bool expected;  /* far_expect_tables() was called */
	_Atomic unsigned quiet; /* scans do not report progress: the waiting thread does */
	_Atomic int told;       /* it was reported that another process writes the store, */
	_Atomic int told_damage; /* and that the stored index is damaged */
};

#endif
