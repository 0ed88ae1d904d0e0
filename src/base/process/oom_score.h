#pragma once

namespace muster {

/// When the machine's memory runs out, the kernel ends this process after others. Those that it
/// starts inherit that. Needs CAP_SYS_RESOURCE; without it nothing changes, and `sm doctor` says
/// so. Source: proc(5), oom_score_adj.
void outlive_others();

}  // namespace muster
