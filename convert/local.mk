# convert: a trace written in another format
noinst_LIBRARIES += libconvert.a
libconvert_a_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(SQLITE_CFLAGS) $(ZLIB_CFLAGS) \
	$(NETTLE_CFLAGS) -pthread
convert_libs = libconvert.a $(state_libs) $(ZSTD_LIBS) $(SQLITE_LIBS) $(ZLIB_LIBS) $(BZIP2_LIBS) $(NETTLE_LIBS) -lpthread
libconvert_a_SOURCES = \
	%D%/convert.c \
	%D%/convert.h \
	%D%/convert_internal.h \
	%D%/out.c \
	%D%/out.h \
	%D%/sheet.c \
	%D%/sheet.h \
	%D%/tables.c \
	%D%/tables.h \
	%D%/tables_fields.c \
	%D%/tables_internal.h \
	%D%/trace_facts.c \
	%D%/trace_facts.h

# the others
libconvert_a_SOURCES += \
	%D%/chrome.c \
	%D%/csv.c \
	%D%/folded.c \
	%D%/pprof.c \
	%D%/samples.c \
	%D%/samples.h \
	%D%/sqlite.c \
	%D%/values_text.c \
	%D%/values_text.h \
	%D%/track_names.c \
	%D%/track_names.h

# Paraver, whose numbers of values are in the tables that ovni's reader is made of
libconvert_a_SOURCES += \
	%D%/prv.c \
	%D%/prv_internal.h \
	%D%/prv_rows.c \
	%D%/prv_types.c
nodist_libconvert_a_SOURCES = %D%/prv_values.c
CLEANFILES += %D%/prv_values.c
%D%/prv_values.c: $(ovni_models) engine/ovni/models.awk
	$(AM_V_GEN)$(MKDIR_P) %D% && { echo '#include "convert/prv_internal.h"' && \
	echo 'const struct prv_value prv_values[] = {' && \
	$(AWK) -v paraver=1 -f $(srcdir)/engine/ovni/models.awk \
		$(ovni_models:%=$(srcdir)/%) && echo '};' && \
	echo 'const size_t prv_nvalues = sizeof prv_values / sizeof *prv_values;'; } > $@.tmp && \
	mv $@.tmp $@

# Perfetto
libconvert_a_SOURCES += \
	%D%/perfetto.c \
	%D%/perfetto_args.c \
	%D%/perfetto_internal.h \
	%D%/perfetto_sched.c \
	%D%/perfetto_stacks.c \
	%D%/perfetto_tracks.c \
	%D%/protobuf.h

# ftrace
libconvert_a_SOURCES += \
	%D%/ring.c \
	%D%/ring.h \
	%D%/tracedat.c \
	%D%/tracepoints.c \
	%D%/tracepoints.h

# CTF
libconvert_a_SOURCES += \
	%D%/ctf.c \
	%D%/ctf_internal.h \
	%D%/ctf_stream.c \
	%D%/ctf_wire.c \
	%D%/ctf_wire.h \
	%D%/ctf_names.c \
	%D%/ctf_names.h \
	%D%/ctf_encode.c \
	%D%/ctf_encode.h \
	%D%/ctf_tsdl.c \
	%D%/ctf_json.c \
	%D%/ctf_2010.c \
	%D%/ctf_2010_text.c

# Parquet
libconvert_a_SOURCES += \
	%D%/parquet.c \
	%D%/parquet_column.c \
	%D%/parquet_encode.c \
	%D%/parquet_internal.h \
	%D%/thrift.c \
	%D%/thrift.h
