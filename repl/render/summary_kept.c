/* summary_kept.c - see summary_kept.h */
#include "repl/render/summary_kept.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"

struct kept_tally {
	struct tally tally;
	uint64_t lost;
};

struct summary_kept {
	struct nameset names;
	struct kept_tally *classes, *streams; /* by number */
	size_t nclasses, classes_capacity, nstreams;
	uint32_t *numbers; /* of the streams of the trace, by index */
	size_t nnumbers;
	uint64_t losses;
};

static const struct kept_tally nothing = {.tally = {.first = NSTIME_MAX, .last = NSTIME_MIN}};

struct summary_kept *summary_kept_new(void)
{
	return mem_new(sizeof(struct summary_kept));
}

void summary_kept_free(struct summary_kept *kept)
{
	if (!kept)
		return;
	nameset_release(&kept->names);
	mem_free(kept->classes);
	mem_free(kept->streams);
	mem_free(kept->numbers);
	mem_free(kept);
}

static struct kept_tally *class_named(struct summary_kept *kept, const char *name)
{
	uint32_t i;

	if (!nameset_find(&kept->names, name, &i)) {
		i = (uint32_t)kept->nclasses;
		*mem_push(kept->classes, kept->nclasses, kept->classes_capacity) = nothing;
		nameset_add(&kept->names, name, i);
	}
	return &kept->classes[i];
}

static struct kept_tally *stream_numbered(struct summary_kept *kept, uint32_t number)
{
	size_t before = kept->nstreams;

	kept->streams = mem_reach(kept->streams, number, &kept->nstreams, sizeof *kept->streams);
	for (size_t i = before; i < kept->nstreams; i++)
		kept->streams[i] = nothing;
	return &kept->streams[number];
}

void summary_keep(struct summary_kept *kept, const struct follow *follow, const struct trace *trace,
		  const struct summary *sum)
{
	for (size_t i = 0; i < trace->nclasses; i++)
		if (sum->classes[i].events)
			tally_join(&class_named(kept, trace->classes[i]->name)->tally,
				   &sum->classes[i]);
	mem_free(kept->numbers);
	kept->nnumbers = trace->nstreams;
	kept->numbers = mem_new_array(trace->nstreams + 1, sizeof *kept->numbers);
	for (size_t i = 0; i < trace->nstreams; i++) {
		kept->numbers[i] = follow_number(follow, i);
		struct kept_tally *stream = stream_numbered(kept, kept->numbers[i]);
		tally_join(&stream->tally, &sum->streams[i]);
		stream->lost += sum->lost[i];
	}
	kept->losses += sum->losses;
}

void summary_of_kept(const struct summary_kept *kept, const struct trace *trace,
		     struct summary *out)
{
	uint64_t *taken = bitset_new(kept->nclasses);
	uint32_t number;

	summary_init(out, trace);
	for (size_t i = 0; i < trace->nclasses; i++) {
		if (!nameset_find(&kept->names, trace->classes[i]->name, &number) ||
		    bitset_has(taken, number))
			continue;
		bitset_add(taken, number);
		out->classes[i] = kept->classes[number].tally;
	}
	for (size_t i = 0; i < trace->nstreams && i < kept->nnumbers; i++) {
		const struct kept_tally *stream = &kept->streams[kept->numbers[i]];
		out->streams[i] = stream->tally;
		out->lost[i] = stream->lost;
		tally_join(&out->all, &stream->tally);
	}
	out->losses = kept->losses;
	mem_free(taken);
}
