#pragma once

#include <cstdint>
#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster {

/// A user namespace of one's own, without another program's help.

/// For a process that has just left its user namespace, whose `user` and `group` it had: these
/// alone are `inside_user` and `inside_group` in the new one. Error: the kernel's.
Result<void> map_one_id(std::uint32_t user, std::uint32_t group, std::uint32_t inside_user,
                        std::uint32_t inside_group);

/// Settings of this machine that keep ordinary users from namespaces: "user.max_user_namespaces".
Env user_namespace_settings();
/// The setting among these that does, as people write it: "user.max_user_namespaces is 0"; empty:
/// none of them. Pure.
std::string why_no_user_namespace(const Env& settings);

/// Gives the calling process, which has one thread, a user namespace in which its user is who it
/// was and has every right over the namespaces that it makes, until it becomes another program; and
/// a mount namespace in it, as keep_own_mounts() has it. Error: `denied`, and which setting of the
/// machine's it was.
Result<void> enter_own_namespaces();

/// What the calling process mounts in its mount namespace is not seen by the machine from now on;
/// what the machine mounts is seen here: folders that come when they are looked at (autofs) do so.
Result<void> keep_own_mounts();

/// Gives the calling process a mount namespace of its own: what it mounts from now on is seen by
/// it and its children only, and goes when the last of them ends. Error: `denied` without root.
Result<void> enter_private_mounts();

}  // namespace muster
