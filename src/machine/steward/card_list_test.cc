#include "machine/steward/card_list.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "net/loop/testing.h"

namespace muster::steward {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Lists = std::vector<std::string>;

constexpr const char* list = "00000000:0B:00.0, 17, 512\n00000000:0B:00.0, 18, 61440\n";

/// A folder with a stand-in for the driver's tool, which prints a list and waits.
struct Shared {
  Shared() {
    static_cast<void>(write_file(folder + "/nvidia-smi",
                                 "#!/bin/sh\necho run >>" + folder + "/runs\nprintf '" +
                                     "00000000:0B:00.0, 17, 512\\n00000000:0B:00.0, 18, 61440\\n" +
                                     "'\nexec cat " + folder + "/pipe\n",
                                 0755));
    ::mkfifo((folder + "/pipe").c_str(), 0600);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { fs::remove_all(folder); }
  Env env() const { return {{"PATH", folder + ":/usr/bin:/bin"}}; }
  std::size_t runs() const { return read_file(folder + "/runs").value_or("").size() / 4; }
  const std::string folder = *make_private_folder("/tmp", "muster-cards-");
};

/// A steward's list, and all that came.
struct Steward {
  Steward(loop::Loop& loop, const Shared& shared, Duration interval)
      : cards(
            loop, shared.env(), shared.folder,
            [this](const std::string& text, TimePoint) { lists.push_back(text); }, interval) {}
  Lists lists;
  CardList cards;
};

loop::Task<> until_list(loop::Loop& loop, const Steward& steward) {
  loop::Timer timer(loop);
  while (steward.lists.empty() || steward.lists.back() != list) co_await timer.after(1ms);
}

TEST_CASE("card list: one steward runs the driver's tool, and another has its list") {
  const Shared shared;
  loop::Loop loop;
  auto writer = std::make_unique<Steward>(loop, shared, 1h);
  loop::run_task(loop, until_list(loop, *writer));
  Steward reader(loop, shared, 1ms);
  loop::run_task(loop, until_list(loop, reader));
  CHECK(shared.runs() == 1);
  reader.cards.catch_up();
  CHECK(reader.lists.size() == 1);  // No newer one.
  writer.reset();
  reader.lists.clear();
  loop::run_task(loop, until_list(loop, reader));
  CHECK(shared.runs() == 2);
  reader.cards.end();
}

TEST_CASE("card list: a list that is malformed, or not of the past, is ignored") {
  const Shared shared;
  loop::Loop loop;
  auto writer = std::make_unique<Steward>(loop, shared, 1h);
  loop::run_task(loop, until_list(loop, *writer));
  Steward reader(loop, shared, 1h);
  const std::string file = shared.folder + "/gpu-processes";
  for (const std::string& text :
       {std::string(), std::string("1"), std::string("\n") + list, std::string("x\n") + list,
        std::string("-5\n") + list, "99999999999999\n" + std::string(list),
        "1\n" + std::string(200'000, 'x')}) {
    REQUIRE(write_file(file, text));
    reader.cards.catch_up();
    CHECK(reader.lists.empty());
  }
  REQUIRE(write_file(file, "1\n" + std::string(list)));
  reader.cards.catch_up();
  CHECK(reader.lists == Lists{list});
}

TEST_CASE("card list: without the driver's tool there is no list, and no lock") {
  const Shared shared;
  fs::remove(shared.folder + "/nvidia-smi");
  loop::Loop loop;
  Steward without(loop, shared, 1ms);
  const std::string lock = shared.folder + "/gpu-processes.lock";
  const auto tried = [](loop::Loop& on, std::string file) -> loop::Task<> {
    loop::Timer timer(on);
    while (!fs::exists(file)) co_await timer.after(1ms);
  };
  loop::run_task(loop, tried(loop, lock));
  CHECK(without.lists.empty());
  CHECK(wait_for_lock(lock));
}

}  // namespace
}  // namespace muster::steward
