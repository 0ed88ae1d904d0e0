#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "os/unwind/call_frame.h"
#include "os/unwind/demangle.h"
#include "os/unwind/elf.h"
#include "os/unwind/expression.h"
#include "os/unwind/mappings.h"
#include "os/unwind/walk.h"

namespace muster::unwind {
namespace {

/// Bytes at an address.
class Bench final : public Memory {
 public:
  Bench(std::uint64_t base, std::vector<std::uint8_t> bytes)
      : base_(base), bytes_(std::move(bytes)) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    if (address < base_ || address - base_ > bytes_.size() ||
        to.size() > bytes_.size() - (address - base_))
      return false;
    std::memcpy(to.data(), bytes_.data() + (address - base_), to.size());
    return true;
  }

 private:
  std::uint64_t base_;
  std::vector<std::uint8_t> bytes_;
};

std::vector<std::uint8_t> words(std::initializer_list<std::uint64_t> values) {
  std::vector<std::uint8_t> bytes(values.size() * 8);
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

std::optional<std::uint64_t> value(std::vector<std::uint8_t> code,
                                   std::optional<std::uint64_t> first = std::nullopt) {
  Bench memory(0x1000, words({7, 8}));
  Registers registers;
  registers.set(Registers::rsp, 0x1008);
  return evaluate(code, first, registers, memory);
}

TEST_CASE("expressions: the linker's for a PLT, and each kind of step") {
  // breg7(8) breg16(0) lit15 and lit11 ge lit3 shl plus: what ld writes for a PLT.
  std::vector<std::uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  CHECK(!value(plt));  // The place of the code is not known here.
  plt.erase(plt.begin() + 2, plt.begin() + 4);
  plt.insert(plt.begin() + 2, {0x08, 0x1c});
  CHECK(value(plt) == 0x1010 + 8);
  CHECK(value({0x77, 0, 0x06}) == 8);                    // *rsp
  CHECK(value({0x11, 0x7f}, 5) == ~std::uint64_t{0});    // consts -1
  CHECK(value({0x35, 0x1c}, 3) == ~std::uint64_t{1});    // 3 - 5
  CHECK(value({0x30, 0x28, 1, 0, 0x34, 0x35}, 3) == 5);  // bra not taken, over nothing
  CHECK(value({0x12, 0x13, 0x17}) == std::nullopt);      // An empty stack.
  CHECK(value({0x30, 0x1b}, 3) == std::nullopt);         // 3 / 0
  CHECK(value({0x2f, 0xfd, 0xff}) == std::nullopt);      // For good.
  CHECK(value({0x08}) == std::nullopt);                  // Cut short.
  CHECK(value({0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}) == 0);
}

TEST_CASE("walks: frame pointers lead up the stack, and never in a ring") {
  // rbp -> {older, code}: two frames, then one that points at itself.
  Bench memory(0x1000, words({0x1010, 0x5001, 0x1010, 0x5002, 0, 0}));
  Registers registers;
  registers.set(Registers::pc, 0x5000);
  registers.set(Registers::rsp, 0x1000);
  registers.set(Registers::rbp, 0x1000);
  const auto nothing = [](std::uint64_t) { return std::optional<CallFrame>(); };
  const auto code = [](std::uint64_t pc) { return pc >= 0x5000 && pc < 0x6000; };
  const Walk found = walk(registers, memory, nothing, code);
  REQUIRE(found.frames.size() == 3);
  CHECK(found.frames[1].at() == 0x5000);
  CHECK(found.frames[2].at() == 0x5001);
}

TEST_CASE("mappings: the kernel's lines are parsed, and others are not") {
  const std::vector<Mapping> all = mappings_in(
      "1000-2000 r--p 00000000 fe:00 7    /lib/a b.so\n"
      "2000-3000 r-xp 00001000 fe:00 7    /lib/a b.so\n"
      "nonsense\n"
      "5000-4000 r-xp 00001000 fe:00 7\n"
      "7000-8000 rw-p 00000000 00:00 0 ");
  REQUIRE(all.size() == 3);
  const Mapping* code = mapping_at(all, 0x2fff);
  REQUIRE(code != nullptr);
  CHECK(code->executable);
  CHECK(code->path == "/lib/a b.so");
  CHECK(first_of_file(all, *code) == &all[0]);
  CHECK(mapping_at(all, 0x3000) == nullptr);
  CHECK(mapping_at(all, 0) == nullptr);
  CHECK(all[2].path.empty());
}

TEST_CASE("names: C++ names are shown in plain form, others unchanged") {
  const std::pair<const char*, const char*> names[] = {
      {"_ZN2at6native3addERKNS_6TensorES3_", "at::native::add"},
      {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<…>::push_back"},
      {"_Z4workILi3EEvPFviE", "work<…>"},
      {"_ZSt4sortIPiEvT_S1_", "std::sort<…>"},
      {"_ZSt9terminatev", "std::terminate"},
      {"_ZNK3FooclEv", "Foo::operator()"},
      {"_ZN3FooD2Ev", "Foo::~Foo"},
      {"_ZZN5train3runEiENKUlvE0_clEv", "train::run::{lambda}::operator()"},
      {"_ZN12_GLOBAL__N_14workEv", "{anonymous}::work"},
      {"_ZThn16_N3Foo3barEv", "Foo::bar"},
      {"_ZN3FoonwEm.cold", "Foo::operator new"},
      {"main._omp_fn.0", "main._omp_fn.0"},
      {"work.constprop.0", "work"},
      {"_Z", "_Z"},
      {"_ZN", ""},
      {"_Z999999999999a", "_Z999999999999a"},
      {"MPI_Barrier", "MPI_Barrier"}};
  for (const auto& [mangled, plain] : names) CHECK(plain_name(mangled) == plain);
  CHECK(plain_name("_ZN" + std::string(4000, 'N')).size() < 5000);
}

TEST_CASE("files: a malformed file yields nothing") {
  for (const std::string text : {"",
                                 "\x7f"
                                 "ELF",
                                 "#!/bin/sh\n"}) {
    const SectionFacts facts =
        SectionFacts::from([&](std::uint64_t offset, std::span<std::uint8_t> to) {
          const std::size_t count =
              offset < text.size() ? std::min<std::size_t>(to.size(), text.size() - offset) : 0;
          std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(offset), count, to.begin());
          return count;
        });
    CHECK(!facts.function_at(0x1000));
    CHECK(facts.frames() == 0);
  }
}

}  // namespace
}  // namespace muster::unwind
