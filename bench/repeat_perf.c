/*
 * repeat_perf.c - a small perf.data, repeated to any size by shifting its records in time
 *
 *     bench-repeat-perf PERF.DATA OUT BYTES
 *
 * The first copy is the data section as recorded. Each further one has the records with a time and
 * the round marks, later by a multiple of the capture's length: times in samples, in the id
 * trailers of other records, and in the bodies of FORK, EXIT and THROTTLE are changed. Records of
 * threads that ran before the start (time 0) are not repeated. Features keep their bytes; their
 * offsets and the size of the data section are corrected.
 *
 * Little-endian file form without compression or AUX data only.
 */
#include "bench/bytes.h"

#include <stdlib.h>

enum {
	RECORD_FORK = 7,
	RECORD_EXIT = 4,
	RECORD_THROTTLE = 5,
	RECORD_UNTHROTTLE = 6,
	RECORD_SAMPLE = 9,
	RECORD_KERNEL_LAST = 21,
	RECORD_TRACING_DATA = 66,
	RECORD_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83
};
enum {
	HAS_IP = 1 << 0,
	HAS_TID = 1 << 1,
	HAS_TIME = 1 << 2,
	HAS_ID = 1 << 6,
	HAS_CPU = 1 << 7,
	HAS_STREAM_ID = 1 << 9,
	HAS_IDENTIFIER = 1 << 16
};
enum { FEATURE_SAMPLE_TIME = 21, HEADER_SIZE = 104, SAMPLE_ID_ALL = 18 };

static int fail(const char *what)
{
	fprintf(stderr, "bench-repeat-perf: %s\n", what);
	return 1;
}

struct file {
	uint8_t *bytes;
	size_t size;
	uint64_t data, data_size; /* the data section */
};

/* sample_type and the flag word of the attribute that a record's id names. */
struct attr {
	uint64_t type, flags;
};

static struct attr attr_of(const struct file *file, uint64_t id)
{
	uint64_t entry = get(file->bytes + 16, 8), table = get(file->bytes + 24, 8);
	uint64_t size = get(file->bytes + 32, 8);

	for (uint64_t at = table; at + entry <= table + size && at + entry <= file->size;
	     at += entry) {
		const uint8_t *attr = file->bytes + at;
		uint64_t ids = get(attr + entry - 16, 8), bytes = get(attr + entry - 8, 8);
		struct attr found = {get(attr + 24, 8), get(attr + 40, 8)};

		if (id == 0)
			return found;
		for (uint64_t i = 0; i + 8 <= bytes && ids + i + 8 <= file->size; i += 8)
			if (get(file->bytes + ids + i, 8) == id)
				return found;
	}
	return (struct attr){0, 0};
}

/* Byte offset of TIME in a record of `size` bytes; 0: it has none. */
static size_t time_offset(const struct file *file, const uint8_t *record, size_t size)
{
	struct attr attr = attr_of(file, 0);
	uint32_t type = (uint32_t)get(record, 4);
	size_t words, at;

	if (type == RECORD_SAMPLE) {
		if (attr.type & HAS_IDENTIFIER)
			attr = attr_of(file, get(record + 8, 8));
		words = (size_t)__builtin_popcountll(attr.type &
						     (HAS_IDENTIFIER | HAS_IP | HAS_TID));
		at = 8 + 8 * words;
	} else {
		if (type > RECORD_KERNEL_LAST || !(attr.flags >> SAMPLE_ID_ALL & 1))
			return 0;
		if (attr.type & HAS_IDENTIFIER)
			attr = attr_of(file, get(record + size - 8, 8));
		words = (size_t)__builtin_popcountll(
			attr.type & (HAS_ID | HAS_STREAM_ID | HAS_CPU | HAS_IDENTIFIER | HAS_TIME));
		at = size - 8 * words;
	}
	return attr.type & HAS_TIME && at + 8 <= size ? at : 0;
}

/* The repeated records, and the offsets of their times. */
struct copy {
	uint8_t *bytes;
	size_t size;
	size_t *times;
	size_t ntimes, times_capacity;
	uint64_t first, last;
};

static void add_time(struct copy *copy, size_t at)
{
	*mem_push(copy->times, copy->ntimes, copy->times_capacity) = at;
}

static void add_record(struct copy *copy, const uint8_t *record, size_t size, size_t time_at)
{
	uint32_t type = (uint32_t)get(record, 4);
	size_t start = copy->size;

	memcpy(copy->bytes + start, record, size);
	copy->size += size;
	if (!time_at)
		return;
	uint64_t time = get(record + time_at, 8);
	copy->first = time < copy->first ? time : copy->first;
	copy->last = time > copy->last ? time : copy->last;
	add_time(copy, start + time_at);
	if (type == RECORD_FORK || type == RECORD_EXIT)
		add_time(copy, start + 24);
	if (type == RECORD_THROTTLE || type == RECORD_UNTHROTTLE)
		add_time(copy, start + 8);
}

static const char *collect(const struct file *file, struct copy *out)
{
	*out = (struct copy){.bytes = mem_new(file->data_size + 1), .first = UINT64_MAX};
	for (uint64_t at = 0; at < file->data_size;) {
		const uint8_t *record = file->bytes + file->data + at;
		uint64_t left = file->data_size - at;
		uint32_t type = left < 8 ? 0 : (uint32_t)get(record, 4);
		size_t size = left < 8 ? 0 : (size_t)get(record + 6, 2);

		if (size < 8 || size > left)
			return "damaged record";
		if (type == RECORD_AUXTRACE || type == RECORD_TRACING_DATA ||
		    type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2)
			return "compressed, AUX and pipe data are not repeated";
		size_t time_at = time_offset(file, record, size);
		if (type == RECORD_ROUND)
			add_record(out, record, size, 0);
		else if (time_at && get(record + time_at, 8))
			add_record(out, record, size, time_at);
		at += size;
	}
	return out->ntimes ? NULL : "no record has a time";
}

/* Adds `grown` to offsets of features, and extends the range of sample times to `last`. */
static void mend_features(struct file *file, uint64_t grown, uint64_t last)
{
	uint64_t table = file->data + file->data_size;

	for (unsigned bit = 0; bit < 256; bit++) {
		if (!(file->bytes[72 + bit / 8] >> bit % 8 & 1))
			continue;
		if (table + 16 > file->size)
			return;
		uint64_t offset = get(file->bytes + table, 8),
			 size = get(file->bytes + table + 8, 8);
		if (bit == FEATURE_SAMPLE_TIME && size >= 16 && offset + 16 <= file->size)
			put(file->bytes + offset + 8, 8, last);
		if (offset >= file->data + file->data_size)
			put(file->bytes + table, 8, offset + grown);
		table += 16;
	}
}

static bool write_all(const char *path, struct file *file, struct copy *copy, uint64_t rounds)
{
	uint64_t end = file->data + file->data_size, step = copy->last - copy->first + 1000;
	uint64_t grown = rounds * copy->size;
	FILE *out = fopen(path, "wb");

	if (!out)
		return false;
	mend_features(file, grown, copy->last + rounds * step);
	put(file->bytes + 48, 8, file->data_size + grown);
	bool ok = fwrite(file->bytes, 1, end, out) == end;
	for (uint64_t round = 0; ok && round < rounds; round++) {
		for (size_t i = 0; i < copy->ntimes; i++) {
			uint8_t *at = copy->bytes + copy->times[i];
			put(at, 8, get(at, 8) + step);
		}
		ok = fwrite(copy->bytes, 1, copy->size, out) == copy->size;
	}
	ok = ok && fwrite(file->bytes + end, 1, file->size - end, out) == file->size - end;
	return fclose(out) == 0 && ok;
}

int main(int argc, char **argv)
{
	struct file file = {0};
	struct copy copy;

	if (argc != 4)
		return fail("usage: bench-repeat-perf PERF.DATA OUT BYTES") + 1;
	if (!read_whole(argv[1], &file.bytes, &file.size) || file.size < HEADER_SIZE ||
	    memcmp(file.bytes, "PERFILE2", 8) || get(file.bytes + 8, 8) != HEADER_SIZE)
		return fail("not a little-endian perf.data file");
	file.data = get(file.bytes + 40, 8);
	file.data_size = get(file.bytes + 48, 8);
	if (file.data > file.size || file.data_size > file.size - file.data)
		return fail("data section beyond the end of the file");
	const char *why = collect(&file, &copy);
	if (why)
		return fail(why);
	uint64_t wanted = strtoull(argv[3], NULL, 10);
	uint64_t rounds = wanted > file.size ? (wanted - file.size + copy.size - 1) / copy.size : 0;
	if (!write_all(argv[2], &file, &copy, rounds))
		return fail("writing failed");
	printf("%llu copies\n", (unsigned long long)rounds + 1);
	mem_free(copy.bytes);
	mem_free(copy.times);
	mem_free(file.bytes);
	return 0;
}
