#include "cli/view/last_lines.h"

#include <doctest/doctest.h>

namespace muster::cli {
namespace {

constexpr UnixMillis start{1'000'000};

job::Lines lines(int rank, std::string bytes) {
  return {.rank = rank, .bytes = std::move(bytes)};
}

TEST_CASE("last lines: the longest silent rank is first, with its last line") {
  LastLines last;
  last.take("algo-1", start, lines(0, "one\ntwo\n"));
  last.take("algo-2", start + UnixMillis(2000), lines(1, "epoch 1\r\n\n  \n"));
  last.take("algo-1", start + UnixMillis(9000), lines(0, "three \x1b[1m\n"));
  last.take("algo-1", start + UnixMillis(9500), lines(-1, " 10%\r 20%"));
  CHECK(last.text().empty());
  last.freeze(start + UnixMillis(10000));
  last.take("algo-2", start + UnixMillis(10001), lines(1, "KeyboardInterrupt\n"));
  last.freeze(start + UnixMillis(20000));
  CHECK(last.text() ==
        "    algo-2 rank 1, 8 s before the end: epoch 1\n"
        "    algo-1 rank 0, 1 s before the end: three \\x1b[1m\n");
}

TEST_CASE("last lines: a program that is not a rank shows its progress bar's last state") {
  LastLines last;
  last.take("algo-1", start, lines(-1, " 10%\r 20%"));
  last.freeze(start);
  CHECK(last.text() == "    algo-1, 0 s before the end:  20%\n");
}

TEST_CASE("last lines: of many ranks the first are shown") {
  LastLines last;
  for (int rank = 0; rank < 40; ++rank)
    last.take("algo-1", start + UnixMillis(rank), lines(rank, std::string(1000, 'x')));
  last.freeze(start);
  const std::string text = last.text();
  CHECK(text.find("rank 15, 0 s before the end: " + std::string(200, 'x') + "\n") !=
        std::string::npos);
  CHECK(text.find("rank 16,") == std::string::npos);
  CHECK(text.ends_with("    and 24 ranks that wrote later\n"));
}

}  // namespace
}  // namespace muster::cli
