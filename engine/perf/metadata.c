/* metadata.c - reads the records in front of the first sample: attributes of a pipe, ids, CPUs */
#include "engine/base/mem.h"
#include "engine/perf/opening.h"

/* ID_INDEX has {id, number of its buffer, cpu, tid} for each event id. */
static void read_id_index(struct perf_part *part, const struct perf_record *rec)
{
	uint64_t n = rec->size >= 16 ? get64(rec->bytes + 8, part->swap) : 0;

	if (n > (rec->size - 16u) / 32)
		n = (rec->size - 16u) / 32;
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *p = rec->bytes + 16 + i * 32;
		uint64_t buffer = get64(p + 8, part->swap), cpu = get64(p + 16, part->swap);
		perf_add_id(part, get64(p, part->swap), UINT32_MAX);
		part->ids[part->nids - 1].has_tid = true;
		part->ids[part->nids - 1].tid = (int32_t)get64(p + 24, part->swap);
		if (buffer < PERF_CPUS_MOST && buffer + 1 > part->nbuffers)
			part->nbuffers = (uint32_t)buffer + 1;
		if (cpu >= PERF_CPUS_MOST)
			continue;
		part->ids[part->nids - 1].cpu = (int32_t)cpu;
		part->has_id_index = true;
		if ((int32_t)cpu > part->most_cpu)
			part->most_cpu = (int32_t)cpu;
	}
}

static void read_event_update(struct perf_opening *o, const struct perf_record *rec)
{
	struct perf_part *part = o->part;
	uint64_t what = rec->size > 24 ? get64(rec->bytes + 8, part->swap) : 0;
	const char *name = (const char *)rec->bytes + 24;

	if (what != 2) /* the name */
		return;
	*mem_push(o->renamings, o->nrenamings, o->renamings_capacity) = (struct renaming){
		get64(rec->bytes + 16, part->swap),
		arena_strndup(part->trace->arena, name, strnlen(name, rec->size - 24))};
}

/* Call after order_ids(). If an event has several names, the last one counts. */
void perf_rename_events(const struct perf_opening *o)
{
	const struct perf_part *part = o->part;

	for (size_t i = 0; i < o->nrenamings; i++) {
		const struct perf_id *id = perf_find_id(part, o->renamings[i].id);
		if (id && id->attr < part->nattrs)
			part->attrs[id->attr]->name = o->renamings[i].name;
	}
}

static void read_pipe_attr(struct perf_opening *o, const struct perf_record *rec)
{
	struct perf_part *part = o->part;
	struct perf_attr *attr;
	uint32_t used;

	if (!perf_read_attr(part, rec->bytes + RECORD_HEAD, rec->size - RECORD_HEAD,
			    rec->off + RECORD_HEAD, &used, &attr))
		return;
	for (uint32_t at = RECORD_HEAD + used; at + 8 <= rec->size; at += 8)
		perf_add_id(part, get64(rec->bytes + at, part->swap), attr->index);
	XXH3_128bits_update(o->identity, rec->bytes, rec->size);
}

static void read_pipe_tracing(struct perf_opening *o, const struct perf_record *rec)
{
	struct perf_source *from = &o->part->sources[rec->source];
	struct block block;
	struct error err;

	if (!source_get(from->source, rec->extra_off, (size_t)rec->extra_len, &block, &err)) {
		trace_damage(o->part->trace, from->name, &err);
		return;
	}
	perf_take_feature(o, FEATURE_TRACING_DATA, block.data, block.size, rec->extra_off);
	source_put(&block);
}

static void take_metadata(struct perf_opening *o, const struct perf_record *rec)
{
	struct perf_part *part = o->part;

	switch (rec->type) {
	case PERF_HEADER_ATTR:
		if (part->pipe)
			read_pipe_attr(o, rec);
		break;
	case PERF_HEADER_TRACING_DATA:
		read_pipe_tracing(o, rec);
		break;
	case PERF_HEADER_FEATURE:
		if (rec->size >= 16)
			perf_take_feature(o, (uint32_t)get64(rec->bytes + 8, part->swap),
					  rec->bytes + 16, rec->size - 16u, rec->off);
		break;
	case PERF_EVENT_UPDATE:
		read_event_update(o, rec);
		break;
	case PERF_ID_INDEX:
		read_id_index(part, rec);
		break;
	case PERF_THREAD_MAP:
		perf_read_thread_map(part, rec->bytes, rec->size);
		break;
	default:
		break;
	}
}

void perf_read_metadata(struct perf_opening *o, bool all)
{
	struct perf_iter iter;
	struct perf_record rec;
	struct error ignored; /* the walk meets it again, and tells */

	perf_iter_begin_source(&iter, o->part, 0);
	while (perf_iter_next(&iter, &rec, &ignored) == STEP_ITEM) {
		if (all) {
			if (rec.type == PERF_ID_INDEX)
				take_metadata(o, &rec);
			continue;
		}
		if (perf_is_compressed(rec.type))
			o->compressed = true;
		if (rec.type == PERF_SAMPLE || perf_is_compressed(rec.type)) {
			/* all files of perf record --switch-output have the same ids and metadata
			 */
			XXH3_128bits_update(o->identity, rec.bytes, rec.size);
			break;
		}
		take_metadata(o, &rec);
	}
	perf_iter_end(&iter);
}

static bool says_cpu(const struct perf_part *part, const struct perf_attr *attr)
{
	if (attr->sample_type & SAMPLE_CPU)
		return true;
	bool side = attr->places.id_back || !(attr->flags & ATTR_SAMPLE_ID_ALL);
	return part->has_id_index && attr->places.id && side;
}

static bool all_say_cpu(const struct perf_part *part)
{
	for (size_t i = 0; i < part->nattrs; i++)
		if (!says_cpu(part, part->attrs[i]))
			return false;
	return true;
}

void perf_find_cpus(struct perf_opening *o)
{
	struct perf_part *part = o->part;

	part->by_cpu = all_say_cpu(part);
	if (!part->nbuffers && !part->by_cpu) {
		perf_read_metadata(o, true);
		part->by_cpu = all_say_cpu(part);
	}
	if (part->cpus_available && part->cpus_available <= PERF_CPUS_MOST &&
	    (int32_t)part->cpus_available - 1 > part->most_cpu)
		part->most_cpu = (int32_t)part->cpus_available - 1;
}

void perf_look_for_cpus(struct perf_part *part)
{
	struct perf_iter iter;
	struct perf_record rec;
	struct record_view view;
	struct error ignored; /* the walk meets it again, and tells */
	enum step step;

	const struct perf_part *before = perf_part_before(part);
	perf_iter_begin(&iter, part);
	if (before && before->most_cpu >= 0) {
		part->most_cpu = before->most_cpu;
		perf_walked(before, &iter.source, &iter.off);
	}
	while ((step = perf_iter_next(&iter, &rec, &ignored)) != STEP_END)
		if (step == STEP_ITEM && rec.type < PERF_KERNEL_TYPES && rec.type &&
		    record_view_of(part, rec.bytes, rec.type, rec.size, &view) &&
		    view.cpu < PERF_CPUS_MOST && view.cpu > part->most_cpu)
			part->most_cpu = view.cpu;
	perf_iter_end(&iter);
}
