#include "folder_subject.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "engine/job_folder.h"
#include "job/wire/journal.h"

namespace muster::contract {

FolderSubject::FolderSubject(const std::string& parent)
    : folder_(*make_private_folder(parent, "muster-contract-")), programs_(loop()) {
  std::signal(SIGXFSZ, SIG_IGN);
}

FolderSubject::~FolderSubject() {
  static_cast<void>(remove_tree(folder_));
}

void FolderSubject::writes(const std::string& host, const std::string& text) {
  std::string bytes;
  job::append_record(bytes, ++seqs_[host], UnixMillis(1000), job::Message::log, text);
  append(host, bytes);
}

void FolderSubject::tears(const std::string& host) {
  std::string bytes;
  job::append_record(bytes, seqs_[host] + 1, UnixMillis(1000), job::Message::log, "half");
  append(host, bytes.substr(0, bytes.size() - 2));
}

void FolderSubject::damages(const std::string& host) {
  append(host, std::string(100, 'x'));
}

/// No file grows any more: the kernel's answer is another than a full disk's, the way is the same.
void FolderSubject::full_disk(bool full) {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = full ? 0 : limit.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

void FolderSubject::upload_fails() {
  REQUIRE(write_file(program() + "-upload-fails", ""));
}

void append_to_file(const std::string& path, const std::string& bytes) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  REQUIRE(file);
  REQUIRE(write_all(file.get(), bytes));
}

void leave_half_a_start(const std::string& state, const job::Spec& spec) {
  const Result<engine::JobFolder> half = engine::JobFolder::create(state, spec.name);
  REQUIRE(half);
  REQUIRE(write_file(half->path() + "/job.json", to_text(job::to_json(spec))));
}

}  // namespace muster::contract
