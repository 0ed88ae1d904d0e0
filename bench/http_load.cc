// Sends prepared HTTP requests over some connections as fast as they are answered, and says how
// many were. One thread, epoll; the requests go round. For bench/s3.py.
//
// usage: http_load PORT CONNECTIONS SECONDS FILE
// FILE: requests, each behind its length in 4 bytes, least significant first.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  int fd = -1;
  std::string out;
  std::size_t sent = 0;
  std::string head;
  std::size_t body_left = 0;
  bool in_body = false;
  Clock::time_point began;
};

std::vector<std::string> read_requests(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> requests;
  for (std::size_t at = 0; at + 4 <= all.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, all.data() + at, 4);
    requests.push_back(all.substr(at + 4, size));
    at += 4 + size;
  }
  return requests;
}

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return -1;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

struct Load {
  std::vector<std::string> requests;
  std::vector<Connection> connections;
  std::size_t next = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  std::vector<float> micros;

  bool send_more(Connection& one) {
    while (one.sent < one.out.size()) {
      const ssize_t count = ::send(one.fd, one.out.data() + one.sent, one.out.size() - one.sent,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) return errno == EAGAIN;
      one.sent += static_cast<std::size_t>(count);
    }
    return true;
  }
  bool begin(Connection& one) {
    one.out = requests[next++ % requests.size()];
    one.sent = 0;
    one.head.clear();
    one.in_body = false;
    one.began = Clock::now();
    return send_more(one);
  }
  bool open(Connection& one, int poll, int port) {
    one.fd = connect_to(port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &one;
    if (one.fd < 0 || ::epoll_ctl(poll, EPOLL_CTL_ADD, one.fd, &event) != 0) return false;
    return begin(one);
  }
  /// What came belongs to one answer only: requests are not pipelined.
  bool take(Connection& one, const char* data, std::size_t size) {
    bytes += size;
    if (!one.in_body) {
      one.head.append(data, size);
      const std::size_t end = one.head.find("\r\n\r\n");
      if (end == std::string::npos) return true;
      const char* length = ::strcasestr(one.head.c_str(), "\r\ncontent-length:");
      const std::size_t body = length ? std::strtoull(length + 17, nullptr, 10) : 0;
      one.body_left = body - std::min(body, one.head.size() - end - 4);
      one.in_body = true;
      if (one.head.compare(9, 1, "2") != 0) {
        if (failed++ == 0) std::fprintf(stderr, "%s\n", one.head.c_str());
      }
    } else {
      one.body_left -= std::min(one.body_left, size);
    }
    if (one.body_left > 0) return true;
    ++answered;
    micros.push_back(std::chrono::duration<float, std::micro>(Clock::now() - one.began).count());
    return begin(one);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Load load;
  load.requests = read_requests(argv[4]);
  const double seconds = std::atof(argv[3]);
  load.connections.resize(static_cast<std::size_t>(std::atoi(argv[2])));
  const int poll = ::epoll_create1(0);
  const int port = std::atoi(argv[1]);
  for (Connection& one : load.connections)
    if (!load.open(one, poll, port)) return 1;
  std::vector<char> buffer(256 << 10);
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (Clock::now() < end) {
    epoll_event events[64];
    const int count = ::epoll_wait(poll, events, 64, 100);
    for (int i = 0; i < count; ++i) {
      Connection& one = *static_cast<Connection*>(events[i].data.ptr);
      const ssize_t got = ::recv(one.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0 && load.take(one, buffer.data(), static_cast<std::size_t>(got))) continue;
      // Some servers close after each answer: that costs them a connection.
      ::close(one.fd);
      if (!load.open(one, poll, port)) {
        std::fprintf(stderr, "a connection was lost\n");
        return 1;
      }
    }
  }
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto cpu = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  std::sort(load.micros.begin(), load.micros.end());
  const auto share = [&](double part) {
    const auto at = static_cast<std::size_t>(part * static_cast<double>(load.micros.size() - 1));
    return static_cast<double>(load.micros[at]);
  };
  if (load.micros.empty()) return 1;
  std::printf(
      "{\"per_second\": %.0f, \"failed\": %llu, \"cpu\": %.2f, \"p50_us\": %.0f, "
      "\"p99_us\": %.0f}\n",
      static_cast<double>(load.answered) / took, static_cast<unsigned long long>(load.failed),
      cpu(usage.ru_utime) + cpu(usage.ru_stime), share(0.5), share(0.99));
  return 0;
}
