noinst_LTLIBRARIES += libstate.la
libstate_la_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE_CFLAGS)
libstate_la_LIBADD = $(PCRE_LIBS)
libstate_la_SOURCES = %D%/state.h %D%/value.h

# The rule language
libstate_la_SOURCES += %D%/attr.h %D%/program.h %D%/rule.h %D%/where.h
