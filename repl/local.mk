# repl: the program; all but main.c is a library, so that tests reach it
noinst_LIBRARIES += librepl.a
librepl_a_SOURCES = \
	%D%/asked.c \
	%D%/asked.h \
	%D%/cmd.c \
	%D%/cmd.h \
	%D%/commands/cmds.h \
	%D%/commands/cmd_at.c \
	%D%/commands/cmd_attach.c \
	%D%/commands/cmd_live.c \
	%D%/commands/cmd_aux.c \
	%D%/commands/cmd_catalog.c \
	%D%/commands/catalog.c \
	%D%/commands/catalog.h \
	%D%/commands/cmd_check.c \
	%D%/commands/cmd_convert.c \
	%D%/commands/cmd_diff.c \
	%D%/commands/cmd_dump.c \
	%D%/commands/cmd_do.c \
	%D%/commands/cmd_events.c \
	%D%/commands/cmd_explain.c \
	%D%/commands/cmd_frame.c \
	%D%/commands/cmd_help.c \
	%D%/commands/cmd_index.c \
	%D%/commands/cmd_info.c \
	%D%/commands/info_parts.c \
	%D%/commands/info.h \
	%D%/commands/info_gather.c \
	%D%/render/info_losses.c \
	%D%/render/info_losses.h \
	%D%/commands/cmd_longest.c \
	%D%/prompt/cmd_repl.c \
	%D%/commands/cmd_rules.c \
	%D%/commands/cmd_sessions.c \
	%D%/commands/cmd_run.c \
	%D%/commands/cmd_serve.c \
	%D%/commands/cmd_state.c \
	%D%/commands/cmd_stats.c \
	%D%/commands/cmd_timeline.c \
	%D%/commands/state_steps.c \
	%D%/commands/state_steps.h \
	%D%/commands/cmd_view.c \
	%D%/commands/cmd_when.c \
	%D%/pictures/picture_draw.h \
	%D%/pictures/picture_text.c \
	%D%/render/lanes.c \
	%D%/render/lanes.h \
	%D%/commands/timeline_follow.c \
	%D%/pictures/timeline_svg.c \
	%D%/render/event_rows.c \
	%D%/render/event_rows.h \
	%D%/render/event_windows.c \
	%D%/say.c \
	%D%/filter.c \
	%D%/commands/following.c \
	%D%/commands/following.h \
	%D%/commands/triggers.c \
	%D%/commands/triggers.h \
	%D%/filter.h \
	%D%/commands/interval_triggers.c \
	%D%/commands/intervals.c \
	%D%/commands/intervals_follow.c \
	%D%/commands/intervals.h \
	%D%/render/line_names.c \
	%D%/render/functions.c \
	%D%/render/names.c \
	%D%/render/names.h \
	%D%/options.c \
	%D%/options.h \
	%D%/overlap.c \
	%D%/progress.c \
	%D%/progress.h \
	%D%/commands/partials.c \
	%D%/commands/partials.h \
	%D%/render/render.h \
	%D%/render/render_event.c \
	%D%/render/render_event_data.c \
	%D%/render/render_event_internal.h \
	%D%/render/render_event_text.c \
	%D%/render/render_frames.c \
	%D%/render/render_plan.c \
	%D%/render/render_rows.c \
	%D%/render/render_value.c \
	%D%/render/row_threads.c \
	%D%/render/row_threads.h \
	%D%/commands/cmd_sql.c \
	%D%/commands/convert_catalog.c \
	%D%/commands/sql_catalog.c \
	%D%/commands/sql_dot.c \
	%D%/commands/trace_workers.c \
	%D%/commands/trace_workers.h \
	%D%/render/redraw.c \
	%D%/render/redraw.h \
	%D%/commands/sql_rows.c \
	%D%/commands/sql_shell.c \
	%D%/commands/sql_shell.h \
	%D%/session.c \
	%D%/session.h \
	%D%/signals.c \
	%D%/sink.c \
	%D%/slurm.c \
	%D%/sink.h \
	%D%/stats.c \
	%D%/render/summary.c \
	%D%/render/summary.h \
	%D%/render/thread_names.c \
	%D%/render/thread_names.h \
	%D%/times.h

# the prompt
librepl_a_SOURCES += \
	%D%/commands/commands.c \
	%D%/commands/commands.h \
	%D%/prompt/complete.c \
	%D%/prompt/complete_seen.c \
	%D%/prompt/complete_help.c \
	%D%/render/pager.c \
	%D%/render/pager.h \
	%D%/prompt/prompt.c \
	%D%/prompt/prompt_internal.h \
	%D%/prompt/prompt_banner.c \
	%D%/prompt/prompt_line.c \
	%D%/prompt/prompt_moves.c \
	%D%/prompt/prompt_output.c \
	%D%/prompt/prompt_follow.c \
	%D%/prompt/prompt_sql.c \
	%D%/scripting.c \
	%D%/scripting.h
librepl_a_CFLAGS = $(AM_CFLAGS) $(READLINE_CFLAGS) -pthread
# SQLite before all others: half of what the dynamic linker looks up at start is its own
repl_libs = librepl.a libserve.a libscript.a libfollow.a liblive.a libsql.a libsqltables.a librows.a $(SQLITE_LIBS) $(READLINE_LIBS) $(LUA_LIBS) libconvert.a libremote.a $(EXPAT_LIBS) -ldl \
	$(oneliner_libs)

bin_PROGRAMS += yore
yore_SOURCES = %D%/main.c
yore_LDADD = $(repl_libs)

# where bash-completion and zsh look
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
dist_zshcomp_DATA = %D%/completion/_yore
EXTRA_DIST += %D%/completion/yore.bash

install-data-local: install-bash-completion
install-bash-completion:
	$(MKDIR_P) "$(DESTDIR)$(bashcompdir)"
	$(INSTALL_DATA) "$(srcdir)/repl/completion/yore.bash" "$(DESTDIR)$(bashcompdir)/yore"
uninstall-local: uninstall-bash-completion
uninstall-bash-completion:
	rm -f "$(DESTDIR)$(bashcompdir)/yore"
.PHONY: install-bash-completion uninstall-bash-completion
