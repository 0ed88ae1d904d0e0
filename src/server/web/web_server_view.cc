// The filtered and folded log of the web page, and its download.

#include <algorithm>
#include <utility>

#include "aws/api/inputs.h"
#include "base/dates.h"
#include "base/text.h"
#include "job/outcome/rank_tag.h"
#include "net/loop/other_loop.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/log_level.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;

constexpr std::size_t views_max = 16;  ///< Per job; the number of books limits the total.
/// The size of all views above which none is created and none grows.
constexpr std::size_t views_bytes_max = 3 * cloudwatch::LogView::bytes_max;
/// A page that creates or follows a view requests it more often than this.
constexpr Duration view_lives = std::chrono::seconds(10);
/// The bytes that a call reads for its view, whose lines are matched against three expressions.
constexpr std::size_t view_bytes = 16u << 20;
constexpr std::size_t file_part_bytes = 1u << 20;

Json hosts_of(const std::vector<cloudwatch::MergedLog::Host>& hosts) {
  Json names = Json::array();
  for (const auto& each : hosts) names.push_back(each.name);
  return names;
}

/// [number, host, time, text, bytes of the whole text, level, rank, stream]. The text has no tag;
/// without a tag, the rank is -1.
Json line_json(cloudwatch::MergedLog::Line& line) {
  const int rank = line.tag_bytes > 0 ? line.rank : -1;
  line.text.erase(0, line.tag_bytes);
  const std::string_view level = cloudwatch::level_name(cloudwatch::level_of(line.text));
  return {line.number,
          line.host,
          line.time.count(),
          std::move(line.text),
          line.text_bytes - line.tag_bytes,
          level,
          rank,
          job::stream_name(line.stream)};
}

/// [ranges of ranks, ranges of hosts].
Json writers_json(const cloudwatch::Writers& writers) {
  Json ranks = Json::array(), hosts = Json::array();
  for (const auto& [first, last] : writers) {  // A range may contain both -1 and 0.
    if (first < 0) hosts.push_back({-1 - std::min(last, -1), -1 - first});
    if (last >= 0) ranks.push_back({std::max(first, 0), last});
  }
  return {std::move(ranks), std::move(hosts)};
}

/// One line of the download: the text, or all its properties as JSON.
std::string file_line(const std::string& host, const cloudwatch::LogEvent& event, bool is_json) {
  if (!is_json) return event.message + "\n";
  const Json json{{"time", iso_date(event.time)},
                  {"host", host},
                  {"rank", event.rank < 0 ? Json() : Json(event.rank)},
                  {"stream", job::stream_name(event.stream)},
                  {"text", event.line()}};
  return to_text(json) + "\n";
}

}  // namespace

Result<LogWish, aws::Refusal> log_wish(const std::function<std::string(const char* name)>& part) {
  LogWish wish;
  if (const std::string rank = part("rank"); !rank.empty()) {
    const std::optional<std::int64_t> number = parse_integer(rank);
    if (!number || *number < 0 || *number > job::tagged_rank_most)
      return api::invalid("a rank must be 0 or higher");
    wish.filter.rank = static_cast<int>(*number);
  }
  const std::string stream = part("stream");
  for (const job::Stream each : {job::Stream::out, job::Stream::err})
    if (stream == job::stream_name(each)) wish.filter.stream = each;
  if (!stream.empty() && !wish.filter.stream)
    return api::invalid("a stream must be stdout or stderr");
  const std::optional<cloudwatch::Level> level = cloudwatch::level_named(part("level"));
  if (!level) return api::invalid("a level must be debug, info, warning or error");
  wish.filter.least = *level;
  wish.folds = !part("fold").empty();
  return wish;
}

/// Removes unused views, the oldest first, until there is room. Keeps views in use, because two
/// views that displaced each other would never be complete. False if there is no room.
bool WebServer::Book::makes_room(std::size_t more, TimePoint now) {
  while (true) {
    std::size_t bytes = 0;
    for (const View& each : views) bytes += each.view.bytes();
    if (views.size() + more <= views_max && bytes <= views_bytes_max) return true;
    if (views.empty() || now - views.back().used < view_lives) return false;
    views.pop_back();
  }
}

Result<cloudwatch::LogView*> WebServer::Book::find_view(const LogWish& wish) {
  const TimePoint now = Clock::now();
  const auto kept =
      std::find_if(views.begin(), views.end(), [&](const View& each) { return each.wish == wish; });
  const bool is_new = kept == views.end();
  const bool grows = is_new || (!kept->view.is_full() && kept->view.looked_to() < log.count());
  if (!is_new) views.splice(views.begin(), views, kept);
  const TimePoint before = is_new ? now : std::exchange(views.front().used, now);
  if (grows && !makes_room(is_new ? 1 : 0, now)) {
    if (!is_new) views.front().used = before;  // Otherwise, waiting calls would block each other.
    return fail(Errc::denied, "too many different views of this log are open; try again later");
  }
  if (is_new) views.push_front({wish, cloudwatch::LogView(wish.filter, wish.folds), now});
  return &views.front().view;
}

Result<cloudwatch::LogView*> WebServer::Book::view(const LogWish& wish) {
  cloudwatch::LogView& view = *TRY(find_view(wish));
  const auto take = [&view](std::uint64_t number, std::size_t host,
                            const cloudwatch::LogEvent& event) {
    view.add(number, host, event);
    return !view.is_full();
  };
  if (!view.is_full()) TRY(log.scan(view.looked_to(), view_bytes, take));
  return &view;
}

/// {"edition", "count", "lines", "hosts"}: the number of lines, and the requested ones. Line
/// numbers are valid only for one "edition".
Result<Json> WebServer::plain_answer(Book& book, const LogPart& wanted) {
  const std::uint64_t all = book.log.count();
  const std::uint64_t last = all > wanted.count ? all - wanted.count : 0;
  const std::uint64_t first =
      wanted.from ? static_cast<std::uint64_t>(std::max<std::int64_t>(*wanted.from, 0)) : last;
  Json lines = Json::array();
  for (cloudwatch::MergedLog::Line& line :
       TRY(book.log.read(first, wanted.count, wanted.line_bytes)))
    lines.push_back(line_json(line));
  return Json{{"edition", book.edition},
              {"count", all},
              {"lines", std::move(lines)},
              {"hosts", hosts_of(book.hosts)}};
}

/// As plain_answer(), for rows: a row of several writers lists them after its line, and a row of
/// several lines of NCCL's their number after that. The rows cover "looked_to" of "all" lines so
/// far, and no further ones if the view is "full". Rows from "settled" on may still get more
/// writers. "row": the row of `wanted.line`.
Result<Json> WebServer::view_answer(Book& book, const LogPart& wanted) {
  const cloudwatch::LogView& view = *TRY(book.view(wanted.wish));
  const std::size_t last = view.count() > wanted.count ? view.count() - wanted.count : 0;
  const std::size_t first =
      wanted.from ? static_cast<std::size_t>(std::max<std::int64_t>(*wanted.from, 0)) : last;
  std::vector<std::uint64_t> numbers;
  for (std::size_t row = first; row < view.count() && numbers.size() < wanted.count; ++row)
    numbers.push_back(view.line_of(row));
  Json lines = Json::array();
  std::size_t row = first;
  for (cloudwatch::MergedLog::Line& line : TRY(book.log.read_each(numbers, wanted.line_bytes))) {
    const cloudwatch::Writers writers = view.writers_of(row);
    const std::uint32_t nccl_lines = view.nccl_lines_of(row++);
    Json json = line_json(line);
    if (!writers.empty() || nccl_lines > 1)
      json.push_back(writers.empty() ? Json() : writers_json(writers));
    if (nccl_lines > 1) json.push_back(nccl_lines);
    lines.push_back(std::move(json));
  }
  Json answer{{"edition", book.edition},       {"count", view.count()},
              {"lines", std::move(lines)},     {"settled", view.settled()},
              {"hosts", hosts_of(book.hosts)}, {"looked_to", view.looked_to()},
              {"all", book.log.count()},       {"full", view.is_full()}};
  if (wanted.line)
    answer["row"] =
        view.row_at(static_cast<std::uint64_t>(std::max<std::int64_t>(*wanted.line, 0)));
  return answer;
}

/// The matching lines of a view, as far as it has been built.
Result<cloudwatch::MergedLog::Found> WebServer::find_in_view(Book& book, const LogWish& wish,
                                                             const re2::RE2& wanted,
                                                             std::uint64_t from, std::size_t most) {
  const cloudwatch::LogView& view = *TRY(book.view(wish));
  cloudwatch::MergedLog::Found found = TRY(book.log.find(wanted, from, most, view_bytes));
  std::erase_if(found.numbers, [&view](std::uint64_t number) { return !view.has(number); });
  if (!view.is_full())
    found.looked_to = std::min(found.looked_to, std::max(from, view.looked_to()));
  return found;
}

/// The log of all hosts or of `host` as a download, with the page's filters: as text or, with the
/// `form` "jsonl", with all properties of each line. Never folded.
Task<void> WebServer::download(http::Exchange& exchange, std::string key) {
  const auto part = [&exchange](const char* name) { return asked(exchange, name); };
  const bool is_json = part("form") == "jsonl";
  const Result<LogWish, aws::Refusal> wish = log_wish(part);
  http::Reply head = file_head(is_json ? "application/jsonl" : "text/plain",
                               file_name(part("job"), is_json ? ".jsonl" : ".log"));
  if (!wish) {
    head.status = wish.error().status;
    (void)co_await exchange.reply(std::move(head));
    co_return;
  }
  const Result<std::shared_ptr<Book>> book =
      co_await this->book(exchange, key, part("job"), part("host"));
  if (!book) {
    head.status = book.error().code == Errc::denied ? 503 : 404;
    (void)co_await exchange.reply(std::move(head));
    co_return;
  }
  const Result<void> begun = co_await exchange.start(std::move(head));
  if (!begun) co_return;
  std::uint64_t from = 0;
  for (bool more = true; more;) {
    std::string text;
    const auto work = [book = *book, filter = wish->filter, is_json, from, &text] {
      const std::lock_guard lock(book->mutex);
      const auto take = [&](std::uint64_t, std::size_t host, const cloudwatch::LogEvent& event) {
        if (filter.takes(event)) text += file_line(book->hosts[host].name, event, is_json);
        return text.size() < file_part_bytes;
      };
      return book->log.scan(from, view_bytes, take);
    };
    const Result<std::uint64_t> scanned = co_await in_turn(log_reads_, exchange, key, work);
    if (!scanned) co_return exchange.finish_broken();
    more = *scanned > from;
    from = *scanned;
    if (text.empty()) continue;
    const Result<void> sent = co_await exchange.write(text);
    if (!sent) co_return;
  }
}

}  // namespace muster::server
