# Writes files as constant C text, found by their names with drawing_part().
BEGIN { print "/* made from the files of this folder */\n#include \"lua-lib/drawing/drawing.h\"\n" }
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
	print ";\n\nconst char *drawing_part(const char *name)\n{"
	for (i = 0; i < count; i++)
		print "\tif (!strcmp(name, \"" names[i] "\"))\n\t\treturn text_" i + 1 ";"
	print "\treturn NULL;\n}"
}
