#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "container/bundle/root_view.h"
#include "container/id_map.h"
#include "job/host_devices.h"

namespace muster::container {

/// Creates the folder in which a steward builds its host's root, and mounts an empty file system
/// there, in this process's private mounts. The runtime, as root of a host, must be able to
/// traverse the parent folders, which is impossible in a job's folder.
Result<void> mount_host_place();
void unmount_host_place();
/// The folder of muster's programs in a host that uses the machine's programs.
inline constexpr const char* programs_folder = "/usr/local/bin";

std::string host_root();                      ///< The host's root is mounted here.
std::string shown_place(std::size_t number);  ///< The source of the bundle's bind `number`.

/// Mounts the machine's root there, read-only and with translated owners, as a source for the
/// functions below; hosts do not see it. Error: the reason, such as a kernel before 5.12 or a file
/// system without support for ID mapping.
Result<void> show_machine(const IdMap& ids);

/// Creates `folder`. If its file system cannot be the upper layer of an overlay (because it is an
/// overlay itself, for example), mounts a tmpfs there.
Result<void> make_layers(const std::string& folder);

/// Mounts at `target` an overlay over the folder `lower`, which never changes: writes go to
/// `layer`/upper, which this function creates. Owners are translated by `ids`. Mounts inside
/// `lower` are not visible. Paths may contain any characters. Errors: the kernel's; `denied` or
/// `system` if overlays do not work, or not with `ids` (Linux before 5.19; some file systems).
Result<void> mount_overlay(const std::string& lower, const std::string& layer,
                           const std::string& target, const IdMap& ids);

/// Mounts at host_root() an overlay of a container image's layers, lowest first; writes go to
/// `layer`. No file of the machine is visible. Errors: as mount_overlay(); `invalid_input` if there
/// are more layers than a mount supports.
Result<void> mount_image_root(const std::vector<std::string>& layers, const std::string& layer,
                              const IdMap& ids);

/// Reads a regular file of the file system at `root`, following links as its processes would; at
/// most `size_max` bytes. Errors: `not_found`, `invalid_input` if it is not a file or is larger,
/// `system`.
Result<std::string> read_in_root(const std::string& root, const std::string& path,
                                 std::size_t size_max);

/// Bind-mounts the file or folder `source` at `target`, which is created if necessary, without the
/// mounts inside it. Devices and setuid bits in it have no effect.
struct Showing {
  bool read_only = true;
  bool translated = true;  ///< Translate owners; an error if the kernel cannot.
};
Result<void> mount_bind(const std::string& source, const std::string& target, const IdMap& ids,
                        Showing showing);

/// mount_bind(), read-only. If the kernel cannot translate owners, the host can read only files
/// that all users can read.
Result<void> mount_read_only(const std::string& source, const std::string& target,
                             const IdMap& ids);

/// Mounts the character device `node`, if it is still the chosen device; programs can open it
/// according to its mode. The mount is read-only: data passes in both directions, but mode and
/// owner of the machine's node cannot be changed. Error: `system` if it is not that device, or is
/// on a file system without devices.
Result<void> mount_device(const job::DeviceNode& node, const std::string& target);

/// Mounts the trees of `view` at host_root(), each as a writable overlay; all writes of the host go
/// to `layers`. Returns a line for each tree that is read-only, because its file system does not
/// support overlays or, for an ordinary user, because another file system is mounted inside it;
/// subfolders without mounts are then still writable. Errors: as mount_overlay(). If it fails with
/// `ids`, call it again without them.
Result<std::vector<std::string>> mount_host_root(const RootView& view, const std::string& layers,
                                                 const IdMap& ids);

/// In a root of mount_host_root(): ensures that the runtime, as the host's root, can create the
/// mount point `target` (an absolute path in the host). If the parent folder is read-only or
/// belongs to another user, mounts an overlay over it, whose writes go to `layer`; if an overlay is
/// not possible, mounts a tmpfs with all of its entries. Errors: `invalid_input` if there are too
/// many entries; `system`.
Result<void> make_room(const std::string& target, const std::string& layer, const IdMap& ids);

/// Mounts an empty tmpfs at `target`, which is created if necessary.
Result<void> mount_tmpfs(const std::string& target);

/// Unmounts everything at and below `target`, even if it is in use. Succeeds if nothing is mounted
/// there.
void unmount(const std::string& target);

}  // namespace muster::container
