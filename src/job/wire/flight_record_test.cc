#include "job/wire/flight_record.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"

namespace muster::job {
namespace {

using State = Flight::State;
using Lines = std::vector<std::string>;

/// Dumps in the form of PyTorch 2.9's, of a job whose rank 2 does not start its twelfth collective
/// operation. They were written by Python's pickle module.
std::string dump(int rank) {
  return *read_file(MUSTER_SOURCE_DIR "/tests/data/flight_records/rank_" + std::to_string(rank));
}

/// PyTorch 2.11 (NCCL 2.28.9) wrote it on an H100 when its sixth all-reduce timed out; only the
/// interpreter's folder has another name.
std::string real_dump() {
  return *read_file(MUSTER_SOURCE_DIR "/tests/data/flight_records/h100_rank_0");
}

std::vector<Flight> flights(int rank) {
  const Result<std::vector<Flight>> read = flights_from(rank, dump(rank));
  REQUIRE(read);
  return *read;
}

TEST_CASE("flights: the oldest operation of a rank that has not completed, else the last one") {
  CHECK(flights(0) ==
        std::vector<Flight>{{0, "0 (default_pg)", 3, "all_reduce", 12, State::started}});
  CHECK(flights(2) ==
        std::vector<Flight>{{2, "0 (default_pg)", 3, "all_reduce", 11, State::completed}});
}

TEST_CASE("flights: a dump from a GPU") {
  const Result<std::vector<Flight>> read = flights_from(0, real_dump());
  REQUIRE(read);
  CHECK(*read == std::vector<Flight>{{0, "0 (default_pg)", 1, "all_reduce", 6, State::scheduled}});
  CHECK(flight_report(*read).lines ==
        Lines{"group 0 (default_pg) of 1 rank: rank 0 waits in all_reduce 6"});
}

TEST_CASE("flights: what ranks of a group wait in, and who is not there") {
  std::vector<Flight> all = flights(0);
  const auto add = [&all](const std::vector<Flight>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  const std::string start = "group 0 (default_pg) of 3 ranks: ";
  CHECK(
      flight_report(all) ==
      FlightReport{true, false, {start + "rank 0 waits in all_reduce 12, no record of 2 others"}});
  add(flights(1));
  add(flights(2));
  CHECK(flight_report(all) ==
        FlightReport{true,
                     true,
                     {start + "ranks 0-1 wait in all_reduce 12, rank 2 completed all_reduce 11"}});
  all[2] = all[1];
  all[2].rank = 2;
  CHECK(flight_report(all) ==
        FlightReport{true, false, {start + "ranks 0-2 wait in all_reduce 12"}});
  all[2].operation = "broadcast";
  CHECK(flight_report(all).differs);
  for (Flight& each : all) each.state = State::completed;
  CHECK(flight_report(all) == FlightReport{});
  CHECK(flight_report({}) == FlightReport{});
}

TEST_CASE("flights: a message of them is read back, and another one is refused") {
  std::vector<Flight> all = flights(0);
  all.push_back(flights(2).front());
  CHECK(*flights_from_json(to_json(all)) == all);
  const std::string good =
      R"({"rank":1,"group":"g","size":2,"operation":"o","number":3,"state":"started"})";
  CHECK(flights_from_json(*parse_json("[" + good + "]"))->front().state == State::started);
  for (const char* wrong :
       {"{}", "[1]", R"([{"rank":1}])",
        R"([{"rank":-1,"group":"g","size":2,"operation":"o","number":3,"state":"x"}])",
        R"([{"rank":1,"group":"g","size":2.5,"operation":"o","number":3,"state":"x"}])",
        R"([{"rank":1,"group":7,"size":2,"operation":"o","number":3,"state":"x"}])"})
    CHECK(!flights_from_json(*parse_json(wrong)));
  std::string many = "[" + good;
  for (int i = 0; i < 1000; ++i) many += "," + good;
  CHECK(flights_from_json(*parse_json(many + "]"))->size() == flights_max);
  Json text = *parse_json("[" + good + "]");
  text[0]["group"] = "\x1b[2J\n" + std::string(500, 'x');
  const std::string shown = flights_from_json(text)->front().group;
  CHECK(shown.size() <= flight_text_bytes_max);
  CHECK(shown.find('\x1b') == std::string::npos);
}

TEST_CASE("flights: a dump of another form has none, and text that is no dump is refused") {
  CHECK(flights_from(0, std::string("]."))->empty());
  CHECK(flights_from(0, std::string("}."))->empty());
  CHECK(flights_from(0, std::string("N."))->empty());
  CHECK(!flights_from(0, "version 2.10"));
  CHECK(!flights_from(0, ""));
  // A dict with more fields than PyTorch's has none of them.
  const auto text = [](const std::string& of) {
    return std::string("\x8c") + static_cast<char>(of.size()) + of;
  };
  std::string fields =
      text("collective_seq_id") + "K\x01" + text("process_group") + text("0") + text("") + "\x86";
  const auto dump_of = [&](const std::string& entry) {
    return "}(" + text("entries") + "](}(" + entry + "ueu.";
  };
  CHECK(flights_from(0, dump_of(fields))->size() == 1);
  for (int i = 0; i < 100; ++i) fields += text(std::to_string(i)) + "N";
  CHECK(flights_from(0, dump_of(fields))->empty());
  const std::string whole = dump(0);
  CHECK(!flights_from(0, whole.substr(0, whole.size() / 2)));
}

}  // namespace
}  // namespace muster::job
