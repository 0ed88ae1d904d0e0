#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "net/http/server.h"
#include "net/loop/tasks.h"
#include "net/loop/turns.h"
#include "server/api_handler.h"
#include "server/bucket/bucket_store.h"
#include "server/cloudwatch/merged_log.h"
#include "server/store/metric_reader.h"
#include "server/web/followers.h"
#include "server/web/visits.h"

namespace muster::job {
class MetricDefinitions;
}  // namespace muster::job

namespace muster::cloudwatch {
class RankCells;
}  // namespace muster::cloudwatch

namespace muster::runs {
class RunReader;
}  // namespace muster::runs

namespace muster::server {

struct LogPart;
struct LogWish;
class UserKeys;

/// The current state of a job's log, for the page.
struct WebLog {
  std::int64_t job = 0;  ///< A later job with the same name has another number.
  std::vector<cloudwatch::MergedLog::Host> hosts{};  ///< Empty if no host has started.
  bool ended = false;
};
/// Queries of the page that the API's operations do not cover. Called on the main loop.
struct WebState {
  /// Jobs by status.
  std::function<Result<Json>()> counts;
  /// Changes with every change of any job.
  std::function<std::uint64_t()> revision;
  std::function<Json()> machine;            ///< As Service::machine().
  std::function<loop::Task<Json>()> nodes;  ///< As places::Machine::nodes().
  std::function<Result<std::string>(const std::string& job)> last_run;  ///< As Store::last_run().
  std::function<bool(const std::string& job)> hangs;                    ///< As MusterHang.
  UserKeys* keys = nullptr;                                             ///< Outlives the page.
  /// Error: `not_found`.
  std::function<Result<WebLog>(const std::string& job)> log;
};

/// The web page below /ui/: its files, logins, and its calls. A call is a POST of a JSON object to
/// /ui/call/NAME by the page itself, with the cookie of a visit. Calls accept no other credentials,
/// and nothing else accepts the cookie. Source: docs/decisions/0056-browsers.md.
///
/// Runs on the loops of the connections, on any number of threads. `api` and `state` are used only
/// on the main loop.
class WebServer {
 public:
  struct Options {
    const access::KeyRing& keys;
    loop::Tasks& calls;  ///< On the main loop: calls under way.
    ApiHandler api;
    WebState state;
    std::function<UnixMillis()> now;  ///< Wall clock; any thread.
    std::string store;  ///< The store's file, from which metrics and hosts' resource use are read.
    const bucket::BucketStore* buckets;  ///< Null if S3 is another service.
    std::vector<std::string> names;      ///< Host names of this server, in lower case.
    std::size_t followers_max;           ///< Limit of open event streams.
  };
  explicit WebServer(Options options)
      : options_(std::move(options)), followers_({.all = options_.followers_max}) {}

  /// Any request below /ui.
  loop::Task<void> answer(http::Exchange& exchange);
  /// Returns the path of a login link that can be used once. `key` signed the request for it.
  std::string link(const std::string& key);
  /// Ends all event streams immediately, because stopping the server would otherwise wait for them.
  void stop() { stopping_ = true; }

 private:
  struct Call;
  struct Book;
  struct Followed;
  using Handler = loop::Task<Result<Json, aws::Refusal>> (WebServer::*)(Call& call);
  static const std::map<std::string, Handler, std::less<>>& handlers();

  loop::Task<void> answer_call(http::Exchange& exchange, std::string name);
  loop::Task<void> let_in(http::Exchange& exchange, std::string key);
  loop::Task<void> begin_visit(http::Exchange& exchange, const std::string& name,
                               const Json& input);
  loop::Task<void> send(http::Exchange& exchange, const std::string& name, web::Visit visit);
  loop::Task<void> events(http::Exchange& exchange, web::Visit visit);
  loop::Task<void> download(http::Exchange& exchange, std::string key);
  loop::Task<void> tell_events(http::Exchange& exchange, std::string job,
                               web::Followers::Id follower);
  loop::Task<Result<std::string>> log_news(http::Exchange& exchange, Followed& seen, bool changed);
  std::optional<web::Visit> visit_of(http::Exchange& exchange);

  /// Validates the input, then calls the server's own API with the key of the visit.
  loop::Task<Result<Json, aws::Refusal>> ask(http::Exchange& exchange, api::Request request);
  loop::Task<Result<Json, aws::Refusal>> operate(Call& call);
  loop::Task<Result<Json, aws::Refusal>> visit(Call& call);
  loop::Task<Result<Json, aws::Refusal>> visits(Call& call);
  loop::Task<Result<Json, aws::Refusal>> end_visit(Call& call);
  loop::Task<Result<Json, aws::Refusal>> counts(Call& call);
  loop::Task<Result<Json, aws::Refusal>> last_run(Call& call);
  loop::Task<Result<Json, aws::Refusal>> machine(Call& call);
  loop::Task<Result<Json, aws::Refusal>> with_keys(Call& call, std::function<Result<Json>()> work);
  loop::Task<Result<Json, aws::Refusal>> keys(Call& call);
  loop::Task<Result<Json, aws::Refusal>> make_key(Call& call);
  loop::Task<Result<Json, aws::Refusal>> delete_key(Call& call);
  loop::Task<Result<Json, aws::Refusal>> log(Call& call);
  loop::Task<Result<Json, aws::Refusal>> search_log(Call& call);
  static Result<Json> plain_answer(Book& book, const LogPart& wanted);
  static Result<Json> view_answer(Book& book, const LogPart& wanted);
  static Result<cloudwatch::MergedLog::Found> find_in_view(Book& book, const LogWish& wish,
                                                           const re2::RE2& wanted,
                                                           std::uint64_t from, std::size_t most);
  /// Reads in a thread, when it is the key's turn.
  loop::Task<Result<Json, aws::Refusal>> read_metrics(
      Call& call, std::function<Result<Json>(store::MetricReader&)> read);
  /// The next piece of a file; empty: its end. Fails soon once `gone` returns true.
  using CsvPiece = std::function<Result<std::string>(const std::function<bool()>& gone)>;
  loop::Task<void> send_csv(http::Exchange& exchange, std::string key, std::string name,
                            CsvPiece piece);
  loop::Task<void> download_csv(http::Exchange& exchange, std::string key,
                                std::function<Result<std::string>(store::MetricReader&)> piece);
  loop::Task<Result<Json, aws::Refusal>> read_runs(
      Call& call, std::function<Result<Json>(runs::RunReader&)> read);
  loop::Task<Result<Json, aws::Refusal>> with_hangs(Call& call, Result<Json, aws::Refusal> answer);
  loop::Task<Result<Json, aws::Refusal>> runs(Call& call);
  loop::Task<Result<Json, aws::Refusal>> run_columns(Call& call);
  loop::Task<Result<Json, aws::Refusal>> compare_runs(Call& call);
  loop::Task<void> download_runs(http::Exchange& exchange, std::string key);
  loop::Task<Result<Json, aws::Refusal>> metrics(Call& call);
  loop::Task<Result<Json, aws::Refusal>> metric(Call& call);
  loop::Task<void> download_metric(http::Exchange& exchange, std::string key);
  loop::Task<Result<Json, aws::Refusal>> hosts(Call& call);
  loop::Task<Result<Json, aws::Refusal>> host_usage(Call& call);
  loop::Task<Result<Json, aws::Refusal>> ranks(Call& call);
  static Result<Json> read_ranks(Book& book, const job::MetricDefinitions& definition,
                                 std::int64_t first, cloudwatch::RankCells& cells);
  loop::Task<void> download_usage(http::Exchange& exchange, std::string key);
  loop::Task<Result<Json, aws::Refusal>> objects(Call& call);
  loop::Task<Result<Json, aws::Refusal>> contents(Call& call);
  loop::Task<Result<Json, aws::Refusal>> stacks(Call& call);
  loop::Task<Result<Json, aws::Refusal>> describe(http::Exchange& exchange, std::string job,
                                                  std::string key);
  loop::Task<void> download_object(http::Exchange& exchange, std::string key);
  loop::Task<Result<WebLog>> find_log(http::Exchange& exchange, std::string job);
  loop::Task<Result<std::shared_ptr<Book>>> open_book(http::Exchange& exchange, std::string key,
                                                      WebLog found, std::string host);
  loop::Task<Result<std::shared_ptr<Book>>> book(http::Exchange& exchange, std::string key,
                                                 std::string job, std::string host);

  Options options_;
  web::Visits visits_;
  std::atomic<bool> stopping_ = false;
  web::Followers followers_;
  // Keys take turns, because a page with many charts requests all of them at once.
  loop::Turns metric_reads_{{.at_once = 4, .of_party = 3, .waiting_of_party = 128}};
  loop::Turns log_reads_{{.at_once = 8, .of_party = 6, .waiting_of_party = 128}};
  loop::Turns object_reads_{{.at_once = 4, .of_party = 3, .waiting_of_party = 128}};
  loop::Turns archive_reads_{{.at_once = 2, .of_party = 1, .waiting_of_party = 16}};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Book>> books_;  ///< By job and host.
  std::uint64_t uses_ = 0;
  std::uint64_t edition_ = 0;  ///< The last book's.
};

}  // namespace muster::server
