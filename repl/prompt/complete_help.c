/*
 * complete_help.c - lists of words, and candidates for the arguments of an analysis, from its help
 *
 *     yore latency TRACE [stats|top|log|freq] [OPTIONS]      words
 *       --mi-version --metadata   the phases ...             options, up to two blanks
 *       --format table|csv|json   ...                        values
 */
#include "repl/prompt/prompt_internal.h"

#include "engine/base/mem.h"
#include "lua-lib/script.h"

#include <string.h>

void word_list_add(struct word_list *list, const char *word)
{
	*mem_push(list->items, list->count, list->capacity) = mem_strdup(word);
}

void word_list_keep(struct word_list *list, const char *word)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], word))
			return;
	word_list_add(list, word);
}

void word_list_free(struct word_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		mem_free(list->items[i]);
	mem_free(list->items);
	*list = (struct word_list){0};
}

void complete_choice(const char *text, const char *ends, void (*each)(void *arg, const char *word),
		     void *arg)
{
	size_t len = strcspn(text, ends);
	struct buf word = {0};

	for (size_t i = 0, from = 0; memchr(text, '|', len) && i <= len; i++) {
		if (i < len && text[i] != '|')
			continue;
		buf_clear(&word);
		buf_add(&word, text + from, i - from);
		each(arg, buf_text(&word));
		from = i + 1;
	}
	buf_release(&word);
}

/* Offers the names in "Columns of --where: tid, comm, kind ("woken", ...)". */
static void offer_columns(const char *help, void (*each)(void *arg, const char *word), void *arg)
{
	static const char head[] = "\nColumns of --where: ";
	const char *at = strstr(help, head);
	struct buf word = {0};

	for (at = at ? at + strlen(head) : ""; *at >= 'a' && *at <= 'z';) {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
		buf_clear(&word);
		buf_add(&word, at, len);
		each(arg, buf_text(&word));
		at += len + (at[len] == ',');
		at += strspn(at, " \n");
	}
	buf_release(&word);
}

/* Offers the options in a line `--a --b VALUE   what they do` of the help. */
static void offer_options(const char *line, void (*each)(void *arg, const char *word), void *arg)
{
	struct buf word = {0};

	while (!strncmp(line, "--", 2)) {
		size_t len = strcspn(line, " \n");
		buf_clear(&word);
		buf_add(&word, line, len);
		each(arg, buf_text(&word));
		line += len + (line[len] == ' ');
	}
	buf_release(&word);
}

/* Offers columns for --sort, of the table that the line selects; -COLUMN if a dash was typed. */
static void offer_sorts(const char *name, const char *line, size_t len, const char *text,
			void (*each)(void *arg, const char *word), void *arg)
{
	char *words = mem_strdup(line), *rest = words, *one, *verb = NULL, *columns;
	struct buf word = {0};

	words[len] = '\0';
	while (!verb && (one = strtok_r(rest, " \t", &rest)))
		verb = script_analysis_takes(name, one) ? one : NULL;
	columns = script_analysis_columns(name, verb);
	for (rest = columns; columns && (one = strtok_r(rest, " ", &rest));) {
		buf_clear(&word);
		buf_printf(&word, "%s%s", *text == '-' ? "-" : "", one);
		each(arg, buf_text(&word));
	}
	buf_release(&word);
	mem_free(columns);
	mem_free(words);
}

bool complete_analysis(const char *name, const char *typed, size_t ntyped, const char *before,
		       const char *text, void (*each)(void *arg, const char *word), void *arg)
{
	struct buf help = {0};
	struct error ignored;
	size_t len = strlen(before);
	bool option = !strncmp(before, "--", 2), takes = false;

	if (!script_has_analysis(name) || !script_analysis_help(name, &help, &ignored))
		return false;
	const char *line = buf_text(&help);
	if (!option && *text != '-' && strchr(line, '['))
		complete_choice(strchr(line, '[') + 1, "]", each, arg);
	while ((line = strstr(line, "\n  --"))) {
		line += strlen("\n  ");
		takes |= option && !strncmp(line, before, len) && line[len] == ' ' &&
			 line[len + 1] != ' ' && line[len + 1] != '-';
		if (option && !strncmp(line, before, len) && line[len] == ' ')
			complete_choice(line + len + 1, " \n", each, arg);
	}
	if (!strcmp(before, "--sort"))
		offer_sorts(name, typed, ntyped, text, each, arg);
	if (!strcmp(before, "--where"))
		offer_columns(buf_text(&help), each, arg);
	line = buf_text(&help);
	while (!takes && *text == '-' && (line = strstr(line, "\n  --"))) {
		line += strlen("\n  ");
		offer_options(line, each, arg);
	}
	buf_release(&help);
	return true;
}
