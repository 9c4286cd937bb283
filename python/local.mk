# python: libyore-state and the SQLite module for Python, by ctypes: nothing is compiled. Debian's Python finds it there.
yore_pythondir = $(python_packages)/yore
dist_yore_python_DATA = \
	%D%/yore/__init__.py \
	%D%/yore/_arrow.py \
	%D%/yore/_library.py \
	%D%/yore/py.typed
