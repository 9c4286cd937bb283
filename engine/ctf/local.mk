libengine_la_SOURCES += %D%/ctf.h %D%/description.h
