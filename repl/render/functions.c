/* functions.c - see names.h; one question to the state finds the processes of all threads */
#include "repl/render/names.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/symbols/symbols.h"
#include "index/loaded_files.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

/* How many events the search for processes may decode; those not found by then stay unknown. */
enum { PROCESS_EVENTS = 1000000, ADDRESS_DIGITS = 16 };

struct process {
	struct state_place place; /* attribute, and time of the first item that needs it */
	int64_t pid;
};

struct function_search {
	struct session *session;
	struct state *state;
	struct nameset paths; /* "thread[7]/process" to its index in `items` */
	struct process *items;
	size_t count, capacity;
	struct buf path; /* scratch */
};

static bool address_of(const struct value *value, uint64_t *address)
{
	char text[ADDRESS_DIGITS + 3];
	size_t digits;

	if (value->kind != VALUE_STRING || value->len < 3 || value->len >= sizeof text ||
	    memcmp(value->text, "0x", 2) != 0)
		return false;
	memcpy(text, value->text, value->len);
	text[value->len] = 0;
	digits = strspn(text + 2, "0123456789abcdef");
	*address = strtoull(text + 2, NULL, 16);
	return digits + 2 == value->len;
}

bool functions_is_address(const char *path, const struct value *value)
{
	const char *slash = strrchr(path, '/');
	uint64_t address;

	return slash && strncmp(slash, "/stack[", 7) == 0 && address_of(value, &address);
}

/* The attribute with the process of the thread whose stack the path is on. */
static const char *process_path(struct function_search *finding, const char *path)
{
	buf_clear(&finding->path);
	buf_add(&finding->path, path, (size_t)(strrchr(path, '/') + 1 - path));
	buf_add_text(&finding->path, "process");
	return buf_text(&finding->path);
}

static bool add_process(struct function_search *finding, const struct named *item,
			struct error *err)
{
	const char *path = process_path(finding, item->path);
	struct process process = {.place = {.moment = {.t = item->t}}, .pid = -1};

	if (nameset_find(&finding->paths, path, NULL))
		return true;
	if (!state_attribute(finding->state, path, &process.place.attr, err))
		return false;
	nameset_add(&finding->paths, path, (uint32_t)finding->count);
	*mem_push(finding->items, finding->count, finding->capacity) = process;
	return true;
}

/* Finds the processes; one whose event is too far back stays unknown. */
static bool ask_processes(struct function_search *finding, struct error *err)
{
	struct state_place *places = mem_new_array(finding->count + 1, sizeof *places);
	struct answers answers = {0};

	for (size_t i = 0; i < finding->count; i++)
		places[i] = finding->items[i].place;
	bool good = state_at_places(finding->state, places, finding->count, true, &answers, err);
	for (size_t i = 0; i < answers.count && good; i++)
		if (answers.items[i].value.kind == VALUE_INT)
			finding->items[i].pid = (int64_t)answers.items[i].value.u;
	answers_release(&answers);
	mem_free(places);
	return good || session_names_gave_up(err);
}

static bool find_processes(struct function_search *finding, const struct named *items, size_t count,
			   struct error *err)
{
	finding->state = session_names(finding->session, PROCESS_EVENTS, err);
	bool good = finding->state != NULL;

	for (size_t i = 0; i < count && good; i++)
		if (functions_is_address(items[i].path, &items[i].value))
			good = add_process(finding, &items[i], err);
	return good && ask_processes(finding, err);
}

static const char *symbol_name(const struct symbol *symbol, struct arena *arena)
{
	const char *slash = symbol->object ? strrchr(symbol->object, '/') : NULL;

	if (symbol->function && symbol->offset)
		return arena_printf(arena, "%s+0x%llx", symbol->function,
				    (unsigned long long)symbol->offset);
	if (symbol->function)
		return arena_strdup(arena, symbol->function);
	return arena_printf(arena, "[%s]", slash ? slash + 1 : symbol->object);
}

static void put_functions(struct function_search *finding, struct symbols *symbols,
			  struct named *items, size_t count, struct arena *arena)
{
	struct symbol symbol;
	uint64_t address;
	uint32_t place;

	for (size_t i = 0; i < count; i++) {
		struct named *item = &items[i];
		if (functions_is_address(item->path, &item->value) &&
		    address_of(&item->value, &address) &&
		    nameset_find(&finding->paths, process_path(finding, item->path), &place) &&
		    symbols_find_process(symbols, item->t, finding->items[place].pid, address,
					 &symbol))
			item->function = symbol_name(&symbol, arena);
	}
}

static bool has_address(const struct named *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (functions_is_address(items[i].path, &items[i].value))
			return true;
	return false;
}

bool functions_put(struct session *session, struct named *items, size_t count, struct arena *arena,
		   struct error *err)
{
	struct function_search finding = {.session = session};
	struct symbols *symbols = has_address(items, count) ? session_symbols(session) : NULL;

	if (!symbols)
		return true;
	bool good = find_processes(&finding, items, count, err) &&
		    tell_loaded_files(session->index, symbols, session_progress_time, session, err);
	if (good)
		put_functions(&finding, symbols, items, count, arena);
	nameset_release(&finding.paths);
	mem_free(finding.items);
	buf_release(&finding.path);
	return good;
}
