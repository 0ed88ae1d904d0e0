#include "server/operations/keys.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/private_file.h"

namespace muster::server {
namespace {

struct Folder {
  std::string path = *make_private_folder("/tmp", "muster-keys-");
  std::string file(const std::string& name) const { return path + "/" + name; }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string secret_in(const Folder& folder, const std::string& text, unsigned mode = 0600) {
  REQUIRE(write_file(folder.file("secret"), text, mode));
  return folder.file("secret");
}

TEST_CASE("keys: a fresh one is as AWS's look, and no two are alike") {
  const store::AccessKey one = fresh_key(UnixMillis(5));
  const store::AccessKey other = fresh_key(UnixMillis(5));
  CHECK(one.id.size() == 20);
  CHECK(one.id.starts_with("AKIA"));
  CHECK(one.secret.size() == 40);
  CHECK(one.id != other.id);
  CHECK(one.secret != other.secret);
}

TEST_CASE("keys: export lines name the endpoint where it is known") {
  const store::AccessKey key{"AKIA1", "s3cret", "", "", "", UnixMillis(0)};
  CHECK(export_lines(key, {"http://127.0.0.1:1", "eu-west-1"}) ==
        "export AWS_ENDPOINT_URL=http://127.0.0.1:1\nexport AWS_ACCESS_KEY_ID=AKIA1\n"
        "export AWS_SECRET_ACCESS_KEY=s3cret\nexport AWS_DEFAULT_REGION=eu-west-1\n");
  CHECK(export_lines(key, {"", "r"}).starts_with("export AWS_ACCESS_KEY_ID=AKIA1\n"));
}

TEST_CASE("keys: a secret is read only from a private file") {
  const Folder folder;
  CHECK(*read_private(secret_in(folder, " 0123456789\n")) == "0123456789");
  CHECK(read_private(secret_in(folder, "0123456789", 0640)).error().code == Errc::denied);
  CHECK(read_private(secret_in(folder, "0123456789", 0604)).error().code == Errc::denied);
  CHECK(read_private(secret_in(folder, std::string(5000, 'x'))).error().code ==
        Errc::invalid_input);
  CHECK(read_private(folder.path).error().code == Errc::invalid_input);
  // A file that is not one owner's secret may be readable by all, but writable only by its owner.
  CHECK(*read_guarded(secret_in(folder, " [global]\n", 0644)) == " [global]\n");
  CHECK(*read_guarded(secret_in(folder, "x", 0600)) == "x");
  for (const mode_t mode : {0664u, 0602u}) {
    const std::string open = secret_in(folder, "x");
    REQUIRE(::chmod(open.c_str(), mode) == 0);  // Whatever the umask is.
    CHECK(read_guarded(open).error().code == Errc::denied);
  }
  CHECK(read_guarded(secret_in(folder, std::string(70000, 'x'))).error().code ==
        Errc::invalid_input);
  CHECK(read_guarded(folder.path).error().code == Errc::invalid_input);
  CHECK(read_guarded(folder.path + "/none").error().code == Errc::not_found);
  CHECK(read_private(folder.file("none")).error().code == Errc::not_found);
}

TEST_CASE("keys: the error names the invalid key of the config") {
  const Folder folder;
  const std::string secret = secret_in(folder, "0123456789");
  const std::vector<store::AccessKey> read = *read_keys({{"AKIA1", secret}});
  REQUIRE(read.size() == 1);
  CHECK(read[0].secret == "0123456789");
  const auto why = [](const std::vector<ConfigKey>& keys) { return read_keys(keys).error().text; };
  CHECK(why({{"AKIA1", secret}, {"AKIA1", secret}}).find("keys[1].id: AKIA1") == 0);
  CHECK(why({{"A-1", secret}}).find("keys[0]: ") == 0);
  CHECK(why({{"AKIA1", "/none"}}).find("keys[0].secret_file: cannot open /none") == 0);
  CHECK(why({{"AKIA1", secret_in(folder, "short")}}).find("keys[0]: AKIA1: invalid secret key") ==
        0);
}

TEST_CASE("keys: the ring follows the store, the config's stay, jobs' are not touched") {
  const Folder folder;
  store::Store store = *store::Store::open(folder.file("muster.db"));
  access::KeyRing ring;
  UserKeys keys(store, ring);
  REQUIRE(store.add_key({"OLD", "12345678", "", "", "", UnixMillis(1)}));
  REQUIRE(store.add_key({"BOTH", "of-the-store", "", "", "", UnixMillis(2)}));
  REQUIRE(keys.add({{"BOTH", "of-the-config", "", "", "", UnixMillis(0)}}));
  access::AccessKey of_job;
  of_job.id = "JOB";
  of_job.secret = "12345678";
  of_job.owner = "job";
  REQUIRE(ring.add(of_job));
  REQUIRE(keys.reload());
  CHECK(ring.ids() == std::vector<std::string>{"BOTH", "JOB", "OLD"});
  CHECK(ring.find("BOTH")->secret == "of-the-config");
  REQUIRE(store.add_key({"NEW", "12345678", "", "", "", UnixMillis(3)}));
  REQUIRE(store.remove_key("OLD", false));
  REQUIRE(store.remove_key("BOTH", false));
  REQUIRE(keys.reload());
  CHECK(ring.ids() == std::vector<std::string>{"BOTH", "JOB", "NEW"});
}

TEST_CASE("keys: made, listed and deleted while the server runs") {
  const Folder folder;
  store::Store store = *store::Store::open(folder.file("muster.db"));
  access::KeyRing ring;
  UserKeys keys(store, ring);
  const Result<store::AccessKey> first = keys.make("the first", UnixMillis(5));
  REQUIRE(first);
  CHECK(ring.find(first->id)->secret == first->secret);
  const std::string listed = keys.list()->dump();
  CHECK(listed.find("the first") != std::string::npos);
  CHECK(listed.find(first->secret) == std::string::npos);
  // Makers stay known when they are deleted, and their makers too.
  const store::AccessKey child = *keys.make("", UnixMillis(5), first->id);
  const store::AccessKey grandchild = *keys.make("", UnixMillis(5), child.id);
  CHECK((*store.key(grandchild.id))->makers == std::vector<std::string>{first->id, child.id});
  CHECK(first->makers.empty());
  for (const std::string& id : {child.id, grandchild.id}) CHECK(keys.remove(id));
  CHECK(keys.make("two\nlines", UnixMillis(6)).error().code == Errc::invalid_input);
  CHECK(keys.make(std::string(257, 'x'), UnixMillis(6)).error().code == Errc::invalid_input);
  CHECK(keys.remove(first->id).error().text.find("is the last key") != std::string::npos);
  CHECK(keys.remove("AKIANONE").error().code == Errc::not_found);
  const store::AccessKey second = *keys.make("", UnixMillis(7));
  REQUIRE(keys.remove(first->id));
  CHECK(ring.ids() == std::vector<std::string>{second.id});
}

TEST_CASE("keys: the config's are listed and stay, with one the store's last may go") {
  const Folder folder;
  store::Store store = *store::Store::open(folder.file("muster.db"));
  access::KeyRing ring;
  UserKeys keys(store, ring);
  REQUIRE(keys.add({{"FIXED", "of-the-config", "", "", "", UnixMillis(0)}}));
  const store::AccessKey made = *keys.make("", UnixMillis(7));
  CHECK(keys.list()->size() == 2);
  CHECK(keys.remove("FIXED").error().text.find("config") != std::string::npos);
  CHECK(keys.remove(made.id));
  CHECK(ring.ids() == std::vector<std::string>{"FIXED"});
}

}  // namespace
}  // namespace muster::server
