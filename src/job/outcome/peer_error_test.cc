#include "job/outcome/peer_error.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

TEST_CASE("peer error: errors that only report another rank's end are recognized by their family") {
  for (const char* error :
       {"RuntimeError: [/gloo/transport/tcp/pair.cc:598] Connection closed by peer [::1]:7",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "ConnectionAbortedError",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:77, remote process exited or",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15",
        "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
        "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely "
        "closed. Did the remote server shutdown or crash?",
        "RuntimeError: Connection was likely closed.",
        "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] "
        "via c10d key-value store by store->get('0'), but store->get('0') got error: Broken pipe",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "OSError: [Errno 107] Transport endpoint is not "
        "connected",
        "OSError: [Errno 113] No route to host",
        "tensorflow.python.framework.errors_impl.UnavailableError: Socket closed",
        "RuntimeError: Socket Timeout",
        "RuntimeError: Broken pipe",
        "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was "
        "caused by an exception on one of the ranks or an attempt to allreduce",
        "RuntimeError: Horovod has been shut down",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "RuntimeError: The server socket on algo-1 refused: connection refused",
        "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 "
        "clients joined.",
        "RuntimeError: Timed out waiting 1800000ms for recv operation to complete",
        "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for "
        "recv operation to complete",
        "RuntimeError: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
        "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.",
        "c10::DistBackendError: [Rank 1] NCCL watchdog thread terminated with exception: NCCL "
        "error: remote process exited or there was a network error",
        "RuntimeError: wait timeout after 300000ms, keys: /default_pg/0//cpu//0",
        "RuntimeError: Rank 0 failed to pass monitoredBarrier in 3000 ms",
        "RuntimeError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 3000 ms",
        "mpi4py.MPI.Exception: MPI_ERR_PROC_FAILED: Process Failure",
        "RuntimeError: NCCL communicator was aborted on rank 1.",
        "grpc.RpcError: StatusCode.UNAVAILABLE, failed to connect to all addresses",
        "EOFError",
        "TimeoutError: timed out",
        "socket.timeout: timed out",
        "http.client.RemoteDisconnected: Remote end closed connection without response",
        "OSError: connection lost",
        "the other side hung up: connection lost",
        "MyTransportError: lost connection to rank 3",
        "RuntimeError: peer 2 is gone"}) {
    CAPTURE(error);
    CHECK(blame_of(error) == Blame::peer);
  }
  for (const char* error :
       {"ValueError: bad batch",
        "no error",
        "",
        "ValueError: the connection to the table is lost",
        "RuntimeError: CUDA error: device-side assert triggered",
        "RuntimeError: CUDA error: peer access is not supported between these two devices",
        "RuntimeError: unexpected EOF, expected 512 more bytes. The file might be corrupted.",
        "EOFError: EOF when reading a line",
        "EOFError: Ran out of input",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub', port=443): Max "
        "retries exceeded",
        "urllib.error.URLError: <urlopen error Name or service not known>",
        "RuntimeError: DataLoader worker (pid(s) 4321) exited unexpectedly",
        "RuntimeError: Error(s) in loading state_dict for Net:",
        "RuntimeError: DataLoader timed out after 10 seconds",
        "FileNotFoundError: socket closed",
        "torch.cuda.OutOfMemoryError: CUDA out of memory",
        "giving up after three tries",
        "OSError: [Errno 28] No space left on device",
        "RuntimeError: stack expects each tensor to be equal size",
        "RuntimeError: Expected to have finished reduction in the prior iteration"}) {
    CAPTURE(error);
    CHECK(blame_of(error) == Blame::own);
  }
  for (const char* error :
       {"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "subprocess.CalledProcessError: Command '['false']' returned non-zero exit status 1.",
        "torch.multiprocessing.spawn.ProcessRaisedException: "})
    CHECK(blame_of(error) == Blame::reports_another);
}

}  // namespace
}  // namespace muster::job
