/*
 * partition.h - one folder with the Parquet files of many traces, by table and trace
 *
 *     DIR/table=sched_switch/trace=UUID/part-0.parquet    rows of one table of one trace
 *     DIR/_manifest/UUID.json                             what the trace is, and its files
 *     DIR/.yore-XXXXXX/                                   files that are being written
 *
 * UUID is identity_uuid(). All files of a trace are renamed together, when they are complete, and
 * the manifest is written last: without a manifest a trace is incomplete. A process holds
 * DIR/_manifest/.lock while it renames, so that many processes may add traces at the same time.
 */
#ifndef CONVERT_SHEETS_PARTITION_H
#define CONVERT_SHEETS_PARTITION_H

#include "convert/convert.h"
#include "convert/out.h"

/* Name ending of files before they are renamed. */
#define PARTITION_ENDING "part"

struct partition;

struct partition_file {
	const char *name;  /* the table's name as a file name, without ending */
	const char *table; /* its exact name */
	const char *path;  /* of the temporary file */
	uint64_t rows, bytes;
};

struct partition_losses {
	uint64_t places, events; /* places with losses; lost events, as far as they are counted */
};

/*
 * Creates the folder options->path, or checks that it is empty or a partition, and in it the
 * temporary folder *folder for new files. `options` must outlive the partition. The caller frees
 * both, by partition_close() and out_folder_drop(). Returns NULL with *err; then there is nothing
 * to free. options->path stays on failure, since others may add to it.
 */
struct partition *partition_open(const struct convert_options *options, struct out_folder *folder,
				 struct error *err);
/* Renames the files into the partition; they replace all files that the trace has there. */
MUST_CHECK bool partition_finish(struct partition *partition, const struct partition_file *files,
				 size_t count, const struct partition_losses *losses,
				 struct error *err);
void partition_close(struct partition *partition); /* NULL is fine */

#endif
