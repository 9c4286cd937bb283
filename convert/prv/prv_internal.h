/*
 * prv_internal.h - what the files of the Paraver writer share
 *
 *     prv.c         intervals → values of rows over time → thread.prv, cpu.prv
 *     prv_rows.c    threads and CPUs of the looms, in ovniemu's order: *.row
 *     prv_types.c   which attribute is which type of event, numbers of labels: *.pcf
 *     prv_values.c  made from the models' tables: numbers of values
 */
#ifndef CONVERT_PRV_PRV_INTERNAL_H
#define CONVERT_PRV_PRV_INTERNAL_H

#include "convert/convert_internal.h"
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"

struct prv_value {
	const char *attribute; /* "nosv/subsystem" */
	int64_t number;
	const char *label;
};
extern const struct prv_value prv_values[];
extern const size_t prv_nvalues;

/* In which states of a thread its values are shown; those of a CPU come from a thread that runs. */
enum prv_shown { SHOWN_ALWAYS, SHOWN_ACTIVE, SHOWN_RUNNING };
enum prv_meaning {
	MEANS_NUMBER,
	MEANS_LABEL, /* of prv_values */
	MEANS_TYPE,  /* the label of a task type, hashed to a number */
	MEANS_RANK,  /* one more than the number */
	MEANS_STATE, /* of a thread */
	MEANS_CPU    /* a physical CPU, hence a row of cpu.prv */
};

enum {
	PRV_PID = 1,
	PRV_TID,
	PRV_RUNNING,
	PRV_STATE,
	PRV_CPU = 6,
	PRV_MARK = 100,
	PRV_COUNTER = 200
};

struct prv_type {
	int number;
	const char *model, *title;
	const char *of_thread, *of_cpu; /* attributes below thread[T] and loom[L]/cpu[P], or NULL */
	enum prv_shown shown;
	enum prv_meaning meaning;
};

/* Finds the type of an attribute; a mark or counter has PRV_MARK or PRV_COUNTER plus its number. */
bool prv_type_of(const char *attribute, bool of_cpu, struct prv_type *out);
uint32_t prv_hash_label(const char *text, size_t len); /* as ovniemu numbers task types */
int64_t prv_number_of(const char *attribute, const struct value *text); /* 0: none */

struct prv_names { /* labels of task types in the trace */
	struct prv_name {
		int type;
		int64_t number;
		const char *text;
	} * items;
	size_t count, capacity;
};

struct prv_span { /* [begin, end) */
	nstime begin, end;
	int64_t value; /* never 0 */
};

struct prv_series {
	struct prv_type type;
	struct prv_span *spans;
	size_t count, capacity;
};

struct prv_row {
	const char *host, *loom; /* threads are found by host, CPUs by host and loom */
	int64_t key;             /* the thread's number; the CPU's physical one, -1 virtual */
	int64_t pid, app;
	size_t loom_place;
	struct prv_series *series;
	size_t count, capacity;
};

struct prv_rows {
	bool of_cpus;
	struct prv_row *items;
	size_t count, capacity;
};

/* Makes the rows of all ovni streams. Texts are borrowed from the trace. */
void prv_rows_find(const struct trace *trace, struct prv_rows *threads, struct prv_rows *cpus);
void prv_rows_release(struct prv_rows *rows);
/* Finds a row; `loom` NULL: any. Returns 1 + its index; 0: none. */
size_t prv_row_of(const struct prv_rows *rows, const char *host, size_t nhost, const char *loom,
		  size_t nloom, int64_t key);
struct prv_series *prv_find_series(struct prv_row *row, int type); /* NULL: none */
/* The series of that type, added if there is none. */
struct prv_series *prv_series_of(struct prv_row *row, const struct prv_type *type);
void prv_add_row_name(const struct prv_row *row, bool of_cpus, struct buf *out);
void prv_write_rows(const struct prv_rows *rows, struct buf *out);
void prv_write_types(const struct trace *trace, const struct prv_rows *rows,
		     const struct prv_rows *cpus, const struct prv_names *names, struct buf *out);

#endif
