/* The end-of-run summary: as one JSON object, and as lines for people. */
#ifndef SCRY_OUTPUT_SUMMARY_H
#define SCRY_OUTPUT_SUMMARY_H

#include <stdio.h>
#include "profile/stats.h"

/*
 * Keys: samples, lost, other, unnamed, outcomes{name: count}, states{name: count},
 * weights{name of state: sum}, processes, threads, refused, reads, read_bytes, ticks, idle, cpu_ns,
 * bpf_ns, peak_rss_bytes, map_bytes, duration_ns, load_ns, startup_ns, rate_asked, rate_reached;
 * with stats (NULL: none) also stats{total{}, processes[{}]}.
 */
int summary_json(FILE *f, const struct summary *s, const struct stats_table *stats);
int summary_text(FILE *f, const struct summary *s);

#endif
