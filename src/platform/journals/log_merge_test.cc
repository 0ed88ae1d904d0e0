#include "platform/journals/log_merge.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace muster::platform {
namespace {

struct Entry {
  UnixMillis time{0};
  std::string text;
};

UnixMillis ms(std::int64_t count) {
  return UnixMillis(count);
}

TEST_CASE(
    "log merge: sources become one in order of time, and nothing is given before all are known") {
  LogMerge<Entry> merge;
  CHECK(!merge.next());
  const std::size_t a = merge.add_source();
  const std::size_t b = merge.add_source();
  const auto text = [&] {
    const std::optional<LogMerge<Entry>::Next> next = merge.next();
    return next ? next->entry.text : std::string("-");
  };
  CHECK(merge.wanting() == a);
  merge.add(a, {.time = ms(2), .text = "a2"});
  merge.add(a, {.time = ms(3), .text = "a3"});
  CHECK(text() == "-");
  CHECK(merge.wanting() == b);
  merge.add(b, {.time = ms(1), .text = "b1"});
  merge.add(b, {.time = ms(2), .text = "b2"});
  CHECK(text() == "b1");
  CHECK(text() == "a2");
  CHECK(text() == "b2");
  CHECK(text() == "-");  // b may still have something before a3.
  merge.dry(b);
  CHECK(text() == "a3");
  merge.dry(a);
  CHECK(!merge.wanting());
  CHECK(text() == "-");
  merge.again();
  CHECK(merge.wanting() == a);
}

TEST_CASE("log merge: the lines of 1,000 hosts become one log") {
  constexpr std::size_t hosts = 1000, lines = 20;
  LogMerge<Entry> merge;
  for (std::size_t host = 0; host < hosts; ++host) {
    const std::size_t source = merge.add_source();
    for (std::size_t line = 0; line < lines; ++line)
      merge.add(source,
                {.time = ms(static_cast<int>(line * hosts + (host * 7) % hosts)), .text = {}});
    merge.dry(source);
  }
  int next = 0;
  while (const std::optional<LogMerge<Entry>::Next> each = merge.next()) {
    if (each->entry.time != ms(next)) FAIL("line " << next << " came at another time");
    ++next;
  }
  CHECK(next == static_cast<int>(hosts * lines));
}

}  // namespace
}  // namespace muster::platform
