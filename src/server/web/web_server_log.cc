// The web page's view of a job's log, and the event stream that reports changes.

#include <re2/re2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include "aws/api/inputs.h"
#include "aws/percent.h"
#include "net/loop/other_loop.h"
#include "net/loop/wait.h"
#include "net/loop/worker.h"
#include "server/web/web_rules.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;

constexpr std::int64_t lines_max = 500;
constexpr std::size_t line_bytes = 2000;
constexpr std::size_t whole_line_bytes = 256u << 10;
constexpr std::size_t hits_max = 1000;
constexpr std::size_t searched_bytes = 64u << 20;  ///< Per call; the page repeats the call.
constexpr std::size_t pattern_bytes_max = 1000;
constexpr std::int64_t pattern_memory = 8 << 20;
constexpr std::size_t books_max = 8;
constexpr Duration look_every = std::chrono::milliseconds(250);
constexpr Duration events_last = std::chrono::minutes(10);
constexpr int looks_between_beats = 4;

/// The current size of all journals.
std::uint64_t bytes_of(const WebLog& log) {
  std::uint64_t bytes = 0;
  for (const cloudwatch::MergedLog::Host& host : log.hosts) {
    struct stat status {};
    if (::stat(host.journal.c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

}  // namespace

aws::Refusal no_book(const Error& error) {
  return error.code == Errc::denied ? unread(error) : api::invalid(error.text);
}

aws::Refusal unread(const Error& error) {
  if (error.code == Errc::denied) return {"ServiceUnavailable", error.text, 503};
  return api::internal_failure(error);
}

std::string asked(const http::Exchange& exchange, std::string_view wanted) {
  const std::string_view target = exchange.request().target;
  const std::optional<aws::Pairs> query =
      aws::decoded_query(aws::RequestHead{"GET", target, {}}.query());
  if (query)
    for (const auto& [name, value] : *query)
      if (name == wanted) return value;
  return {};
}

std::string file_name(const std::string& job, std::string_view ending) {
  const bool is_plain = !job.empty() && std::all_of(job.begin(), job.end(), [](unsigned char c) {
    return c == '-' || (c < 0x80 && std::isalnum(c) != 0);
  });
  return (is_plain ? job : "job") + std::string(ending);
}

http::Reply file_head(const std::string& type, const std::string& name) {
  http::Reply head{.status = 200, .headers = web::safety_headers()};
  head.headers.emplace_back("Content-Type", type + "; charset=utf-8");
  head.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + name + "\"");
  head.headers.emplace_back("Cache-Control", "no-store");
  return head;
}

Task<Result<WebLog>> WebServer::find_log(http::Exchange& exchange, std::string job) {
  std::function<Task<Result<WebLog>>()> work = [this, job]() -> Task<Result<WebLog>> {
    co_return options_.state.log(job);
  };
  co_return co_await loop::run_on(exchange.loop(), options_.calls, std::move(work));
}

Task<Result<std::shared_ptr<WebServer::Book>>> WebServer::book(http::Exchange& exchange,
                                                               std::string key, std::string job,
                                                               std::string host) {
  Result<WebLog> found = co_await find_log(exchange, std::move(job));
  if (!found) co_return found.error();
  co_return co_await open_book(exchange, std::move(key), *std::move(found), std::move(host));
}

Task<Result<std::shared_ptr<WebServer::Book>>> WebServer::open_book(http::Exchange& exchange,
                                                                    std::string key, WebLog found,
                                                                    std::string host) {
  if (!host.empty())
    std::erase_if(found.hosts, [&](const auto& each) { return each.name != host; });
  std::shared_ptr<Book> book;
  {
    const std::lock_guard lock(mutex_);
    // The name does not depend on the hosts, because a book may have been created before they
    // existed.
    std::shared_ptr<Book>& kept =
        books_[std::to_string(found.job) + "/" + host + "/" + std::to_string(found.hosts.size())];
    if (!kept) {
      // Higher than the numbers of an earlier server process, because pages outlive it.
      edition_ = std::max(edition_ + 1, static_cast<std::uint64_t>(options_.now().count()));
      kept = std::make_shared<Book>(found.hosts, edition_);
    }
    book = kept;
    book->used = ++uses_;
    if (books_.size() > books_max)
      books_.erase(std::min_element(books_.begin(), books_.end(), [](const auto& a, const auto& b) {
        return a.second->used < b.second->used;
      }));
  }
  const auto read = [&book, &log = found]() -> Result<void> {
    const std::lock_guard lock(book->mutex);
    book->hosts = log.hosts;
    TRY(book->log.catch_up(book->hosts, log.ended));
    return {};
  };
  const Result<void> done = co_await in_turn(log_reads_, exchange, std::move(key), read);
  if (!done) co_return done.error();
  co_return book;
}

/// {"job", "host", "from", "count", "whole"}: lines from the number "from" on or, without it, the
/// last ones. With "rank", "stream", "level" or "fold": as view_answer().
Task<Result<Json, aws::Refusal>> WebServer::log(Call& call) {
  const auto part = [&call](const char* name) { return api::text_of(call.input, name); };
  const Result<LogWish, aws::Refusal> wish = log_wish(part);
  if (!wish) co_return wish.error();
  const Result<std::shared_ptr<Book>> book =
      co_await this->book(call.exchange, call.visit.key, part("job"), part("host"));
  if (!book) co_return no_book(book.error());
  const LogPart wanted{
      .wish = *wish,
      .from = api::integer_of(call.input, "from"),
      .line = api::integer_of(call.input, "line"),
      .count = static_cast<std::size_t>(std::clamp<std::int64_t>(
          api::integer_of(call.input, "count").value_or(100), 0, lines_max)),
      .line_bytes = api::flag_of(call.input, "whole") ? whole_line_bytes : line_bytes};
  const auto work = [book = *book, wanted]() -> Result<Json> {
    const std::lock_guard lock(book->mutex);
    return wanted.wish.is_plain() ? plain_answer(*book, wanted) : view_answer(*book, wanted);
  };
  Result<Json> answer = co_await in_turn(log_reads_, call.exchange, call.visit.key, work);
  if (!answer) co_return unread(answer.error());
  co_return *std::move(answer);
}

/// {"job", "host", "pattern", "from"} and the filters of log(): the numbers of matching lines, and
/// the line up to which the log was searched.
Task<Result<Json, aws::Refusal>> WebServer::search_log(Call& call) {
  const std::string pattern = api::text_of(call.input, "pattern");
  if (pattern.empty() || pattern.size() > pattern_bytes_max)
    co_return api::invalid("the search text must have 1 to 1,000 bytes");
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory);
  options.set_case_sensitive(!api::flag_of(call.input, "any_case"));
  options.set_literal(!api::flag_of(call.input, "expression"));
  const re2::RE2 wanted(pattern, options);
  if (!wanted.ok()) co_return api::invalid("invalid regular expression: " + wanted.error());
  const auto part = [&call](const char* name) { return api::text_of(call.input, name); };
  const Result<LogWish, aws::Refusal> wish = log_wish(part);
  if (!wish) co_return wish.error();
  const Result<std::shared_ptr<Book>> book =
      co_await this->book(call.exchange, call.visit.key, part("job"), part("host"));
  if (!book) co_return no_book(book.error());
  const auto from = static_cast<std::uint64_t>(
      std::max<std::int64_t>(api::integer_of(call.input, "from").value_or(0), 0));
  const auto work = [book = *book, wish = *wish, &wanted, from]() -> Result<Json> {
    const std::lock_guard lock(book->mutex);
    const cloudwatch::MergedLog::Found found =
        wish.is_plain() ? TRY(book->log.find(wanted, from, hits_max, searched_bytes))
                        : TRY(find_in_view(*book, wish, wanted, from, hits_max));
    return Json{{"edition", book->edition},
                {"numbers", found.numbers},
                {"looked_to", found.looked_to},
                {"count", book->log.count()}};
  };
  Result<Json> answer = co_await in_turn(log_reads_, call.exchange, call.visit.key, work);
  if (!answer) co_return unread(answer.error());
  co_return *std::move(answer);
}

/// Reports only that something has changed; the page then requests the data that it shows. With
/// `job` in the query, also reports that its log has grown.
Task<void> WebServer::events(http::Exchange& exchange, web::Visit visit) {
  const std::optional<web::Followers::Id> begun = followers_.begin(visit.key, visit.id);
  if (!begun)
    co_return co_await refuse(exchange, 503,
                              "too many streams of events are open; try again later");
  struct Follower {
    web::Followers& all;
    const web::Followers::Id id;
    ~Follower() { all.end(id); }
  };
  const Follower follower{followers_, *begun};
  co_await tell_events(exchange, asked(exchange, "job"), follower.id);
}

/// The event for a log that has grown or was replaced; empty otherwise. `changed`: a job has
/// changed. Does not read the log itself, because a thousand pages may follow a thousand logs.
Task<Result<std::string>> WebServer::log_news(http::Exchange& exchange, Followed& seen,
                                              bool changed) {
  if (seen.job.empty()) co_return std::string();
  if (changed) {
    Result<WebLog> found = co_await find_log(exchange, seen.job);
    if (!found) co_return found.error();
    seen.log = *std::move(found);
  }
  const std::uint64_t bytes = bytes_of(seen.log);
  const Followed::State now{seen.log.job, bytes, seen.log.ended};
  if (std::exchange(seen.told, now) == now) co_return std::string();
  co_return "event: log\ndata: " + std::to_string(bytes) + "\n\n";
}

Task<void> WebServer::tell_events(http::Exchange& exchange, std::string job,
                                  web::Followers::Id follower) {
  http::Reply head{.status = 200, .headers = web::safety_headers()};
  head.headers.emplace_back("Content-Type", "text/event-stream");
  head.headers.emplace_back("Cache-Control", "no-store");
  const Result<void> begun = co_await exchange.start(std::move(head));
  if (!begun) co_return;
  loop::Timer timer(exchange.loop());
  const TimePoint end = Clock::now() + events_last;
  std::uint64_t revision = 0;
  Followed seen{.job = std::move(job)};
  bool first = true;
  for (int looks = 0; Clock::now() < end && !stopping_; ++looks) {
    if (!visit_of(exchange) || !followers_.stays(follower)) break;
    std::function<Task<std::uint64_t>()> ask = [this]() -> Task<std::uint64_t> {
      co_return options_.state.revision();
    };
    const std::uint64_t now =
        co_await loop::run_on(exchange.loop(), options_.calls, std::move(ask));
    std::string told;
    const bool changed = first || now != revision;
    if (changed) told += "event: jobs\ndata: " + std::to_string(now) + "\n\n";
    const Result<std::string> log = co_await log_news(exchange, seen, changed);
    if (log) told += *log;
    revision = now;
    if (told.empty() && looks % looks_between_beats == 0) told = ": still here\n\n";
    first = false;
    if (!told.empty()) {
      const Result<void> sent = co_await exchange.write(told);
      if (!sent) co_return;
    }
    if (!log) break;  // The job was deleted: the last message says why.
    const bool due = co_await timer.after(look_every);
    if (!due) break;
  }
}

}  // namespace muster::server
