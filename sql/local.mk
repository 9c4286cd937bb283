# sql: a trace as SQLite tables. The tables call SQLite through what they are handed, so that the
# same objects are in yore, which is linked with SQLite, and in a module that others load.
noinst_LIBRARIES += libsqltables.a libsql.a
libsqltables_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
libsqltables_a_SOURCES = \
	%D%/fold/aggregates.c \
	%D%/tables/events_internal.h \
	%D%/tables/events_values.c \
	%D%/tables/events_vtab.c \
	%D%/extension.c \
	%D%/extension.h \
	%D%/fold/fold.h \
	%D%/fold/fold_columns.c \
	%D%/fold/fold_internal.h \
	%D%/fold/fold_partial.c \
	%D%/fold/fold_sweep.c \
	%D%/fold/fold_text.c \
	%D%/fold/fold_vtab.c \
	%D%/fold/fold_words.c \
	%D%/follows.c \
	%D%/fold/fold_words.h \
	%D%/functions.c \
	%D%/host.c \
	%D%/tables/key_index.c \
	%D%/tables/modules.c \
	%D%/tables/notes.c \
	%D%/tables/plan.c \
	%D%/tables/plan.h \
	%D%/tables/row_condition.c \
	%D%/tables/rows.c \
	%D%/tables/sources.c \
	%D%/tables/sources.h \
	%D%/sql_internal.h \
	%D%/tables/table.c \
	%D%/tables/told_condition.c \
	%D%/tables/constraints.c \
	%D%/tables/do_vtab.c
libsqltables_a_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
libsql_a_SOURCES = \
	%D%/database.c \
	%D%/database_internal.h \
	%D%/plain.c \
	%D%/sql.h \
	%D%/suggest.c
libsql_a_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
sql_libs = libsql.a libsqltables.a librows.a $(oneliner_libs) $(SQLITE_LIBS)

# As Debian has such modules: sqlite3's `.load mod_yore` and Python's load_extension() find it.
sqlmoddir = $(libdir)
sqlmod_LTLIBRARIES = mod_yore.la
mod_yore_la_SOURCES =
mod_yore_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(srcdir)/%D%/mod_yore.map -Wl,-u,sqlite3_modyore_init \
	-Wl,libsqltables.a,librows.a $(shared_oneliner) $(shared_state)
EXTRA_mod_yore_la_DEPENDENCIES = %D%/mod_yore.map libsqltables.a librows.a liboneliner.a libaggregate.a libstate.a libindex.a libengine.a
EXTRA_DIST += %D%/mod_yore.map
