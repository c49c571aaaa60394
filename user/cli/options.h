/* What the command lines of all commands share: parsing by argp, -h and -V, one-line errors. */
#ifndef SCRY_CLI_OPTIONS_H
#define SCRY_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include "base/buf.h"

#define OPTIONS_MAX_NAME 4095

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_ERROR };

/*
 * Parses argv[1…]. Pure: prints nothing and never exits. The parser of `argp` gets `input`; it
 * returns 0, ARGP_ERR_UNKNOWN, or options_error(). Options end at the first argument that is not
 * one. On OPTIONS_ERROR, ret_text has one line without a newline.
 */
enum options_action options_parse(const struct argp *argp, int argc, char **argv, void *input,
				  struct buf *ret_text);
/* For a parser: notes what is wrong; the first one counts. Returns what the parser returns. */
error_t options_error(struct argp_state *state, const char *fmt, ...) PRINTF(2, 3);
/* A number in [min, max], or an error that names the option, the value and the range. */
error_t options_u64(struct argp_state *state, const char *option, const char *arg, uint64_t min,
		    uint64_t max, uint64_t *ret);
/* One of the words of a NULL-terminated list, as its index. */
error_t options_choice(struct argp_state *state, const char *option, const char *arg,
		       const char *const *words, unsigned int *ret);
/* A list of words between commas as a bit mask of what `parse` makes of each; `what` they are is
 * for the error. */
error_t options_mask(struct argp_state *state, const char *option, const char *list,
		     const char *what, int (*parse)(const char *word), uint32_t *ret);
/* A name that is not empty and at most OPTIONS_MAX_NAME long. */
error_t options_name(struct argp_state *state, const char *option, const char *arg,
		     const char **ret);

/* -h and -V, for help texts. */
extern const struct argp_option options_common[];

#endif
