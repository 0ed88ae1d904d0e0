#include "packing/listing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "base/folder.h"

namespace muster::packing {
namespace {

Result<std::string> link_target(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t count = ::readlink(path.c_str(), target.data(), target.size());
  if (count < 0) return fail_errno(path);
  target.resize(static_cast<std::size_t>(count));
  return target;
}

}  // namespace

Result<std::vector<TreeEntry>> walk_tree(const std::string& root, std::size_t number) {
  std::vector<TreeEntry> entries;
  struct stat status {};
  if (::lstat(root.c_str(), &status) != 0 && errno == ENOENT) return entries;
  if (!S_ISDIR(status.st_mode)) return entries;
  std::vector<std::string> todo{""};  // Depth first, the next one last.
  while (!todo.empty()) {
    const std::string at = std::move(todo.back());
    todo.pop_back();
    const std::string path = root + (at.empty() ? "" : "/" + at);
    if (::lstat(path.c_str(), &status) != 0) return fail_errno(path);
    TreeEntry entry{at};
    entry.mode = status.st_mode & 0777;  // Whoever unpacks it gets nobody's rights.
    entry.time = std::max<std::int64_t>(0, status.st_mtim.tv_sec);
    entry.root = number;
    if (S_ISDIR(status.st_mode)) {
      entry.kind = TreeEntry::Kind::folder;
      std::vector<std::string> names = TRY(names_in(path));
      for (auto name = names.rbegin(); name != names.rend(); ++name)
        todo.push_back(at.empty() ? *name : at + "/" + *name);
    } else if (S_ISREG(status.st_mode)) {
      entry.bytes = static_cast<std::uint64_t>(status.st_size);
    } else if (S_ISLNK(status.st_mode)) {
      entry.kind = TreeEntry::Kind::link;
      entry.target = TRY(link_target(path));
    } else {
      continue;
    }
    if (!at.empty()) entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<TreeEntry> merge_trees(const std::vector<std::vector<TreeEntry>>& trees) {
  // '/' sorts before all that can stand in a name for this order: a folder's content follows it.
  const auto before = [](const std::string& a, const std::string& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
      return rank(x) < rank(y);
    });
  };
  std::map<std::string, TreeEntry, decltype(before)> all(before);
  for (const std::vector<TreeEntry>& tree : trees)
    for (const TreeEntry& entry : tree) {
      const auto at = all.find(entry.path);
      const bool join = at != all.end() && at->second.kind == TreeEntry::Kind::folder &&
                        entry.kind == TreeEntry::Kind::folder;
      if (at != all.end() && !join) {
        const std::string inside = entry.path + "/";
        auto last = all.erase(at);
        while (last != all.end() && last->first.starts_with(inside)) last = all.erase(last);
      }
      all[entry.path] = entry;
    }
  std::vector<TreeEntry> merged;
  for (auto& [path, entry] : all) merged.push_back(std::move(entry));
  return merged;
}

}  // namespace muster::packing
