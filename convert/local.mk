# convert: a trace written in another format
noinst_LIBRARIES += libconvert.a
libconvert_a_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(SQLITE_CFLAGS) $(ZLIB_CFLAGS) \
	$(NETTLE_CFLAGS) -pthread
convert_libs = libconvert.a libaggregate.a $(state_libs) $(ZSTD_LIBS) $(SQLITE_LIBS) $(ZLIB_LIBS) $(BZIP2_LIBS) $(NETTLE_LIBS) -lpthread
libconvert_a_SOURCES = \
	%D%/convert.c \
	%D%/convert.h \
	%D%/convert_internal.h \
	%D%/out.c \
	%D%/out.h \
	%D%/sheets/tables.c \
	%D%/sheets/tables.h

# the others
libconvert_a_SOURCES += \
	%D%/chrome.c \
	%D%/sheets/csv.c \
	%D%/sheets/ordered.c \
	%D%/sheets/ordered.h \
	%D%/samples/folded.c \
	%D%/samples/pprof.c \
	%D%/samples/samples.c \
	%D%/samples/samples.h \
	%D%/sheets/sqlite.c \
	%D%/sheets/values_text.c \
	%D%/sheets/values_text.h \
	%D%/track_names.c \
	%D%/track_names.h

# Paraver, whose numbers of values are in the tables that ovni's reader is made of
libconvert_a_SOURCES += \
	%D%/prv/prv.c \
	%D%/prv/prv_internal.h \
	%D%/prv/prv_rows.c \
	%D%/prv/prv_types.c
nodist_libconvert_a_SOURCES = %D%/prv/prv_values.c
CLEANFILES += %D%/prv/prv_values.c
%D%/prv/prv_values.c: $(ovni_models) engine/ovni/models.awk
	$(AM_V_GEN)$(MKDIR_P) %D%/prv && { echo '#include "convert/prv/prv_internal.h"' && \
	echo 'const struct prv_value prv_values[] = {' && \
	$(AWK) -v paraver=1 -f $(srcdir)/engine/ovni/models.awk \
		$(ovni_models:%=$(srcdir)/%) && echo '};' && \
	echo 'const size_t prv_nvalues = sizeof prv_values / sizeof *prv_values;'; } > $@.tmp && \
	mv $@.tmp $@

# Perfetto
libconvert_a_SOURCES += \
	%D%/perfetto/perfetto.c \
	%D%/perfetto/perfetto_args.c \
	%D%/perfetto/perfetto_internal.h \
	%D%/perfetto/perfetto_sched.c \
	%D%/perfetto/perfetto_stacks.c \
	%D%/perfetto/perfetto_tracks.c \
	%D%/protobuf.h

# ftrace
libconvert_a_SOURCES += \
	%D%/tracedat/ring.c \
	%D%/tracedat/ring.h \
	%D%/tracedat/tracedat.c \
	%D%/tracedat/tracepoints.c \
	%D%/tracedat/tracepoints.h

# CTF
libconvert_a_SOURCES += \
	%D%/ctf/ctf.c \
	%D%/ctf/ctf_internal.h \
	%D%/ctf/ctf_stream.c \
	%D%/ctf/ctf_wire.c \
	%D%/ctf/ctf_wire.h \
	%D%/ctf/ctf_names.c \
	%D%/ctf/ctf_names.h \
	%D%/ctf/ctf_encode.c \
	%D%/ctf/ctf_tsdl.c \
	%D%/ctf/ctf_json.c \
	%D%/ctf/ctf_2010.c \
	%D%/ctf/ctf_2010_text.c

# Parquet
libconvert_a_SOURCES += \
	%D%/sheets/parquet.c \
	%D%/sheets/parquet_column.c \
	%D%/sheets/parquet_encode.c \
	%D%/sheets/parquet_internal.h \
	%D%/sheets/partition.c \
	%D%/sheets/partition.h \
	%D%/sheets/thrift.c
