# lua-lib
