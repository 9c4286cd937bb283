/*
 * partition.h - one folder with the Parquet files of many traces, by table and trace
 *
 *     DIR/table=sched_switch/trace=UUID/part-0.parquet    rows of one table of one trace
 *     DIR/_manifest/UUID.json                             what the trace is, and its files
 *     DIR/.yore-XXXXXX/                                   files that are being written
 *
 * UUID is identity_uuid(). Files of a trace get their names together, when all are whole, and its
 * manifest comes last: a trace without one is not all there. A process holds DIR/_manifest/.lock
 * while it gives names, so that any number may add traces at the same time.
 */
#ifndef CONVERT_SHEETS_PARTITION_H
#define CONVERT_SHEETS_PARTITION_H

#include "convert/convert.h"
#include "convert/out.h"

/* What a file of it is called until then. */
#define PARTITION_ENDING "part"

struct partition;

struct partition_file {
	const char *name;  /* of the table as a file name, without its ending */
	const char *table; /* its exact name */
	const char *path;  /* of the file that was written */
	uint64_t rows, bytes;
};

struct partition_losses {
	uint64_t places, events; /* where events were lost, and how many, where that is known */
};

/*
 * Makes options->path, where it is not there, and *folder in it, for the files; it may hold a
 * partition and nothing else. `options` lives as long. The caller ends both, with partition_close()
 * and out_folder_drop(). NULL: *err, and neither is to be ended. The folder stays when work fails:
 * others may add to it.
 */
struct partition *partition_open(const struct convert_options *options, struct out_folder *folder,
				 struct error *err);
/* Gives these files their names, in place of all that the trace has there. */
MUST_CHECK bool partition_finish(struct partition *partition, const struct partition_file *files,
				 size_t count, const struct partition_losses *losses,
				 struct error *err);
void partition_close(struct partition *partition); /* NULL is fine */

#endif
