libengine_la_SOURCES += %D%/description.h
