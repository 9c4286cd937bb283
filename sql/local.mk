# sql: a trace as SQLite tables. The tables call SQLite through what they are handed, so that the
# same objects are in yore, which is linked with SQLite, and in a module that others load.
noinst_LIBRARIES += libsqltables.a libsql.a
libsqltables_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
libsqltables_a_SOURCES = \
	%D%/aggregates.c \
	%D%/api.c \
	%D%/bound.c \
	%D%/call_counts.c \
	%D%/call_counts.h \
	%D%/call_runs.c \
	%D%/call_runs.h \
	%D%/calls.c \
	%D%/calls.h \
	%D%/comms.c \
	%D%/comms.h \
	%D%/events_vtab.c \
	%D%/extension.c \
	%D%/extension.h \
	%D%/fold.h \
	%D%/fold_columns.c \
	%D%/fold_groups.c \
	%D%/fold_internal.h \
	%D%/fold_sweep.c \
	%D%/fold_text.c \
	%D%/fold_vtab.c \
	%D%/fold_words.c \
	%D%/follows.c \
	%D%/fold_words.h \
	%D%/functions.c \
	%D%/host.c \
	%D%/key_index.c \
	%D%/key_index.h \
	%D%/lists_vtab.c \
	%D%/lookup.c \
	%D%/lookup.h \
	%D%/losses_vtab.c \
	%D%/modules.c \
	%D%/notes.c \
	%D%/notes_vtab.c \
	%D%/notes.h \
	%D%/packets_vtab.c \
	%D%/plan.c \
	%D%/plan.h \
	%D%/rows.c \
	%D%/rows.h \
	%D%/segments_calls.c \
	%D%/segments_internal.h \
	%D%/segments_rows.c \
	%D%/segments_vtab.c \
	%D%/sources.c \
	%D%/sources.h \
	%D%/sql_internal.h \
	%D%/states_vtab.c \
	%D%/table.c \
	%D%/threads_vtab.c \
	%D%/constraints.c \
	%D%/do_vtab.c
libsqltables_a_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
libsql_a_SOURCES = \
	%D%/database.c \
	%D%/sql.h \
	%D%/suggest.c \
	%D%/suggest.h
libsql_a_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
sql_libs = libsql.a libsqltables.a $(oneliner_libs) $(SQLITE_LIBS)

# As Debian has such modules: sqlite3's `.load mod_yore` and Python's load_extension() find it.
sqlmoddir = $(libdir)
sqlmod_LTLIBRARIES = mod_yore.la
mod_yore_la_SOURCES =
mod_yore_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(srcdir)/%D%/mod_yore.map -Wl,-u,sqlite3_modyore_init \
	-Wl,libsqltables.a,liboneliner.a $(shared_state)
EXTRA_mod_yore_la_DEPENDENCIES = %D%/mod_yore.map libsqltables.a liboneliner.a libstate.a libindex.a libengine.a
EXTRA_DIST += %D%/mod_yore.map
