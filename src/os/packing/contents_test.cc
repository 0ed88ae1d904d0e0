#include "os/packing/contents.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "os/packing/testing.h"

namespace muster::packing {
namespace {

Result<Contents> contents(const std::string& bytes, const ContentsLimits& limits = {}) {
  Fd file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  REQUIRE(write_all(file.get(), bytes + "behind the object"));
  REQUIRE(::lseek(file.get(), 0, SEEK_SET) == 0);
  return contents_of(std::move(file), bytes.size(), limits);
}

std::string text_of(const Contents& contents) {
  std::string text;
  for (const Member& each : contents.members) {
    text += "fdlo"[static_cast<std::size_t>(each.kind)] + (" " + each.name);
    text += each.kind == Member::Kind::file ? " " + std::to_string(each.bytes) : "";
    text += (each.target.empty() ? "" : " -> " + each.target) + "\n";
  }
  return text + (contents.more ? "more" : "");
}

TEST_CASE("contents: names, kinds, sizes and targets, from gzip or not") {
  Tar tar;
  tar.folder("1/").file("1/saved_model.pb", std::string(3000, 'x')).symlink("last", "1");
  tar.hard_link("same", "1/saved_model.pb").member('6', "pipe");
  const std::string want =
      "d 1/\nf 1/saved_model.pb 3000\nl last -> 1\nl same -> 1/saved_model.pb\no pipe\n";
  CHECK(text_of(*contents(tar.bytes())) == want);
  CHECK(text_of(*contents(gzipped(tar.bytes()))) == want);
  CHECK(text_of(*contents(Tar().bytes())).empty());
}

TEST_CASE("contents: names are for people, whatever is in them") {
  Tar tar;
  tar.file("../a\x1b[2J\nb", "").file(std::string(5000, 'n'), "").file("\xff", "");
  const Contents told = *contents(tar.bytes());
  REQUIRE(told.members.size() == 3);
  CHECK(told.members[0].name == "../a\\x1b[2J\\x0ab");
  CHECK(told.members[1].name == std::string(512, 'n') + "…");
  CHECK(told.members[2].name == "\\xff");
}

TEST_CASE("contents: a limit ends the list, not the call") {
  Tar tar;
  for (int i = 0; i < 5; ++i) tar.file(std::to_string(i), std::string(1u << 20, 'x'));
  const std::string packed = gzipped(tar.bytes());
  CHECK(text_of(*contents(packed, {.members_max = 2})) == "f 0 1048576\nf 1 1048576\nmore");
  CHECK(contents(packed, {.members_max = 5})->more == false);
  const Contents cut = *contents(packed, {.bytes_max = 2u << 20});
  CHECK((cut.more && !cut.members.empty() && cut.members.size() < 5));
  const Contents late = *contents(packed, {.deadline = Clock::now()});
  CHECK((late.more && late.members.empty()));
}

TEST_CASE("contents: data that is not an archive gets one line") {
  const std::string packed = gzipped(Tar().file("a", std::string(900'000, 'x')).bytes());
  struct {
    std::string bytes;
    const char* want;
  } const cases[] = {
      {"a text that is long enough for nothing at all", "not a tar archive"},
      {gzipped("a text"), "not a tar archive"},
      {packed.substr(0, packed.size() / 2), "the file ends in the middle"},
      {packed.substr(0, 40) + std::string(200, '\xff'), "is damaged"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.bytes.substr(0, 20));
    const Result<Contents> told = contents(c.bytes);
    REQUIRE(!told);
    CHECK(told.error().code == Errc::invalid_input);
    CHECK(told.error().text.find(c.want) != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::packing
