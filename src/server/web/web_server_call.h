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
/// Answers {"message"}.
loop::Task<void> refuse(http::Exchange& exchange, int status, std::string text);
/// A part of the query of a GET; empty: it has none.
std::string asked(const http::Exchange& exchange, std::string_view wanted);
/// A file name about `job`; text that is not a valid job name is left out.
std::string file_name(const std::string& job, std::string_view ending);
/// The head of a file that a browser keeps.
http::Reply file_head(const std::string& type, const std::string& name);

/// Beyond any date; its milliseconds, and sums of two of them, are numbers still.
constexpr std::int64_t second_max = std::int64_t{1} << 40;
/// What a chart shows: seconds since 1970 or steps, and in how many parts.
struct ChartRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t buckets = 0;
};
/// "from", "to" and "buckets" of a call. Error: one lies outside; `most_as_text` is `buckets_max`
/// for people.
Result<ChartRange> chart_range(const Json& input, std::int64_t buckets_max,
                               const std::string& most_as_text, bool by_step = false);
/// [number, least, most, mean, count] of each bucket that has values.
Json chart_json(const cloudwatch::MetricBuckets& buckets, std::int64_t from);

/// Runs `work` in a thread, when it is the turn of `key`. Error: `denied` if too many calls of it
/// wait; otherwise the work's own.
template <class Work>
loop::Task<std::invoke_result_t<Work&>> in_turn(loop::Turns& turns, http::Exchange& exchange,
                                                std::string key, Work work) {
  const Result<loop::Turns::Turn> turn = co_await turns.take(exchange.loop(), std::move(key));
  if (!turn) co_return turn.error();
  co_return co_await loop::in_thread(exchange.loop(), std::move(work));
}
/// Why something is not read: 503 for `denied`.
aws::Refusal unread(const Error& error);
/// As unread(), for a log; a job without one is the caller's error.
aws::Refusal no_book(const Error& error);

/// Lives in the coroutine that answers the exchange, for as long as that.
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

/// A job's log as pages read it, all of them the same one. One thread at a time.
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
  /// Other books have other ones, of a job that was submitted again, too: numbers of lines and rows
  /// mean nothing beyond a book.
  const std::uint64_t edition;
  cloudwatch::MergedLog log;
  std::list<View> views;   ///< Most recently used first.
  std::uint64_t used = 0;  ///< The higher the later; WebServer's mutex guards it.

  /// The view for a wish, which has looked on at the log for a while. Error: `system`; `denied` if
  /// others are in use, and there is no room for one more.
  Result<cloudwatch::LogView*> view(const LogWish& wish);
  Result<cloudwatch::LogView*> find_view(const LogWish& wish);
  bool makes_room(std::size_t more, TimePoint now);
};

/// What a page that follows a job's log knows of it.
struct WebServer::Followed {
  std::string job;
  WebLog log{};
  using State = std::tuple<std::int64_t, std::uint64_t, bool>;
  std::optional<State> told{};  ///< The job's number, bytes, and whether they are all.
};

/// What of a log a page asks for.
struct LogPart {
  LogWish wish{};
  std::optional<std::int64_t> from{};  ///< A line's number; in a view a row's. None: the last ones.
  std::optional<std::int64_t> line{};  ///< A line's number whose row is looked for.
  std::size_t count = 0;
  std::size_t line_bytes = 0;
};

}  // namespace muster::server
