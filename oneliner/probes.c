/*
 * probes.c - matches bpftrace's names of probes with the event names of recordings
 *
 *     tracepoint:sched:sched_switch        sched:sched_switch (perf, ftrace), sched_switch (LTTng)
 *     tracepoint:syscalls:sys_enter_read   syscalls:sys_enter_read, syscall_entry_read (LTTng)
 *     kprobe:vfs_read                      probe:vfs_read (perf probe), kprobes:vfs_read (ftrace)
 *     uprobe:/bin/sh:main                  probe_sh:main
 */
#include "oneliner/bind.h"

#include "state/model/glob.h"
#include "state/program/lookup.h"

#include <stdio.h>
#include <string.h>

enum provider {
	PROVIDER_NONE,
	PROVIDER_TRACEPOINT,
	PROVIDER_RAW,
	PROVIDER_KPROBE,
	PROVIDER_KRETPROBE,
	PROVIDER_UPROBE,
	PROVIDER_URETPROBE,
	PROVIDER_USDT,
	PROVIDER_COUNTER
};

static const char *const providers[] = {
	[PROVIDER_TRACEPOINT] = "tracepoint t",
	[PROVIDER_RAW] = "rawtracepoint rt",
	[PROVIDER_KPROBE] = "kprobe k fentry kfunc f",
	[PROVIDER_KRETPROBE] = "kretprobe kr fexit kretfunc fr",
	[PROVIDER_UPROBE] = "uprobe u",
	[PROVIDER_URETPROBE] = "uretprobe ur",
	[PROVIDER_USDT] = "usdt U",
	[PROVIDER_COUNTER] = "software s hardware h",
};

static enum provider provider_of(const struct spec *spec)
{
	for (size_t i = PROVIDER_COUNTER; spec->provider && i > PROVIDER_NONE; i--)
		if (has_word(providers[i], spec->provider))
			return (enum provider)i;
	return PROVIDER_NONE;
}

static bool glob(const char *pattern, size_t npattern, const char *text)
{
	return glob_match(pattern, npattern, text, strlen(text), NULL);
}

/* Is the text PREFIX, a match of the pattern, and SUFFIX? */
static bool glob_between(const char *prefix, const char *pattern, const char *suffix,
			 const char *text)
{
	size_t len = strlen(text), nprefix = strlen(prefix), nsuffix = strlen(suffix);

	return len >= nprefix + nsuffix && !strncmp(text, prefix, nprefix) &&
	       !strcmp(text + len - nsuffix, suffix) &&
	       glob_match(pattern, strlen(pattern), text + nprefix, len - nprefix - nsuffix, NULL);
}

/* LTTng's names have no subsystem: the event's name must begin with it, as in sched_switch. */
static bool is_in_subsystem(const char *subsystem, size_t len, const char *event)
{
	for (const char *end = event; (end = strchr(end, '_')); end++)
		if (glob_match(subsystem, len, event, (size_t)(end - event), NULL))
			return true;
	return false;
}

static bool is_lttng_tracepoint(const char *name, const char *event)
{
	static const struct {
		const char *here, *there;
	} syscalls[] = {{"sys_enter", "syscall_entry_"}, {"sys_exit", "syscall_exit_"}};
	const char *colon = strchr(name, ':'), *last = colon + 1;
	bool calls = !strncmp(name, "syscalls:", 9), raw = !strncmp(name, "raw_syscalls:", 13);

	for (size_t i = 0; i < 2 && (calls || raw); i++) {
		size_t n = strlen(syscalls[i].here);
		if (raw && glob(last, strlen(last), syscalls[i].here) &&
		    !strncmp(event, syscalls[i].there, strlen(syscalls[i].there)))
			return true;
		if (calls && !strncmp(last, syscalls[i].here, n) && last[n] == '_' &&
		    glob_between(syscalls[i].there, last + n + 1, "", event))
			return true;
	}
	if (calls || raw || !glob(last, strlen(last), event))
		return false;
	return !lookup_is_glob(last) || is_in_subsystem(name, (size_t)(colon - name), event);
}

static bool is_tracepoint(const char *name, const char *event)
{
	return glob(name, strlen(name), event) ||
	       (strchr(name, ':') && !strchr(event, ':') && is_lttng_tracepoint(name, event));
}

static bool is_uprobe(const char *name, bool returns, const char *event)
{
	const char *function = event_bare_name(name), *end = function > name ? function - 1 : name;
	const char *base = end;
	char prefix[128];

	while (base > name && base[-1] != '/')
		base--;
	size_t len = 0;
	while (base + len < end && len < 64 &&
	       (base[len] == '_' || (base[len] | 32) > '`' ||
		(base[len] >= '0' && base[len] <= '9')))
		len++;
	snprintf(prefix, sizeof prefix, "probe_%.*s:", (int)len, base);
	return glob_between(prefix, function, returns ? "__return" : "", event) ||
	       (!returns && glob_between("uprobes:", function, "", event));
}

/* Is it the counter software:faults:100, hardware:cycles ...? perf's names may end in :MODIFIER. */
static bool is_counter(const char *name, const char *event)
{
	static const char *const aliases[][2] = {{"faults", "page-faults"},
						 {"cs", "context-switches"},
						 {"cpu", "cpu-clock"},
						 {"cpu-cycles", "cycles"},
						 {"branch-instructions", "branches"}};
	size_t len = strcspn(name, ":"), own = strcspn(event, ":");

	if (glob_match(name, len, event, own, NULL))
		return true;
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		for (size_t k = 0; k < 2; k++)
			if (strlen(aliases[i][k]) == len && !memcmp(aliases[i][k], name, len) &&
			    strlen(aliases[i][!k]) == own && !memcmp(aliases[i][!k], event, own))
				return true;
	return false;
}

bool spec_matches(const struct spec *spec, const char *event)
{
	const char *name = spec->name, *function = event_bare_name(name);

	switch (provider_of(spec)) {
	case PROVIDER_NONE:
		return lookup_glob(spec->text, event, ':');
	case PROVIDER_TRACEPOINT:
		return is_tracepoint(name, event);
	case PROVIDER_RAW:
		return lookup_glob(function, event, ':');
	case PROVIDER_KPROBE:
		return glob_between("probe:", function, "", event) ||
		       glob_between("kprobes:", function, "", event) ||
		       glob_between("kprobes:p_", function, "_0", event);
	case PROVIDER_KRETPROBE:
		return glob_between("probe:", function, "__return", event) ||
		       glob_between("kprobes:r_", function, "_0", event);
	case PROVIDER_UPROBE:
		return is_uprobe(name, false, event);
	case PROVIDER_URETPROBE:
		return is_uprobe(name, true, event);
	case PROVIDER_USDT:
		name = name[0] == '/' && strchr(name, ':') ? strchr(name, ':') + 1 : name;
		return glob(name, strlen(name), event) || glob_between("sdt_", name, "", event);
	case PROVIDER_COUNTER:
		return is_counter(name, event);
	}
	return false;
}

struct spec spec_of(const char *text, struct arena *arena)
{
	const char *colon = strchr(text, ':');
	struct spec spec = {.text = text, .name = text};

	if (colon) {
		spec.provider = arena_strndup(arena, text, (size_t)(colon - text));
		spec.name = colon + 1;
	}
	return spec;
}

const char *spec_shown(const struct spec *spec, const char *event, struct arena *arena)
{
	enum provider provider = provider_of(spec);
	const char *bare = strrchr(event, ':');

	if (provider == PROVIDER_NONE || provider == PROVIDER_COUNTER)
		return event;
	if (provider == PROVIDER_TRACEPOINT)
		return arena_printf(arena, "tracepoint:%s", event);
	if (lookup_is_glob(spec->text))
		return arena_printf(arena, "%s:%s", spec->provider, bare ? bare + 1 : event);
	return spec->text;
}
