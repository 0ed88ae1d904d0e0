#include "platform/places/bring_image.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "base/topic.h"
#include "image/reference.h"
#include "net/loop/worker.h"

namespace muster::places {
namespace {

constexpr std::string_view command_name = "sm image pull: ";
constexpr int exit_unusable =
    2;  ///< docs/protocols/exit-codes.md: the image is missing or refused.

Result<std::optional<UsedImage>> leased(const Env& env, const job::ImageWish& wish,
                                        const std::string& digest) {
  const image::Reference reference = TRY(image::reference_from(wish.name));
  const image::Store store = TRY(open_image_store(env));
  if (digest.empty() && !reference.digest.empty()) {
    const bool known = TRY(is_of_repository(store, reference));
    if (!known) return std::optional<UsedImage>();
  }
  std::optional<image::Meaning> meaning = TRY(look_up(store, wish.name));
  if (!digest.empty()) {
    if (!meaning) meaning.emplace();
    meaning->digest = digest;  // The meaning that the name had for this job before.
  }
  if (!meaning) return std::optional<UsedImage>();
  const std::optional<image::Image> found = TRY(store.find(*meaning));
  if (!found) return std::optional<UsedImage>();
  TRY(obey_policy(store, wish.policy, reference, *meaning));
  return std::optional<UsedImage>(TRY(lease_image(store, *found, wish.name)));
}

/// The image is leased by now; where another is just coming, the next pull looks again.
Result<void> keep_to_size(const Env& env, std::int64_t bytes_max) {
  image::Store store = TRY(open_image_store(env));
  const image::PruneOptions options{.all = false,
                                    .bytes_max = static_cast<std::uint64_t>(bytes_max)};
  TRY(store.prune(options));
  return {};
}

/// leased(), in a thread.
loop::Task<Result<std::optional<UsedImage>>> find(loop::Loop& loop, Env env, job::ImageWish wish,
                                                  std::string digest) {
  const auto work = [&] { return leased(env, wish, digest); };
  co_return co_await loop::in_thread(loop, work);
}

/// If the policy refuses the image, the user who asked for it must fix that.
Error as_users(Error error) {
  if (error.code == Errc::denied) error.code = Errc::invalid_input;
  return error;
}

/// The meaning of a digest never changes.
bool is_fixed(const job::ImageWish& wish) {
  return !wish.digest.empty() || wish.name.find('@') != std::string::npos;
}

Result<std::string> digest_told(const std::string& out) {
  const Json told = TRY(parse_json(out));
  const std::string digest = told.is_object() ? told.value("Digest", "") : "";
  if (!image::is_digest(digest)) return fail(Errc::system, "sm image pull printed no digest");
  return digest;
}

Error too_slow(std::chrono::seconds limit) {
  return fail(Errc::invalid_input, "the image cannot be pulled: the pull took longer than " +
                                       std::to_string(limit.count()) +
                                       " s; jobs.pull_limit in the server's config sets the limit");
}

}  // namespace

Command pull_command(const ImagePlace& place, const job::ImageWish& wish) {
  std::string name = wish.name;
  if (Result<image::Reference> reference = image::reference_from(name);
      reference && !wish.digest.empty()) {
    reference->tag.clear();
    reference->digest = wish.digest;
    name = image::to_text(*reference);
  }
  Command command{.argv = {place.program, "image", "pull", name, "--json"}, .env = {}, .cwd = "/"};
  if (!wish.anywhere) command.argv.emplace_back("--public");
  if (!wish.policy.empty()) {
    command.argv.emplace_back("--policy");
    command.argv.push_back(wish.policy);
  }
  if (!wish.logins.empty()) {
    command.env = place.env;
    command.env["REGISTRY_AUTH_FILE"] = wish.logins;
    return command;
  }
  // Without any login: neither root's own nor that of the machine's cloud.
  for (const char* name_of : {"PATH", "MUSTER_STATE", "AWS_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const auto at = place.env.find(name_of); at != place.env.end()) command.env.insert(*at);
  command.env.insert_or_assign("AWS_EC2_METADATA_DISABLED", std::string("true"));
  return command;
}

Error pull_failure(const job::Outcome& outcome, std::string_view said) {
  const std::string text = trim(said);
  std::string last = text.substr(text.rfind('\n') + 1);
  if (last.starts_with(command_name)) last.erase(0, command_name.size());
  const std::string why = to_utf8(without_topic(std::move(last)));
  const bool theirs = outcome == job::Outcome::exited(exit_unusable);
  return fail(theirs ? Errc::invalid_input : Errc::closed,
              "the image cannot be pulled: " + (why.empty() ? job::describe(outcome) : why));
}

loop::Task<Result<UsedImage>> bring_image(supervise::Programs& programs, ImagePlace place,
                                          job::ImageWish wish, std::function<void()> on_pull) {
  const bool ask_first = wish.private_to_login && wish.pull != job::Pull::never;
  if (!ask_first && (wish.pull != job::Pull::always || is_fixed(wish))) {
    Result<std::optional<UsedImage>> found =
        co_await find(programs.loop(), place.env, wish, wish.digest);
    // What its policy refuses may have been signed since it came: its registry is asked.
    const bool ask = !found && found.error().code == Errc::denied && wish.pull != job::Pull::never;
    if (!found && !ask) co_return as_users(found.error());
    if (found && *found) co_return **std::move(found);
  }
  if (wish.pull == job::Pull::never)
    co_return fail(
        Errc::not_found,
        "the image " + wish.name +
            " is not on this machine, and pulling is disabled; add the image with sm image pull or "
            "sm image import");
  on_pull();
  Command command = pull_command(place, wish);
  const Result<supervise::Programs::Done> done =
      co_await programs.run(std::move(command), wish.pull_limit, true);
  if (!done && done.error().code == Errc::timeout) co_return too_slow(wish.pull_limit);
  if (!done) co_return done.error();
  if (!done->outcome.success()) co_return pull_failure(done->outcome, done->err);
  Result<std::string> digest = digest_told(done->out);
  if (!digest) co_return digest.error();
  Result<std::optional<UsedImage>> found =
      co_await find(programs.loop(), place.env, wish, *std::move(digest));
  if (!found) co_return as_users(found.error());
  if (*found && wish.kept_bytes_max > 0) {
    const auto tidy = [&] { return keep_to_size(place.env, wish.kept_bytes_max); };
    const Result<void> tidied = co_await loop::in_thread(programs.loop(), tidy);
    if (!tidied) co_return tidied.error();
  }
  if (*found) co_return **std::move(found);
  co_return fail(Errc::not_found, "image " + wish.name + " was removed in the meantime");
}

}  // namespace muster::places
