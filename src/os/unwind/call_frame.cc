#include "os/unwind/call_frame.h"

#include <algorithm>
#include <string>

#include "os/unwind/cursor.h"
#include "os/unwind/expression.h"

namespace muster::unwind {
namespace {

constexpr std::uint32_t record_bytes_max = 64u << 10;
constexpr std::uint64_t table_entries_max = 1u << 26;
constexpr std::size_t remembered_max = 16;

// Linux Standard Base 5.0, 10.5: how a pointer is written.
constexpr std::uint8_t relative_to_itself = 0x10, omitted = 0xff;
constexpr std::uint8_t sorted_table_of_sdata4 = 0x3b;

std::uint64_t number_in(Cursor& from, std::uint8_t encoding) {
  const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return from.number<std::uint64_t>();
    case 0x01:
      return from.uleb();
    case 0x02:
      return from.number<std::uint16_t>();
    case 0x03:
      return from.number<std::uint32_t>();
    case 0x09:
      return wide(from.sleb());
    case 0x0a:
      return wide(from.number<std::int16_t>());
    case 0x0b:
      return wide(from.number<std::int32_t>());
    default:
      from.take(~std::uint64_t{0});
      return 0;
  }
}

std::uint64_t pointer_in(Cursor& from, std::uint8_t encoding) {
  const std::uint64_t own = from.address();
  const std::uint64_t number = number_in(from, encoding);
  return (encoding & 0x70) == relative_to_itself ? number + own : number;
}

/// A record behind its length, and where that begins; none: it is the last, or too long.
struct Record {
  std::vector<std::uint8_t> bytes;
  std::uint64_t address = 0;
};
std::optional<Record> record_at(Memory& memory, std::uint64_t address) {
  const std::optional<std::uint32_t> length = memory.load<std::uint32_t>(address);
  if (!length || *length < 4 || *length > record_bytes_max) return std::nullopt;
  Record record{std::vector<std::uint8_t>(*length), address + 4};
  if (!memory.read(record.address, record.bytes)) return std::nullopt;
  return record;
}

/// What a CIE says.
struct Common {
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint64_t return_column = 0;
  std::uint8_t pointers = 0;  ///< How its FDEs write addresses.
  bool augmented = false;
  bool is_signal = false;
  Bytes instructions;
};

std::optional<Common> common_from(const Record& record) {
  Cursor from(record.bytes, record.address);
  Common common;
  const std::uint32_t id = from.number<std::uint32_t>();
  const std::uint8_t version = from.number<std::uint8_t>();
  const std::string augmentation = from.text();
  if (id != 0 || (version != 1 && version != 3)) return std::nullopt;
  common.code_unit = from.uleb();
  common.data_unit = from.sleb();
  common.return_column = version == 1 ? from.number<std::uint8_t>() : from.uleb();
  common.augmented = augmentation.starts_with('z');
  if (!common.augmented && !augmentation.empty()) return std::nullopt;
  if (common.augmented) {
    const std::uint64_t bytes = from.uleb();
    Cursor data(from.take(bytes), 0);
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') common.pointers = data.number<std::uint8_t>();
      if (letter == 'S') common.is_signal = true;
      if (letter == 'L') data.number<std::uint8_t>();
      if (letter == 'P') number_in(data, data.number<std::uint8_t>());
    }
    if (!data.ok()) return std::nullopt;
  }
  common.instructions = from.rest();
  if (!from.ok() || common.return_column != Registers::pc) return std::nullopt;
  return common;
}

/// Carries the instructions of records out up to one address.
class Program {
 public:
  Program(const Common& common, std::uint64_t begin, std::uint64_t pc)
      : common_(common), at_(begin), pc_(pc) {}

  bool run(Bytes instructions) {
    Cursor from(instructions, 0);
    while (!from.at_end() && at_ <= pc_) {
      const std::uint8_t op = from.number<std::uint8_t>();
      if (!step(op, from) || !from.ok()) return false;
    }
    return from.ok();
  }
  /// What the common record has set is what DW_CFA_restore goes back to.
  void begin_own() { initial_ = row_; }
  const Row& row() const { return row_; }

 private:
  bool step(std::uint8_t op, Cursor& from) {
    const std::uint8_t low = op & 0x3f;
    switch (op >> 6) {
      case 1:
        return advance(low);
      case 2:
        return set(low, {.kind = Rule::Kind::at_offset, .offset = units(from.uleb())});
      case 3:
        return restore(low);
      default:
        break;
    }
    if (op >= 0x02 && op <= 0x04) return advance_by(op, from);
    if (op >= 0x0c && op <= 0x0f) return set_frame(op, from);
    if (op == 0x12 || op == 0x13) return set_frame_signed(op, from);
    return step_register(op, from);
  }

  bool advance_by(std::uint8_t op, Cursor& from) {
    if (op == 0x02) return advance(from.number<std::uint8_t>());
    if (op == 0x03) return advance(from.number<std::uint16_t>());
    return advance(from.number<std::uint32_t>());
  }

  // DWARF 5, table 7.29.
  bool step_register(std::uint8_t op, Cursor& from) {
    using Kind = Rule::Kind;
    switch (op) {
      case 0x00:  // nop
        return true;
      case 0x01:  // set_loc
        at_ = pointer_in(from, common_.pointers);
        return true;
      case 0x0a:  // remember_state
        if (remembered_.size() == remembered_max) return false;
        remembered_.push_back(row_);
        return true;
      case 0x0b:  // restore_state
        if (remembered_.empty()) return false;
        row_ = remembered_.back();
        remembered_.pop_back();
        return true;
      case 0x2e:  // GNU_args_size
        from.uleb();
        return true;
      default:
        break;
    }
    const std::uint64_t number = from.uleb();
    switch (op) {
      case 0x05:  // offset_extended
        return set(number, {.kind = Kind::at_offset, .offset = units(from.uleb())});
      case 0x06:  // restore_extended
        return restore(number);
      case 0x07:  // undefined
        return set(number, {.kind = Kind::undefined});
      case 0x08:  // same_value
        return set(number, {.kind = Kind::same});
      case 0x09:  // register
        return set(number, {.kind = Kind::in_register, .in = from.uleb()});
      case 0x10:  // expression
        return set(number, {.kind = Kind::at_expression, .expression = from.take(from.uleb())});
      case 0x11:  // offset_extended_sf
        return set(number, {.kind = Kind::at_offset, .offset = signed_units(from.sleb())});
      case 0x14:  // val_offset
        return set(number, {.kind = Kind::is_offset, .offset = units(from.uleb())});
      case 0x15:  // val_offset_sf
        return set(number, {.kind = Kind::is_offset, .offset = signed_units(from.sleb())});
      case 0x16:  // val_expression
        return set(number, {.kind = Kind::is_expression, .expression = from.take(from.uleb())});
      case 0x2f:  // GNU_negative_offset_extended
        return set(number, {.kind = Kind::at_offset, .offset = units(0 - from.uleb())});
      default:
        return false;
    }
  }

  bool set_frame(std::uint8_t op, Cursor& from) {
    Rule& frame = row_.frame;
    if (op == 0x0f) {  // def_cfa_expression
      frame = {.kind = Rule::Kind::is_expression, .expression = from.take(from.uleb())};
      return true;
    }
    if (op != 0x0e) frame.in = from.uleb();                                 // def_cfa
    if (op != 0x0d) frame.offset = static_cast<std::int64_t>(from.uleb());  // def_cfa_offset
    frame.kind = Rule::Kind::is_offset;
    return true;
  }
  bool set_frame_signed(std::uint8_t op, Cursor& from) {
    if (op == 0x12) row_.frame.in = from.uleb();
    row_.frame.offset = signed_units(from.sleb());
    row_.frame.kind = Rule::Kind::is_offset;
    return true;
  }

  bool advance(std::uint64_t by) {
    at_ += by * common_.code_unit;
    return true;
  }
  /// Vector registers and their like have rules too, which nothing here needs.
  bool set(std::uint64_t number, Rule rule) {
    if (number < Registers::count) row_.registers[static_cast<std::size_t>(number)] = rule;
    return true;
  }
  bool restore(std::uint64_t number) {
    return number >= Registers::count ||
           set(number, initial_.registers[static_cast<std::size_t>(number)]);
  }
  std::int64_t units(std::uint64_t count) const {
    return static_cast<std::int64_t>(count * static_cast<std::uint64_t>(common_.data_unit));
  }
  std::int64_t signed_units(std::int64_t count) const {
    return units(static_cast<std::uint64_t>(count));
  }

  const Common& common_;
  std::uint64_t at_, pc_;
  Row row_, initial_;
  std::vector<Row> remembered_;
};

/// The head of an FDE and its CIE.
struct Head {
  Record common_record;
  Common common;
  std::uint64_t begin = 0, end = 0;
  Bytes instructions;
};
std::optional<Head> head_of(Memory& memory, const Record& own) {
  Cursor from(own.bytes, own.address);
  const std::uint32_t back = from.number<std::uint32_t>();
  if (back == 0) return std::nullopt;  // A CIE itself.
  std::optional<Record> common_record = record_at(memory, own.address - back);
  if (!common_record) return std::nullopt;
  Head head;
  head.common_record = *std::move(common_record);
  const std::optional<Common> common = common_from(head.common_record);
  if (!common) return std::nullopt;
  head.common = *common;
  head.begin = pointer_in(from, common->pointers);
  head.end = head.begin + number_in(from, common->pointers);
  if (common->augmented) from.take(from.uleb());
  head.instructions = from.rest();
  if (!from.ok() || head.end < head.begin) return std::nullopt;
  return head;
}

std::optional<CallFrame> call_frame_at(Memory& memory, std::uint64_t address, std::uint64_t pc) {
  std::optional<Record> own = record_at(memory, address);
  if (!own) return std::nullopt;
  std::optional<Head> head = head_of(memory, *own);
  if (!head || pc < head->begin || pc >= head->end) return std::nullopt;
  Program program(head->common, head->begin, pc);
  if (!program.run(head->common.instructions)) return std::nullopt;
  program.begin_own();
  if (!program.run(head->instructions)) return std::nullopt;
  CallFrame found;
  found.row = program.row();
  found.begin = head->begin;
  found.is_signal = head->common.is_signal;
  // Moved vectors keep their bytes where they are, so that the rules' expressions stay valid.
  found.common = std::move(head->common_record.bytes);
  found.own = std::move(own->bytes);
  return found;
}

std::optional<std::uint64_t> value_of(const Rule& rule, std::size_t number, std::uint64_t frame,
                                      const Registers& registers, Memory& memory) {
  const std::uint64_t there = frame + static_cast<std::uint64_t>(rule.offset);
  switch (rule.kind) {
    case Rule::Kind::same:
      return registers.get(number);
    case Rule::Kind::undefined:
      return std::nullopt;
    case Rule::Kind::at_offset:
      return memory.load<std::uint64_t>(there);
    case Rule::Kind::is_offset:
      return there;
    case Rule::Kind::in_register:
      return registers.get(rule.in);
    case Rule::Kind::at_expression: {
      const std::optional<std::uint64_t> at = evaluate(rule.expression, frame, registers, memory);
      return at ? memory.load<std::uint64_t>(*at) : std::nullopt;
    }
    case Rule::Kind::is_expression:
      return evaluate(rule.expression, frame, registers, memory);
  }
  return std::nullopt;
}

}  // namespace

std::optional<CallFrame> call_frame_by_header(Memory& memory, std::uint64_t header,
                                              std::uint64_t pc) {
  std::array<std::uint8_t, 20> bytes{};
  if (!memory.read(header, bytes)) return std::nullopt;
  Cursor from(bytes, header);
  const std::uint8_t version = from.number<std::uint8_t>();
  const std::uint8_t section = from.number<std::uint8_t>();
  const std::uint8_t counts = from.number<std::uint8_t>();
  const std::uint8_t table = from.number<std::uint8_t>();
  if (version != 1 || table != sorted_table_of_sdata4 || counts == omitted) return std::nullopt;
  if (section != omitted) number_in(from, section);
  const std::uint64_t count = number_in(from, counts);
  if (!from.ok() || count == 0 || count > table_entries_max) return std::nullopt;
  const auto entry = [&](std::uint64_t index, unsigned half) -> std::optional<std::uint64_t> {
    const auto offset = memory.load<std::int32_t>(from.address() + index * 8 + half * 4);
    if (!offset) return std::nullopt;
    return header + static_cast<std::uint64_t>(std::int64_t{*offset});
  };
  std::uint64_t low = 0, high = count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::optional<std::uint64_t> begin = entry(middle, 0);
    if (!begin) return std::nullopt;
    (*begin <= pc ? low : high) = middle;
  }
  const std::optional<std::uint64_t> record = entry(low, 1);
  return record ? call_frame_at(memory, *record, pc) : std::nullopt;
}

RecordIndex index_records(Memory& memory, std::uint64_t section, std::uint64_t bytes) {
  RecordIndex index;
  const std::uint64_t end = section + std::min(bytes, frame_section_bytes_max);
  for (std::uint64_t at = section; at < end && index.size() < frame_records_max;) {
    const std::optional<Record> record = record_at(memory, at);
    if (!record) break;
    if (const std::optional<Head> head = head_of(memory, *record))
      index.push_back({head->begin, at});
    at = record->address + record->bytes.size();
  }
  std::sort(index.begin(), index.end());
  return index;
}

std::optional<CallFrame> call_frame_by_index(Memory& memory, const RecordIndex& index,
                                             std::uint64_t pc) {
  auto found = std::upper_bound(index.begin(), index.end(), std::pair(pc, ~std::uint64_t{0}));
  if (found == index.begin()) return std::nullopt;
  return call_frame_at(memory, (--found)->second, pc);
}

std::optional<Registers> step(const CallFrame& at, const Registers& registers, Memory& memory) {
  const Rule& rule = at.row.frame;
  std::optional<std::uint64_t> frame;
  if (rule.kind == Rule::Kind::is_expression) {
    frame = evaluate(rule.expression, std::nullopt, registers, memory);
  } else if (rule.kind == Rule::Kind::is_offset) {
    frame = registers.get(rule.in);
    if (frame) *frame += static_cast<std::uint64_t>(rule.offset);
  }
  if (!frame) return std::nullopt;
  Registers caller;
  for (std::size_t i = 0; i < Registers::count; ++i)
    caller.set(i, value_of(at.row.registers[i], i, *frame, registers, memory));
  const Rule::Kind stack = at.row.registers[Registers::rsp].kind;
  if (stack == Rule::Kind::same) caller.set(Registers::rsp, *frame);
  // Where nothing is said of the return address, there is no caller.
  if (at.row.registers[Registers::pc].kind == Rule::Kind::same)
    caller.set(Registers::pc, std::nullopt);
  return caller;
}

}  // namespace muster::unwind
