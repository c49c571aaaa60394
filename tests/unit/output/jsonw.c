/* Tests of output/jsonw.c. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/jsonw.h"

static struct jsonw j;
static char *text;
static size_t length;
static FILE *file;

static void begin(void)
{
	text = NULL;
	file = open_memstream(&text, &length);
	jsonw_init(&j, file);
}

static void end(const char *want)
{
	fclose(file);
	cr_assert_str_eq(text, want);
	free(text);
}

TestSuite(jsonw, .init = begin);

Test(jsonw, nested)
{
	jsonw_object(&j, NULL);
	jsonw_u64(&j, "a", UINT64_MAX);
	jsonw_array(&j, "b");
	jsonw_bool(&j, NULL, true);
	jsonw_f64(&j, NULL, 0.5);
	jsonw_f64(&j, NULL, NAN);
	jsonw_object(&j, NULL);
	jsonw_end(&j, '}');
	jsonw_array(&j, NULL);
	jsonw_end(&j, ']');
	jsonw_end(&j, ']');
	jsonw_str(&j, "c", "d", 1);
	jsonw_end(&j, '}');
	end("{\"a\":18446744073709551615,\"b\":[true,0.5,null,{},[]],\"c\":\"d\"}");
}

Test(jsonw, strings_are_harmless_in_a_page_and_come_back)
{
	static const char s[] = "q\"\\\n\t\x01\x7f</script>\xe2\x80\xa8\xc2\x9b\xff\xc3\xa9\0.";
	json_t *v;

	jsonw_str(&j, NULL, s, sizeof(s) - 1);
	fflush(file);
	v = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	cr_assert_not_null(v);
	cr_assert_eq(memcmp(json_string_value(v),
			    "q\"\\\n\t\x01\x7f</script>\xe2\x80\xa8\xc2\x9b\xef\xbf\xbd\xc3\xa9\0.",
			    29),
		     0);
	json_decref(v);
	end("\"q\\\"\\\\\\n\\t\\u0001\\u007f\\u003c/script\\u003e\\u2028\\u009b\xef\xbf\xbd\xc3\xa9"
	    "\\u0000.\"");
}
