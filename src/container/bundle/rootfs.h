#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "container/bundle/root_view.h"
#include "container/id_map.h"
#include "job/host_devices.h"

namespace muster::container {

/// Makes the place where a steward puts its host together, and mounts an empty file system there;
/// in the private mounts of this process. The runtime, as root of a host, reaches it by folders
/// that anybody may pass; a job's folder lies in private ones.
Result<void> mount_host_place();
void unmount_host_place();
/// Where a host that shows the machine's programs has muster's.
inline constexpr const char* programs_folder = "/usr/local/bin";

std::string host_root();                      ///< The host's root is mounted here.
std::string shown_place(std::size_t number);  ///< What is shown as the bundle's bind `number`.

/// Shows the machine's root there, read-only and with its owners translated, for the functions
/// below to take from; no host sees it. Error: why not: a kernel before 5.12, a file system that
/// cannot.
Result<void> show_machine(const IdMap& ids);

/// Makes `folder` and, where it lies on a file system that cannot hold an overlay's writes (another
/// overlay, for one), mounts memory there.
Result<void> make_layers(const std::string& folder);

/// Mounts at `target` a writable view of the folder `lower`: writes go to `layer`/upper, which is
/// made here; `lower` is never touched. Owners are translated by `ids`. Mounts inside `lower` do
/// not show. All folders by path; any characters. Errors: as the kernel says; `denied` or `system`
/// where overlays do not work, or not with ids (Linux before 5.19; some file systems).
Result<void> mount_overlay(const std::string& lower, const std::string& layer,
                           const std::string& target, const IdMap& ids);

/// Mounts at host_root() a writable view of a container image's layers, folders from the lowest up;
/// writes go to `layer`. Nothing of the machine shows. Errors: as mount_overlay(); `invalid_input`
/// for more layers than one mount takes.
Result<void> mount_image_root(const std::vector<std::string>& layers, const std::string& layer,
                              const IdMap& ids);

/// Reads a regular file of the file system at `root`, following links as its processes would; at
/// most `size_max` bytes. Errors: `not_found`, `invalid_input` if it is not a file or is larger,
/// `system`.
Result<std::string> read_in_root(const std::string& root, const std::string& path,
                                 std::size_t size_max);

/// Shows the file or folder `source` at `target`, which is made if need be, without what is mounted
/// inside of it. Nothing in it is a device or gives rights by its mode.
struct Showing {
  bool read_only = true;
  bool translated = true;  ///< Owners are translated; where the kernel refuses that: an error.
};
Result<void> mount_bind(const std::string& source, const std::string& target, const IdMap& ids,
                        Showing showing);

/// mount_bind() read-only; where the kernel cannot translate owners a host sees of it what anybody
/// may read.
Result<void> mount_read_only(const std::string& source, const std::string& target,
                             const IdMap& ids);

/// Mounts the character device `node`, if it is still the chosen one, so that it can be opened as
/// its mode allows. The mount is read-only: data passes in both directions, but mode and owner of
/// the machine's node cannot be changed. Error: `system` if it is not that device, or is on a file
/// system without devices.
Result<void> mount_device(const job::DeviceNode& node, const std::string& target);

/// Mounts at host_root() what `view` shows of the machine, each tree writable: what a host writes,
/// in them or beside them, goes to `layers`. Says in lines which trees it had to show read-only: no
/// overlay can lie on their file system or, for an ordinary user, another one is mounted inside;
/// then the folders without mounts in them are writable. Errors: as mount_overlay(). If it fails
/// with ids, start again without them.
Result<std::vector<std::string>> mount_host_root(const RootView& view, const std::string& layers,
                                                 const IdMap& ids);

/// In a root of mount_host_root(): makes sure that the runtime, as the host's root, can make
/// `target`, an absolute path in the host, to mount something there: where the folder in which it
/// would is read-only or another's, mounts a writable view over it, whose writes go to `layer`;
/// where no overlay can lie there, memory with all of its entries. Errors: `invalid_input`: that
/// has too many; `system`.
Result<void> make_room(const std::string& target, const std::string& layer, const IdMap& ids);

/// Mounts an empty tmpfs at `target`, which is made if need be.
Result<void> mount_tmpfs(const std::string& target);

/// Takes away what is mounted at `target` and below it, also if in use; fine if nothing is.
void unmount(const std::string& target);

}  // namespace muster::container
