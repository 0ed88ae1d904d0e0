#include <algorithm>

#include "aws/s3client/fetch_folder.h"
#include "aws/s3client/s3_call.h"

namespace muster::s3client {
namespace {

constexpr std::size_t names_a_page = 1000;

/// A channel's objects, a page at a time: of the server's list, or of a manifest.
struct Pages {
  bool is_last() const { return next.empty() && named == names.size(); }

  s3wire::S3Url start;
  std::size_t cut = 0;               ///< What the keys lose.
  std::vector<S3Object> objects{};   ///< The page, sorted by key; empty behind the last.
  std::string next{};                ///< The token of the following one; empty: this is the last.
  std::uint64_t seen = 0;            ///< Objects of the pages until now.
  bool is_sorted = true;             ///< All of them, by key.
  std::vector<std::string> names{};  ///< A manifest's, sorted; keys would repeat its prefix.
  std::size_t named = 0;             ///< How many of them are in pages until now.
};

void take_names(Pages& pages) {
  pages.objects.clear();
  const std::size_t end = std::min(pages.named + names_a_page, pages.names.size());
  for (; pages.named < end; ++pages.named)
    pages.objects.push_back({pages.start.key + pages.names[pages.named], 0});
}

/// Takes the next page that is not empty.
loop::Task<Result<void>> turn_page(std::shared_ptr<S3State> state, Pages& pages) {
  if (pages.named > 0) {
    take_names(pages);
    co_return Result<void>();
  }
  const std::string last = pages.objects.empty() ? std::string() : pages.objects.back().key;
  pages.objects.clear();
  bool is_first = pages.seen == 0;
  while (pages.objects.empty() && (is_first || !pages.next.empty())) {
    Result<S3Page> page = co_await list_page(state, pages.start, pages.next);
    if (!page) co_return page.error();
    pages.objects = std::move(page->objects);
    pages.next = std::move(page->next);
    is_first = false;
  }
  std::ranges::sort(pages.objects, {}, &S3Object::key);
  pages.seen += pages.objects.size();
  if (pages.seen > listed_max)
    co_return fail(Errc::invalid_input, s3wire::text_of(pages.start) + ": more than " +
                                            std::to_string(listed_max) +
                                            " objects have this prefix");
  pages.is_sorted = pages.is_sorted && (pages.objects.empty() || last < pages.objects.front().key);
  co_return Result<void>();
}

loop::Task<Result<Pages>> find_prefix(std::shared_ptr<S3State> state, s3wire::S3Url url) {
  Pages inside{.start = url};
  if (!inside.start.key.empty() && !inside.start.key.ends_with('/')) inside.start.key += '/';
  inside.cut = inside.start.key.size();
  Result<void> listed = co_await turn_page(state, inside);
  if (!listed) co_return listed.error();
  if (!inside.objects.empty() || inside.start.key == url.key) co_return inside;
  Pages near{.start = url, .cut = folder_bytes(url.key)};
  listed = co_await turn_page(state, near);
  if (!listed) co_return listed.error();
  if (near.objects.empty() || near.objects.front().key != url.key) co_return near;
  near.objects.resize(1);
  near.next.clear();
  co_return near;
}

loop::Task<Result<Pages>> read_manifest(std::shared_ptr<S3State> state, ChannelSource source) {
  S3Request request{.method = "GET", .url = source.url};
  if (!source.etag.empty()) request.headers.emplace_back("If-Match", '"' + source.etag + '"');
  Result<S3Answer> answer = co_await s3_call(state, std::move(request));
  if (!answer) co_return answer.error();
  Result<Manifest> manifest = parse_manifest(answer->text);
  if (!manifest) co_return manifest.error().in(s3wire::text_of(source.url));
  Pages pages{.start = manifest->prefix, .cut = manifest->prefix.key.size()};
  std::ranges::sort(manifest->names);
  pages.names = std::move(manifest->names);
  take_names(pages);
  co_return pages;
}

Error empty_channel(const ChannelSource& source) {
  return fail(Errc::not_found,
              s3wire::text_of(source.url) + (source.manifest ? ": the manifest lists no objects"
                                                             : ": no object has this prefix"));
}

}  // namespace

loop::Task<Result<Fetched>> fetch_channel(std::shared_ptr<S3State> state, ChannelSource source,
                                          std::string folder, FetchOptions options) {
  Result<Pages> pages = fail(Errc::system, "");
  if (source.manifest)
    pages = co_await read_manifest(state, source);
  else
    pages = co_await find_prefix(state, source.url);
  if (!pages) co_return pages.error();
  if (pages->objects.empty() && !source.may_be_empty) co_return empty_channel(source);
  if (Result<void> made = make_folders(folder); !made) co_return made.error();
  Fetched all;
  FetchRules rules = source.rules;
  while (!pages->objects.empty()) {
    Result<std::vector<FetchItem>> items = plan_fetch(pages->objects, pages->cut, rules);
    if (!items) co_return items.error().in(s3wire::text_of(source.url));
    // Every host must number them alike. AWS sorts by bytes.
    if (rules.shares > 1 && !pages->is_sorted)
      co_return fail(Errc::protocol, s3wire::text_of(source.url) +
                                         ": the server does not list objects in key order, so "
                                         "muster cannot distribute them to the hosts");
    rules.before += count_files(pages->objects, pages->cut);
    const Result<Fetched> fetched =
        co_await fetch_folder(state, pages->start.bucket, *std::move(items), folder, options);
    if (!fetched) co_return fetched.error();
    all.files += fetched->files;
    all.bytes += fetched->bytes;
    if (pages->is_last()) break;
    if (Result<void> turned = co_await turn_page(state, *pages); !turned) co_return turned.error();
  }
  co_return all;
}

}  // namespace muster::s3client
