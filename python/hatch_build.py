"""Adds the programs to the wheel, and names the systems that it is for."""

import os
import pathlib

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The program is static: it asks the kernel for things and no library, so any libc will do.
TAG = "py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64"


class Programs(BuildHookInterface):
    def initialize(self, version, build_data):
        binary = pathlib.Path(os.environ.get("MUSTER_BINARY", ""))
        if not binary.is_file():
            raise SystemExit("MUSTER_BINARY must name the static `sm` (`make wheel` sets it)")
        build_data["pure_python"] = False
        build_data["tag"] = TAG
        build_data["shared_scripts"] = {
            str(binary): "muster-sm",
            # Scripts, because images say ENTRYPOINT ["bash", "sm", ...], and bash runs no binary.
            **{os.path.join(self.root, "scripts", name): name for name in ("sm", "train")},
        }
