# convert: a trace written in another format
noinst_LTLIBRARIES += libconvert.la
libconvert_la_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(SQLITE_CFLAGS) -pthread
libconvert_la_LIBADD = $(ZSTD_LIBS) $(SQLITE_LIBS) -lpthread
libconvert_la_SOURCES = %D%/convert.c %D%/convert.h %D%/convert_internal.h \
	%D%/out.c %D%/out.h %D%/pool.c %D%/pool.h \
	%D%/sheet.c %D%/sheet.h %D%/tables.c %D%/tables.h %D%/tables_fields.c %D%/tables_internal.h

# the others
libconvert_la_SOURCES += %D%/chrome.c %D%/csv.c %D%/folded.c %D%/sqlite.c \
	%D%/values_text.c %D%/values_text.h %D%/track_names.c %D%/track_names.h

# Parquet
libconvert_la_SOURCES += %D%/parquet.c %D%/parquet_column.c %D%/parquet_encode.c \
	%D%/parquet_internal.h %D%/thrift.c %D%/thrift.h
