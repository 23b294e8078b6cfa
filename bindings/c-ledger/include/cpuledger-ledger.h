/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libcpuledger-ledger: libcpuledger, and a ledger of the program's own. See cpuledger_open_ledger(3). */

#ifndef CPULEDGER_LEDGER_H
#define CPULEDGER_LEDGER_H

#include <cpuledger.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Opens a source of this process: "ledger", "walk", "netlink" or "procfs", with the privileges that it needs. Otherwise as `cpuledger_open`; of the
 * options, the length of intervals counts.
 */
int cpuledger_open_ledger(struct cpuledger **handle, const char *source, const struct cpuledger_options *options);

#ifdef __cplusplus
}
#endif

#endif
