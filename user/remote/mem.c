/* Reads of a target's memory: dispatch to the kind of memory, and count. */
#include "remote/mem.h"

#include <errno.h>

int mem_readv(struct mem *m, struct mem_seg *segs, size_t n)
{
	int err;

	if (!n)
		return 0;
	if (!m) {
		for (size_t i = 0; i < n; i++)
			segs[i].status = -ESRCH;
		return -ESRCH;
	}
	err = m->ops->readv(m, segs, n);
	m->stats.segments += n;
	for (size_t i = 0; i < n; i++) {
		if (segs[i].status)
			m->stats.failed++;
		else
			m->stats.bytes += segs[i].len;
	}
	return err;
}

int mem_read(struct mem *m, raddr_t addr, void *buf, size_t len)
{
	struct mem_seg seg = {.addr = addr, .len = (uint32_t)len, .buf = buf};

	if (len > UINT32_MAX)
		return -EINVAL;
	mem_readv(m, &seg, 1);
	return seg.status;
}

int mem_read_u64(struct mem *m, raddr_t addr, uint64_t *ret)
{
	uint64_t v;
	int err = mem_read(m, addr, &v, sizeof(v));

	if (!err)
		*ret = v;
	return err;
}

int mem_read_u32(struct mem *m, raddr_t addr, uint32_t *ret)
{
	uint32_t v;
	int err = mem_read(m, addr, &v, sizeof(v));

	if (!err)
		*ret = v;
	return err;
}

void mem_free(struct mem *m)
{
	if (m)
		m->ops->free(m);
}
