#include "os/supervise/line_cutter.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace muster;
using namespace muster::supervise;

namespace {

using Kind = LineSplitter::Kind;
using Chunk = std::pair<std::string, Kind>;

struct Taken {
  std::vector<Chunk> chunks;
  LineSplitter::Emit emit = [this](std::string bytes, Kind kind) {
    chunks.emplace_back(std::move(bytes), kind);
  };
  std::string text() const {
    std::string all;
    for (const auto& [bytes, kind] : chunks) all += bytes;
    return all;
  }
};

/// What the stream must come to, byte by byte and slowly: a lone '\r' gets a '\n', and the last
/// line an end.
std::string naive(const std::string& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += bytes[i];
    if (bytes[i] == '\r' && (i + 1 == bytes.size() || bytes[i + 1] != '\n')) text += '\n';
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

void check_chunks(const std::vector<Chunk>& chunks) {
  for (const auto& [bytes, kind] : chunks) {
    CHECK_FALSE(bytes.empty());
    CHECK(bytes.size() <= job::line_bytes_max);
    if (kind == Kind::part)
      CHECK(bytes.find('\n') == std::string::npos);
    else
      CHECK(bytes.back() == '\n');
  }
}

}  // namespace

TEST_CASE("lines: a stream is cut into chunks of whole lines, as they came") {
  struct {
    const char* name;
    std::vector<std::string> fed;
    std::vector<Chunk> want;  // Before finish().
    std::vector<Chunk> rest;  // What finish() adds.
  } const cases[] = {
      {"nothing", {}, {}, {}},
      {"one line", {"a\n"}, {{"a\n", Kind::whole}}, {}},
      {"many at once are one chunk", {"a\nb\n\nc\n"}, {{"a\nb\n\nc\n", Kind::whole}}, {}},
      {"in pieces", {"a", "b", "c\nd"}, {{"abc\n", Kind::whole}}, {{"d\n", Kind::whole}}},
      {"empty lines", {"\n", "\n"}, {{"\n", Kind::whole}, {"\n", Kind::whole}}, {}},
      {"carriage return and newline end one line",
       {"a\r\nb\r\n"},
       {{"a\r\nb\r\n", Kind::whole}},
       {}},
      {"those two apart", {"a\r", "\nb\n"}, {{"a\r\n", Kind::whole}, {"b\n", Kind::whole}}, {}},
      {"a lone carriage return ends a line",
       {"1%\r2%\r3%"},
       {{"1%\r\n2%\r\n", Kind::steps}},
       {{"3%\n", Kind::whole}}},
      {"also when what follows comes later",
       {"1%\r", "2%\r", "3%"},
       {{"1%\r\n", Kind::steps}, {"2%\r\n", Kind::steps}},
       {{"3%\n", Kind::whole}}},
      {"a carriage return at the very end", {"1%\r"}, {}, {{"1%\r\n", Kind::steps}}},
      {"bytes that are no text",
       {std::string("\0\xff\xfe\n", 4)},
       {{std::string("\0\xff\xfe\n", 4), Kind::whole}},
       {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    LineSplitter splitter;
    Taken taken;
    for (const std::string& bytes : c.fed) splitter.feed(bytes, taken.emit);
    if (std::string(c.name) != "those two apart") CHECK(taken.chunks == c.want);
    CHECK(taken.text() == [&] {
      std::string all;
      for (const auto& [bytes, kind] : c.want) all += bytes;
      return all;
    }());
    taken.chunks.clear();
    splitter.finish(taken.emit);
    CHECK(taken.chunks == c.rest);
  }
}

TEST_CASE(
    "lines: after a pause an unfinished line is passed on as a part, and continues afterwards") {
  LineSplitter splitter;
  Taken taken;
  splitter.feed("done\nName: ", taken.emit);
  CHECK(splitter.unfinished());
  splitter.flush_quiet(taken.emit);
  CHECK_FALSE(splitter.unfinished());
  splitter.flush_quiet(taken.emit);  // Nothing new: nothing is given.
  splitter.feed("Ann\nnext\n", taken.emit);
  CHECK(taken.chunks == std::vector<Chunk>{{"done\n", Kind::whole},
                                           {"Name: ", Kind::part},
                                           {"Ann\nnext\n", Kind::whole}});

  SUBCASE("a stream that ends behind a part ends its line") {
    taken.chunks.clear();
    splitter.feed("half", taken.emit);
    splitter.flush_quiet(taken.emit);
    splitter.finish(taken.emit);
    CHECK(taken.chunks == std::vector<Chunk>{{"half", Kind::part}, {"\n", Kind::whole}});
  }
  SUBCASE("a stream that ends behind a whole line adds nothing") {
    taken.chunks.clear();
    splitter.finish(taken.emit);
    CHECK(taken.chunks.empty());
  }
  SUBCASE("a carriage return shows its line at once when nothing follows") {
    taken.chunks.clear();
    splitter.feed(" 10%\r", taken.emit);
    splitter.flush_quiet(taken.emit);
    splitter.feed("\n", taken.emit);  // "\r" was not alone after all: an empty line too many.
    CHECK(taken.chunks == std::vector<Chunk>{{" 10%\r\n", Kind::steps}, {"\n", Kind::whole}});
  }
}

TEST_CASE("lines: up to 1 MiB a line stays whole, a longer one is split into parts of that size") {
  constexpr std::size_t most = job::line_bytes_max;
  struct {
    const char* name;
    std::string line;
    std::vector<std::pair<std::size_t, Kind>> want;
  } const cases[] = {
      {"just fits", std::string(most - 1, 'x') + '\n', {{most, Kind::whole}}},
      {"one too long", std::string(most, 'x') + '\n', {{most, Kind::part}, {1, Kind::whole}}},
      {"two and a half",
       std::string(5 * most / 2, 'x') + '\n',
       {{most, Kind::part}, {most, Kind::part}, {most / 2 + 1, Kind::whole}}},
      {"others before and behind",
       "a\n" + std::string(most, 'x') + "\nb\n",
       {{2, Kind::whole}, {most, Kind::part}, {3, Kind::whole}}},
  };
  for (const auto& c : cases) {
    for (const std::size_t step : {std::size_t{1} << 17, std::size_t{99991}, c.line.size()}) {
      CAPTURE(c.name);
      CAPTURE(step);
      LineSplitter splitter;
      Taken taken;
      for (std::size_t at = 0; at < c.line.size(); at += step)
        splitter.feed(std::string_view(c.line).substr(at, step), taken.emit);
      splitter.finish(taken.emit);
      check_chunks(taken.chunks);
      CHECK(taken.text() == c.line);
      std::vector<std::pair<std::size_t, Kind>> sizes;
      for (const auto& [bytes, kind] : taken.chunks) sizes.emplace_back(bytes.size(), kind);
      CHECK(sizes == c.want);
    }
  }
}

TEST_CASE("lines: the same lines result however a stream is split") {
  for (unsigned seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t limit) { return random() % limit; };
    std::string bytes;
    const std::size_t length = below(2000);
    for (std::size_t i = 0; i < length; ++i) bytes += "ab\n\r\0\xff"[below(6)];
    LineSplitter splitter;
    Taken taken;
    std::size_t parts = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t count = 1 + below(seed % 2 == 0 ? 7 : 400);
      splitter.feed(std::string_view(bytes).substr(at, count), taken.emit);
      at += count;
      // Quiet between "\r" and its "\n" makes two ends of them, so not there.
      if (at < bytes.size() && bytes[at - 1] != '\r' && below(9) == 0) {
        splitter.flush_quiet(taken.emit);
        ++parts;
      }
    }
    splitter.finish(taken.emit);
    CHECK(taken.text() == naive(bytes));
    check_chunks(taken.chunks);
    if (parts == 0)
      for (const auto& [chunk, kind] : taken.chunks) CHECK(kind != Kind::part);
  }
}
