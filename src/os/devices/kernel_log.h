#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"
#include "os/devices/xid.h"

namespace muster::devices {

inline constexpr const char* kernel_log = "/dev/kmsg";
/// How a site allows people to read GPU errors, for messages.
inline constexpr const char* kernel_log_advice =
    "reading them requires root, CAP_SYSLOG, or the group systemd-journal or adm";

/// The kernel's log from its first record; never blocks. Error: of opening it.
Result<Fd> open_kernel_log();

/// True if this process may read the kernel's messages in the journal: a member of systemd-journal
/// or adm, as a rule.
bool may_read_journal(const std::vector<std::string>& folders = {"/run/log/journal",
                                                                 "/var/log/journal"});

/// The Xids in the kernel's log since the machine started, as far as the log goes back: from the
/// log itself or, if this process must not read that, by `journalctl` on PATH of `env`, within
/// `limit`. Blocks. Error: neither can be read; the text has the log's name.
Result<std::vector<Xid>> past_xids(const Env& env, Duration limit);

}  // namespace muster::devices
