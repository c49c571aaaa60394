/*
 * Write JSON as a stream.
 *
 * `<`, `>` and the separators U+2028 and U+2029 are always escaped, so that what is written can
 * stand inside a script of an HTML page whatever the names in it are.
 */
#include "output/jsonw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include "output/text.h"

void jsonw_init(struct jsonw *j, FILE *f)
{
	*j = (struct jsonw){.f = f};
	j->first[0] = true;
}

static void put_escaped(FILE *f, uint32_t c)
{
	if (c == '"' || c == '\\')
		fprintf(f, "\\%c", (char)c);
	else if (c == '\n')
		fputs("\\n", f);
	else if (c == '\t')
		fputs("\\t", f);
	else
		fprintf(f, "\\u%04x", c);
}

static bool needs_escape(uint32_t c)
{
	return c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' ||
	       (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

static void put_string(FILE *f, const char *s, size_t len)
{
	fputc('"', f);
	while (len) {
		uint32_t c;
		size_t n = text_decode(s, len, &c);

		if (!n)
			fputs("\xef\xbf\xbd", f);
		else if (needs_escape(c))
			put_escaped(f, c);
		else
			fwrite(s, 1, n, f);
		n = n ? n : 1;
		s += n;
		len -= n;
	}
	fputc('"', f);
}

/* The comma before a value, and its key. */
static void put_key(struct jsonw *j, const char *key)
{
	size_t len = 0;

	if (!j->first[j->depth])
		fputc(',', j->f);
	j->first[j->depth] = false;
	if (!key)
		return;
	while (key[len])
		len++;
	put_string(j->f, key, len);
	fputc(':', j->f);
}

static void open_level(struct jsonw *j, const char *key, char c)
{
	put_key(j, key);
	fputc(c, j->f);
	assert(j->depth + 1 < JSONW_MAX_DEPTH); /* the nesting is the program's, not the data's */
	j->first[++j->depth] = true;
}

void jsonw_object(struct jsonw *j, const char *key)
{
	open_level(j, key, '{');
}

void jsonw_array(struct jsonw *j, const char *key)
{
	open_level(j, key, '[');
}

void jsonw_end(struct jsonw *j, char close)
{
	fputc(close, j->f);
	j->depth--;
}

void jsonw_str(struct jsonw *j, const char *key, const char *s, size_t len)
{
	put_key(j, key);
	put_string(j->f, s, len);
}

void jsonw_u64(struct jsonw *j, const char *key, uint64_t v)
{
	put_key(j, key);
	fprintf(j->f, "%" PRIu64, v);
}

void jsonw_f64(struct jsonw *j, const char *key, double v)
{
	put_key(j, key);
	if (isfinite(v))
		fprintf(j->f, "%.9g", v);
	else
		fputs("null", j->f);
}

void jsonw_bool(struct jsonw *j, const char *key, bool v)
{
	put_key(j, key);
	fputs(v ? "true" : "false", j->f);
}
