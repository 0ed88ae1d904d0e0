#include "engine/cluster/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "image/layers/bytes.h"

namespace muster::cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* note_name = "/shared.json";
constexpr const char* part_prefix = "muster-";
constexpr const char* program_prefix = "sm-";
constexpr std::size_t digest_start = 7;  ///< "sha256:"
constexpr mode_t others_may_write = 022;
/// Versions of `sm` that no job has used for this time are removed.
constexpr std::chrono::hours unused_max{30 * 24};

/// A user who may rename the content of a folder could replace any part of it. The owners of the
/// folders on the path provided the space, and are trusted.
Result<void> check_way(const std::string& shared) {
  for (fs::path path = shared; path.has_relative_path(); path = path.parent_path()) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return fail_errno("cannot open " + path.string());
    if ((status.st_mode & others_may_write) != 0 && (status.st_mode & S_ISVTX) == 0)
      return fail(
          Errc::denied,
          path.string() +
              ": other users can write to this folder and could replace this user's subfolder; set "
              "the sticky bit (chmod +t), or remove other users' write permission");
  }
  return {};
}

/// "muster-<uid>". Which uid: in a user namespace it is not the one that the name was made of.
bool is_part_name(const std::string& name) {
  constexpr std::size_t start = std::string_view(part_prefix).size();
  return name.starts_with(part_prefix) && parse_integer(name.substr(start)).value_or(-1) >= 0;
}

bool is_users_own(const struct stat& status) {
  return S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & others_may_write) == 0;
}

/// <shared>/muster-<uid>: names in the shared folder itself are anybody's.
Result<std::string> users_part(const std::string& shared) {
  TRY(check_way(shared));
  const std::string path = shared + "/" + part_prefix + std::to_string(::geteuid());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno("cannot create " + path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return fail_errno("cannot open " + path);
  if (!is_users_own(status))
    return fail(Errc::denied,
                path + ": expected a folder that this user owns and that no other user can change");
  return path;
}

void remove_unused_programs(const std::string& part) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(part, none)) {
    struct stat status {};
    if (entry.path().filename().string().starts_with(program_prefix) &&
        ::lstat(entry.path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        wall_time() - UnixMillis(status.st_mtim.tv_sec * 1000) > unused_max)
      ::unlink(entry.path().c_str());
  }
}

Result<void> copy_program(const std::string& program, const std::string& to) {
  std::error_code code;
  fs::copy_file(program, to, code);
  if (code) return fail(Errc::system, to + ": " + code.message());
  if (::chmod(to.c_str(), 0700) != 0) return fail_errno("cannot change the mode of " + to);
  const Fd file(::open(to.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) return fail_errno("cannot sync " + to);
  return {};
}

Result<SharedFile> share_program(const std::string& part, const std::string& program) {
  SharedFile shared{.digest = TRY(image::digest_of_file(program))};
  shared.path = part + "/" + program_prefix + shared.digest.substr(digest_start);
  remove_unused_programs(part);
  // What a machine that went down left of a copy is shorter; nodes check the digest.
  std::error_code none;
  const bool is_whole = fs::file_size(shared.path, none) == fs::file_size(program, none);
  if (is_whole && ::utimensat(AT_FDCWD, shared.path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0)
    return shared;
  const std::string half = shared.path + "." + hex(random_bytes(4));
  const Result<void> copied = copy_program(program, half);
  if (!copied || ::rename(half.c_str(), shared.path.c_str()) != 0) {
    const Error why = copied ? fail_errno(shared.path) : copied.error();
    ::unlink(half.c_str());
    return why;
  }
  return shared;
}

Json json_of(const SharedFile& file) {
  return {{"path", file.path}, {"digest", file.digest}};
}

SharedFile file_from(const Json& json) {
  return {json.value("path", ""), json.value("digest", "")};
}

}  // namespace

Result<SharedPlaces> make_shared(const std::string& shared, const std::string& job_folder,
                                 const std::string& program) {
  const std::string part = TRY(users_part(shared));
  const std::string name = fs::path(job_folder).filename();
  SharedPlaces places{.folder = part + "/" + name + "-" + hex(random_bytes(8))};
  TRY(write_shared(job_folder, places));
  if (::mkdir(places.folder.c_str(), 0700) != 0)
    return fail_errno("cannot create " + places.folder);
  if (!program.empty()) places.program = TRY(share_program(part, program));
  return places;
}

Result<void> write_shared(const std::string& job_folder, const SharedPlaces& places) {
  const Json json{{"folder", places.folder},
                  {"program", json_of(places.program)},
                  {"archive", json_of(places.archive)}};
  return write_file(job_folder + note_name, to_text(json), 0600);
}

Result<std::optional<SharedPlaces>> read_shared(const std::string& job_folder) {
  const std::string path = job_folder + note_name;
  if (::access(path.c_str(), F_OK) != 0) return std::optional<SharedPlaces>();
  const Result<Json> json = parse_json(TRY(read_file(path)));
  const auto is_file = [](const Json& file) {
    return file.is_object() && file.value("path", Json("")).is_string() &&
           file.value("digest", Json("")).is_string();
  };
  if (!json || !json->is_object() || !json->value("folder", Json()).is_string() ||
      !is_file(json->value("program", Json())) || !is_file(json->value("archive", Json())))
    return fail(Errc::protocol, path + ": not a valid record of a job's shared folder");
  return std::optional<SharedPlaces>(SharedPlaces{json->at("folder").get<std::string>(),
                                                  file_from(json->at("program")),
                                                  file_from(json->at("archive"))});
}

Result<void> remove_shared(const std::string& job_folder) {
  const std::optional<SharedPlaces> places = TRY(read_shared(job_folder));
  if (!places || places->folder.empty()) return {};
  const fs::path folder = places->folder;
  // The note names one folder of a users_part(), whatever its other content.
  const Error wrong = fail(Errc::denied, places->folder +
                                             ": not removed, because this is not a job's folder in "
                                             "this user's part of a shared folder");
  if (!folder.has_filename() || folder.filename() == ".." || folder.filename() == "." ||
      !is_part_name(folder.parent_path().filename()))
    return wrong;
  const Fd part(
      ::open(folder.parent_path().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!part && errno == ENOENT) return {};
  struct stat status {};
  if (!part || ::fstat(part.get(), &status) != 0) return fail_errno(places->folder);
  if (!is_users_own(status)) return wrong;
  return remove_tree(held_path(part) + "/" + folder.filename().string());
}

bool is_shared(const std::string& path, const std::string& folder) {
  return !folder.empty() &&
         (path == folder || (path.starts_with(folder) && path[folder.size()] == '/'));
}

}  // namespace muster::cluster
