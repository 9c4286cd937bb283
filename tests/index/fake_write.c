/* fake_write.c - writes the packets that a test lists to files, and makes folders for them */
#include "engine/base/mem.h"
#include "tests/harness.h"
#include "tests/index/fake_format.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_packet fake_packet_over(const struct fake_event *events, uint32_t nevents)
{
	struct fake_packet packet = {
		.events = events, .nevents = nevents, .seq = PACKET_NONE, .lost = PACKET_NONE};

	for (uint32_t i = 0; i < nevents; i++) {
		if (i == 0 || events[i].time < packet.min)
			packet.min = events[i].time;
		if (i == 0 || events[i].time > packet.max)
			packet.max = events[i].time;
	}
	return packet;
}

static FILE *open_file(const char *dir, const char *name, uint32_t source, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s.%u", dir, name, source);
	FILE *file = fopen(path, mode);
	if (!file)
		fail_msg("%s cannot be written", path);
	return file;
}

static void put(FILE *file, const void *bytes, size_t size)
{
	if (size && fwrite(bytes, size, 1, file) != 1)
		fail_msg("a test file cannot be written");
}

static void put_zeros(FILE *file, uint64_t count)
{
	for (; count; count--)
		putc(0, file);
}

uint64_t fake_owner(const char *name)
{
	uint64_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 1099511628211u;
	return hash;
}

static uint64_t gaps_of(const struct fake_packet *packet)
{
	if (!packet->extent_events || !packet->nevents)
		return 0;
	return (uint64_t)((packet->nevents - 1) / packet->extent_events) * packet->gap;
}

static void put_packet(FILE *file, const struct fake_stream *stream,
		       const struct fake_packet *packet)
{
	struct packet_head head = {
		.magic = packet->bad_magic ? 0 : PACKET_MAGIC,
		.min = packet->min,
		.max = packet->max,
		.seq = packet->seq,
		.lost = packet->lost,
		.nevents = packet->nevents,
		.flags = packet->flags,
		.extent_events = packet->extent_events,
		.gap = packet->gap,
		.piece_events = packet->piece_events,
		.damage_after = packet->damage_after,
		.cpu = packet->has_cpu ? packet->cpu : stream->cpu,
		.hide_count = packet->hide_count,
		.owner = stream->shared ? fake_owner(stream->name) : 0,
	};
	uint64_t plain =
		sizeof head + packet->nevents * sizeof(struct file_event) + gaps_of(packet);

	head.size = plain > stream->packet_bytes ? plain : stream->packet_bytes;
	put(file, &head, sizeof head);
	for (uint32_t i = 0; i < packet->nevents; i++) {
		const struct fake_event *event = &packet->events[i];
		struct file_event out = {event->time, event->class, event->no_time, event->v};
		if (i && packet->extent_events && i % packet->extent_events == 0)
			put_zeros(file, packet->gap);
		put(file, &out, sizeof out);
	}
	put_zeros(file, head.size - plain);
}

static struct file_head head_of(const struct fake_stream *stream)
{
	return (struct file_head){
		.magic = HEAD_MAGIC,
		.cpu = stream->cpu,
		.packet_bytes = stream->packet_bytes,
		.lost_kind = stream->lost_kind,
		.lost_bits = stream->lost_bits,
		.seq_bits = stream->seq_bits,
		.no_time = stream->no_time,
		.computed = stream->computed,
		.pieces = stream->pieces,
		.open_last = stream->open_last,
		.shared = stream->shared,
		.spill = stream->spill,
	};
}

/* Writes all packets of the first stream or, for several, one of each in turn. */
static void put_shared(const char *dir, const struct fake_stream *const *streams,
		       const size_t *npackets, size_t nstreams, const char *mode)
{
	struct file_head head = {.magic = HEAD_MAGIC};
	FILE *file = open_file(dir, "shared", 0, mode);
	bool more = true;

	fseek(file, 0, SEEK_END);
	if (ftell(file) == 0)
		put(file, &head, sizeof head);
	for (size_t i = 0; more; i++) {
		more = false;
		for (size_t s = 0; s < nstreams; s++) {
			if (i >= npackets[s])
				continue;
			more = true;
			put_packet(file, streams[s], &streams[s]->packets[i]);
		}
	}
	if (fclose(file) != 0)
		fail_msg("a test file cannot be written");
}

static void put_packets(const char *dir, const struct fake_stream *stream,
			const struct fake_packet *packets, size_t npackets, const char *mode)
{
	struct file_head head = head_of(stream);
	uint32_t source = npackets ? packets[0].source : 0;

	for (size_t i = 0; i < npackets || i == 0;) {
		FILE *file = open_file(dir, stream->name, source, mode);
		fseek(file, 0, SEEK_END);
		if (ftell(file) == 0)
			put(file, &head, sizeof head);
		for (; i < npackets && packets[i].source == source; i++)
			put_packet(file, stream, &packets[i]);
		if (fclose(file) != 0)
			fail_msg("a test file cannot be written");
		if (i >= npackets)
			break;
		source = packets[i].source;
	}
}

void fake_write(const char *dir, const struct fake_stream *streams, size_t nstreams)
{
	char path[4096];

	mkdir(dir, 0777);
	snprintf(path, sizeof path, "%s/fake.trace", dir);
	FILE *file = fopen(path, "w");
	if (!file)
		fail_msg("%s cannot be written", path);
	const struct fake_stream *sharing[STREAMS_MAX];
	size_t npackets[STREAMS_MAX], nsharing = 0;
	for (size_t i = 0; i < nstreams; i++) {
		bool shared = streams[i].shared;
		fprintf(file, "%s\n", streams[i].name);
		put_packets(dir, &streams[i], streams[i].packets, shared ? 0 : streams[i].npackets,
			    "w");
		sharing[nsharing] = &streams[i];
		npackets[nsharing] = streams[i].npackets;
		nsharing += shared;
	}
	if (nsharing)
		put_shared(dir, sharing, npackets, nsharing, "w");
	fclose(file);
}

void fake_append(const char *dir, const struct fake_stream *stream,
		 const struct fake_packet *packets, size_t npackets)
{
	struct fake_stream more = *stream;
	const struct fake_stream *one = &more;

	more.packets = packets;
	if (npackets && stream->shared)
		put_shared(dir, &one, &npackets, 1, "a");
	else if (npackets)
		put_packets(dir, stream, packets, npackets, "a");
}

char *fake_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof path, "%s/yore-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(path))
		fail_msg("%s cannot be made", path);
	return mem_strdup(path);
}

static void remove_tree(const char *path, unsigned depth)
{
	DIR *dir = depth < 8 ? opendir(path) : NULL;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char inside[4096];
		struct stat st;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
		if (lstat(inside, &st) == 0 && S_ISDIR(st.st_mode))
			remove_tree(inside, depth + 1);
		else
			unlink(inside);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

void fake_remove(char *folder)
{
	chmod(folder, 0777);
	remove_tree(folder, 0);
	mem_free(folder);
}
