#include "server/cloudwatch/log_view.h"

#include <doctest/doctest.h>

namespace muster::cloudwatch {
namespace {

struct Fed {
  LogView view;
  std::uint64_t next = 0;

  void line(int rank, int ms, const std::string& text, job::Stream stream = job::Stream::out,
            std::size_t host = 0) {
    const std::string tag = rank < 0 ? "" : "[" + std::to_string(rank) + "]";
    view.add(next++, host,
             {.time = UnixMillis(ms),
              .message = tag + text,
              .rank = rank,
              .stream = stream,
              .tag_bytes = static_cast<std::uint32_t>(tag.size())});
  }
  /// Each row's line, and who wrote it where these are several.
  std::string rows() const {
    std::string all;
    for (std::size_t row = 0; row < view.count(); ++row) {
      all += std::to_string(view.line_of(row));
      for (const auto& [first, last] : view.writers_of(row))
        all += ":" + std::to_string(first) + ".." + std::to_string(last);
      all += " ";
    }
    return all;
  }
};

TEST_CASE("log view: lines of a rank, a stream and a level") {
  const auto rows_with = [](const LineFilter& filter) {
    Fed fed{.view = LogView(filter, false)};
    fed.line(0, 1, "INFO a");
    fed.line(1, 2, "ERROR b", job::Stream::err);
    fed.line(-1, 3, "c");
    fed.line(1, 4, "WARNING d");
    CHECK(fed.view.looked_to() == 4);
    return fed.rows();
  };
  CHECK(rows_with({.rank = 1}) == "1 3 ");
  CHECK(rows_with({.rank = 7}).empty());
  CHECK(rows_with({.stream = job::Stream::err}) == "1 ");
  CHECK(rows_with({.least = Level::warning}) == "1 3 ");
  CHECK(rows_with({.rank = 1, .stream = job::Stream::out, .least = Level::error}).empty());
  CHECK(rows_with({}) == "0 1 2 3 ");
}

TEST_CASE("log view: equal lines of ranks are one row, at the place of the first") {
  Fed fed{.view = LogView({}, true)};
  fed.line(0, 1, "epoch 1");
  fed.line(0, 2, "epoch 2");
  fed.line(2, 3, "epoch 1");
  fed.line(1, 4, "epoch 1", job::Stream::err);
  fed.line(1, 5, "only here");
  fed.line(5, 6, "epoch 1");
  CHECK(fed.rows() == "0:0..2:5..5 1 4 ");
  SUBCASE("a rank that writes it again begins another row") {
    fed.line(0, 7, "epoch 1");
    fed.line(1, 8, "epoch 1");
    CHECK(fed.rows() == "0:0..2:5..5 1 4 6:0..1 ");
  }
  SUBCASE("what comes long after stands for itself") {
    fed.line(1, 10'002, "epoch 2");
    CHECK(fed.rows() == "0:0..2:5..5 1:0..1 4 ");
    fed.line(3, 10'003, "epoch 2");
    CHECK(fed.rows() == "0:0..2:5..5 1:0..1 4 7 ");
    fed.line(4, 30'000, "epoch 1");
    CHECK(fed.rows() == "0:0..2:5..5 1:0..1 4 7 8 ");
  }
}

TEST_CASE("log view: hosts write alike, too, and long lines are not compared") {
  Fed fed{.view = LogView({}, true)};
  for (const std::size_t host : {0u, 1u, 2u}) fed.line(-1, 1, "Installing", job::Stream::out, host);
  for (const int rank : {0, 1}) fed.line(rank, 2, std::string(2000, 'x'));
  CHECK(fed.rows() == "0:-3..-1 3 4 ");
}

TEST_CASE("log view: NCCL's INFO lines are one row, whoever wrote them") {
  const auto nccl = [](int rank, int i) {
    return "node7:" + std::to_string(100 + rank) + ":7 [" + std::to_string(rank) +
           "] NCCL INFO Channel " + std::to_string(i);
  };
  Fed fed{.view = LogView({}, true)};
  fed.line(0, 1, "start");
  for (int i = 0; i < 40; ++i) fed.line(i % 2, 2, nccl(i % 2, i));
  fed.line(0, 3, "node7:100:7 [0] NCCL WARN Call to connect failed");
  fed.line(0, 4, nccl(0, 40) + std::string(2000, 'x'));
  fed.line(0, 5, "epoch 1");
  CHECK(fed.rows() == "0 1:0..1 41 43 ");
  CHECK(fed.view.nccl_lines_of(1) == 41);
  CHECK(fed.view.nccl_lines_of(2) == 0);
  fed.line(1, 10'003, nccl(1, 41));
  CHECK(fed.rows() == "0 1:0..1 41 43 44 ");
  CHECK(fed.view.nccl_lines_of(1) == 41);
  CHECK(fed.view.nccl_lines_of(4) == 1);
  Fed plain{.view = LogView({.rank = 1}, false)};
  for (int i = 0; i < 3; ++i) plain.line(1, 2, nccl(1, i));
  CHECK(plain.rows() == "0 1 2 ");
  CHECK(plain.view.nccl_lines_of(0) == 0);
}

TEST_CASE("log view: only what NCCL itself prints is an INFO line of NCCL's") {
  for (const char* line : {"node7:4711:4720 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB",
                           "ip-10-0-1-7.ec2.internal:1:1 [15] NCCL INFO Bootstrap : Using eth0"}) {
    CAPTURE(line);
    CHECK(is_nccl_info(line));
  }
  for (const char* line :
       {"", "NCCL INFO x", "node7:4711:4720 [0] NCCL WARN x", "set NCCL_DEBUG=INFO for more",
        "error in a:1:2 [0] NCCL INFO x", "node7 [0] NCCL INFO x", "] NCCL INFO x"}) {
    CAPTURE(line);
    CHECK_FALSE(is_nccl_info(line));
  }
}

TEST_CASE("log view: many lines are open at once, and none is lost") {
  Fed fed{.view = LogView({}, true)};
  for (int i = 0; i < 100'000; ++i) fed.line(0, 1, std::to_string(i));
  fed.line(1, 2, "99999");
  fed.line(1, 2, "0");  // Closed, for the room.
  REQUIRE(fed.view.count() == 100'001);
  CHECK(fed.view.writers_of(99'999) == Writers{{0, 1}});
  CHECK(fed.view.line_of(100'000) == 100'001);
}

TEST_CASE("log view: a row has so many ranges of writers at most, and they count as memory") {
  Fed fed{.view = LogView({}, true)};
  for (int rank = 0; rank < 10'000; ++rank) fed.line(2 * rank, 1, "alike");
  REQUIRE(fed.view.count() == 5);
  for (std::size_t row = 0; row < 4; ++row)
    CHECK(fed.view.writers_of(row).size() == LogView::ranges_max);
  LogView full({}, true);
  std::uint64_t next = 0;
  for (; !full.is_full() && next < 10'000'000; ++next)
    full.add(next, 0,
             {.time = UnixMillis(next / 1000), .message = "x", .rank = 2 * static_cast<int>(next)});
  CHECK(full.is_full());
  CHECK(next < LogView::bytes_max / sizeof(Writers::value_type));
}

TEST_CASE("log view: rows are settled up to the first that more writers may join") {
  Fed fed{.view = LogView({}, true)};
  CHECK(fed.view.settled() == 0);
  fed.line(0, 1, "a");
  fed.line(0, 5000, "b");
  CHECK(fed.view.settled() == 0);
  fed.line(1, 10'002, "b");
  CHECK(fed.rows() == "0 1:0..1 ");
  CHECK(fed.view.settled() == 1);
  fed.line(1, 30'000, std::string(2000, 'x'));
  CHECK(fed.view.settled() == 3);
  Fed plain{.view = LogView({}, false)};
  plain.line(0, 1, "a");
  CHECK(plain.view.settled() == 1);
}

TEST_CASE("log view: rows are found by lines, and have an end") {
  Fed fed{.view = LogView({.rank = 1}, false)};
  for (int i = 0; i < 9; ++i) fed.line(i % 3, i, "x");
  CHECK(fed.rows() == "1 4 7 ");
  CHECK((fed.view.row_at(0) == 0 && fed.view.row_at(4) == 1 && fed.view.row_at(8) == 3));
  CHECK((fed.view.has(4) && !fed.view.has(5) && !fed.view.has(99)));
  LogView full({}, false);
  for (std::uint64_t i = 0; !full.is_full(); ++i) full.add(i, 0, {.message = "x"});
  const std::size_t rows = full.count();
  CHECK(rows >= 2'000'000);
  full.add(rows, 0, {.message = "x"});
  CHECK(full.count() == rows);
  CHECK(full.looked_to() == rows + 1);
}

}  // namespace
}  // namespace muster::cloudwatch
