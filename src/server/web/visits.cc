#include "server/web/visits.h"

#include <algorithm>

#include "aws/digest.h"
#include "base/fd.h"
#include "base/text.h"

namespace muster::web {
namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t id_bytes = 6;
constexpr std::size_t browser_bytes_max = 200;

std::string fresh_secret() {
  return hex(random_bytes(secret_bytes));
}

std::string hash_of(std::string_view secret) {
  const aws::Sha256Bytes bytes = aws::sha256(secret);
  return std::string(aws::view_of(bytes));
}

/// Removes the key's oldest entry if it has `most`. All entries are valid for the same time.
template <class All>
void make_room(All& all, const std::string& key, std::size_t most) {
  auto oldest = all.end();
  std::size_t count = 0;
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (at->second.key != key) continue;
    ++count;
    if (oldest == all.end() || at->second.until < oldest->second.until) oldest = at;
  }
  if (count >= most) all.erase(oldest);
}

}  // namespace

void Visits::forget_old(UnixMillis now) {
  std::erase_if(passes_, [now](const auto& each) { return each.second.until <= now; });
  std::erase_if(visits_, [now](const auto& each) { return each.second.until <= now; });
}

std::string Visits::issue_pass(const std::string& key, UnixMillis now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  make_room(passes_, key, passes_of_key_max);
  std::string secret = fresh_secret();
  passes_.insert_or_assign(hash_of(secret), Pass{key, now + pass_lasts});
  return secret;
}

std::optional<std::string> Visits::use_pass(std::string_view secret, UnixMillis now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  const auto found = passes_.find(hash_of(secret));
  if (found == passes_.end()) return std::nullopt;
  std::string key = std::move(found->second.key);
  passes_.erase(found);
  return key;
}

std::string Visits::begin(const std::string& key, std::string_view browser, UnixMillis now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  make_room(visits_, key, visits_of_key_max);
  std::string secret = fresh_secret();
  visits_.insert_or_assign(hash_of(secret),
                           Visit{hex(random_bytes(id_bytes)), key, now, now + visit_lasts,
                                 to_utf8(browser.substr(0, browser_bytes_max))});
  return secret;
}

std::optional<Visit> Visits::find(std::string_view secret, UnixMillis now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  const auto found = visits_.find(hash_of(secret));
  if (found == visits_.end()) return std::nullopt;
  return found->second;
}

std::vector<Visit> Visits::of_key(std::string_view key, UnixMillis now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  std::vector<Visit> visits;
  for (const auto& [hash, visit] : visits_)
    if (visit.key == key) visits.push_back(visit);
  std::sort(visits.begin(), visits.end(),
            [](const Visit& a, const Visit& b) { return a.since < b.since; });
  return visits;
}

bool Visits::end(std::string_view id, std::string_view key) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(visits_, [&](const auto& each) {
           return each.second.id == id && each.second.key == key;
         }) > 0;
}

}  // namespace muster::web
