/* Addresses in another process: never cast to a pointer. Only remote/ turns them into bytes. */
#ifndef SCRY_REMOTE_ADDR_H
#define SCRY_REMOTE_ADDR_H

#include <stdint.h>

typedef uint64_t raddr_t;

#endif
