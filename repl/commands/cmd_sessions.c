/* cmd_sessions.c - lists the sessions of a relay */
#include "live/connection.h"
#include "live/viewer.h"
#include "repl/commands/cmds.h"
#include "repl/render/render.h"

#include <string.h>

static void put_row(struct rows *rows, const char *place, const struct live_session *session)
{
	struct buf url = {0};

	buf_printf(&url, "net://%s/host/%s/%s", place, session->host, session->name);
	rows_text(rows, buf_text(&url)); /* for `attach` */
	buf_release(&url);
	if (rows->format == FORMAT_JSON) {
		rows_text(rows, session->host);
		rows_text(rows, session->name);
	}
	sink_u64(rows_cell(rows), session->id);
	struct sink *timer = rows_cell(rows);
	if (rows->format != FORMAT_TABLE)
		sink_u64(timer, session->timer);
	else if (session->timer)
		sink_printf(timer, "%u ms", session->timer / 1000);
	else
		sink_text(timer, "not live");
	sink_u64(rows_cell(rows), session->clients);
	sink_u64(rows_cell(rows), session->streams);
	rows_text(rows, session->ctf2 ? "CTF 2" : "CTF 1.8");
	rows_end(rows);
}

static void cmd_sessions_print(const struct options *options, struct sink *sink, const char *place,
			       const struct viewer_sessions *sessions)
{
	static const struct table_column shown[] = {{"url", false},    {"id", true},
						    {"timer", true},   {"viewers", true},
						    {"streams", true}, {"format", false}};
	static const struct table_column all[] = {
		{"url", false},  {"host", false},   {"name", false},   {"id", true},
		{"timer", true}, {"viewers", true}, {"streams", true}, {"format", false}};
	bool json = options->format == FORMAT_JSON;
	struct rows rows;

	rows_begin(&rows, sink, options->format == FORMAT_TEXT ? FORMAT_TABLE : options->format,
		   json ? all : shown, json ? 8 : 6);
	for (size_t i = 0; i < sessions->count; i++)
		put_row(&rows, place, &sessions->items[i]);
	rows_finish(&rows);
}

static bool ask_relay(const struct live_url *url, struct viewer_sessions *out, struct error *err)
{
	struct connection_limits limits = relay_limits(NULL);
	struct connection *connection;
	uint32_t minor;

	if (!connection_open(url, &limits, &connection, err))
		return false;
	bool ok = viewer_connect(connection, &minor, err) &&
		  viewer_sessions(connection, minor, out, err);
	connection_close(connection);
	return ok;
}

static bool run_sessions(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	struct viewer_sessions sessions;
	char place[LIVE_PLACE_MAX];
	struct live_url url;

	if (!live_url_parse(options->words.items[0], false, &url, err))
		return false;
	live_url_place(&url, place);
	if (!ask_relay(&url, &sessions, err))
		return error_while(err, "%s", place);
	if (!sessions.count)
		session_note(session,
			     "%s has no session: 'lttng create NAME --live' with --set-url of this "
			     "relay makes one",
			     place);
	else
		cmd_sessions_print(options, sink, place, &sessions);
	viewer_sessions_release(&sessions);
	return true;
}

const struct cmd cmd_sessions = {
	.name = "sessions",
	.args = "net://HOST[:PORT]",
	.summary = "lists the sessions of a relay of LTTng",
	.help = "Asks an lttng-relayd which sessions it has, and prints for each the URL that\n"
		"'yore attach' takes, the relay's number of it, its live timer (the most time\n"
		"between an event and the relay; in microseconds in csv and json), how many\n"
		"viewers are attached (one may be), how many streams it has, and the format of\n"
		"the traces. PORT is 5344 where none is given, the one for viewers.\n"
		"\n"
		"Examples:\n"
		"  $ yore sessions net://localhost\n"
		"  $ yore sessions net://localhost --format json\n",
	.options = OPT_FORMAT,
	.words = WORD_NONE,
	.min_words = 1,
	.max_words = 1,
	.no_trace = true,
	.run = run_sessions,
};
