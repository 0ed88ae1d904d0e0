#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/frame.h"
#include "container/bundle.h"
#include "container/id_map.h"
#include "container/machine.h"
#include "container/network.h"
#include "container/process.h"
#include "container/runtime.h"
#include "job/host_spec.h"
#include "loop/datagram_relay.h"
#include "loop/relay.h"
#include "loop/tasks.h"
#include "loop/unix.h"
#include "loop/wait.h"
#include "s3client/fetch_folder.h"
#include "steward/checkpoint_sync.h"
#include "steward/host_word.h"
#include "steward/journal_file.h"
#include "steward/overruns.h"
#include "steward/staging.h"
#include "supervise/lines.h"

namespace muster::steward {

/// One host of a job, from its folders to its removal. Use: make it, start run(), turn the loop.
class HostRun {
 public:
  /// `lifeline`: a descriptor whose end of file means that nobody wants the host any more; none
  /// if empty. `loop` outlives this object; nothing of it runs after run() has ended.
  HostRun(loop::Loop& loop, job::HostSpec spec, Env env, JournalFile journal, Fd lifeline);
  HostRun(const HostRun&) = delete;
  HostRun& operator=(const HostRun&) = delete;

  /// Does everything, then stops the loop.
  loop::Task<> run();
  /// True if all was done that had to be; known after run(). Error: the disk's, which the journal
  /// has not on it for good: nobody else has told it.
  Result<bool> done() const;

 private:
  // What others want of us.
  loop::Task<> watch_signals();
  loop::Task<> watch_lifeline();
  loop::Task<> serve_control();
  loop::Task<> serve_peer(std::unique_ptr<loop::UnixChannel> peer);
  loop::Task<> terminate();
  loop::Task<> kill_late();
  void stop(std::chrono::milliseconds grace);
  void kill_now();

  // From nothing to a running container, in this order. Errors are the host's outcome.
  loop::Task<Result<void>> prepare();
  Result<void> open_disk();
  Result<void> mount_and_connect();
  Result<void> put_together(const std::vector<container::IdExtent>& ids);
  Result<void> keep_image();
  Result<void> become_user();
  void follow_tunnel();
  Result<void> open_relay();
  Result<void> open_name_service();
  loop::Task<Result<void>> bring_inputs();
  loop::Task<> bring_all(s3client::FetchStop& stop, std::optional<Result<void>>& done);
  loop::Task<Result<void>> stage_inputs();
  loop::Task<Result<void>> keep_checkpoints();
  loop::Task<Result<void>> finish_copy(Staged staged, Result<container::Process> copy);
  container::Facts facts() const;
  Result<void> show(const container::Facts& facts);
  Result<Fd> choose_cpus(std::string& cpus) const;
  Result<void> limit();
  loop::Task<Result<void>> start_container();
  /// Lets the other tasks run; an error if the host is no longer wanted.
  loop::Task<Result<void>> still_wanted();

  // While it runs.
  loop::Task<> read_stream(Fd stream);
  loop::Task<> read_output(Fd pipe, job::Stream stream);
  void keep(const Frame& frame);
  void watch_memory_places(const container::HostLimits& limits);
  void heed(std::string_view words);
  loop::Task<> watch_places();
  loop::Task<> watch_tunnel();
  void flush();

  // From its end to nothing.
  loop::Task<> drained();
  loop::Task<> store_checkpoints();
  void tell_failure(const job::Outcome& outcome);
  Result<void> check_disk();
  void collect();
  loop::Task<> close_tunnel();
  loop::Task<> take_down();
  Result<void> close_disk();
  std::vector<std::string> overruns(bool out_of_memory) const;
  void finish(job::Outcome outcome, bool out_of_memory, std::vector<std::string> overruns);
  void forget();

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

  bool stopped_ = false;   ///< A stop was asked for.
  bool unwanted_ = false;  ///< The lifeline ended: nothing is kept.
  bool kill_ = false;      ///< No more grace.
  bool done_ = true;
  bool running_ = false;      ///< The container's init has not ended.
  bool tunnel_runs_ = false;  ///< The network's process has not ended.
  bool closing_ = false;      ///< The network is taken down.
  int readers_ = 0;           ///< Streams of the container that have not ended.
  std::optional<container::Runtime> runtime_;
  container::Machine machine_;
  Fd volume_;  ///< The disk's root folder, where its size is limited.
  FullPlaces places_;
  bool lacked_files_ = false;  ///< A program said that it might open no more.
  container::HostNamespaces namespaces_;
  container::IdMap ids_;             ///< The map of namespaces_.
  Fd image_lease_;                   ///< While it is open no layer of the image goes.
  job::User user_;                   ///< Whom an image names.
  std::vector<std::string> staged_;  ///< Facts::staged
  std::optional<container::HostNetwork> network_;
  std::unique_ptr<loop::Relay> relay_;              ///< To this machine's own S3, from inside.
  std::unique_ptr<loop::DatagramRelay> datagrams_;  ///< To its name servers.
  std::unique_ptr<loop::Relay> long_answers_;       ///< To the first of them, by TCP.
  std::optional<container::Process> init_;
  std::optional<container::Process> copy_;
  std::shared_ptr<s3client::S3Client> s3_;  ///< For a job that has anything there.
  std::unique_ptr<CheckpointSync> checkpoints_;
  std::optional<Error> journal_error_;  ///< Ended the host; its outcome says so.
  std::optional<Error> untold_;         ///< The journal's end is not on disk.
  std::optional<Error> store_error_;    ///< Checkpoints that were not kept.
  HostWord word_;
  bool doubted_ = false;      ///< The host said what it may not, and that was told.
  bool has_verdict_ = false;  ///< `train` told how the job ended.
  Fd container_lifeline_;     ///< Write end: the container ends when it is closed.
  supervise::LastWords words_;
  loop::Tasks tasks_;
};

}  // namespace muster::steward
