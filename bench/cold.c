/*
 * cold.c - drops a trace's files from the page cache, and measures the least that finding its
 * packets costs
 *
 *     bench-cold TRACE INDEX-DIR drop      nothing else
 *     bench-cold TRACE INDEX-DIR read      then one page of each packet, 32 reads in flight
 *
 * The places of packets come from the index, which must exist. Prints one line: packets, bytes of
 * the trace, and the wall seconds of reading.
 */
#include "bench/seconds.h"
#include "engine/base/mem.h"
#include "index/index.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLIGHT = 32, PAGE = 4096 };

struct place {
	uint32_t file;
	uint64_t off;
};

struct files {
	char **paths;
	int *fds;
	uint32_t count;
	uint64_t bytes;
	struct place *places;
	size_t nplaces, capacity;
	_Atomic size_t next;
};

static int die(const char *what)
{
	fprintf(stderr, "bench-cold: %s\n", what);
	exit(1);
}

static bool add_stream(struct files *files, struct index *index, const struct stream *stream,
		       uint32_t first, struct error *err)
{
	struct packet_info info;
	struct table *table;

	if (!index_table(index, stream, &table, err))
		return false;
	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_get(table, i, &info, err))
			return false;
		*mem_push(files->places, files->nplaces, files->capacity) =
			(struct place){first + info.rec.source, info.rec.off};
	}
	return true;
}

/*
 * Reads the places of packets from the index, and closes trace and index: what is mapped stays in
 * memory.
 */
static bool find_places(struct files *files, const char *path, const char *dir, struct error *err)
{
	struct trace_options options = {.paths = &path, .npaths = 1};
	struct index_options index_options = {.dir = dir};
	struct trace *trace;
	struct index *index;
	bool good = true;

	if (!trace_open(&options, &trace, err) || !index_open(trace, &index_options, &index, err))
		return false;
	files->paths = mem_new_array(trace->nsources + 1, sizeof(char *));
	files->fds = mem_new_array(trace->nsources + 1, sizeof(int));
	for (size_t i = 0; i < trace->nstreams && good; i++) {
		const struct stream *stream = trace->streams[i];
		uint32_t first = files->count;

		for (uint32_t s = 0; s < stream->nsources; s++)
			files->paths[files->count++] = mem_strdup(source_name(stream->sources[s]));
		files->bytes += stream->bytes;
		good = add_stream(files, index, stream, first, err);
	}
	index_close(index);
	trace_close(trace);
	return good;
}

static void drop(struct files *files)
{
	for (uint32_t i = 0; i < files->count; i++) {
		files->fds[i] = open(files->paths[i], O_RDONLY | O_CLOEXEC);
		if (files->fds[i] < 0 || fdatasync(files->fds[i]) != 0 ||
		    posix_fadvise(files->fds[i], 0, 0, POSIX_FADV_DONTNEED) != 0 ||
		    posix_fadvise(files->fds[i], 0, 0, POSIX_FADV_RANDOM) != 0)
			die(files->paths[i]);
	}
}

static void *read_pages(void *arg)
{
	struct files *files = arg;
	char page[PAGE];
	size_t i;

	while ((i = files->next++) < files->nplaces) {
		const struct place *place = &files->places[i];

		if (pread(files->fds[place->file], page, PAGE, (off_t)(place->off / PAGE * PAGE)) <=
		    0)
			die(files->paths[place->file]);
	}
	return NULL;
}

static double read_all(struct files *files)
{
	pthread_t threads[FLIGHT];
	double begin = seconds_of(CLOCK_MONOTONIC);

	for (int i = 0; i < FLIGHT; i++)
		if (pthread_create(&threads[i], NULL, read_pages, files) != 0)
			die("no thread can be started");
	for (int i = 0; i < FLIGHT; i++)
		pthread_join(threads[i], NULL);
	return seconds_of(CLOCK_MONOTONIC) - begin;
}

int main(int argc, char **argv)
{
	struct files files = {0};
	struct error err;

	if (argc != 4 || (strcmp(argv[3], "drop") != 0 && strcmp(argv[3], "read") != 0))
		return die("usage: bench-cold TRACE INDEX-DIR drop|read");
	if (!find_places(&files, argv[1], argv[2], &err))
		return die(err.text);
	drop(&files);
	printf("packets %zu bytes %llu seconds %.6f\n", files.nplaces,
	       (unsigned long long)files.bytes, argv[3][0] == 'r' ? read_all(&files) : 0.0);
	for (uint32_t i = 0; i < files.count; i++) {
		close(files.fds[i]);
		mem_free(files.paths[i]);
	}
	mem_free(files.paths);
	mem_free(files.fds);
	mem_free(files.places);
	return 0;
}
