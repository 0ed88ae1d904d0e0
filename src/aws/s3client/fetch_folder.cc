#include "aws/s3client/fetch_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>

#include "aws/s3client/s3_call.h"
#include "base/fd.h"
#include "base/text.h"
#include "net/loop/tasks.h"
#include "net/loop/worker.h"
#include "os/packing/gunzip.h"

namespace muster::s3client {
namespace {

constexpr std::uint64_t headway_bytes = 4u << 20;

/// A file that comes in ranges.
struct OpenFile {
  Fd fd;
  std::uint64_t left = 0;  ///< Bytes that are not here yet.
};

/// One exchange's worth of an item.
struct Piece {
  std::size_t item = 0;
  std::shared_ptr<OpenFile> file;  ///< Empty: the object as a whole.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Fetch {
  Fetch(std::shared_ptr<S3State> with, std::string of, std::vector<FetchItem> all, std::string into,
        FetchOptions given)
      : state(std::move(with)),
        bucket(std::move(of)),
        items(std::move(all)),
        folder(std::move(into)),
        options(given) {}

  bool stopped() const { return failed || (options.stop != nullptr && options.stop->wanted); }
  std::string path_of(std::size_t item) const { return folder + "/" + items[item].path; }
  /// Where the object's own bytes go.
  std::string raw_path(std::size_t item) const {
    return path_of(item) + (items[item].gunzip ? ".gz-packed" : "");
  }
  s3wire::S3Url url_of(std::size_t item) const { return {bucket, items[item].object.key}; }
  Result<std::optional<Piece>> next();
  Result<void> make_place(const FetchItem& item);
  Result<std::shared_ptr<OpenFile>> reserve(std::size_t item);

  const std::shared_ptr<S3State> state;
  const std::string bucket;
  const std::vector<FetchItem> items;
  const std::string folder;
  const FetchOptions options;
  std::string made;    ///< The last folder: the next item's, as a rule.
  std::size_t at = 0;  ///< The next item, or the one that `current` is of.
  std::optional<Piece> current;
  std::optional<Error> failed;
  Fetched fetched;
};

/// Makes the folders above an item. Nothing may have its name: objects of earlier pages are known
/// by their files alone.
Result<void> Fetch::make_place(const FetchItem& item) {
  const std::string path = folder + "/" + item.path;
  const std::string parent = path.substr(0, path.rfind('/'));
  Result<void> made_parents;
  if (parent != made) made_parents = make_folders(parent);
  made = parent;
  struct stat status {};
  const bool is_there = ::lstat(path.c_str(), &status) == 0;
  const bool is_taken = is_there ? !item.folder || !S_ISDIR(status.st_mode) : errno == ENOTDIR;
  if (!is_taken) return made_parents;
  return fail(Errc::invalid_input, s3wire::text_of({bucket, item.object.key}) +
                                       ": another object has the same file name, or is stored as a "
                                       "file where this object requires a folder");
}

Result<std::shared_ptr<OpenFile>> Fetch::reserve(std::size_t item) {
  const std::string path = raw_path(item);
  const auto bytes = static_cast<off_t>(items[item].object.bytes);
  auto file = std::make_shared<OpenFile>();
  file->fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file->fd) return fail_errno("cannot create " + path);
  const int reserved = ::posix_fallocate(file->fd.get(), 0, bytes);
  errno = reserved;
  // Where a file system cannot reserve, glibc writes zeros itself; only a full disk is left.
  if (reserved != 0 && (reserved == ENOSPC || ::ftruncate(file->fd.get(), bytes) != 0))
    return fail_errno("cannot resize " + path);
  file->left = items[item].object.bytes;
  return file;
}

/// What is to be fetched next, in the items' order; nothing if all is under way.
Result<std::optional<Piece>> Fetch::next() {
  while (!current) {
    if (at == items.size()) return std::optional<Piece>();
    const FetchItem& item = items[at];
    TRY(make_place(item));
    if (item.folder) {
      TRY(make_folders(folder + "/" + item.path));
      ++at;
      continue;
    }
    if (item.object.bytes <= options.range_bytes || item.object.etag.empty())
      return std::optional<Piece>(Piece{at++, nullptr, 0, item.object.bytes});
    std::shared_ptr<OpenFile> file = TRY(reserve(at));
    current = Piece{at++, std::move(file), 0, 0};
  }
  Piece& rest = *current;
  const std::uint64_t total = items[rest.item].object.bytes;
  Piece piece = rest;
  piece.bytes = std::min(options.range_bytes, total - rest.offset);
  rest.offset += piece.bytes;
  if (rest.offset == total) current.reset();
  return std::optional<Piece>(std::move(piece));
}

/// Takes a range's bytes where they belong, whatever connection they come over.
struct RangeSink {
  Result<void> take(const http::Head& head, std::string_view bytes);

  Fetch& fetch;
  Piece piece;
  std::uint64_t got = 0;
  std::uint64_t begun = 0;       ///< `got` when the try began.
  std::optional<Error> refused;  ///< A retry would not help.
};

Result<void> RangeSink::take(const http::Head& head, std::string_view bytes) {
  if (fetch.stopped()) return fail(Errc::closed, "stopped");
  // The head stays the same for the whole body, and its range begins where this try began.
  const std::string want = "bytes " + std::to_string(piece.offset + begun) + "-";
  if (head.status != 206 || !head.value("Content-Range").starts_with(want) ||
      got + bytes.size() > piece.bytes) {
    refused = fail(Errc::protocol, "the server returned the wrong byte range");
    return *refused;
  }
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(piece.file->fd.get(), bytes.data(), bytes.size(),
                                   static_cast<off_t>(piece.offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refused = fail_errno(fetch.raw_path(piece.item));
    if (count < 0) return *refused;
    got += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

S3Request range_request(const Fetch& fetch, const Piece& piece, std::uint64_t got) {
  const std::uint64_t first = piece.offset + got;
  return {.method = "GET",
          .url = fetch.url_of(piece.item),
          .headers = {{"Range", "bytes=" + std::to_string(first) + "-" +
                                    std::to_string(piece.offset + piece.bytes - 1)},
                      {"If-Match", fetch.items[piece.item].object.etag}}};
}

loop::Task<Result<void>> fetch_range(Fetch& fetch, Piece piece) {
  const std::string what = s3wire::text_of(fetch.url_of(piece.item));
  const auto sink = std::make_shared<RangeSink>(RangeSink{fetch, piece, 0, 0, {}});
  const http::OnBody take = [sink](const http::Head& head, std::string_view bytes) {
    return sink->take(head, bytes);
  };
  aws::Tries tries(fetch.state->loop, fetch.state->options.retry, fetch.state->log, what);
  while (true) {
    sink->begun = sink->got;
    S3Request request = range_request(fetch, piece, sink->got);
    Result<S3Answer> answer = co_await s3_once(fetch.state, std::move(request), take);
    if (fetch.stopped()) co_return fail(Errc::closed, "stopped");
    if (sink->refused) co_return sink->refused->in(what);
    if (answer && answer->succeeded() && sink->got == piece.bytes) co_return Result<void>();
    Error why;
    bool worth = true;
    std::optional<Duration> wanted;
    if (!answer) {
      why = answer.error();
      worth = aws::worth_another_try(why);
    } else if (answer->succeeded()) {
      why = fail(Errc::protocol, "the server returned less data than requested");
    } else if (answer->head.status == 412 || answer->head.status == 416) {
      co_return fail(Errc::protocol, what + ": the object changed during the download");
    } else {
      why = s3_error(answer->head.status, answer->failure, fetch.state->credentials.origin());
      worth = aws::worth_another_try(answer->head.status, answer->failure.code);
      wanted = aws::retry_after(answer->head);
    }
    if (sink->got >= sink->begun + headway_bytes) tries.headway();
    bool again = false;
    if (worth) again = co_await tries.again(why, wanted);
    if (!again) co_return tries.final(why);
  }
}

/// An item's bytes are all here.
loop::Task<Result<void>> finish(Fetch& fetch, std::size_t item) {
  ++fetch.fetched.files;
  if (!fetch.items[item].gunzip) co_return Result<void>();
  const std::string from = fetch.raw_path(item), to = fetch.path_of(item);
  const auto unpack = [from, to]() -> Result<void> {
    TRY(packing::gunzip_file(from, to));
    if (::unlink(from.c_str()) != 0) return fail_errno("cannot remove " + from);
    return {};
  };
  FetchStop* const stop = fetch.options.stop;
  if (stop != nullptr) ++stop->threads;
  Result<void> done = co_await loop::in_thread(fetch.state->loop, unpack);
  if (stop != nullptr) --stop->threads;
  if (stop != nullptr) stop->changed.notify();
  if (!done) co_return done.error().in(s3wire::text_of(fetch.url_of(item)));
  co_return Result<void>();
}

loop::Task<Result<void>> fetch_piece(Fetch& fetch, Piece piece) {
  Result<void> done;
  if (piece.file) {
    done = co_await fetch_range(fetch, piece);
    piece.file->left -= piece.bytes;
  } else {
    s3wire::S3Url url = fetch.url_of(piece.item);
    std::string path = fetch.raw_path(piece.item);
    done = co_await s3_download(fetch.state, std::move(url), std::move(path));
  }
  if (!done) co_return done;
  fetch.fetched.bytes += piece.bytes;
  if (piece.file && piece.file->left > 0) co_return done;
  piece.file.reset();
  done = co_await finish(fetch, piece.item);
  co_return done;
}

loop::Task<> work(Fetch& fetch) {
  while (!fetch.stopped()) {
    Result<std::optional<Piece>> piece = fetch.next();
    if (!piece) fetch.failed = piece.error();
    if (!piece || !*piece) break;
    Piece next = **std::move(piece);
    Result<void> done = co_await fetch_piece(fetch, std::move(next));
    if (!done && !fetch.failed) fetch.failed = done.error();
  }
}

}  // namespace

loop::Task<Result<Fetched>> fetch_folder(std::shared_ptr<S3State> state, std::string bucket,
                                         std::vector<FetchItem> items, std::string folder,
                                         FetchOptions options) {
  Fetch fetch(std::move(state), std::move(bucket), std::move(items), std::move(folder), options);
  const auto useful = static_cast<std::uint64_t>(fetch.options.connections);
  std::uint64_t pieces = 0;
  for (const FetchItem& item : fetch.items)
    pieces += 1 + item.object.bytes / fetch.options.range_bytes;
  loop::Tasks workers(fetch.state->loop);
  for (std::uint64_t i = 0; i < std::min(useful, pieces); ++i) workers.start(work(fetch));
  co_await workers.join();
  if (fetch.failed) co_return *fetch.failed;
  if (fetch.stopped()) co_return fail(Errc::closed, "stopped");
  co_return fetch.fetched;
}

}  // namespace muster::s3client
