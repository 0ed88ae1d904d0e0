#pragma once

// Inside server/ only: one call of the web page, and a log that it reads.

#include <compare>
#include <functional>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "net/loop/turns.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/log_view.h"
#include "server/cloudwatch/metric_series.h"
#include "server/web/web_server.h"

namespace muster::server {

/// True if others cannot eavesdrop: the connection uses TLS, or stays on this machine.
bool secrets_may_pass(const http::Incoming& incoming);
/// Responds with {"message"}.
loop::Task<void> refuse(http::Exchange& exchange, int status, std::string text);
/// A parameter of a GET's query; empty if it is missing.
std::string asked(const http::Exchange& exchange, std::string_view wanted);
/// A file name for `job`, which is "job" if `job` has characters other than those of a job name.
std::string file_name(const std::string& job, std::string_view ending);
/// The response head of a file that the browser downloads.
http::Reply file_head(const std::string& type, const std::string& name);

/// Later than any real date, but its milliseconds, and the sum of two such values, still fit into
/// the type.
constexpr std::int64_t second_max = std::int64_t{1} << 40;
/// The range of a chart, in seconds since 1970 or in steps, and its number of buckets.
struct ChartRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t buckets = 0;
};
/// Reads "from", "to" and "buckets" of a call. Error: a value is out of range. `most_as_text` is
/// `buckets_max` in the error message.
Result<ChartRange> chart_range(const Json& input, std::int64_t buckets_max,
                               const std::string& most_as_text, bool by_step = false);
/// [number, least, most, mean, count] of each bucket that has values.
Json chart_json(const cloudwatch::MetricBuckets& buckets, std::int64_t from);

/// Runs `work` in a thread when it is the turn of `key`. Errors: `denied` if too many calls of this
/// key are waiting; errors of `work`.
template <class Work>
loop::Task<std::invoke_result_t<Work&>> in_turn(loop::Turns& turns, http::Exchange& exchange,
                                                std::string key, Work work) {
  const Result<loop::Turns::Turn> turn = co_await turns.take(exchange.loop(), std::move(key));
  if (!turn) co_return turn.error();
  co_return co_await loop::in_thread(exchange.loop(), std::move(work));
}
/// The response to an error of a read: status 503 for `denied`.
aws::Refusal unread(const Error& error);
/// As unread(), for a log. A job without a log is an error of the caller.
aws::Refusal no_book(const Error& error);

/// A local variable of the coroutine that responds to the exchange.
struct WebServer::Call {
  http::Exchange& exchange;
  web::Visit visit;
  std::string name;
  Json input;
};

/// How a page shows a log.
struct LogWish {
  cloudwatch::LineFilter filter{};
  bool folds = false;

  bool is_plain() const { return filter.is_all() && !folds; }
  auto operator<=>(const LogWish&) const = default;
};
/// "rank", "stream", "level" and "fold", as `part` gives them; empty: not wanted.
Result<LogWish, aws::Refusal> log_wish(const std::function<std::string(const char* name)>& part);

/// A job's log, shared by all pages that read it. One thread at a time.
struct WebServer::Book {
  Book(const std::vector<cloudwatch::MergedLog::Host>& of, std::uint64_t its_edition)
      : hosts(of), edition(its_edition), log(of) {}
  struct View {
    LogWish wish;
    cloudwatch::LogView view;
    TimePoint used;
  };
  std::mutex mutex;
  std::vector<cloudwatch::MergedLog::Host> hosts;
  /// Differs for each book, even for a job that was submitted again, because the numbers of lines
  /// and rows are valid only for one book.
  const std::uint64_t edition;
  cloudwatch::MergedLog log;
  std::list<View> views;   ///< Most recently used first.
  std::uint64_t used = 0;  ///< Grows with each use; guarded by WebServer's mutex.

  /// The view for a wish, after it has read more of the log for a limited time. Errors: `system`;
  /// `denied` if the limit of views in use is reached.
  Result<cloudwatch::LogView*> view(const LogWish& wish);
  Result<cloudwatch::LogView*> find_view(const LogWish& wish);
  bool makes_room(std::size_t more, TimePoint now);
};

/// The last state of a job's log that was sent to a page that follows it.
struct WebServer::Followed {
  std::string job;
  WebLog log{};
  using State = std::tuple<std::int64_t, std::uint64_t, bool>;
  std::optional<State> told{};  ///< The job's number, bytes, and whether they are all.
};

/// The part of a log that a page requests.
struct LogPart {
  LogWish wish{};
  std::optional<std::int64_t> from{};  ///< A line or, in a view, a row. None: the last lines.
  std::optional<std::int64_t> line{};  ///< The number of a line, to find its row.
  std::size_t count = 0;
  std::size_t line_bytes = 0;
};

}  // namespace muster::server
