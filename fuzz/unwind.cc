// What a process has in memory and in files, for its native calls. The first byte says which.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "fuzz.h"
#include "os/unwind/call_frame.h"
#include "os/unwind/demangle.h"
#include "os/unwind/elf.h"
#include "os/unwind/expression.h"
#include "os/unwind/mappings.h"
#include "os/unwind/walk.h"

namespace muster {

namespace {

constexpr std::uint64_t base = 0x10000;

class Input final : public unwind::Memory {
 public:
  explicit Input(unwind::Bytes bytes) : bytes_(bytes) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    if (address < base || address - base > bytes_.size() ||
        to.size() > bytes_.size() - (address - base))
      return false;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(address - base), to.size(),
                to.begin());
    return true;
  }

 private:
  unwind::Bytes bytes_;
};

unwind::Registers registers_of(unwind::Bytes bytes) {
  unwind::Registers registers;
  registers.known.set();
  std::fill(registers.values.begin(), registers.values.end(), base + bytes.size() / 2);
  return registers;
}

/// The image's own frames, or those of a table at its beginning.
void walk(unwind::Bytes bytes, bool has_image) {
  Input memory(bytes);
  const std::optional<unwind::Image> image = unwind::image_at(memory, base);
  if (has_image && !image) return;
  const std::uint64_t header = has_image ? image->header : base;
  const auto lookup = [&](std::uint64_t pc) {
    return unwind::call_frame_by_header(memory, header, pc);
  };
  const auto is_code = [](std::uint64_t pc) { return pc >= base; };
  const unwind::Walk walked = unwind::walk(registers_of(bytes), memory, lookup, is_code);
  CHECK_THAT(walked.frames.size() <= unwind::walked_frames_max, "a walk ends");
}

void read_index(unwind::Bytes bytes) {
  Input memory(bytes);
  const unwind::RecordIndex index = unwind::index_records(memory, base, bytes.size());
  CHECK_THAT(std::is_sorted(index.begin(), index.end()), "an index is sorted");
  for (std::size_t i = 0; i < std::min<std::size_t>(index.size(), 8); ++i) {
    const auto frame = unwind::call_frame_by_index(memory, index, index[i].first);
    if (frame) static_cast<void>(unwind::step(*frame, registers_of(bytes), memory));
  }
}

void read_file(unwind::Bytes bytes) {
  const unwind::SectionFacts facts =
      unwind::SectionFacts::from([bytes](std::uint64_t offset, std::span<std::uint8_t> to) {
        const std::size_t count =
            offset < bytes.size() ? std::min<std::size_t>(to.size(), bytes.size() - offset) : 0;
        if (count > 0)
          std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), count, to.begin());
        return count;
      });
  for (std::uint64_t address = 0; address < 0x4000; address += 0x101) {
    const auto found = facts.function_at(address);
    if (found)
      CHECK_THAT(!found->name.empty() && found->begin <= address, "a name for what is there");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const unwind::Bytes bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Input memory(bytes);
  switch (data[0]) {
    case 'f':
      read_file(bytes);
      break;
    case 'i':
      walk(bytes, true);
      break;
    case 'w':
      walk(bytes, false);
      break;
    case 'r':
      read_index(bytes);
      break;
    case 'x':
      static_cast<void>(unwind::evaluate(bytes, base, registers_of(bytes), memory));
      break;
    case 'n':
      static_cast<void>(unwind::plain_name(text));
      break;
    default:
      for (const unwind::Mapping& each : unwind::mappings_in(text))
        CHECK_THAT(each.begin < each.end, "a mapping has a size");
  }
  return 0;
}

}  // namespace muster
