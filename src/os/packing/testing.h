#pragma once

// For tests only.

#include <sys/stat.h>
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "base/fd.h"

namespace muster::packing {

/// Writes tar archives byte by byte, also such as no tar program would write.
class Tar {
 public:
  /// Any header: `type` as in tar(5), '0' a file, '1' a hard link, '2' a symbolic one, ...
  Tar& member(char type, const std::string& name, const std::string& link = "",
              const std::string& data = "", unsigned mode = 0644, const std::string& size = "") {
    if (name.size() > 100) extended('L', name + '\0');
    if (link.size() > 100) extended('K', link + '\0');
    header(type, name, link, size.empty() ? octal(data.size(), 11) : size, mode);
    return raw(data);
  }
  Tar& file(const std::string& name, const std::string& data, unsigned mode = 0644) {
    return member('0', name, "", data, mode);
  }
  Tar& folder(const std::string& name) { return member('5', name, "", "", 0755); }
  Tar& symlink(const std::string& name, const std::string& to) { return member('2', name, to); }
  Tar& hard_link(const std::string& name, const std::string& to) { return member('1', name, to); }
  /// A character device ('3') or block device ('4').
  Tar& device(char type, const std::string& name, unsigned major, unsigned minor) {
    major_ = major;
    minor_ = minor;
    return member(type, name);
  }
  /// A pax header for the next member: "path" -> "modèle/ü.py".
  Tar& pax(const std::map<std::string, std::string>& keys) {
    std::string text;
    for (const auto& [key, value] : keys) {
      const std::string rest = " " + key + "=" + value + "\n";
      std::size_t length = rest.size() + 1;
      while (std::to_string(length).size() + rest.size() != length) ++length;
      text += std::to_string(length) + rest;
    }
    return member('x', "pax", "", text);
  }
  Tar& raw(const std::string& bytes) {
    bytes_ += bytes;
    bytes_.append((512 - bytes_.size() % 512) % 512, '\0');
    return *this;
  }
  std::string bytes() const { return bytes_ + std::string(1024, '\0'); }

  static std::string octal(std::uint64_t number, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(number));
    return text;
  }

 private:
  void extended(char type, const std::string& text) {
    header(type, "././@LongLink", "", octal(text.size(), 11), 0);
    raw(text);
  }
  void header(char type, const std::string& name, const std::string& link, const std::string& size,
              unsigned mode) {
    std::string block(512, '\0');
    const auto put = [&block](std::size_t at, const std::string& text, std::size_t most) {
      block.replace(at, std::min(text.size(), most), text.substr(0, most));
    };
    put(0, name, 100);
    put(100, octal(mode, 7), 8);
    put(108, octal(4321, 7), 8);
    put(116, octal(4321, 7), 8);
    put(124, size, 12);
    put(136, octal(1600000000, 11), 12);
    put(148, "        ", 8);
    put(156, std::string(1, type), 1);
    put(157, link, 100);
    put(257, std::string("ustar\0", 6) + "00", 8);
    put(329, octal(major_, 7), 8);
    put(337, octal(minor_, 7), 8);
    unsigned sum = 0;
    for (const char byte : block) sum += static_cast<unsigned char>(byte);
    put(148, octal(sum, 6) + std::string("\0 ", 2), 8);
    bytes_ += block;
  }

  std::string bytes_;
  unsigned major_ = 1;
  unsigned minor_ = 3;
};

inline std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(::deflateBound(&stream, bytes.size()), '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  static_cast<void>(::deflate(&stream, Z_FINISH));
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return out;
}

inline void put_file(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder that goes with the test.
struct Scratch {
  Scratch() : path(*make_private_folder("/tmp", "muster-code-test-")) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string path;
};

/// All that is below `folder`, by path: "file 644 text", "folder 755", "link target".
inline std::map<std::string, std::string> snapshot(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    static_cast<void>(::lstat(entry.path().c_str(), &status));
    std::string text = "other";
    if (S_ISLNK(status.st_mode)) text = "link " + fs::read_symlink(entry.path()).string();
    if (S_ISDIR(status.st_mode)) text = "folder " + Tar::octal(status.st_mode & 07777, 3);
    if (S_ISREG(status.st_mode)) {
      std::ostringstream bytes;
      if (status.st_size < 1 << 20) bytes << std::ifstream(entry.path()).rdbuf();
      text = "file " + Tar::octal(status.st_mode & 07777, 3) + " " + bytes.str();
    }
    out[entry.path().lexically_relative(folder).string()] = text;
  }
  return out;
}

}  // namespace muster::packing
