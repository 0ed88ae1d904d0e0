#include "os/unwind/elf.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "os/unwind/cursor.h"

namespace muster::unwind {
namespace {

constexpr std::size_t header_bytes = 64, segment_bytes = 56, section_bytes = 64, symbol_bytes = 24;
constexpr std::size_t segments_max = 64;
constexpr std::size_t sections_max = 4096;
constexpr std::size_t symbols_max = 2'000'000;
constexpr std::size_t name_bytes_max = 4096;
constexpr std::size_t piece_symbols = 4096;
/// Names of one function, and functions that a symbol without a size may hide.
constexpr std::size_t aliases_max = 16;

constexpr std::uint32_t segment_load = 1, segment_eh_frame = 0x6474e550;
constexpr std::uint32_t section_symtab = 2, section_dynsym = 11;
constexpr std::uint8_t symbol_function = 2, symbol_indirect = 10;

struct FileHeader {
  std::uint64_t segments = 0, sections = 0;
  std::uint16_t segment_count = 0, section_count = 0, names_index = 0;
};

std::optional<FileHeader> header_from(Bytes bytes) {
  // 64 bits, little-endian, of version 1; the last of the magic's bytes that count.
  constexpr std::array<std::uint8_t, 7> magic = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  constexpr std::uint16_t x86_64 = 62;
  if (!std::equal(magic.begin(), magic.end(), bytes.begin())) return std::nullopt;
  Cursor from(bytes.subspan(16), 0);
  from.take(2);
  if (from.number<std::uint16_t>() != x86_64) return std::nullopt;
  from.take(4 + 8);
  FileHeader header;
  header.segments = from.number<std::uint64_t>();
  header.sections = from.number<std::uint64_t>();
  from.take(4 + 2);
  const auto segment_size = from.number<std::uint16_t>();
  header.segment_count = from.number<std::uint16_t>();
  const auto section_size = from.number<std::uint16_t>();
  header.section_count = from.number<std::uint16_t>();
  header.names_index = from.number<std::uint16_t>();
  if (segment_size != segment_bytes) header.segment_count = 0;
  if (section_size != section_bytes) header.section_count = 0;
  return header;
}

/// The plainest of several names: MPI_Barrier and not PMPI_Barrier, read and not __read.
bool is_plainer(std::string_view a, std::string_view b) {
  const auto rank = [](std::string_view name) {
    const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
    return std::pair(underscores, name.size());
  };
  return std::pair(rank(a), a) < std::pair(rank(b), b);
}

}  // namespace

std::optional<Image> image_at(Memory& memory, std::uint64_t base) {
  std::array<std::uint8_t, header_bytes> bytes{};
  if (!memory.read(base, bytes)) return std::nullopt;
  const std::optional<FileHeader> header = header_from(bytes);
  if (!header) return std::nullopt;
  std::vector<std::uint8_t> table(std::min<std::size_t>(header->segment_count, segments_max) *
                                  segment_bytes);
  if (!memory.read(base + header->segments, table)) return std::nullopt;
  Image image;
  bool is_loaded = false;
  std::uint64_t frames = 0;
  for (Cursor from(table, 0); !from.at_end();) {
    const auto type = from.number<std::uint32_t>();
    from.take(4);
    const auto offset = from.number<std::uint64_t>();
    const auto address = from.number<std::uint64_t>();
    from.take(segment_bytes - 24);
    if (type == segment_load && offset < 4096 && !is_loaded) {
      image.bias = base - (address - offset);
      is_loaded = true;
    }
    if (type == segment_eh_frame) frames = address;
  }
  if (!is_loaded) return std::nullopt;
  if (frames != 0) image.header = image.bias + frames;
  return image;
}

struct SectionFacts::Section {
  std::uint32_t name = 0, type = 0, link = 0;
  std::uint64_t address = 0, offset = 0, bytes = 0;
};

SectionFacts SectionFacts::from(FileBytes bytes) {
  SectionFacts facts;
  facts.bytes_ = std::move(bytes);
  std::array<std::uint8_t, header_bytes> head{};
  if (facts.bytes_(0, head) != head.size()) return facts;
  const std::optional<FileHeader> header = header_from(head);
  if (!header) return facts;
  std::vector<std::uint8_t> table(std::min<std::size_t>(header->section_count, sections_max) *
                                  section_bytes);
  if (facts.bytes_(header->sections, table) != table.size()) return facts;
  std::vector<Section> sections;
  for (Cursor from(table, 0); !from.at_end();) {
    Section& section = sections.emplace_back();
    section.name = from.number<std::uint32_t>();
    section.type = from.number<std::uint32_t>();
    from.take(8);
    section.address = from.number<std::uint64_t>();
    section.offset = from.number<std::uint64_t>();
    section.bytes = from.number<std::uint64_t>();
    section.link = from.number<std::uint32_t>();
    from.take(20);
  }
  const Section* symbols = nullptr;
  for (const Section& each : sections) {
    const bool is_better = each.type == section_symtab || symbols == nullptr;
    if ((each.type == section_symtab || each.type == section_dynsym) && is_better) symbols = &each;
    if (each.address == 0 || header->names_index >= sections.size()) continue;
    constexpr std::string_view wanted(".eh_frame\0", 10);
    std::array<std::uint8_t, wanted.size()> name{};
    facts.bytes_(sections[header->names_index].offset + each.name, name);
    if (!std::equal(wanted.begin(), wanted.end(), name.begin())) continue;
    facts.frames_ = each.address;
    facts.frames_bytes_ = each.bytes;
  }
  if (symbols != nullptr && symbols->link < sections.size())
    facts.read_symbols(*symbols, sections[symbols->link]);
  return facts;
}

void SectionFacts::read_symbols(const Section& symbols, const Section& names) {
  names_ = names.offset;
  names_bytes_ = names.bytes;
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>(symbols.bytes / symbol_bytes, symbols_max));
  std::vector<std::uint8_t> piece(piece_symbols * symbol_bytes);
  for (std::size_t at = 0; at < count; at += piece_symbols) {
    const std::size_t wanted = std::min(piece_symbols, count - at) * symbol_bytes;
    const std::size_t got =
        bytes_(symbols.offset + at * symbol_bytes, std::span(piece).first(wanted));
    for (Cursor from(Bytes(piece).first(got - got % symbol_bytes), 0); !from.at_end();) {
      Symbol symbol{};
      symbol.name = from.number<std::uint32_t>();
      const std::uint8_t type = from.number<std::uint8_t>() & 0x0f;
      from.take(1);
      const auto section = from.number<std::uint16_t>();
      symbol.begin = from.number<std::uint64_t>();
      symbol.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
          from.number<std::uint64_t>(), std::numeric_limits<std::uint32_t>::max()));
      const bool is_function = type == symbol_function || type == symbol_indirect;
      if (is_function && section != 0 && symbol.name != 0) symbols_.push_back(symbol);
    }
    if (got < wanted) break;
  }
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
}

std::string SectionFacts::name_of(const Symbol& symbol) const {
  std::string name;
  if (symbol.name >= names_bytes_) return name;
  std::array<std::uint8_t, 128> piece{};
  while (name.size() < name_bytes_max) {
    const std::size_t got = bytes_(names_ + symbol.name + name.size(), piece);
    const auto end = std::find(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), 0);
    name.append(piece.begin(), end);
    if (got < piece.size() || end != piece.end()) break;
  }
  return name;
}

std::optional<SectionFacts::Function> SectionFacts::function_at(std::uint64_t address) const {
  auto at = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](std::uint64_t value, const Symbol& symbol) { return value < symbol.begin; });
  std::optional<Function> best;
  for (std::size_t looked = 0; at != symbols_.begin() && looked < aliases_max; ++looked) {
    const Symbol& symbol = *--at;
    if (best && symbol.begin != best->begin) break;
    if (address - symbol.begin >= std::max<std::uint32_t>(symbol.bytes, 1)) continue;
    std::string name = name_of(symbol);
    if (!name.empty() && (!best || is_plainer(name, best->name)))
      best = {std::move(name), symbol.begin};
  }
  return best;
}

}  // namespace muster::unwind
