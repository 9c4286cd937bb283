/* lookup.c - events, streams, CPUs and fields of a trace by name; see lookup.h */
#include "state/program/lookup.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "state/program/cpus.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lookup_is_glob(const char *word)
{
	return strpbrk(word, "*?[") != NULL;
}

bool lookup_glob(const char *glob, const char *name, char separator)
{
	const char *tail = strrchr(name, separator);
	size_t plain = strcspn(glob, "*?[\\"); /* fnmatch() is slow */

	if (!glob[plain])
		return !strcmp(glob, name) || (tail && !strcmp(glob, tail + 1));
	if (!strcmp(glob + plain, "*"))
		return !strncmp(glob, name, plain) || (tail && !strncmp(glob, tail + 1, plain));
	return fnmatch(glob, name, 0) == 0 || (tail && fnmatch(glob, tail + 1, 0) == 0);
}

/* ---- events ---- */

/* `names`: those that are like it; `lists`: what 'yore info' shows. Returns false. */
static bool missing(const struct trace *trace, const char *what, const char *name,
		    const struct nearest *names, const char *lists, struct error *err)
{
	char hint[NEAREST_WORDS_MAX];

	nearest_hint(names, hint, sizeof hint);
	return error_set(err, ERR_RANGE, "the trace has no %s '%s': %s'yore info %s' lists %s",
			 what, name, hint, trace->path, lists);
}

static bool missing_event(const struct trace *trace, const char *name, struct error *err)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < trace->nclasses; i++)
		nearest_offer(&nearest, trace->classes[i]->name);
	return missing(trace, "event", name, &nearest, "event classes", err);
}

/* A glob that matches nothing is no mistake. Returns true. */
static bool note_none(const struct trace *trace, const char *what, const char *glob,
		      const char *lists, struct buf *note)
{
	if (note)
		buf_printf(note, "no %s matches '%s': 'yore info %s' lists %s", what, glob,
			   trace->path, lists);
	return true;
}

/* The scope "HOST/SECTION" in globs; a word without a slash is of a section alone. */
static bool in_scope(const struct trace *trace, const char *scope, const struct stream *stream)
{
	const struct part *part = trace->parts[stream->part];
	const char *slash = strchr(scope, '/');
	char host[256];

	if (fnmatch(scope, stream->section, 0) == 0)
		return *stream->section || !slash;
	if (!slash || (size_t)(slash - scope) >= sizeof host ||
	    fnmatch(slash + 1, stream->section, 0) != 0)
		return false;
	memcpy(host, scope, (size_t)(slash - scope));
	host[slash - scope] = 0;
	return fnmatch(host, part->host, 0) == 0 || fnmatch(host, part->domain, 0) == 0;
}

bool lookup_is_stream(const struct trace *trace, const char *word, const struct stream *stream)
{
	return lookup_glob(word, stream->name, '/') || in_scope(trace, word, stream);
}

static bool has_class(const struct trace *trace, const char *glob)
{
	for (size_t i = 0; i < trace->nclasses; i++)
		if (lookup_glob(glob, trace->classes[i]->name, ':'))
			return true;
	return false;
}

size_t lookup_scope(const struct trace *trace, const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash && !has_class(trace, word) ? (size_t)(slash - word) + 1 : 0;
}

bool lookup_in_scope(const struct trace *trace, const char *word, size_t event,
		     const struct stream *stream)
{
	char scope[512];

	if (!event)
		return true;
	if (event > sizeof scope)
		return false;
	memcpy(scope, word, event - 1);
	scope[event - 1] = 0;
	return in_scope(trace, scope, stream);
}

static bool has_scope(const struct trace *trace, const char *word, size_t event)
{
	bool any = !event;

	for (size_t i = 0; i < trace->nstreams && !any; i++)
		any = lookup_in_scope(trace, word, event, trace->streams[i]);
	return any;
}

bool lookup_has_event(const struct trace *trace, const char *word)
{
	size_t event = lookup_scope(trace, word);

	return has_scope(trace, word, event) && has_class(trace, word + event);
}

/* No stream is in the scope of the word. */
static bool missing_section(const struct trace *trace, const char *word, size_t event,
			    struct buf *note, struct error *err)
{
	struct nearest nearest;
	char scope[512];
	const char *last;

	snprintf(scope, sizeof scope, "%.*s", (int)(event - 1), word);
	if (lookup_is_glob(scope))
		return note_none(trace, "section", scope, "them", note);
	last = strrchr(scope, '/');
	nearest_begin(&nearest, last ? last + 1 : scope);
	for (size_t i = 0; i < trace->nstreams; i++)
		nearest_offer(&nearest, trace->streams[i]->section);
	return missing(trace, "section", scope, &nearest, "stream classes", err);
}

bool lookup_event(const struct trace *trace, const char *name, struct buf *note, struct error *err)
{
	size_t event = lookup_scope(trace, name);

	if (!has_scope(trace, name, event))
		return missing_section(trace, name, event, note, err);
	name += event;
	if (has_class(trace, name))
		return true;
	return lookup_is_glob(name) ? note_none(trace, "event class", name, "event classes", note)
				    : missing_event(trace, name, err);
}

/* ---- streams ---- */

static bool missing_stream(const struct trace *trace, const char *name, struct error *err)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const char *slash = strrchr(trace->streams[i]->name, '/');
		nearest_offer(&nearest, trace->streams[i]->name);
		if (slash)
			nearest_offer(&nearest, slash + 1);
		nearest_offer(&nearest, trace->streams[i]->section);
	}
	return missing(trace, "stream", name, &nearest, "streams", err);
}

bool lookup_has_stream(const struct trace *trace, const char *word)
{
	for (size_t i = 0; i < trace->nstreams; i++)
		if (lookup_is_stream(trace, word, trace->streams[i]))
			return true;
	return false;
}

bool lookup_stream(const struct trace *trace, const char *name, struct buf *note, struct error *err)
{
	if (lookup_has_stream(trace, name))
		return true;
	return lookup_is_glob(name) ? note_none(trace, "stream", name, "streams", note)
				    : missing_stream(trace, name, err);
}

/* ---- CPUs ---- */

/* "CPUs 0-3, 6". */
static void cpus_words(const struct cpus *cpus, struct buf *out)
{
	buf_add_text(out, cpus->count == 1 ? "CPU " : cpus->count ? "CPUs " : "no CPU");
	for (size_t i = 0, end; i < cpus->count; i = end) {
		for (end = i + 1;
		     end < cpus->count && cpus->items[end] == cpus->items[end - 1] + 1;)
			end++;
		buf_printf(out, "%s%d", i ? ", " : "", (int)cpus->items[i]);
		if (end > i + 1)
			buf_printf(out, "-%d", (int)cpus->items[end - 1]);
	}
}

static bool has_cpu(const struct cpus *cpus, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < cpus->count; i++)
		if ((uint64_t)cpus->items[i] >= low && (uint64_t)cpus->items[i] <= high)
			return true;
	return false;
}

static bool missing_cpu(const struct trace *trace, const struct cpus *cpus, uint64_t low,
			uint64_t high, struct buf *note, struct error *err)
{
	struct buf have = {0};
	bool ok = low != high;

	cpus_words(cpus, &have);
	if (!ok)
		error_set(err, ERR_RANGE,
			  "the trace has no CPU %llu, it has %s: 'yore info %s' lists streams and "
			  "CPUs",
			  (unsigned long long)low, buf_text(&have), trace->path);
	else if (note)
		buf_printf(note, "no CPU is from %llu to %llu: the trace has %s",
			   (unsigned long long)low, (unsigned long long)high, buf_text(&have));
	buf_release(&have);
	return ok;
}

bool lookup_cpu(struct index *index, uint64_t low, uint64_t high, struct buf *note,
		struct error *err)
{
	const struct trace *trace = index_trace(index);
	struct cpus cpus = {0};
	bool ok;

	if (cpus_of_streams(trace, low, high))
		return true;
	ok = cpus_find(trace, index, &cpus, err);
	if (ok && !cpus.many && !cpus.open && !has_cpu(&cpus, low, high))
		ok = missing_cpu(trace, &cpus, low, high, note, err);
	cpus_release(&cpus);
	return ok;
}

/* ---- fields ---- */

bool lookup_field(const struct trace *trace, const char *name, struct error *err)
{
	struct nearest nearest;
	char hint[NEAREST_WORDS_MAX];

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < trace->nclasses; i++)
		for (int scope = 0; scope < SCOPE_COUNT; scope++) {
			const struct field_class *class = trace->classes[i]->scope[scope];
			if (!class)
				continue;
			if (field_member(class, name))
				return true;
			for (uint32_t m = 0; m < class->nmembers; m++)
				if (!class->members[m].hidden)
					nearest_offer(&nearest, class->members[m].name);
		}
	nearest_hint(&nearest, hint, sizeof hint);
	return error_set(
		err, ERR_RANGE,
		"no event of the trace has a field '%s': %s'yore info %s' lists the fields of "
		"each event class",
		name, hint, trace->path);
}
