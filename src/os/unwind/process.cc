#include "os/unwind/process.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/fd.h"
#include "os/unwind/demangle.h"

namespace muster::unwind {
namespace {

constexpr std::size_t maps_bytes_max = 16u << 20;
constexpr std::size_t compared_bytes = 4096;
constexpr std::size_t state_bytes_max = 64u << 10;
constexpr std::string_view deleted = " (deleted)";
constexpr std::string_view kernels_own = "[vdso]";

std::string folder_of(pid_t pid) {
  return "/proc/" + std::to_string(pid) + "/";
}

std::string hex_number(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

/// A regular file by the name that the process has for it; links in it lead nowhere else than they
/// lead the process. No descriptor: there is none.
Fd open_below_root(pid_t pid, const std::string& path) {
  const Fd root(::open((folder_of(pid) + "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root || !path.starts_with('/')) return {};
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  Fd file(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str() + 1, &how, sizeof how)));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

std::size_t read_at(int file, std::uint64_t offset, std::span<std::uint8_t> to) {
  if (offset > std::uint64_t{1} << 62) return 0;
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count =
        ::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

/// The first page of a program holds its headers and, mostly, the number of its build.
bool begins_alike(int file, std::uint64_t base, Memory& memory) {
  std::array<std::uint8_t, compared_bytes> here{}, there{};
  const std::size_t count = read_at(file, 0, here);
  return count >= 64 && memory.read(base, std::span(there).first(count)) &&
         std::equal(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(count), there.begin());
}

/// FNV-1a.
void mix(std::uint64_t& hash, Bytes bytes) {
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
}
void mix(std::uint64_t& hash, std::uint64_t number) {
  mix(hash, Bytes(reinterpret_cast<const std::uint8_t*>(&number), sizeof number));
}

}  // namespace

const SectionFacts& Files::facts_of(pid_t pid, const Mapping& first, Memory& memory) {
  const auto [at, is_new] =
      all_.try_emplace(std::tuple(first.device, first.inode, first.path), SectionFacts());
  SectionFacts& facts = at->second;
  if (!is_new || room_ == 0) return facts;
  if (first.path == kernels_own) {
    // The kernel's page is in memory alone, its sections too. It is read here and now.
    std::vector<std::uint8_t> whole(
        static_cast<std::size_t>(std::min<std::uint64_t>(first.end - first.begin, 1u << 20)));
    if (!memory.read(first.begin, whole)) whole.clear();
    facts = SectionFacts::from(
        [whole = std::move(whole)](std::uint64_t offset, std::span<std::uint8_t> to) {
          if (offset >= whole.size()) return std::size_t{0};
          const std::size_t count =
              std::min(to.size(), whole.size() - static_cast<std::size_t>(offset));
          std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset), count, to.begin());
          return count;
        });
    return facts;
  }
  const auto file = std::make_shared<Fd>(open_below_root(pid, first.path));
  if (!*file || !begins_alike(file->get(), first.begin, memory)) return facts;
  facts = SectionFacts::from([file](std::uint64_t offset, std::span<std::uint8_t> to) {
    return read_at(file->get(), offset, to);
  });
  room_ -= std::min(room_, facts.symbols_bytes());
  return facts;
}

Process::Process(pid_t pid, Files& files)
    : pid_(pid),
      files_(files),
      memory_(pid),
      mappings_(mappings_in(read_file(folder_of(pid) + "maps", maps_bytes_max).value_or(""))) {}

Process::Module& Process::module_at(const Mapping& mapping) {
  Module& module = modules_[mapping.begin];
  if (module.is_known) return module;
  module.is_known = true;
  const Mapping* first = first_of_file(mappings_, mapping);
  const std::optional<Image> image =
      first == nullptr ? std::nullopt : image_at(memory_, first->begin);
  if (!image) return module;
  module.first = first;
  module.image = *image;
  return module;
}

std::optional<CallFrame> Process::call_frame_at(std::uint64_t pc) {
  const Mapping* mapping = mapping_at(mappings_, pc);
  if (mapping == nullptr) return std::nullopt;
  Module& module = module_at(*mapping);
  if (module.first == nullptr) return std::nullopt;
  if (module.image.header != 0) return call_frame_by_header(memory_, module.image.header, pc);
  if (!module.is_indexed) {
    module.is_indexed = true;
    const SectionFacts& facts = files_.facts_of(pid_, *module.first, memory_);
    if (facts.frames() != 0)
      module.index =
          index_records(memory_, facts.frames() + module.image.bias, facts.frames_bytes());
  }
  return call_frame_by_index(memory_, module.index, pc);
}

Walk Process::walk(const Snapshot& snapshot) {
  SnapshotMemory memory(snapshot, memory_);
  return unwind::walk(
      snapshot.registers, memory, [this](std::uint64_t pc) { return call_frame_at(pc); },
      [this](std::uint64_t pc) {
        const Mapping* mapping = mapping_at(mappings_, pc);
        return mapping != nullptr && mapping->executable;
      });
}

NamedCall Process::name(const Frame& frame) {
  const Mapping* mapping = mapping_at(mappings_, frame.at());
  NamedCall call;
  if (mapping != nullptr) call.file = mapping->path;
  if (call.file.ends_with(deleted)) call.file.resize(call.file.size() - deleted.size());
  const std::uint64_t known = frame.function != 0 ? frame.function : frame.pc;
  if (mapping == nullptr || module_at(*mapping).first == nullptr) {
    call.function = hex_number(known);
    return call;
  }
  const Module& module = module_at(*mapping);
  const std::optional<SectionFacts::Function> found =
      files_.facts_of(pid_, *module.first, memory_).function_at(frame.at() - module.image.bias);
  call.function = found ? plain_name(found->name) : hex_number(known - module.image.bias);
  return call;
}

std::vector<NamedCall> Process::names(const Walk& walk) {
  std::vector<NamedCall> names;
  for (const Frame& frame : walk.frames) names.push_back(name(frame));
  return names;
}

std::uint64_t Process::state(const Walk& walk, std::size_t from, const Snapshot& snapshot) {
  std::uint64_t hash = 0xcbf29ce484222325;
  if (from >= walk.frames.size()) return hash;
  const Registers& registers = walk.frames[from].registers;
  // What a call must keep (System V ABI, AMD64 supplement, 3.2.1).
  constexpr std::array<std::size_t, 7> kept = {
      Registers::rbx, Registers::rbp, Registers::rsp, 12, 13, 14, 15};
  if (from > 0)
    for (const std::size_t each : kept) mix(hash, registers.values[each]);
  else
    for (std::size_t i = 0; i < Registers::pc; ++i) mix(hash, registers.values[i]);
  if (from == 0) mix(hash, snapshot.vectors);
  // A function that calls none may have variables below the stack pointer.
  const std::uint64_t begin = from > 0 ? registers.values[Registers::rsp] : snapshot.stack_at;
  const std::uint64_t end = walk.frames.back().registers.values[Registers::rsp];
  std::vector<std::uint8_t> stack(
      end > begin ? static_cast<std::size_t>(std::min<std::uint64_t>(end - begin, state_bytes_max))
                  : 0);
  SnapshotMemory memory(snapshot, memory_);
  if (memory.read(begin, stack)) mix(hash, stack);
  return hash;
}

}  // namespace muster::unwind
