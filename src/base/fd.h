#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace muster {

/// Owns one file descriptor; closes it when it leaves scope. The code that opens a descriptor must
/// make it close-on-exec at once (O_CLOEXEC, pipe2, SOCK_CLOEXEC).
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void reset();

 private:
  int number_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};
/// Both ends close-on-exec.
Result<Pipe> make_pipe();
/// Two connected unix stream sockets, close-on-exec.
Result<std::pair<Fd, Fd>> make_socket_pair();

/// The whole file. Errors: `not_found`, `denied`, `system`; `invalid_input` beyond `bytes_max`.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max = 64u << 20);

/// Passes the bytes of the file `path`, open as `fd`, to `take`, from `offset` to the end or until
/// `take` returns false; at most `piece_bytes` at a time. Error: `system`.
Result<void> read_pieces(int fd, const std::string& path, std::uint64_t offset,
                         std::size_t piece_bytes,
                         const std::function<bool(std::string_view)>& take);

/// Replaces `path` atomically: writes a temporary file next to it, then renames it.
Result<void> write_file(const std::string& path, std::string_view text, unsigned mode = 0644);

/// Writes everything to a blocking descriptor. Error: `closed` if the reader has closed its end.
Result<void> write_all(int fd, std::string_view bytes);

/// Makes `path` and the folders above it; existing ones are fine.
Result<void> make_folders(const std::string& path, unsigned mode = 0755);

/// A new private folder (0700) "<parent>/<prefix>XXXXXX". `parent` exists.
Result<std::string> make_private_folder(const std::string& parent, const std::string& prefix);

/// Waits for the lock (flock(2)) on the file `path`, which is created (0600) if it does not exist.
/// Closing the descriptor releases the lock. Error: `system`.
Result<Fd> wait_for_lock(const std::string& path, bool exclusive = true);

/// `count` bytes from the kernel's generator.
std::string random_bytes(std::size_t count);

/// The path of the running program (/proc/self/exe resolved).
Result<std::string> own_program();
/// The current folder. Error: `system`.
Result<std::string> working_folder();

}  // namespace muster
