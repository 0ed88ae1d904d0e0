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

namespace muster::server {

struct LogPart;
struct LogWish;
class UserKeys;

/// What the page needs to know about a job's log, at this moment.
struct WebLog {
  std::int64_t job = 0;                              ///< Another job of the same name has another.
  std::vector<cloudwatch::MergedLog::Host> hosts{};  ///< Empty: no host has begun.
  bool ended = false;
};
/// The page's requests for the server's state, in addition to the API's operations. On the main
/// loop.
struct WebState {
  /// Jobs by status.
  std::function<Result<Json>()> counts;
  /// Changes with every change of any job.
  std::function<std::uint64_t()> revision;
  std::function<Json()> machine;                                        ///< As machine_view().
  std::function<Result<std::string>(const std::string& job)> last_run;  ///< As Store::last_run().
  UserKeys* keys = nullptr;                                             ///< Outlives the page.
  /// Error: `not_found`.
  std::function<Result<WebLog>(const std::string& job)> log;
};

/// The web page below /ui/: its files, logins, and its calls. A call is a POST of a JSON object to
/// /ui/call/NAME by the page itself, with the cookie of a visit; nothing else opens one, and the
/// cookie opens nothing else. Source: docs/decisions/0056-browsers.md.
///
/// On the loops of connections, any number of threads; `api` and `state` alone on the main loop.
class WebServer {
 public:
  struct Options {
    const access::KeyRing& keys;
    loop::Tasks& calls;  ///< On the main loop: calls under way.
    ApiHandler api;
    WebState state;
    std::function<UnixMillis()> now;  ///< Wall clock; any thread.
    std::string store;  ///< The store's file, of which metrics and what hosts use are read.
    const bucket::BucketStore* buckets;  ///< None: S3 is elsewhere.
    std::vector<std::string> names;      ///< By which others call the server, in small letters.
    std::size_t followers_max;           ///< Streams of events at the same time.
  };
  explicit WebServer(Options options)
      : options_(std::move(options)), followers_({.all = options_.followers_max}) {}

  /// Any request below /ui.
  loop::Task<void> answer(http::Exchange& exchange);
  /// A link that opens the page once, as seen from the server: a path. For `key`, which has signed
  /// for it.
  std::string link(const std::string& key);
  /// Events end at once: they would be waited for.
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

  /// Asks the server's own API, on behalf of a visit's key, once the input is found valid.
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
  /// Reads in a thread, in turn with other keys.
  loop::Task<Result<Json, aws::Refusal>> read_metrics(
      Call& call, std::function<Result<Json>(store::MetricReader&)> read);
  loop::Task<void> download_csv(http::Exchange& exchange, std::string key,
                                std::function<Result<std::string>(store::MetricReader&)> piece);
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
  // Keys take turns. A page with many charts asks for all of them at once.
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
