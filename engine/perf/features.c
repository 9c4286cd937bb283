/*
 * features.c - perf's features: host, kernel, command line, names of events, build ids, ...
 *
 * One payload per feature number, in the file's feature table or in records of a pipe: mostly
 * strings, a 32-bit length and as many bytes, zero-filled.
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "engine/base/mem.h"
#include "engine/perf/perf_internal.h"

#include <inttypes.h>

struct feature_in {
	struct cursor at;
	bool swap;
};

static uint32_t next32(struct feature_in *in)
{
	return (uint32_t)cursor_number(&in->at, 4, in->swap);
}

static uint64_t next64(struct feature_in *in)
{
	return cursor_number(&in->at, 8, in->swap);
}

/* Returns the next string, in the arena; NULL: it is cut short. */
static const char *next_text(struct feature_in *in, struct arena *arena)
{
	uint32_t len = next32(in);
	const uint8_t *bytes = cursor_bytes(&in->at, len);

	if (in->at.failed)
		return NULL;
	return arena_strndup(arena, (const char *)bytes, strnlen((const char *)bytes, len));
}

static struct env_entry *room_for_env(struct perf_part *part, const char *name)
{
	struct env_entry *entry = mem_push(part->env, part->nenv, part->env_capacity);

	*entry = (struct env_entry){.name = arena_strdup(part->trace->arena, name)};
	return entry;
}

static void perf_add_env(struct perf_part *part, const char *name, const char *text)
{
	room_for_env(part, name)->text = arena_strdup(part->trace->arena, text);
}

static void features_add_number(struct perf_part *part, const char *name, uint64_t number)
{
	room_for_env(part, name)->number = (int64_t)number;
}

static void features_add_text(struct perf_part *part, const char *name, struct feature_in *in)
{
	const char *text = next_text(in, part->trace->arena);

	if (text)
		perf_add_env(part, name, text);
}

static void read_command_line(struct perf_part *part, struct feature_in *in)
{
	uint32_t n = next32(in);
	struct buf line = {0};

	for (uint32_t i = 0; i < n && !in->at.failed; i++) {
		const char *word = next_text(in, part->trace->arena);
		if (!word)
			break;
		if (i)
			buf_add_char(&line, ' ');
		buf_add_text(&line, word);
	}
	if (line.len)
		perf_add_env(part, "cmdline", buf_text(&line));
	buf_release(&line);
}

/* FEATURE_EVENT_DESC: events in the order of the attribute table, with the user's names. */
static void read_event_names(struct perf_part *part, struct feature_in *in)
{
	uint32_t n = next32(in), attr_bytes = next32(in);

	for (uint32_t i = 0; i < n && !in->at.failed; i++) {
		cursor_bytes(&in->at, attr_bytes);
		uint64_t nids = next32(in);
		const char *name = next_text(in, part->trace->arena);
		if (in->at.failed || nids > (in->at.size - in->at.pos) / 8)
			break;
		cursor_bytes(&in->at, nids * 8);
		if (name && *name && i < part->nattrs)
			part->attrs[i]->name = name;
	}
}

static void read_clock_data(struct perf_part *part, struct feature_in *in)
{
	next32(in);
	next32(in);
	uint64_t wall = next64(in), clock = next64(in);

	if (in->at.failed)
		return;
	part->has_wall = true;
	part->wall_offset = (int64_t)(wall - clock);
	features_add_number(part, "clock_wall_ns", wall);
	features_add_number(part, "clock_ns", clock);
}

bool perf_read_build_id(const struct perf_part *part, const uint8_t *p, uint32_t size,
			struct arena *arena, struct perf_build_id *out)
{
	enum { ID_AT = 12, SIZE_AT = 32, NAME_AT = 36 };

	if (size <= NAME_AT)
		return false;
	bool sized = get16(p + 4, part->swap) & 1 << 15;
	out->size = sized && p[SIZE_AT] <= 20 ? p[SIZE_AT] : 20;
	memcpy(out->id, p + ID_AT, sizeof out->id);
	const char *name = (const char *)p + NAME_AT;
	out->name = arena_strndup(arena, name, strnlen(name, size - NAME_AT));
	return true;
}

static void read_build_ids(struct perf_part *part, const uint8_t *data, size_t size)
{
	for (size_t at = 0, len; size - at >= RECORD_HEAD; at += len) {
		len = get16(data + at + 6, part->swap);
		if (len < RECORD_HEAD || len > size - at)
			return;
		part->build_ids = mem_grow(part->build_ids, part->nbuild_ids,
					   &part->build_ids_capacity, sizeof *part->build_ids);
		part->nbuild_ids +=
			perf_read_build_id(part, data + at, (uint32_t)len, part->trace->arena,
					   &part->build_ids[part->nbuild_ids]);
	}
}

void perf_feature(struct perf_part *part, uint32_t feature, const uint8_t *data, size_t size)
{
	static const char *const texts[] = {
		[FEATURE_HOSTNAME] = "hostname",    [FEATURE_OS_RELEASE] = "os_release",
		[FEATURE_VERSION] = "perf_version", [FEATURE_ARCH] = "arch",
		[FEATURE_CPU_DESC] = "cpudesc",     [FEATURE_CPUID] = "cpuid"};
	struct feature_in in = {cursor_over(data, size), part->swap};

	if (feature < sizeof texts / sizeof *texts && texts[feature])
		features_add_text(part, texts[feature], &in);
	switch ((enum perf_feature)feature) {
	case FEATURE_BUILD_ID:
		read_build_ids(part, data, size);
		break;
	case FEATURE_ARCH:
		if (part->nenv && !strcmp(part->env[part->nenv - 1].name, "arch"))
			part->arch = part->env[part->nenv - 1].text;
		break;
	case FEATURE_NRCPUS:
		part->cpus_available = next32(&in);
		part->cpus_online = next32(&in);
		features_add_number(part, "nrcpus_online", part->cpus_online);
		features_add_number(part, "nrcpus_avail", part->cpus_available);
		break;
	case FEATURE_TOTAL_MEM:
		features_add_number(part, "total_memory_kb", next64(&in));
		break;
	case FEATURE_CMDLINE:
		read_command_line(part, &in);
		break;
	case FEATURE_EVENT_DESC:
		read_event_names(part, &in);
		break;
	case FEATURE_SAMPLE_TIME:
		features_add_number(part, "first_sample_ns", next64(&in));
		features_add_number(part, "last_sample_ns", next64(&in));
		break;
	case FEATURE_DIR_FORMAT:
		features_add_number(part, "dir_format", next64(&in));
		break;
	case FEATURE_CLOCK_DATA:
		read_clock_data(part, &in);
		break;
	default: /* build ids, topology, caches: not needed */
		break;
	}
}

/* Appends ":u", ":k" and the like, as perf does. tools/perf/util/evsel.c. */
static void add_modifiers(const struct perf_attr *attr, struct buf *name)
{
	enum { USER = 4, KERNEL, HYPERVISOR, PRECISE = 15, HOST = 19, GUEST };
	const uint64_t flags = attr->flags;
	uint64_t precise = flags >> PRECISE & 3;
	bool narrow = flags >> USER & 7, guest_left_out = narrow || precise;
	size_t len = name->len;

	buf_add_char(name, ':');
	if (narrow) {
		buf_add_text(name, flags >> KERNEL & 1 ? "" : "k");
		buf_add_text(name, flags >> USER & 1 ? "" : "u");
		buf_add_text(name, flags >> HYPERVISOR & 1 ? "" : "h");
	}
	for (uint64_t i = 0; i < precise; i++)
		buf_add_char(name, 'p');
	if (flags >> HOST & 1 || (flags >> GUEST & 1) == guest_left_out) {
		buf_add_text(name, flags >> HOST & 1 ? "" : "H");
		buf_add_text(name, flags >> GUEST & 1 ? "" : "G");
	}
	if (name->len == len + 1)
		name->data[--name->len] = 0;
}

static void add_cache_name(uint64_t config, struct buf *name)
{
	static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
					     "iTLB",      "branch",    "node"};
	static const char *const operations[][2] = {
		{"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}};
	uint64_t cache = config & 0xff, operation = config >> 8 & 0xff,
		 result = config >> 16 & 0xff;

	if (cache >= sizeof caches / sizeof *caches ||
	    operation >= sizeof operations / sizeof *operations || result > 1)
		buf_add_text(name, "unknown-ext-hardware-cache");
	else
		buf_printf(name, "%s-%s%s", caches[cache], operations[operation][!result],
			   result ? "-misses" : "");
}

/* Names as perf gives them to events that have none in the file. tools/perf/util/evsel.c. */
static const char *counter_name(const struct perf_part *part, const struct perf_attr *attr)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
	struct buf name = {0};

	if (attr->type == 0 && attr->config < sizeof hardware / sizeof *hardware)
		buf_add_text(&name, hardware[attr->config]);
	else if (attr->type == 1 && attr->config < sizeof software / sizeof *software)
		buf_add_text(&name, software[attr->config]);
	else if (attr->type == 3)
		add_cache_name(attr->config, &name);
	else if (attr->type == 4)
		buf_printf(&name, "raw 0x%" PRIx64, attr->config);
	else if (attr->type == 2)
		buf_add_text(&name, "unknown tracepoint");
	else
		buf_printf(&name, "unknown attr type: %u", attr->type);
	if (attr->type != 2 && attr->type <= 4)
		add_modifiers(attr, &name);
	const char *text = arena_strdup(part->trace->arena, buf_text(&name));
	buf_release(&name);
	return text;
}

/* Names tracepoints by the tracing data, other events by the file, or else as perf does. */
void perf_name_events(struct perf_part *part)
{
	for (size_t i = 0; i < part->nattrs; i++) {
		struct perf_attr *attr = part->attrs[i];
		if (attr->type == 2 && part->tracing)
			attr->format = tracing_find(part->tracing, (uint32_t)attr->config);
		if (attr->format)
			attr->name = arena_printf(part->trace->arena, "%s:%s", attr->format->system,
						  attr->format->name);
		else if (!attr->name)
			attr->name = counter_name(part, attr);
	}
}
