/* page.c - see page.h */
#include "serve/page/page.h"

static const char before_style[] = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
				   "<title>yore</title>\n<style>\n";
/* In the order of their dependencies. */
static const char *const scripts[] = {"times.js", "server.js", "draw.js",
				      "view.js",  "panels.js", "main.js"};

void page_add(struct buf *out)
{
	buf_add_text(out, before_style);
	buf_add_text(out, page_part("page.css"));
	buf_add_text(out, "</style>\n");
	buf_add_text(out, page_part("page.html"));
	buf_add_text(out, "<script>\n\"use strict\";\n");
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		buf_add_text(out, page_part(scripts[i]));
	buf_add_text(out, "</script>\n</html>\n");
}
