/* Tests of base/log.c. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

Test(log, prints_up_to_the_level, .init = cr_redirect_stderr)
{
	char text[256];
	size_t n;
	FILE *f;

	cr_assert_eq(log_get_level(), LOG_WARN);
	log_info("hidden");
	log_warn("shown %d", 1);
	log_set_level(LOG_QUIET);
	log_warn("hidden");
	log_print(LOG_QUIET, "hidden");
	log_set_level(LOG_DEBUG);
	log_debug("a\033[2Jb\nc");
	fflush(stderr);
	f = cr_get_redirected_stderr();
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	cr_assert_str_eq(text, "scry: shown 1\nscry: a?[2Jb?c\n");
}
