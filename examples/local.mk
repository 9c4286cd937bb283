# Programs that use libyore as others do: with its header and the library alone.
check_PROGRAMS += %D%/events %D%/window %D%/describe
%C%_events_SOURCES = %D%/events.c
%C%_events_LDADD = libyore.la -lm
%C%_window_SOURCES = %D%/window.c
%C%_window_LDADD = libyore.la
%C%_describe_SOURCES = %D%/describe.c
%C%_describe_LDADD = libyore.la
examplesdir = $(docdir)/examples
dist_examples_DATA = %D%/events.c %D%/notebook.py %D%/window.c %D%/describe.c
