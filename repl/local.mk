# repl: the program; all but main.c is a library, so that tests reach it
noinst_LIBRARIES += librepl.a
librepl_a_SOURCES = \
	%D%/asked.c \
	%D%/asked.h \
	%D%/capabilities.c \
	%D%/capabilities.h \
	%D%/check_state.c \
	%D%/check_state.h \
	%D%/cmd.c \
	%D%/cmd.h \
	%D%/cmds.h \
	%D%/contradicted.c \
	%D%/contradicted.h \
	%D%/cmd_at.c \
	%D%/cmd_aux.c \
	%D%/cmd_check.c \
	%D%/cmd_convert.c \
	%D%/cmd_diff.c \
	%D%/cmd_dump.c \
	%D%/cmd_do.c \
	%D%/cmd_events.c \
	%D%/cmd_explain.c \
	%D%/cmd_frame.c \
	%D%/frame_values.c \
	%D%/frame_values.h \
	%D%/cmd_help.c \
	%D%/cmd_index.c \
	%D%/index_timelines.c \
	%D%/cmd_info.c \
	%D%/info_classes.c \
	%D%/info_classes.h \
	%D%/info_clocks.c \
	%D%/info_clocks.h \
	%D%/info_losses.c \
	%D%/info_losses.h \
	%D%/cmd_longest.c \
	%D%/cmd_repl.c \
	%D%/cmd_rules.c \
	%D%/cmd_run.c \
	%D%/cmd_state.c \
	%D%/cmd_stats.c \
	%D%/cmd_timeline.c \
	%D%/cmd_when.c \
	%D%/picture.c \
	%D%/picture.h \
	%D%/picture_axis.c \
	%D%/picture_draw.h \
	%D%/picture_text.c \
	%D%/lanes.c \
	%D%/lanes.h \
	%D%/timeline_svg.c \
	%D%/timeline_svg.h \
	%D%/event_rows.c \
	%D%/event_rows.h \
	%D%/event_workers.c \
	%D%/event_workers.h \
	%D%/filter.c \
	%D%/filter.h \
	%D%/intervals.c \
	%D%/intervals.h \
	%D%/line_names.c \
	%D%/line_names.h \
	%D%/functions.c \
	%D%/functions.h \
	%D%/names.c \
	%D%/names.h \
	%D%/options.c \
	%D%/options.h \
	%D%/overlap.c \
	%D%/overlap.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/render.h \
	%D%/render_event.c \
	%D%/render_event_data.c \
	%D%/render_event_internal.h \
	%D%/render_event_text.c \
	%D%/render_frames.c \
	%D%/render_plan.c \
	%D%/render_plan.h \
	%D%/render_rows.c \
	%D%/render_value.c \
	%D%/row_threads.c \
	%D%/row_threads.h \
	%D%/cmd_sql.c \
	%D%/sql_dot.c \
	%D%/sql_rows.c \
	%D%/sql_shell.c \
	%D%/sql_shell.h \
	%D%/sql_shell_internal.h \
	%D%/session.c \
	%D%/session.h \
	%D%/signals.c \
	%D%/sink.c \
	%D%/sink.h \
	%D%/stats.c \
	%D%/stats.h \
	%D%/summary.c \
	%D%/summary.h \
	%D%/thread_names.c \
	%D%/thread_names.h \
	%D%/times.h

# the prompt
librepl_a_SOURCES += \
	%D%/complete.c \
	%D%/complete.h \
	%D%/complete_seen.c \
	%D%/complete_help.c \
	%D%/pager.c \
	%D%/pager.h \
	%D%/prompt.c \
	%D%/prompt.h \
	%D%/prompt_internal.h \
	%D%/prompt_banner.c \
	%D%/prompt_line.c \
	%D%/prompt_marks.c \
	%D%/prompt_moves.c \
	%D%/prompt_output.c \
	%D%/prompt_refresh.c \
	%D%/prompt_sql.c \
	%D%/scripting.c \
	%D%/scripting.h
librepl_a_CFLAGS = $(AM_CFLAGS) $(READLINE_CFLAGS) -pthread
# SQLite before all others: half of what the dynamic linker looks up at start is its own
repl_libs = librepl.a libscript.a libsql.a libsqltables.a $(SQLITE_LIBS) $(READLINE_LIBS) $(LUA_LIBS) libconvert.a \
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
