/*
 * prompt_marks.c - names for moments, and what is shown at each step
 *
 *     mark here      goto here+1ms      range .-2ms .+2ms      watch cpu[0]/thread
 */
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/cmd.h"
#include "repl/prompt/prompt_internal.h"

#include <string.h>

static bool is_name(const char *word)
{
	size_t len =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return len && !word[len] && !(*word >= '0' && *word <= '9');
}

static bool show_marks(struct prompt *prompt, struct error *err)
{
	const struct session *session = prompt->session;
	struct times times;

	if (!session_times(prompt->session, &times, err))
		return false;
	for (size_t i = 0; i < session->nmarks; i++) {
		sink_printf(&prompt->sink, "%-12s ", session->marks[i].name);
		time_add(&times, session->marks[i].t, &prompt->sink);
		sink_char(&prompt->sink, '\n');
		sink_row(&prompt->sink);
	}
	return true;
}

bool prompt_mark(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	struct session *session = prompt->session;
	nstime t = session->moment;

	if (nwords == 1)
		return show_marks(prompt, err);
	if (nwords > 3)
		return error_set(err, ERR_QUERY,
				 "mark: NAME and TIME are expected, '%s' is too much", words[3]);
	if (nwords == 2 && !strcmp(words[1], "off")) {
		session->nmarks = 0;
		return true;
	}
	if (!is_name(words[1]) || !strcmp(words[1], "off"))
		return error_set(err, ERR_QUERY,
				 "mark: '%s' is no name: letters, digits and _, no digit first, and not 'off'",
				 words[1]);
	if (nwords == 2 && !session->has_moment)
		return error_set(err, ERR_QUERY, "there is no current moment yet: goto TIME");
	if (nwords == 3 && !session_time(session, words[2], &t, err))
		return false;
	session_set_mark(session, words[1], t);
	return true;
}

/* The values of what is watched, at the current moment. */
bool prompt_show_watched(struct prompt *prompt, struct error *err)
{
	size_t count = prompt->nwatched;
	char **words;

	if (!count || !prompt->session->has_moment)
		return true;
	words = mem_new_array(count + 1, sizeof *words);
	words[0] = mem_strdup("at");
	for (size_t i = 0; i < count; i++)
		words[i + 1] = mem_strdup(prompt->watched[i]);
	bool done = cmd_run_words(prompt->session, (int)count + 1, words, &prompt->sink, err);
	for (size_t i = 0; i <= count; i++)
		mem_free(words[i]);
	mem_free(words);
	return done;
}

void prompt_watch_release(struct prompt *prompt)
{
	for (size_t i = 0; i < prompt->nwatched; i++)
		mem_free(prompt->watched[i]);
	mem_free(prompt->watched);
	prompt->watched = NULL;
	prompt->nwatched = prompt->watched_capacity = 0;
}

/* An attribute that rules may write in this trace. */
static bool is_path(struct session *session, const char *word, struct error *err)
{
	struct query *query;

	if (!query_parse(word, &query, err))
		return false;
	bool known = asked_path(session, query, NULL, NULL, err);
	query_free(query);
	return known;
}

bool prompt_watch(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	if (nwords == 1) {
		for (size_t i = 0; i < prompt->nwatched; i++) {
			sink_printf(&prompt->sink, "%s\n", prompt->watched[i]);
			sink_row(&prompt->sink);
		}
		return true;
	}
	if (nwords == 2 && !strcmp(words[1], "off")) {
		prompt_watch_release(prompt);
		return true;
	}
	for (int i = 1; i < nwords; i++)
		if (!is_path(prompt->session, words[i], err))
			return false;
	for (int i = 1; i < nwords; i++) {
		*mem_push(prompt->watched, prompt->nwatched, prompt->watched_capacity) =
			mem_strdup(words[i]);
	}
	return prompt_show_watched(prompt, err);
}
