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
	DATA_VERSION = 9                   /* of all that is stored */
};

struct steps { /* a list of what was scanned, to be committed at once */
	struct steps *next;
	struct build_step step;
};

struct index_slot {
	pthread_mutex_t lock;
	struct table *table;   /* the newest; older ones behind it live until the end */
	struct recorded recorded;
	bool has_recorded;     /* under recorded_lock, as the one above */
	_Atomic uint32_t told; /* how many of its damages were told: each once */
	/* Of a trace that grows: where its scan stood before the first record that may change, */
	struct scan firm;
	size_t nfirm; /* behind so many records, */
	struct scan at; /* and where it ended */
	bool can_go_on;
};

struct index {
	struct trace *trace;
	struct index_options options;
	char *path;               /* NULL: in memory */
	struct store *store;      /* NULL: in memory */
	struct store *damaged;    /* the one before, which tables may have; NULL: none */
	_Atomic bool described;   /* what is stored has its note, which tells these files, */
	_Atomic bool foreign;     /* ... or others, since it was opened */
	_Atomic bool grown;     /* what is stored is of a trace that grows, as far as it was then */
	bool kept_out;          /* the store cannot be used: the index is kept in memory */
	struct store_txn *view; /* of that, for who only reads it; NULL: the newest */
	struct index_slot *slots; /* per stream */
	struct packet_cache *packets;
	struct head_cache *head_cache;
	size_t step_records; /* STEP_RECORDS; tests use fewer */
	pthread_mutex_t pending_lock;
	/* Scanned whole, answer already, are stored when it is closed: rows are those of tables. */
	struct steps *pending;
	uint64_t npending; /* records */
	struct packet_filters
		*packet_filters; /* of classes alone, once wanted; under pending_lock */
	pthread_mutex_t recorded_lock;
	bool recorded; /* the next two are known */
	nstime begin, end;
	_Atomic uint64_t scanned; /* bytes, for progress */
	uint64_t all;
	_Atomic int stop; /* progress said so */
	bool far;         /* a file is far away; then: */
	_Atomic bool expected;  /* far_expect_tables() was called */
	_Atomic unsigned quiet; /* scans are not to tell progress: the thread that waits does */
	_Atomic int told;       /* that another process writes */
	_Atomic int told_damage;  /* of the stored index */
};

#endif
