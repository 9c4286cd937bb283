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
	%D%/page_api.c \
	%D%/page/page.c \
	%D%/page/page.h \
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
nodist_libserve_a_SOURCES = %D%/page/parts.c
page_parts = \
	%D%/page/draw.js \
	%D%/page/main.js \
	%D%/page/page.css \
	%D%/page/page.html \
	%D%/page/panels.js \
	%D%/page/server.js \
	%D%/page/times.js \
	%D%/page/view.js
EXTRA_DIST += $(page_parts)
CLEANFILES += %D%/page/parts.c
%D%/page/parts.c: $(page_parts) lua-lib/drawing/embed.awk
	$(AM_V_GEN)$(MKDIR_P) %D%/page && \
	$(AWK) -v header=serve/page/page.h -v function_name=page_part -f $(srcdir)/lua-lib/drawing/embed.awk \
		$(page_parts:%=$(srcdir)/%) > $@.tmp && mv $@.tmp $@
