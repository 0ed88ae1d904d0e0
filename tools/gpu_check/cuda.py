"""A program for one GPU that needs no CUDA toolkit: the driver's library, through ctypes.

gpu-check runs it as a job and without muster. GPU_CHECK_LIBCUDA names a stand-in for the library.
"""

import argparse
import ctypes
import os
import select
import sys

MIB = 1 << 20
PIECE = 256 * MIB
# Two kernels as PTX, which the driver compiles: one never ends, one writes where nothing is.
PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin()
{
L:
  bra.uni L;
}
.visible .entry wild()
{
  .reg .b64 %address;
  .reg .b32 %value;
  mov.u64 %address, 0x123456789000;
  mov.u32 %value, 7;
  st.global.u32 [%address], %value;
  ret;
}
\0"""
OUT_OF_MEMORY = 2


class Card:
    """The only GPU that the driver shows."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("GPU_CHECK_LIBCUDA", "libcuda.so.1"))
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.count = count.value
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def tried(self, name: str, *arguments) -> int:
        return getattr(self.library, name)(*arguments)

    def call(self, name: str, *arguments) -> None:
        code = self.tried(name, *arguments)
        if code == OUT_OF_MEMORY:
            sys.exit(f"RuntimeError: CUDA out of memory ({name})")
        if code:
            sys.exit(f"RuntimeError: CUDA error {code} ({name})")

    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def take(self, bytes_wanted: int) -> ctypes.c_uint64:
        memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(bytes_wanted))
        self.write(memory, bytes_wanted)
        return memory

    def write(self, memory: ctypes.c_uint64, count: int) -> None:
        self.call("cuMemsetD8_v2", memory, ctypes.c_ubyte(7), ctypes.c_size_t(count))
        self.call("cuCtxSynchronize")

    def run(self, kernel: str) -> None:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--action", choices=["name", "hold", "busy", "fill", "spin", "wild"])
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--wait", type=float, default=0)
    given = parser.parse_args()
    card = Card()
    if given.action == "name":
        card.take(MIB)
        print(f"card {card.name()}, {card.count} visible", flush=True)
    if given.action in ("hold", "busy"):
        memory = card.take(given.mib * MIB)
        print("holds", flush=True)
        while given.action == "busy":
            card.write(memory, given.mib * MIB)
        select.select([], [], [])
    if given.action == "fill":
        print("fills", flush=True)
        select.select([], [], [], given.wait)  # Until a sample has been taken.
        while True:
            card.take(PIECE)
    if given.action in ("spin", "wild"):
        print("launches", flush=True)
        card.run(given.action)
        card.call("cuCtxSynchronize")


main()
