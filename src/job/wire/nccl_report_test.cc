#include "job/wire/nccl_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

using Collectives = NcclReport::Collectives;
using Lines = std::vector<std::string>;

/// As NCCL 2.28.9 answers, with one rank for each of `started`.
std::string answer_of(const std::vector<int>& started, const std::string& missing = "") {
  std::string ranks;
  for (std::size_t i = 0; i < started.size(); ++i)
    ranks += std::string(i == 0 ? "" : ",") + R"({"rank": )" + std::to_string(i) +
             R"(, "host": "192.0.2.2", "pid": 465, "cuda_dev": 0, "nvml_dev": 0,
                "status": {"init_state": 0, "async_error": 0, "abort_flag": false},
                "collective_counts": {"Broadcast": 0, "AllReduce": )" +
             std::to_string(started[i]) + "}}";
  return "SERVER PROTOCOL 2\nOK\nOK\n{\n\"nccl_version\": \"2.28.9\", \"communicators_count\": 1,\n"
         "\"communicators\": [{\"hash\": \"0x661f\", \"size\": 4, \"ranks\": [" +
         ranks + "], \"missing_ranks\": [" + missing +
         "]}], \"ras\": {\"collection_time_sec\": 0.000, \"timeouts_count\": 0}\n}\n";
}

/// As NCCL 2.24 answers: it has no JSON.
constexpr const char* text_answer = R"(SERVER PROTOCOL 2
OK
ERROR: Unknown command SET FORMAT json
NCCL version 2.24.3 compiled with CUDA 12.4
CUDA runtime version 12040, driver version 12040

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          4            1          4        4

Communicators... (0.000s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         4         4         4   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (661f54ebfce2b8f8) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 11
  Rank 3 has launched up to operation 10 -- GPU 3 managed by process 12 on node 192.0.2.2

)";

TEST_CASE("nccl report: ranks that started different numbers of operations are named") {
  const NcclReport report = nccl_report_from(answer_of({11, 11, 11, 10}));
  CHECK(report.collectives == Collectives::open);
  CHECK(report.lines == Lines{"communicator 0x661f of 4 ranks: AllReduce: ranks 0-2 started 11, "
                              "rank 3 started 10"});
}

TEST_CASE("nccl report: equal numbers permit no conclusion, and none at all means no collective") {
  CHECK(nccl_report_from(answer_of({7, 7, 7, 7})) == NcclReport{});
  CHECK(nccl_report_from(answer_of({0, 0})) == NcclReport{Collectives::none, {}});
  CHECK(nccl_report_from("SERVER PROTOCOL 2\nOK\nOK\n{\"communicators\": []}\n").collectives ==
        Collectives::none);
}

TEST_CASE("nccl report: missing ranks are named, and nothing is concluded from them") {
  const NcclReport report = nccl_report_from(
      answer_of({0, 0, 0}, R"({"rank": 3, "host": "192.0.2.3", "pid": 7, "unresponsive": true})"));
  CHECK(report.collectives == Collectives::unknown);
  CHECK(report.lines == Lines{"communicator 0x661f of 4 ranks: rank 3 is missing"});
}

TEST_CASE("nccl report: the text of older versions") {
  const NcclReport report = nccl_report_from(text_answer);
  CHECK(report.collectives == Collectives::open);
  CHECK(report.lines ==
        Lines{"#0-0 (661f54ebfce2b8f8) MISMATCH",
              "Communicator ranks have different AllReduce operation counts",
              "3 ranks have launched up to operation 11",
              "Rank 3 has launched up to operation 10 -- GPU 3 managed by process 12 on node "
              "192.0.2.2"});
}

TEST_CASE("nccl report: what is no answer of RAS, or only a part of one, says nothing") {
  const std::string whole = answer_of({11, 10});
  const std::string cut = whole.substr(0, whole.size() - 20);
  for (const std::string& answer :
       {std::string(), std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), cut,
        std::string("\0\xff{", 3), std::string("SERVER PROTOCOL 2\nOK\n{\"communicators\": 7}"),
        std::string("SERVER PROTOCOL 2\nOK\n{\"communicators\": [7, {\"ranks\": 3}, null]}")}) {
    CAPTURE(answer);
    CHECK(nccl_report_from(answer).lines.empty());
    CHECK(nccl_report_from(answer).collectives != Collectives::open);
  }
}

TEST_CASE("nccl report: a line with line breaks remains one, also in its message") {
  std::string answer = answer_of({2, 1});
  answer.replace(answer.find("0x661f"), 6, "x\\nalgo-2: lost\\u001b[2J");
  const NcclReport report = nccl_report_from(answer);
  REQUIRE(report.lines.size() == 1);
  CHECK(report.lines[0].starts_with("communicator x\\x0aalgo-2: lost\\x1b[2J of 4 ranks: "));
  CHECK(*nccl_report_from_json(to_json(report)) == report);
}

TEST_CASE("nccl report: many and long lines are cut off, also on the way") {
  std::string answer = "SERVER PROTOCOL 2\nOK\nErrors\n======\n\n";
  for (int i = 0; i < 1000; ++i) answer += std::string(1000, 'x') + "\n";
  const NcclReport report = nccl_report_from(answer);
  CHECK(report.lines.size() == nccl_lines_max);
  CHECK(report.lines.front().size() == nccl_line_bytes_max);
  CHECK(*nccl_report_from_json(to_json(report)) == report);
  Json longer = to_json(report);
  for (int i = 0; i < 100; ++i) longer["lines"].push_back("more");
  CHECK(nccl_report_from_json(longer)->lines.size() == nccl_lines_max);
  CHECK(nccl_report_from_json(Json::parse(R"({"lines": [7]})")).error().code == Errc::protocol);
  CHECK(nccl_report_from_json(7).error().code == Errc::protocol);
}

TEST_CASE("nccl report: a communicator's endless name costs no line its room, and no time") {
  std::string operations;
  for (int number = 0; number < 20'000; ++number)
    operations += (number == 0 ? "\"" : ",\"") + std::to_string(number) + "\":";
  const auto rank = [&](int number, char count) {
    std::string counts = operations;
    for (std::size_t at = counts.find("\":"); at != std::string::npos;
         at = counts.find("\":", at + 2))
      counts.insert(at + 2, 1, count);
    return R"({"rank": )" + std::to_string(number) + R"(, "collective_counts": {)" + counts + "}}";
  };
  const std::string answer = "SERVER PROTOCOL 2\nOK\nOK\n{\"communicators\": [{\"hash\": \"" +
                             std::string(500'000, 'x') + R"(", "size": 2, "ranks": [)" +
                             rank(0, '1') + "," + rank(1, '2') + "]}]}";
  REQUIRE(answer.size() < nccl_answer_bytes_max);
  const NcclReport report = nccl_report_from(answer);
  CHECK(report.collectives == Collectives::open);
  REQUIRE(report.lines.size() == nccl_lines_max);
  CHECK(report.lines.front() == "communicator " + std::string(32, 'x') +
                                    " of 2 ranks: 0: rank 1 started 2, rank 0 started 1");
}

}  // namespace
}  // namespace muster::job
