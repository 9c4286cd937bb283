/* filter_range.c - a sweep over the packets that have no packet filter; packet filters are made on
 * the way */
#include "index/filters/internal.h"
#include "index/sweep/sweep.h"

struct filters_pass {
	struct packet_filters *packet_filters;
	bool (*progress)(void *arg, uint64_t done, uint64_t all);
	void *arg;
};

static void *making_begin(void *arg)
{
	return arg;
}

static bool making_packet(void *own, const struct stream *stream, const struct packet_info *info)
{
	const struct filters_pass *making = own;
	struct packet_filter_of packet;

	if (info->rec.flags & PACKET_OPEN)
		return false;
	packet = packet_filter_of(stream, info);
	return packet_filters_lack(making->packet_filters, &packet);
}

static bool making_run(void *own, const struct sweep_run *run, struct error *err)
{
	(void)own;
	(void)run;
	(void)err;
	return true;
}

static void making_packet_end(void *own, bool whole)
{
	(void)own;
	(void)whole;
}

static void making_end(void *arg, void *own, bool good)
{
	(void)arg;
	(void)own;
	(void)good; /* each packet filter is true of its own packet, whatever came after */
}

static bool making_progress(void *arg, uint64_t done, uint64_t all)
{
	const struct filters_pass *making = arg;

	return !making->progress || making->progress(making->arg, done, all);
}

bool packet_filters_make(struct packet_filters *packet_filters, const struct events_options *range,
			 bool (*progress)(void *arg, uint64_t done, uint64_t all), void *arg,
			 struct error *err)
{
	struct filters_pass making = {packet_filters, progress, arg};
	struct events_options options = *range;
	const struct sweep work = {.events = &options,
				   .arg = &making,
				   .progress = making_progress,
				   .begin = making_begin,
				   .packet = making_packet,
				   .run = making_run,
				   .packet_end = making_packet_end,
				   .end = making_end};

	options.packet_filters = packet_filters;
	return sweep(packet_filters_index(packet_filters), &work, err);
}
