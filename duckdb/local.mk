# duckdb: table functions that DuckDB loads. A shared object, and behind it a footer of 534 bytes that says for which
# interface of DuckDB and for which machine it is: the head of a WebAssembly section, eight fields of 32 bytes from the last to
# the first (three that are unused, the kind of interface, this version, that of the interface, the machine, the mark "4"), and
# 256 bytes for a signature, which are zero. Source: scripts/append_extension_metadata.py of github.com/duckdb/extension-ci-tools.
noinst_LTLIBRARIES += yore_duckdb.la
yore_duckdb_la_SOURCES = \
	%D%/api.h \
	%D%/duckdb_internal.h \
	%D%/events.c \
	%D%/events_internal.h \
	%D%/extension.c \
	%D%/fill.c \
	%D%/host.c \
	%D%/rows.c \
	%D%/vectors.c
yore_duckdb_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(pkglibdir) \
	-Wl,--version-script=$(srcdir)/%D%/yore.map -Wl,librows.a $(shared_state)
EXTRA_yore_duckdb_la_DEPENDENCIES = %D%/yore.map librows.a libstate.a libindex.a libengine.a
EXTRA_DIST += %D%/yore.map

duckdbdir = $(pkglibdir)
nodist_duckdb_DATA = yore.duckdb_extension
CLEANFILES += yore.duckdb_extension
duckdb_copy = cp
duckdb_field = printf '%s' "$$1"; head -c $$((32 - $${\#1})) /dev/zero
yore.duckdb_extension: yore_duckdb.la Makefile
	$(AM_V_GEN)$(duckdb_copy) .libs/yore_duckdb.so $@.new
	$(AM_V_at)field() { $(duckdb_field); }; \
	{ printf '\000\223\004\020duckdb_signature\200\004' && field '' && field '' && field '' && field C_STRUCT && \
		field 'v$(PACKAGE_VERSION)' && field v1.2.0 && field $(DUCKDB_PLATFORM) && field 4 && head -c 256 /dev/zero; } >>$@.new
	$(AM_V_at)chmod a-x $@.new && mv -f $@.new $@
