#include <doctest/doctest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "base/time.h"
#include "engine/slurm/submission.h"

// What the script does on a node, run by bash, with a stand-in for srun that runs the step here.

namespace muster::slurm {
namespace {

class Node {
 public:
  Node() {
    submission.place = hex(random_bytes(8));
    write("srun", "#!/bin/bash\nwhile [ \"$1\" != /bin/bash ]; do shift; done\nexec \"$@\"\n");
    write("scontrol", "#!/bin/bash\necho \"$@\" >>" + folder + "/told\nexit 1\n");
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    const std::vector<std::string> names = *names_in("/tmp");
    for (const std::string& name : names)
      if (name.starts_with("muster-" + submission.place) ||
          name.starts_with("muster-" + submission.nonce))
        static_cast<void>(remove_tree("/tmp/" + name));
    static_cast<void>(remove_tree(folder));
  }

  void write(const std::string& name, const std::string& text) const {
    REQUIRE(write_file(folder + "/" + name, text, 0755));
  }
  std::string read(const std::string& name) const {
    return read_file(folder + "/" + name).value_or("");
  }
  std::string arrival(BroughtFile file) const { return arrival_of(submission, file); }
  /// As sbcast does it where there is no such name.
  void bring(BroughtFile file, const std::string& text) const {
    REQUIRE(write_file(folder + "/new", text, 0700));
    REQUIRE(::rename((folder + "/new").c_str(), arrival(file).c_str()) == 0);
  }
  std::string program(const std::string& says) const {
    return "#!/bin/bash\n[ $# = 0 ] || echo " + says + " \"$@\" >>" + folder + "/ran\n";
  }
  void bring_all() const {
    bring(BroughtFile::program, program("brought"));
    bring(BroughtFile::job, "{}");
    bring(BroughtFile::go, go_text(submission, {BroughtFile::program, BroughtFile::job}));
  }
  std::string brought_ran() const {
    return "brought node --job " + final_path_of(submission, BroughtFile::job) + "\n";
  }

  void start() {
    write("script", batch_script(submission));
    const std::string path = "PATH=" + folder + ":/usr/bin:/bin", script = folder + "/script";
    const char* const argv[] = {"bash", script.c_str(), nullptr};
    const char* const env[] = {path.c_str(), "SLURM_JOB_ID=7", "SLURMD_NODENAME=n1", nullptr};
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execve("/bin/bash", const_cast<char**>(argv), const_cast<char**>(env));
      ::_exit(127);
    }
  }
  void wait_until(const std::function<bool()>& holds) const {
    const TimePoint deadline = Clock::now() + std::chrono::seconds(30);
    while (!holds() && Clock::now() < deadline) ::poll(nullptr, 0, 10);
    REQUIRE(holds());
  }
  void wait_for_place() const {
    wait_until([this] { return ::access(place_of(submission).c_str(), F_OK) == 0; });
  }
  void wait_for_end() const {
    int status = -1;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    CHECK(status == 0);
  }

  std::string folder = *make_private_folder("/tmp", "muster-waiting-");
  Submission submission{.job = "demo",
                        .nonce = "fedcba9876543210",
                        .word = "00112233445566778899aabbccddeeff",
                        .run_time_max = std::chrono::seconds(60)};

 private:
  pid_t pid_ = -1;
};

TEST_CASE("waiting: delivered files run in a separate folder that no other user can enter") {
  Node node;
  node.start();
  node.wait_for_place();
  struct stat status {};
  REQUIRE(::lstat(place_of(node.submission).c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  node.bring_all();
  node.wait_for_end();
  CHECK(node.read("ran") == node.brought_ran());
  CHECK(*names_in(place_of(node.submission)) == std::vector<std::string>{"job", "sm"});
  CHECK(::access(node.arrival(BroughtFile::go).c_str(), F_OK) != 0);
}

TEST_CASE("waiting: no file of another user's, by whatever name and link, starts anything") {
  // Files that are the job's own user's, which others can make links to.
  const auto own = [](const Node& node) {
    node.write("own", "go\n");
    return node.folder + "/own";
  };
  const struct {
    const char* name;
    std::function<void(const Node& node, const std::string& go)> plant;
    bool is_taken;
  } cases[] = {
      {"a link to a file of the user's",
       [&](const Node& node, const std::string& go) {
         REQUIRE(::symlink(own(node).c_str(), go.c_str()) == 0);
       },
       false},
      {"a hard link to one",
       [&](const Node& node, const std::string& go) {
         REQUIRE(::link(own(node).c_str(), go.c_str()) == 0);
       },
       true},
      {"a file of the user's with another word",
       [&](const Node& node, const std::string&) {
         node.bring(BroughtFile::go, "ffeeddccbbaa99887766554433221100 sm job\n");
       },
       true},
      {"an empty file",
       [&](const Node& node, const std::string&) { node.bring(BroughtFile::go, ""); }, true},
      {"a named pipe",
       [](const Node&, const std::string& go) { REQUIRE(::mkfifo(go.c_str(), 0666) == 0); }, false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    Node node;
    const std::string go = node.arrival(BroughtFile::go);
    node.bring(BroughtFile::program, node.program("planted"));
    each.plant(node, go);
    node.start();
    node.wait_for_place();
    if (each.is_taken) node.wait_until([&] { return ::access(go.c_str(), F_OK) != 0; });
    ::poll(nullptr, 0, 200);  // The step looks each 50 ms.
    CHECK(node.read("ran").empty());
    node.bring_all();
    node.wait_for_end();
    CHECK(node.read("ran") == node.brought_ran());
  }
}

TEST_CASE("waiting: a brought file that is not the user's own is named, and nothing is run") {
  Node node;
  node.start();
  node.wait_for_place();
  node.bring(BroughtFile::program, node.program("brought"));
  node.write("other", "{}");
  const std::string job = node.arrival(BroughtFile::job);
  REQUIRE(::symlink((node.folder + "/other").c_str(), job.c_str()) == 0);
  node.bring(BroughtFile::go, go_text(node.submission, {BroughtFile::program, BroughtFile::job}));
  node.wait_for_end();
  CHECK(node.read("ran").empty());
  CHECK(node.read("told").find("n1: not a regular file of this user: " + job + "|") !=
        std::string::npos);
  CHECK(node.read("other") == "{}");
  CHECK(::access(place_of(node.submission).c_str(), F_OK) != 0);
}

TEST_CASE("waiting: a place that is there already is another's: it is named and left alone") {
  Node node;
  const std::string place = place_of(node.submission);
  REQUIRE(make_folders(place + "/mine", 0777));
  node.bring_all();
  node.start();
  node.wait_for_end();
  CHECK(node.read("ran").empty());
  CHECK(node.read("told").find("|n1: File exists: " + place + "|") != std::string::npos);
  CHECK(::access((place + "/mine").c_str(), F_OK) == 0);
}

}  // namespace
}  // namespace muster::slurm
