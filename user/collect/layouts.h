/* Layouts as the kernel side needs them. */
#ifndef SCRY_COLLECT_LAYOUTS_H
#define SCRY_COLLECT_LAYOUTS_H

#include "bpf/target.h"
#include "python/layout.h"

/*
 * Pure. The layout must have passed layout_check(). 0, or -EINVAL when a field lies behind what the
 * kernel side reads of its struct (bpf/target.h): no build that is known is like that.
 */
int layouts_to_kernel(const struct layout *l, struct target_layout *ret);

#endif
