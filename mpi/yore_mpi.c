/*
 * yore_mpi.c - builds timelines of one trace by MPI ranks, without a shared folder
 *
 *     rank 0   records, plan ─> pass 1: 0, n, 2n ─> join ─> pass 2: 0, n, 2n ─> import
 *     rank 1                └─> pass 1: 1, n + 1 ─┘     └─> pass 2: 1, n + 1 ─> import
 *
 * Each rank has an exchange folder of its own (state/timelines/exchange.h). The files of each step
 * are broadcast, so every rank has them when the next step begins. In the end each rank imports all
 * slices into the index of its machine.
 */
#include "engine/base/files.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "index/index.h"
#include "index/tables/location.h"
#include "state/state.h"
#include "state/timelines/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 16 << 20, LAPSE_MS = 30000, STEPS = 3 };

struct rank {
	int number, count;
	const char *path, *index_dir;
	bool stats;
	struct trace *trace;
	struct index *index;
	struct rules *rules;
	struct state *state;
	struct exchange_options exchange;
	struct shards_plan plan;
	double seconds[STEPS]; /* CPU time of pass 1, join, pass 2 */
};

static void yore_mpi_check(const struct rank *rank, bool good, const struct error *err)
{
	const struct timespec moment = {.tv_nsec = 300000000};

	if (good)
		return;
	fprintf(stderr, "yore-mpi: rank %d: %s\n", rank->number, err->text);
	temporary_remove_all();
	nanosleep(&moment, NULL); /* launchers lose output of the last moment */
	MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	exit(EXIT_FAILURE);
}

static void check_file(const struct rank *rank, bool good, const char *path)
{
	struct error err;

	yore_mpi_check(rank, good || error_set(&err, ERR_IO, "%s: %s", path, strerror(errno)),
		       &err);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* Signal handler: the launcher ends all ranks when one failed. */
static void end(int number)
{
	temporary_remove_all();
	_exit(128 + number);
}

/* ---- files ---- */

/* Broadcasts a file from rank `from` to all others. */
static void share_file(const struct rank *rank, int from, const char *name)
{
	char *path = folder_join(rank->exchange.dir, name), *piece = mem_new(PIECE);
	int fd = rank->number == from ? open(path, O_RDONLY | O_CLOEXEC) : -1, count;
	struct new_file file = {.fd = fd};
	uint64_t at = 0;

	if (rank->number != from)
		errno = new_file_begin(&file, path, "new");
	check_file(rank, file.fd >= 0, path);
	do {
		if (rank->number == from)
			count = (int)file_get(fd, piece, PIECE, at);
		MPI_Bcast(&count, 1, MPI_INT, from, MPI_COMM_WORLD);
		MPI_Bcast(piece, count, MPI_BYTE, from, MPI_COMM_WORLD);
		if (rank->number != from)
			check_file(rank, file_put_at(file.fd, piece, (size_t)count, at), path);
		at += (uint64_t)count;
	} while (count == PIECE);
	if (rank->number == from)
		close(fd);
	else
		check_file(rank, (errno = new_file_end(&file, 0, false)) == 0, path);
	mem_free(piece);
	mem_free(path);
}

/* Did this rank make the file? `all`: no other rank made files of this kind. */
static bool is_own(const struct rank *rank, const char *name, const char *kind, bool all)
{
	const char *at = strstr(name, kind);

	return at && (all || atoi(at + strlen(kind)) % rank->count == rank->number);
}

/* Broadcasts all files of the kind that rank `from` made. */
static void share(const struct rank *rank, int from, const char *kind, bool all)
{
	struct folder_names names = {0};
	char name[NAME_MAX + 1] = "";
	struct error err;

	if (rank->number == from)
		yore_mpi_check(rank, folder_list(rank->exchange.dir, &names, &err), &err);
	for (size_t i = 0;; i++) {
		while (i < names.count && !is_own(rank, names.items[i], kind, all))
			i++;
		snprintf(name, sizeof name, "%s", i < names.count ? names.items[i] : "");
		MPI_Bcast(name, sizeof name, MPI_CHAR, from, MPI_COMM_WORLD);
		if (!*name)
			break;
		share_file(rank, from, name);
	}
	folder_release(&names);
}

static void share_all(const struct rank *rank, const char *kind, bool all)
{
	for (int from = 0; from < rank->count; from++)
		share(rank, from, kind, all);
}

/* ---- steps ---- */

static void open_trace(struct rank *rank)
{
	struct index_options index = {.dir = rank->index_dir, .scan_all = true, .jobs = 1};
	char *spill_dir = index_folder(&index);
	struct trace_options open = {.paths = &rank->path, .npaths = 1, .spill_dir = spill_dir};
	struct error err;

	yore_mpi_check(rank, trace_open(&open, &rank->trace, &err), &err);
	yore_mpi_check(rank, index_open(rank->trace, &index, &rank->index, &err), &err);
	mem_free(spill_dir);
	yore_mpi_check(rank, exchange_records(rank->index, &rank->exchange, &err), &err);
	yore_mpi_check(rank, index_build(rank->index, &err), &err);
}

static void yore_mpi_open_state(struct rank *rank, size_t nrules, char **rules)
{
	struct state_options options = {.rules = rank->rules = rules_new()};
	struct error err;
	bool ok = true;

	for (size_t i = 0; i < nrules && ok; i++)
		ok = rules_add_named(rank->rules, rules[i], &err);
	ok = ok && (nrules ? rules_add_carried(rank->rules, rank->trace, &err)
			   : rules_add_builtins(rank->rules, rank->trace, &err));
	yore_mpi_check(rank, ok && rules_check(rank->rules, &err), &err);
	yore_mpi_check(rank, state_open(rank->index, &options, &rank->state, &err), &err);
	yore_mpi_check(rank, exchange_plan(rank->state, &rank->exchange, &rank->plan, &err), &err);
}

/* Does one step of shard i. */
static void do_step(struct rank *rank, unsigned step, uint32_t i)
{
	int64_t begun = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct timelines_built built;
	struct shards_work work;
	uint64_t replayed;
	struct error err;

	yore_mpi_check(rank, shards_work_begin(rank->state, &rank->plan, &work, &err), &err);
	work.exchange = true;
	yore_mpi_check(rank,
		       step == 0   ? shards_summarize(&work, i, &err)
		       : step == 1 ? shards_merge(&work, i, &replayed, &err)
				   : shards_build(&work, i, &built, &err),
		       &err);
	shards_work_end(&work);
	rank->seconds[step] += (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begun) / 1e9;
}

static void do_steps(struct rank *rank)
{
	const uint32_t n = rank->plan.n, number = (uint32_t)rank->number,
		       count = (uint32_t)rank->count;

	for (uint32_t i = number; i + 1 < n; i += count)
		do_step(rank, 0, i);
	share_all(rank, ".pass1-", false);
	for (uint32_t i = 1; i < n && rank->number == 0; i++)
		do_step(rank, 1, i);
	share(rank, 0, ".start-", true);
	for (uint32_t i = number; i < n; i += count)
		do_step(rank, 2, i);
	share_all(rank, ".slices-", false);
	share_all(rank, ".strayed-", true);
	share_all(rank, ".built-", false);
}

static void tell(const struct rank *rank, const struct timelines_built *built)
{
	double sums[STEPS];

	MPI_Reduce(rank->seconds, sums, STEPS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank->number)
		return;
	if (built->disorderly)
		printf("no timelines: events come late, or lie outside of what their packets "
		       "claim\n");
	else
		printf("%llu changes of state in %u slices, %llu bytes\n",
		       (unsigned long long)built->changes, built->slices,
		       (unsigned long long)built->bytes);
	if (rank->stats)
		fprintf(stderr, "{\"ranks\":%d,\"pass1\":%.3f,\"join\":%.3f,\"pass2\":%.3f}\n",
			rank->count, sums[0], sums[1], sums[2]);
}

static void open_all(struct rank *rank, size_t nrules, char **rules)
{
	open_trace(rank);
	yore_mpi_open_state(rank, nrules, rules);
}

/* Makes the rank's exchange folder. *noted is for temporary_folder_end(). */
static char *begin_exchange(struct rank *rank, int *noted)
{
	char *dir = temporary_folder(NULL, "mpi", noted);

	check_file(rank, dir, "a folder for what ranks exchange");
	rank->exchange = (struct exchange_options){
		.dir = dir, .workers = (uint32_t)rank->count, .lapse = LAPSE_MS, .goes_on = always};
	return dir;
}

/* Rank 0 goes first: it writes its machine's index; other ranks read its records and plan. */
static void build(struct rank *rank, size_t nrules, char **rules)
{
	struct timelines_built built;
	struct error err;
	char *dir;
	int noted;

	if (rank->number)
		MPI_Barrier(MPI_COMM_WORLD);
	dir = begin_exchange(rank, &noted);
	if (rank->number == 0) {
		open_all(rank, nrules, rules);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	share(rank, 0, ".records-", true);
	share(rank, 0, ".plan-", true);
	if (rank->number)
		open_all(rank, nrules, rules);
	do_steps(rank);
	yore_mpi_check(rank, exchange_build(rank->state, &rank->exchange, &built, &err), &err);
	tell(rank, &built);
	shards_plan_release(&rank->plan);
	state_close(rank->state);
	rules_free(rank->rules);
	index_close(rank->index);
	trace_close(rank->trace);
	temporary_folder_end(dir, noted);
}

enum asked { ASKED_BUILD, ASKED_VERSION, ASKED_HELP, ASKED_WRONG };

static enum asked read_words(struct rank *rank, int argc, char **argv, size_t *nrules, char **rules)
{
	static const struct option known[] = {{"rules", required_argument, NULL, 'r'},
					      {"index-dir", required_argument, NULL, 'i'},
					      {"stats", no_argument, NULL, 's'},
					      {"version", no_argument, NULL, 'V'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int letter;

	opterr = rank->number == 0;
	while ((letter = getopt_long(argc, argv, "hV", known, NULL)) >= 0) {
		if (letter == 'h' || letter == 'V')
			return letter == 'h' ? ASKED_HELP : ASKED_VERSION;
		if (letter == '?')
			return ASKED_WRONG;
		if (letter == 'r')
			rules[(*nrules)++] = optarg;
		else if (letter == 'i')
			rank->index_dir = optarg;
		else
			rank->stats = true;
	}
	rank->path = argv[optind];
	return optind + 1 == argc ? ASKED_BUILD : ASKED_WRONG;
}

int main(int argc, char **argv)
{
	char **rules = mem_new_array((size_t)argc, sizeof *rules);
	struct rank rank = {0};
	size_t nrules = 0;
	enum asked asked;

	files_raise_limit();
	MPI_Init(&argc, &argv);
	signal(SIGTERM, end);
	signal(SIGINT, end);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank.number);
	MPI_Comm_size(MPI_COMM_WORLD, &rank.count);
	asked = read_words(&rank, argc, argv, &nrules, rules);
	if (asked == ASKED_BUILD)
		build(&rank, nrules, rules);
	else if (rank.number == 0 && asked == ASKED_VERSION)
		printf("yore-mpi " YORE_VERSION "\n");
	else if (rank.number == 0)
		fprintf(asked == ASKED_HELP ? stdout : stderr,
			"Usage: mpirun -n N yore-mpi TRACE [--rules NAME] [--index-dir DIR] "
			"[--stats]\n");
	mem_free(rules);
	MPI_Finalize();
	return asked == ASKED_WRONG ? 2 : 0;
}
