/* What the frames that are running say about a layout: that code objects are code objects. */
#ifndef SCRY_PYTHON_EVIDENCE_H
#define SCRY_PYTHON_EVIDENCE_H

#include "python/discover.h"

#define EVIDENCE_COUNTER_SPAN (1u << 24) /* how far the counter may be ahead of living code */

/*
 * Looks at some frames of some threads by ret->layout (with runtime, main_interp and gil set):
 * DISCOVER_OK or why not. When there are frames one of their code objects must have the type named
 * "code": it becomes ret->types.code, else that of `symbols` does.
 *
 * The counter that gives co_version must be above every living version and close to them, else the
 * layout loses interp.next_version and proves code objects by LAYOUT_PROOF_VERSION. So it does when
 * no frame is there to compare with.
 */
enum discover_why evidence_check(struct mem *m, struct code_types symbols,
				 struct discover_found *ret);

#endif
