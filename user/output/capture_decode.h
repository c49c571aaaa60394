/* Decode the content of one chunk of scry.data into a profile. */
#ifndef SCRY_OUTPUT_CAPTURE_DECODE_H
#define SCRY_OUTPUT_CAPTURE_DECODE_H

#include "base/bytes.h"
#include "profile/profile.h"

struct capture_decoder {
	struct profile *profile;
	uint64_t weight; /* of all samples */
};

/*
 * Chunks in their order, `number` counted from 0. 0, -ENOMEM, or -EBADMSG, after which nothing of
 * this chunk is in the profile (but for names that nothing uses).
 */
int capture_decode(struct capture_decoder *d, uint32_t type, uint32_t number, struct bytes b);

#endif
