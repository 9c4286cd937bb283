/*
 * describe.c - merges the metadata of a trace's streams
 *
 * At least one stream of a process has its attributes, and some streams of a loom have its CPUs. If
 * streams disagree on an attribute, the first one counts, and a warning names the other.
 */
#include "engine/ovni/ovni_internal.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ENV_MAX = 4096 };

static bool same_process(const struct ovni_metadata *a, const struct ovni_metadata *b)
{
	return a->pid == b->pid && a->loom && b->loom && !strcmp(a->loom, b->loom);
}

static void merge_number(struct trace *trace, const struct ovni_metadata *from, int64_t said,
			 const struct ovni_metadata *to, int64_t *number, const char *what)
{
	if (*number < 0) {
		*number = said;
		return;
	}
	if (said >= 0 && said != *number)
		notice(&trace->notices, NOTICE_WARNING,
		       "%s/stream.json: %s of process %" PRId64 " is %" PRId64 ", but %" PRId64
		       " in %s/stream.json, which counts",
		       from->path, what, from->pid, said, *number, to->path);
}

/* Finds the loom of a stream that does not name it, by other streams of its process. */
static void find_loom(struct ovni_metadata *streams, size_t count, struct ovni_metadata *one)
{
	for (size_t i = 0; i < count && !one->loom; i++)
		if (one->pid > 0 && streams[i].pid == one->pid)
			one->loom = streams[i].loom;
}

static int by_process(const void *a, const void *b)
{
	const struct ovni_metadata *x = *(struct ovni_metadata *const *)a;
	const struct ovni_metadata *y = *(struct ovni_metadata *const *)b;
	int order = strcmp(x->loom, y->loom);

	if (order || x->pid != y->pid)
		return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
	return (x > y) - (x < y);
}

void ovni_merge(struct trace *trace, struct ovni_metadata *streams, size_t count)
{
	struct ovni_metadata **sorted = mem_new_array(count + 1, sizeof *sorted);
	struct ovni_metadata *first = NULL;

	for (size_t i = 0; i < count; i++) {
		find_loom(streams, count, &streams[i]);
		if (!streams[i].loom)
			streams[i].loom = "";
		streams[i].host =
			arena_strndup(trace->arena, streams[i].loom, strcspn(streams[i].loom, "."));
		sorted[i] = &streams[i];
	}
	qsort(sorted, count, sizeof *sorted, by_process);
	for (size_t i = 0; i < count; i++) { /* collect attributes in each process's first stream */
		if (!first || !same_process(first, sorted[i])) {
			first = sorted[i];
			continue;
		}
		merge_number(trace, sorted[i], sorted[i]->app, first, &first->app, "app_id");
		merge_number(trace, sorted[i], sorted[i]->rank, first, &first->rank, "rank");
		merge_number(trace, sorted[i], sorted[i]->nranks, first, &first->nranks, "nranks");
	}
	for (size_t i = 0; i < count; i++) { /* and copy them to all its streams */
		if (!i || !same_process(first, sorted[i]))
			first = sorted[i];
		sorted[i]->app = first->app;
		sorted[i]->rank = first->rank;
		sorted[i]->nranks = first->nranks;
	}
	mem_free(sorted);
}

static int by_index(const void *a, const void *b)
{
	const struct ovni_cpu *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

const struct ovni_loom *ovni_make_loom(struct trace *trace, const struct ovni_metadata *streams,
				       size_t count, const char *name)
{
	struct ovni_loom *loom = arena_alloc(trace->arena, sizeof *loom);
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		total += strcmp(streams[i].loom, name) ? 0 : streams[i].ncpus;
	loom->name = name;
	loom->cpus = arena_array(trace->arena, total + 1, sizeof *loom->cpus);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(streams[i].loom, name) != 0 || !streams[i].ncpus)
			continue;
		memcpy(loom->cpus + loom->ncpus, streams[i].cpus,
		       streams[i].ncpus * sizeof *loom->cpus);
		loom->ncpus += streams[i].ncpus;
	}
	qsort(loom->cpus, loom->ncpus, sizeof *loom->cpus, by_index);
	for (size_t i = 0; i < loom->ncpus; i++) {
		const struct ovni_cpu *cpu = &loom->cpus[i];
		if (!kept || loom->cpus[kept - 1].index != cpu->index)
			loom->cpus[kept++] = *cpu;
		else if (loom->cpus[kept - 1].phyid != cpu->phyid)
			notice(&trace->notices, NOTICE_WARNING,
			       "%s: loom %s: CPU index %" PRId64 " is physical CPU %" PRId64
			       " in one stream and %" PRId64 " in another; the first counts",
			       trace->path, name, cpu->index, loom->cpus[kept - 1].phyid,
			       cpu->phyid);
	}
	loom->ncpus = kept;
	return loom;
}

/* ---- models ---- */

static const struct ovni_model *model_named(const char *name)
{
	for (size_t i = 0; i < ovni_nmodels; i++)
		if (!strcmp(ovni_models[i].name, name))
			return &ovni_models[i];
	return NULL;
}

/* Can a reader of `known` (2.7.0) read `wanted` (2.3.0)? The major version must be the same, the
   minor not greater. */
static bool version_known(const char *wanted, const char *known)
{
	char *rest, *known_rest;
	unsigned long major = strtoul(wanted, &rest, 10), own = strtoul(known, &known_rest, 10);

	return major == own && *rest == '.' &&
	       strtoul(rest + 1, NULL, 10) <= strtoul(known_rest + 1, NULL, 10);
}

void ovni_warn_models(struct trace *trace, const struct ovni_metadata *streams, size_t count)
{
	struct buf said = {0}, line = {0};

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < streams[i].nmodels; k++) {
			const struct ovni_named *wanted = &streams[i].models[k];
			const struct ovni_model *model = model_named(wanted->name);
			if (model && version_known(wanted->text, model->version))
				continue;
			buf_clear(&line);
			buf_printf(&line, "\n%.64s %.64s\n", wanted->name, wanted->text);
			if (strstr(buf_text(&said), buf_text(&line)))
				continue;
			buf_add_text(&said, buf_text(&line));
			notice(&trace->notices, NOTICE_WARNING,
			       "%s/stream.json: model %.64s %.64s is not known (%s%s); its events "
			       "may be unknown or mean something else",
			       streams[i].path, wanted->name, wanted->text,
			       model ? model->version : "no version is", model ? " is" : "");
		}
	}
	buf_release(&said);
	buf_release(&line);
}

/* ---- env ---- */

struct env_list {
	struct trace *trace;
	struct env_entry *items;
	size_t count, capacity;
};

static bool describe_add_env(struct env_list *list, struct env_entry entry)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, entry.name))
			return false;
	if (list->count == ENV_MAX)
		return false;
	entry.name = arena_strdup(list->trace->arena, entry.name);
	entry.text = entry.text ? arena_strdup(list->trace->arena, entry.text) : NULL;
	*mem_push(list->items, list->count, list->capacity) = entry;
	return true;
}

static void describe_add_number(struct env_list *list, int64_t pid, const char *what,
				int64_t number)
{
	struct buf name = {0};

	if (number < 0 || pid < 0)
		return;
	buf_printf(&name, "process.%" PRId64 ".%s", pid, what);
	describe_add_env(list, (struct env_entry){.name = buf_text(&name), .number = number});
	buf_release(&name);
}

/* "INDEX:PHYID ..." of all CPUs of the loom. */
static void add_loom_cpus(struct env_list *list, const struct ovni_loom *loom)
{
	struct buf name = {0}, text = {0};

	for (size_t i = 0; i < loom->ncpus; i++)
		buf_printf(&text, "%s%" PRId64 ":%" PRId64, i ? " " : "", loom->cpus[i].index,
			   loom->cpus[i].phyid);
	buf_printf(&name, "loom.%s.cpus", loom->name);
	if (loom->ncpus)
		describe_add_env(
			list, (struct env_entry){.name = buf_text(&name), .text = buf_text(&text)});
	buf_release(&name);
	buf_release(&text);
}

/* Adds a setting once; warns if a stream has another text than the first. */
static void add_setting(struct env_list *list, const struct ovni_metadata *one,
			const struct ovni_named *setting)
{
	if (describe_add_env(list,
			     (struct env_entry){.name = setting->name, .text = setting->text}))
		return;
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, setting->name) && list->items[i].text &&
		    strcmp(list->items[i].text, setting->text) != 0)
			notice(&list->trace->notices, NOTICE_WARNING,
			       "%s/stream.json: %.100s is \"%.100s\", but \"%.100s\" in another "
			       "stream, which counts",
			       one->path, setting->name, setting->text, list->items[i].text);
}

void ovni_describe(struct trace *trace, struct part *part, const struct ovni_metadata *streams,
		   const struct ovni_loom *const *looms, size_t count)
{
	struct env_list list = {.trace = trace};

	for (size_t i = 0; i < count; i++) {
		const struct ovni_metadata *one = &streams[i];
		if (strcmp(one->host, part->host) != 0)
			continue;
		for (size_t k = 0; k < one->nmodels; k++) {
			const char *name =
				arena_printf(trace->arena, "model.%.64s", one->models[k].name);
			add_setting(&list, one, &(struct ovni_named){name, one->models[k].text});
		}
		for (size_t k = 0; k < one->nsettings; k++)
			add_setting(&list, one, &one->settings[k]);
		if (looms[i])
			add_loom_cpus(&list, looms[i]);
		describe_add_number(&list, one->pid, "app_id", one->app);
		describe_add_number(&list, one->pid, "rank", one->rank);
		describe_add_number(&list, one->pid, "nranks", one->nranks);
	}
	part->env = arena_copy(trace->arena, list.items, list.count, sizeof *list.items);
	part->nenv = list.count;
	mem_free(list.items);
}
