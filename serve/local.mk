# serve: what a browser or a viewer fetches, over HTTP, on this machine
noinst_LIBRARIES += libserve.a
libserve_a_CFLAGS = $(AM_CFLAGS) $(MICROHTTPD_CFLAGS)
libserve_a_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE_CFLAGS) $(JSON_CFLAGS)
libserve_a_SOURCES = \
	%D%/microhttpd.c \
	%D%/microhttpd.h \
	%D%/one_file.c \
	%D%/one_file.h \
	%D%/analysis.c \
	%D%/analysis.h \
	%D%/density.c \
	%D%/density.h \
	%D%/event_counts.c \
	%D%/events_table.c \
	%D%/events_table.h \
	%D%/matches.c \
	%D%/matches.h \
	%D%/parameters.c \
	%D%/request.c \
	%D%/rows.c \
	%D%/rows.h \
	%D%/serve.h \
	%D%/served.c \
	%D%/server.c \
	%D%/serving.h \
	%D%/tsp_annotations.c \
	%D%/tsp_config.c \
	%D%/tsp_data.c \
	%D%/tsp_graph.c \
	%D%/tsp_service.c \
	%D%/tsp_table.c \
	%D%/tsp_xy.c
