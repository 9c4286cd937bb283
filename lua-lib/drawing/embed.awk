# Writes files as constant C text, found by their names with a function (drawing_part) of a header.
BEGIN {
	header = header ? header : "lua-lib/drawing/drawing.h"
	call = function_name ? function_name : "drawing_part"
	print "/* made from the files of a folder */\n#include \"" header "\"\n"
}
FNR == 1 {
	if (count)
		print ";\n"
	name = FILENAME
	sub(/.*\//, "", name)
	names[count++] = name
	print "static const char text_" count "[] ="
}
{
	gsub(/["\\]/, "\\\\&")
	gsub(/\t/, "\\t")
	print "\t\"" $0 "\\n\""
}
END {
	print ";\n\nconst char *" call "(const char *name)\n{"
	for (i = 0; i < count; i++)
		print "\tif (!strcmp(name, \"" names[i] "\"))\n\t\treturn text_" i + 1 ";"
	print "\treturn NULL;\n}"
}
