/*
 * limit.c - measures this machine's memory: reads every byte of files once, in order
 *
 *     bench-limit FILE...
 *
 * Prints the bytes that one core reads from mapped files per CPU second, the best of five rounds.
 * That includes the page faults, which every reader of a trace has, but not the disk: a first
 * round, not counted, loads the files into memory.
 */
#include "bench/seconds.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
	uint64_t sums[8] = {0}, words[8];

	for (size_t at = 0; at + sizeof words <= size; at += sizeof words) {
		memcpy(words, bytes + at, sizeof words);
		for (size_t i = 0; i < 8; i++)
			sums[i] += words[i];
	}
	for (size_t i = 1; i < 8; i++)
		sums[0] += sums[i];
	return sums[0];
}

/* Returns the bytes read; 0: the file cannot be read. */
static uint64_t read_file(const char *path, uint64_t *sum)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map = MAP_FAILED;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && st.st_size)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return 0;
	*sum += sum_of(map, (size_t)st.st_size);
	munmap(map, (size_t)st.st_size);
	return (uint64_t)st.st_size;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0, bytes = 0;
	double best = 1e9;

	for (int round = -1; round < ROUNDS; round++) {
		double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		bytes = 0;
		for (int i = 1; i < argc; i++)
			bytes += read_file(argv[i], &sum);
		double took = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin;
		if (round >= 0 && took < best)
			best = took;
	}
	if (!bytes) {
		fprintf(stderr, "usage: bench-limit FILE...\n");
		return 2;
	}
	printf("%.0f bytes/s, sum %llx\n", (double)bytes / best, (unsigned long long)sum);
	return 0;
}
