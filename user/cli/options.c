/*
 * What the command lines of all commands share.
 *
 * Each command's argp is made the child of one that adds -h and -V. argp neither prints nor exits
 * here (ARGP_NO_ERRS, ARGP_NO_EXIT), so that parsing can be tested; what it would have printed
 * about an unknown option is found out again from the word it stopped at.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "cli/options.h"

/* A run of the parser; found again from argp's state, whose root is `argp`. */
struct context {
	struct argp argp;
	enum options_action action;
	const struct argp *child;
	void *input;
	struct buf *text;
};

const struct argp_option options_common[] = {
	{"help", 'h', NULL, 0, "Print this help", -1},
	{"version", 'V', NULL, 0, "Print scry's version", -1},
	{0},
};

static struct context *context_of(const struct argp_state *state)
{
	return container_of(state->root_argp, struct context, argp);
}

error_t options_error(struct argp_state *state, const char *fmt, ...)
{
	struct context *c = context_of(state);
	char line[1024];
	va_list ap;

	if (c->action == OPTIONS_ERROR)
		return EINVAL;
	c->action = OPTIONS_ERROR;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_puts(c->text, line);
	return EINVAL;
}

error_t options_u64(struct argp_state *state, const char *option, const char *arg, uint64_t min,
		    uint64_t max, uint64_t *ret)
{
	int err = num_u64(arg, min, max, ret);

	if (err == 0)
		return 0;
	return options_error(state, "%s '%.64s' is not a number from %llu to %llu", option, arg,
			     (unsigned long long)min, (unsigned long long)max);
}

error_t options_choice(struct argp_state *state, const char *option, const char *arg,
		       const char *const *words, unsigned int *ret)
{
	char list[256];
	size_t len = 0;

	for (unsigned int i = 0; words[i]; i++) {
		if (strcmp(words[i], arg) == 0) {
			*ret = i;
			return 0;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					i == 0 ? "" : (words[i + 1] ? ", " : " or "), words[i]);
	}
	return options_error(state, "%s '%.64s' is not %s", option, arg, list);
}

error_t options_mask(struct argp_state *state, const char *option, const char *list,
		     const char *what, int (*parse)(const char *word), uint32_t *ret)
{
	uint32_t mask = 0;

	for (const char *at = list;; at++) {
		char word[32];
		size_t len = strcspn(at, ","), keep = MIN(len, sizeof(word) - 1);
		int bit;

		memcpy(word, at, keep);
		word[keep] = '\0';
		bit = parse(word);
		if (bit < 0)
			return options_error(state, "%s '%s' is not one of the %s", option, word,
					     what);
		mask |= 1u << bit;
		at += len;
		if (!*at)
			break;
	}
	*ret = mask;
	return 0;
}

error_t options_name(struct argp_state *state, const char *option, const char *arg,
		     const char **ret)
{
	if (!*arg)
		return options_error(state, "%s needs a name, not an empty one", option);
	if (strlen(arg) > OPTIONS_MAX_NAME)
		return options_error(state, "%s '%.64s...' is longer than %d characters", option,
				     arg, OPTIONS_MAX_NAME);
	*ret = arg;
	return 0;
}

/* --- which option argp stumbled over --- */

/* Heads of groups have a text only. */
static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

/* The options of the command and the common ones, one after the other; NULL after the last. */
static const struct argp_option *option_at(const struct argp *child, size_t i)
{
	size_t n = 0;

	while (child->options && !is_end(&child->options[n]))
		n++;
	if (i < n)
		return &child->options[i];
	return is_end(&options_common[i - n]) ? NULL : &options_common[i - n];
}

/* "--name" or "--name=value" that argp did not accept; false: nothing is wrong with it alone. */
static bool explain_long(struct argp_state *state, const struct argp *child, const char *word)
{
	size_t len = strcspn(word + 2, "="), matches = 0;
	const struct argp_option *o, *found = NULL;
	bool exact = false;

	for (size_t i = 0; (o = option_at(child, i)); i++) {
		if (!o->name || strncmp(o->name, word + 2, len) != 0)
			continue;
		if (!exact)
			found = o;
		exact = exact || strlen(o->name) == len;
		matches++;
	}
	if (matches == 0)
		options_error(state, "unknown option %.64s", word);
	else if (matches > 1 && !exact)
		options_error(state, "option %.64s could mean several", word);
	else if (found->arg && !word[2 + len])
		options_error(state, "option --%s needs a value", found->name);
	else if (!found->arg && word[2 + len])
		options_error(state, "option --%s takes no value", found->name);
	else
		return false;
	return true;
}

/* A cluster of short options: the first letter that is unknown or lacks its value. */
static bool explain_short(struct argp_state *state, const struct argp *child, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct argp_option *o;
		size_t i = 0;

		while ((o = option_at(child, i)) && o->key != *c)
			i++;
		if (!o) {
			options_error(state, "unknown option -%c", *c);
			return true;
		}
		if (o->arg && !c[1])
			options_error(state, "option -%c needs a value", *c);
		if (o->arg)
			return !c[1];
	}
	return false;
}

static void explain(struct argp_state *state)
{
	const struct context *c = context_of(state);

	/* argp stands behind the word, or still at it inside a cluster of short options */
	for (int i = state->next - 1; i <= state->next && i < state->argc; i++) {
		const char *w = i > 0 ? state->argv[i] : "";

		if (w[0] != '-' || !w[1])
			continue;
		if (w[1] == '-' ? explain_long(state, c->child, w)
				: explain_short(state, c->child, w))
			return;
	}
	options_error(state, "wrong command line");
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct context *c = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = c->input;
		return 0;
	case 'h':
		c->action = OPTIONS_HELP;
		return ECANCELED;
	case 'V':
		c->action = OPTIONS_VERSION;
		return ECANCELED;
	case ARGP_KEY_ERROR:
		if (c->action == OPTIONS_RUN)
			explain(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

enum options_action options_parse(const struct argp *argp, int argc, char **argv, void *input,
				  struct buf *ret_text)
{
	const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
	struct context c = {
		.argp = {.options = options_common, .parser = parse_common, .children = children},
		.action = OPTIONS_RUN,
		.child = argp,
		.input = input,
		.text = ret_text,
	};
	unsigned int flags = ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER;
	error_t err = argp_parse(&c.argp, argc, argv, flags, NULL, &c);

	if (err != 0 && c.action == OPTIONS_RUN) {
		buf_puts(ret_text, strerror(err));
		c.action = OPTIONS_ERROR;
	}
	return c.action;
}
