#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aws/s3client/fetch_folder.h"
#include "base/command.h"
#include "base/files/given_path.h"
#include "base/frame.h"
#include "container/child_process.h"
#include "job/host_spec.h"
#include "job/wire/stacks.h"
#include "machine/housing/housing.h"
#include "machine/housing/overruns.h"
#include "machine/housing/staging.h"
#include "machine/steward/card_faults.h"
#include "machine/steward/card_list.h"
#include "machine/steward/card_memory.h"
#include "machine/steward/checkpoint_sync.h"
#include "machine/steward/host_processes.h"
#include "machine/steward/host_word.h"
#include "machine/steward/journal_file.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/unix.h"
#include "os/supervise/last_words.h"

namespace muster::steward {

/// One host of a job, from its folders to its removal. Usage: create it, start run(), run the loop.
class HostRun {
 public:
  /// `lifeline`: a descriptor whose end of file means that the host is no longer needed; none if
  /// empty. `loop` outlives this object, which leaves nothing on it after run() has ended.
  HostRun(loop::Loop& loop, job::HostSpec spec, Env env, JournalFile journal, Fd lifeline);
  HostRun(const HostRun&) = delete;
  HostRun& operator=(const HostRun&) = delete;

  /// Runs the host to its end, then stops the loop.
  loop::Task<> run();
  /// True if all required work was done; known after run(). Error: the journal could not be written
  /// to disk completely. This is the only report of that error.
  Result<bool> done() const;

 private:
  // Requests from other processes.
  loop::Task<> watch_signals();
  loop::Task<> watch_lifeline();
  loop::Task<> serve_control();
  loop::Task<> serve_peer(std::unique_ptr<loop::UnixChannel> peer);
  loop::Task<> tell_stacks(loop::UnixChannel& peer, job::Calls calls);
  loop::Task<> terminate();
  loop::Task<> kill_late();
  void stop(std::chrono::milliseconds grace);
  void kill_now();

  // The steps up to a running host, in this order. Errors become the host's outcome.
  loop::Task<Result<void>> prepare();
  loop::Task<Result<void>> bring_inputs();
  loop::Task<> bring_all(s3client::FetchStop& stop, std::optional<Result<void>>& done);
  loop::Task<Result<void>> stage_inputs();
  loop::Task<Result<void>> keep_checkpoints();
  LinkOwner link_owner() const;
  loop::Task<Result<void>> run_tool(Command command);
  loop::Task<Result<void>> finish_copy(Staged staged, Result<container::Process> copy);
  loop::Task<Result<void>> start_host();
  /// Lets other tasks run. Error if the host is no longer needed.
  loop::Task<Result<void>> still_wanted();

  // While the host runs.
  loop::Task<> read_stream(Fd stream);
  loop::Task<> read_output(Fd pipe, job::Stream stream);
  void keep(const Frame& frame);
  void heed(std::string_view words);
  /// True for the host that logs what people read once for each job.
  bool is_first() const;
  void follow_cards();
  void heed_card_memory(job::Message kind, const std::string& word);
  void heed_failure(const job::Verdict& verdict, bool is_the_jobs);
  void note_rank(std::string_view payload);
  /// Adds the messages of the driver that explain the host's failure.
  job::Card explain_by_cards(std::vector<std::string>& met);
  loop::Task<> watch_places();
  void flush();

  // The steps from the host's end to its removal.
  loop::Task<> drained();
  loop::Task<> store_checkpoints();
  void tell_failure(const job::Outcome& outcome);
  void collect();
  loop::Task<> take_down();
  void finish(job::Outcome outcome, bool out_of_memory, std::vector<std::string> overruns,
              job::Card card);
  void forget();

  HousingContext housing_context();
  void undone(const Error& error);
  void enter(job::Phase phase, std::string message = {});
  void log(const char* level, const std::string& text);

  loop::Loop& loop_;
  const job::HostSpec spec_;
  const Env env_;
  JournalFile journal_;
  Fd lifeline_;
  loop::Event changed_;
  loop::Timer kill_timer_;
  std::chrono::milliseconds kill_after_{0};

  bool stopped_ = false;   ///< A stop was requested.
  bool unwanted_ = false;  ///< The lifeline ended: no results are kept.
  bool kill_ = false;      ///< Kill without further grace.
  bool done_ = true;
  bool running_ = false;             ///< The host's init has not ended.
  int readers_ = 0;                  ///< Streams of the host that have not ended.
  std::uint64_t brought_bytes_ = 0;  ///< From S3.
  FullPlaces places_;
  bool lacked_files_ = false;                  ///< A program reported too many open files.
  std::optional<HostProcesses> processes_;     ///< Set for a host with GPUs.
  std::optional<CardFaults> cards_;            ///< Likewise, if the kernel's log can be read.
  std::optional<CardMemory> memory_;           ///< Set for a host with GPUs.
  std::optional<CardList> card_list_;          ///< Likewise; uses `memory_`.
  bool cause_is_here_ = false;                 ///< The job's first cause is a process of this host.
  std::vector<CardFaults::Failure> failures_;  ///< The first cause, if it is here; else all.
  std::vector<std::string> staged_;            ///< Separate file systems in /opt/ml: "/code".
  std::optional<container::Process> init_;
  std::optional<container::Process> copy_;  ///< A copy, or a program that runs before the host.
  std::shared_ptr<s3client::S3Client> s3_;  ///< Set for a job that uses S3.
  std::unique_ptr<CheckpointSync> checkpoints_;
  std::optional<Error> journal_error_;  ///< The error that ended the host; the outcome contains it.
  std::optional<Error> untold_;         ///< The journal's end is not on disk.
  std::optional<Error> store_error_;    ///< Checkpoints could not be stored.
  HostWord word_;
  bool doubted_ = false;      ///< The host sent an invalid message, which was logged.
  bool has_verdict_ = false;  ///< `train` reported how the job ended.
  Fd init_lifeline_;          ///< Write end: the host ends when it is closed.
  supervise::LastWords words_;
  std::unique_ptr<Housing> housing_;
  loop::Tasks tasks_;
};

}  // namespace muster::steward
