/*
 * names.c - tables beside the formats: kernel symbols, printk's strings, saved command lines
 *
 *     ffffffff810a1230 T schedule [module]     0xffffffff82001234 : "text %d\n"     4297 bash
 *
 * Each becomes rows sorted by their number; of symbols at one address the first in the file wins.
 * Lines of another form are left out.
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/kernel/tracing_internal.h"

#include <stdlib.h>
#include <string.h>

/* Returns the next line of [*at, end) without its newline; false: no more lines. */
static bool next_line(const char **at, const char *end, const char **line, size_t *len)
{
	if (*at >= end)
		return false;
	const char *stop = memchr(*at, '\n', (size_t)(end - *at));
	*line = *at;
	*len = (size_t)((stop ? stop : end) - *at);
	*at = stop ? stop + 1 : end;
	return true;
}

/* Parses hexadecimal digits, with or without 0x, and moves *at. False: no digit, or too many. */
static bool read_hex(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x')
		p += 2;
	*out = 0;
	for (; p < end && hex_digit(*p) >= 0 && digits <= 16; p++, digits++)
		*out = *out << 4 | (uint64_t)hex_digit(*p);
	*at = p;
	return digits > 0 && digits <= 16;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol_row *x = a, *y = b;

	return three_way(x->address, y->address) ?: three_way(y->order, x->order);
}

static void add_symbol(struct symbol_row **rows, size_t *count, size_t *capacity, uint64_t address,
		       const char *name)
{
	*rows = mem_grow(*rows, *count, capacity, sizeof **rows);
	(*rows)[*count] = (struct symbol_row){address, name, (uint32_t)*count};
	++*count;
}

struct kernel_symbols *symbol_table_new(void)
{
	struct kernel_symbols *table = mem_new(sizeof *table);

	pthread_mutex_init(&table->lock, NULL);
	table->ready = true;
	return table;
}

void symbol_table_free(struct kernel_symbols *table)
{
	while (table->texts) {
		struct symbol_text *next = table->texts->next;
		mem_free(table->texts);
		table->texts = next;
	}
	pthread_mutex_destroy(&table->lock);
	mem_free(table->rows);
	mem_free(table);
}

bool tracing_kallsyms(struct tracing *tracing, const char *text, size_t len, struct error *err)
{
	struct kernel_symbols *table = tracing->symbols;
	struct symbol_text **last = &table->texts;
	struct symbol_text *kept = mem_resize(NULL, sizeof *kept + len + 1, 1);

	(void)err;
	kept->next = NULL;
	kept->len = len;
	if (len)
		memcpy(kept->text, text, len);
	kept->text[len] = 0;
	while (*last)
		last = &(*last)->next;
	*last = kept;
	table->ready = false;
	return true;
}

/* Makes a row of a line; writes a zero behind the name in the text. */
static void symbol_line(struct kernel_symbols *table, char *line, size_t size)
{
	const char *p = line, *stop = line + size;
	uint64_t address;

	if (!read_hex(&p, stop, &address) || stop - p < 4 || p[0] != ' ' || p[2] != ' ')
		return;
	char kind = p[1];
	char *name = line + (p + 3 - line), *end = name;
	while (end < stop && *end != ' ' && *end != '\t' && *end != '\r')
		end++;
	/* absolute symbols and ARM's mapping symbols name no code */
	if (end == name || kind == 'A' || kind == 'a' || *name == '$')
		return;
	*end = 0;
	add_symbol(&table->rows, &table->nrows, &table->capacity, address, name);
}

static void read_symbols(struct kernel_symbols *table)
{
	bool sorted = true;

	table->nrows = 0;
	for (struct symbol_text *text = table->texts; text; text = text->next) {
		char *at = text->text, *end = at + text->len;
		while (at < end) {
			char *stop = memchr(at, '\n', (size_t)(end - at));
			stop = stop ? stop : end;
			symbol_line(table, at, (size_t)(stop - at));
			at = stop + 1;
		}
	}
	for (size_t i = 1; i < table->nrows && sorted; i++)
		sorted = table->rows[i - 1].address < table->rows[i].address;
	if (!sorted)
		qsort(table->rows, table->nrows, sizeof *table->rows, by_address);
}

static const struct kernel_symbols *symbols(const struct tracing *tracing)
{
	struct kernel_symbols *table = tracing->symbols;

	if (__atomic_load_n(&table->ready, __ATOMIC_ACQUIRE))
		return table;
	pthread_mutex_lock(&table->lock);
	if (!table->ready) {
		read_symbols(table);
		__atomic_store_n(&table->ready, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&table->lock);
	return table;
}

uint64_t symbol_address(const struct tracing *tracing, const char *name)
{
	const struct kernel_symbols *table = symbols(tracing);

	for (size_t i = 0; i < table->nrows; i++)
		if (!strcmp(table->rows[i].name, name))
			return table->rows[i].address;
	return 0;
}

/* Returns the last row at or below `address`; NULL: there is none. */
static const struct symbol_row *row_below(const struct symbol_row *rows, size_t count,
					  uint64_t address)
{
	size_t low = search_first(i, 0, count, rows[i].address <= address);

	return low ? &rows[low - 1] : NULL;
}

const char *tracing_symbol(const struct tracing *tracing, uint64_t address, uint64_t *start)
{
	const struct symbol_row *row;

	if (tracing->resolver) {
		const char *name = tracing->resolver(tracing->resolver_arg, address, start);
		if (name)
			return name;
	}
	const struct kernel_symbols *table = symbols(tracing);
	row = row_below(table->rows, table->nrows, address);
	if (!row ||
	    (row->address != address && row->address == table->rows[table->nrows - 1].address))
		return NULL;
	*start = row->address;
	return row->name;
}

bool tracing_symbol_at(const struct tracing *tracing, size_t i, uint64_t *start, const char **name)
{
	const struct kernel_symbols *table = symbols(tracing);

	if (i >= table->nrows)
		return false;
	*start = table->rows[i].address;
	*name = table->rows[i].name;
	return true;
}

/* Lines `0xADDRESS : "text\n"`; cuts off the quotes and a final newline (two characters). */
bool tracing_printk(struct tracing *tracing, const char *text, size_t len, struct error *err)
{
	const char *at = text, *end = text + len, *line;
	size_t size;

	(void)err;
	while (next_line(&at, end, &line, &size)) {
		const char *p = line, *stop = line + size;
		uint64_t address;
		if (!read_hex(&p, stop, &address))
			continue;
		const char *colon = memchr(p, ':', (size_t)(stop - p));
		if (!colon)
			continue;
		p = colon + 1;
		p += p < stop && *p == ' ';
		p += p < stop && *p == '"';
		stop -= stop > p && stop[-1] == '"';
		if (stop - p >= 2 && stop[-2] == '\\' && stop[-1] == 'n')
			stop -= 2;
		add_symbol(&tracing->printks, &tracing->nprintks, &tracing->printks_capacity,
			   address, arena_strndup(tracing->arena, p, (size_t)(stop - p)));
	}
	if (tracing->nprintks)
		qsort(tracing->printks, tracing->nprintks, sizeof *tracing->printks, by_address);
	return true;
}

const char *printk_find(const struct tracing *tracing, uint64_t address)
{
	const struct symbol_row *row = row_below(tracing->printks, tracing->nprintks, address);

	return row && row->address == address ? row->name : NULL;
}

bool tracing_printk_at(const struct tracing *tracing, size_t i, uint64_t *address,
		       const char **text)
{
	if (i >= tracing->nprintks)
		return false;
	*address = tracing->printks[i].address;
	*text = tracing->printks[i].name;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct cmdline_row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

bool tracing_cmdlines(struct tracing *tracing, const char *text, size_t len, struct error *err)
{
	const char *at = text, *end = text + len, *line;
	size_t size;

	(void)err;
	while (next_line(&at, end, &line, &size)) {
		const char *p = line, *stop = line + size;
		uint64_t pid = decimal_take(&p, stop);
		if (p == line || pid > INT32_MAX || p == stop || *p != ' ')
			continue;
		*mem_push(tracing->cmdlines, tracing->ncmdlines, tracing->cmdlines_capacity) =
			(struct cmdline_row){
				(int32_t)pid,
				arena_strndup(tracing->arena, p + 1, (size_t)(stop - p - 1)),
			};
	}
	if (tracing->ncmdlines)
		qsort(tracing->cmdlines, tracing->ncmdlines, sizeof *tracing->cmdlines, by_pid);
	return true;
}

bool tracing_cmdline_at(const struct tracing *tracing, size_t i, int32_t *pid, const char **comm)
{
	if (i >= tracing->ncmdlines)
		return false;
	*pid = tracing->cmdlines[i].pid;
	*comm = tracing->cmdlines[i].comm;
	return true;
}
