#include "local_subject.h"

#include <doctest/doctest.h>

#include <csignal>

#include "base/fd.h"
#include "base/text.h"

namespace muster::contract {

LocalSubject::LocalSubject() : StewardSubject("/tmp"), state_(folder() + "/state") {
  restart();
}

LocalSubject::~LocalSubject() {
  full_disk(false);
  end_jobs();
  engine_.reset();
}

void LocalSubject::restart() {
  local::LocalEngine::Options options;
  options.state = state_;
  options.program = program();
  options.network_register = folder() + "/subnets";
  options.folder_register = folder() + "/folders";
  options.env = {{"PATH", "/usr/bin:/bin"}};
  options.lifeline = false;
  options.rehearses = true;
  engine_ = std::make_unique<local::LocalEngine>(programs(), options);
}

void LocalSubject::leaves(const std::string& host, const std::string& path,
                          const std::string& text) {
  const std::string file = host_folder(host) + "/result/" + path;
  REQUIRE(make_folders(file.substr(0, file.rfind('/'))));
  REQUIRE(write_file(file, text));
}

void LocalSubject::kills(const std::string& host) {
  const std::vector<std::string> words =
      split_words(*read_file(host_folder(host) + "/steward.pid"));
  REQUIRE(words.size() == 2);
  REQUIRE(::kill(static_cast<pid_t>(*parse_integer(words.front())), SIGKILL) == 0);
}

void LocalSubject::cut_short(const job::Spec& spec) {
  leave_half_a_start(state_, spec);
  REQUIRE(make_folders(host_folder("algo-1")));
  REQUIRE(write_file(host_folder("algo-1") + "/steward.pid", "1 1\n"));
}

}  // namespace muster::contract
