#include "net/sockets/unix.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "net/loop/testing.h"

using namespace muster;
using loop::Loop;
using loop::Task;
using loop::Tasks;

namespace {

struct Folder {
  std::string path = *make_private_folder("/tmp", "muster-loop-");
  ~Folder() { std::filesystem::remove_all(path); }
};

struct Ends {
  std::unique_ptr<loop::UnixChannel> a;
  std::unique_ptr<loop::UnixChannel> b;
};

Ends ends(Loop& loop) {
  std::pair<Fd, Fd> pair = *make_socket_pair();
  return {loop::unix_channel(loop, std::move(pair.first)),
          loop::unix_channel(loop, std::move(pair.second))};
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += entry.path().empty() ? 0u : 1u;
  return count;
}

std::string text_in(const Fd& fd) {
  std::string buffer(64, '\0');
  const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
  return count < 0 ? "error" : buffer.substr(0, static_cast<std::size_t>(count));
}

Fd pipe_with(const std::string& text) {
  Pipe pipe = *make_pipe();
  CHECK(write_all(pipe.write.get(), text));
  return std::move(pipe.read);
}

}  // namespace

TEST_CASE("unix: frames cross a listening socket both ways, in order and at any size") {
  Loop loop;
  const Folder folder;
  const std::string path = folder.path + "/socket";
  auto listener = *loop::UnixListener::open(loop, path);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const auto test = [](Loop& on, loop::UnixListener& from, std::string where) -> Task<void> {
    auto client = *loop::unix_connect(on, where);
    auto server = *co_await from.accept();
    const std::vector<std::size_t> sizes{0, 1, 100, 70000, frame_payload_bytes_max, 3};
    for (std::size_t size : sizes) client->post(9, std::string(size, 'x'));
    for (std::size_t size : sizes) {
      Result<Frame> frame = co_await server->receive();
      REQUIRE(frame);
      CHECK(frame->type == 9);
      CHECK(frame->payload.size() == size);
    }
    server->post(1, "back");
    Result<Frame> back = co_await client->receive();
    REQUIRE(back);
    CHECK(back->payload == "back");
    client->close();
    Result<Frame> end = co_await server->receive();
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Errc::closed);
  };
  run_task(loop, test(loop, *listener, path));
  listener.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("unix: descriptors arrive with their own frame, also among large ones") {
  Loop loop;
  Ends pair = ends(loop);
  const std::size_t before = open_descriptors();
  const auto test = [](Ends& both) -> Task<void> {
    for (int i = 0; i < 20; ++i) {
      both.a->post(1, std::string(static_cast<std::size_t>(i) * 9000, 'p'));
      std::vector<Fd> fds;
      fds.push_back(pipe_with("out " + std::to_string(i)));
      fds.push_back(pipe_with("err " + std::to_string(i)));
      both.a->post_with_fds(2, std::string(i % 2 == 0 ? 3 : 300000, 'q'), std::move(fds));
      both.a->post(3, "after");
    }
    for (int i = 0; i < 20; ++i) {
      for (std::uint8_t type = 1; type <= 3; ++type) {
        Result<Frame> frame = co_await both.b->receive();
        REQUIRE(frame);
        REQUIRE(frame->type == type);
        std::vector<Fd> fds = both.b->take_fds();
        REQUIRE(fds.size() == (type == 2 ? 2u : 0u));
        if (type != 2) continue;
        CHECK(text_in(fds[0]) == "out " + std::to_string(i));
        CHECK(text_in(fds[1]) == "err " + std::to_string(i));
      }
    }
  };
  run_task(loop, test(pair));
  CHECK(open_descriptors() == before);
}

TEST_CASE("unix: descriptors beyond four, or that no reader takes, are closed") {
  Loop loop;
  std::pair<Fd, Fd> sockets = *make_socket_pair();
  std::size_t before = 0;
  {
    Fd other = std::move(sockets.first);
    auto channel = loop::unix_channel(loop, std::move(sockets.second));
    before = open_descriptors();
    const std::string frame = encode({1, "six"});
    const int number = other.get();
    iovec piece{const_cast<char*>(frame.data()), frame.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(6 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(6 * sizeof(int));
    for (std::size_t i = 0; i < 6; ++i)
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &number, sizeof number);
    REQUIRE(::sendmsg(number, &message, 0) == static_cast<ssize_t>(frame.size()));
    const auto test = [](loop::UnixChannel& from) -> Task<void> {
      REQUIRE(co_await from.receive());
      CHECK(from.take_fds().size() == 4);
    };
    run_task(loop, test(*channel));
  }
  CHECK(open_descriptors() == before - 2);
}

TEST_CASE("unix: bytes that are no frame, and a stream cut inside one, are protocol errors") {
  for (const std::string& bytes :
       {std::string("\xff\xff\xff\xff\x01zzz"), std::string("\x05\0\0\0\x01zz", 7)}) {
    Loop loop;
    std::pair<Fd, Fd> sockets = *make_socket_pair();
    auto channel = loop::unix_channel(loop, std::move(sockets.second));
    REQUIRE(write_all(sockets.first.get(), bytes));
    sockets.first.reset();
    const auto test = [](loop::UnixChannel& from) -> Task<void> {
      Result<Frame> frame = co_await from.receive();
      REQUIRE_FALSE(frame);
      CHECK(frame.error().code == Errc::protocol);
      frame = co_await from.receive();
      CHECK(frame.error().code == Errc::protocol);
    };
    run_task(loop, test(*channel));
  }
}

TEST_CASE("unix: waiting for room lasts until the other side reads") {
  Loop loop;
  Ends pair = ends(loop);
  const auto test = [](Loop& on, Ends& both) -> Task<void> {
    const std::string block(1u << 20, 'b');
    for (int i = 0; i < 8; ++i) both.a->post(1, block);
    bool roomy = false;
    const auto waiter = [](loop::Channel& of, bool& done) -> Task<void> {
      CHECK(co_await of.room());
      done = true;
    };
    Tasks tasks(on);
    tasks.start(waiter(*both.a, roomy));
    loop::Timer pause(on);
    co_await pause.after(std::chrono::milliseconds(20));
    CHECK_FALSE(roomy);
    for (int i = 0; i < 8; ++i) CHECK(co_await both.b->receive());
    CHECK(co_await both.a->flushed());
    CHECK(roomy);
  };
  run_task(loop, test(loop, pair));
}

TEST_CASE("unix: bytes sent before the other side closed are still read, though writing failed") {
  Loop loop;
  Ends pair = ends(loop);
  const auto test = [](Ends& both) -> Task<void> {
    both.a->post(1, "last words");
    CHECK(co_await both.a->flushed());
    both.a.reset();
    for (int i = 0; i < 3; ++i) both.b->post(2, "into the void");
    CHECK_FALSE(co_await both.b->flushed());
    Result<Frame> frame = co_await both.b->receive();
    REQUIRE(frame);
    CHECK(frame->payload == "last words");
    CHECK((co_await both.b->receive()).error().code == Errc::closed);
  };
  run_task(loop, test(pair));
}

TEST_CASE("unix: destroying a channel or listener ends what waits on it with closed") {
  Loop loop;
  const Folder folder;
  Ends pair = ends(loop);
  auto listener = *loop::UnixListener::open(loop, folder.path + "/socket");
  int ended = 0;
  const auto receiver = [](loop::Channel& of, int& count) -> Task<void> {
    CHECK((co_await of.receive()).error().code == Errc::closed);
    ++count;
  };
  const auto writer = [](loop::Channel& of, int& count) -> Task<void> {
    for (int i = 0; i < 8; ++i) of.post(1, std::string(1u << 20, 'b'));
    CHECK((co_await of.room()).error().code == Errc::closed);
    ++count;
  };
  const auto accepter = [](loop::UnixListener& of, int& count) -> Task<void> {
    CHECK((co_await of.accept()).error().code == Errc::closed);
    ++count;
  };
  const auto test = [](Loop& on, Ends& both, std::unique_ptr<loop::UnixListener>& from,
                       int& count) -> Task<void> {
    loop::Timer pause(on);
    co_await pause.after(std::chrono::milliseconds(5));
    both.a.reset();
    from.reset();
    while (count < 3) co_await pause.after(std::chrono::milliseconds(1));
  };
  Tasks tasks(loop);
  tasks.start(receiver(*pair.a, ended));
  tasks.start(writer(*pair.a, ended));
  tasks.start(accepter(*listener, ended));
  run_task(loop, test(loop, pair, listener, ended));
  CHECK(ended == 3);
}

TEST_CASE("unix: an abandoned socket is replaced, one in use is not, and long paths work") {
  Loop loop;
  const Folder folder;
  const std::string deep = folder.path + "/" + std::string(90, 'd');
  REQUIRE(make_folders(deep));
  const std::string path = deep + "/socket";
  auto first = loop::UnixListener::open(loop, path);
  REQUIRE(first);
  CHECK_FALSE(loop::UnixListener::open(loop, path));
  CHECK(loop::unix_connect(loop, path));
  CHECK(loop::unix_connect(loop, folder.path + "/none").error().code == Errc::not_found);

  const std::string old = folder.path + "/old";
  {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    old.copy(name.sun_path, sizeof name.sun_path - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  }
  CHECK(loop::unix_connect(loop, old).error().code == Errc::not_found);
  CHECK(loop::UnixListener::open(loop, old));
}
