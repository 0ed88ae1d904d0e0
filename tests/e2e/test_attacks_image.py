"""Attacks from an image: what lies in one reaches nothing of the machine."""

import os
import pathlib
import tarfile

from fit import GUARD_SECONDS
from oci_image import layer, special, write_layout
from test_fit_image import SHELL

LOOK = b"""#!/bin/sh
echo "user $(/bin/id-of)"
for file in /etc/hosts /etc/hostname /run/muster/job.key; do
  test -e $file && echo "has $file"
done
for path in /machine/etc/shadow /proc/1/root/etc/shadow /absolute /own/device; do
  read -r line 2>/dev/null <$path && echo "reads $path: $line"
done
echo x 2>/dev/null >/own/device && echo "writes a device"
echo spoiled 2>/dev/null >/etc/hosts
echo spoiled 2>/dev/null >/opt/ml/model/spoiled
echo looked
"""


def bring(machine, folder: pathlib.Path, members: dict, process: dict | None = None) -> None:
    write_layout(folder, [layer(SHELL), layer(members)], process=process)
    imported = machine.sm("image", "import", f"oci:{folder}:v1", "--name", "evil")
    assert imported.wait(GUARD_SECONDS) == 0, imported.text


def fingerprint() -> dict:
    """What an attack would change."""
    paths = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/passwd"]
    return {
        **{path: pathlib.Path(path).read_bytes() for path in paths},
        "etc": sorted(os.listdir("/etc")),
        "root": sorted(os.listdir("/")),
    }


def test_links_at_the_places_that_a_host_has_of_its_own_lead_nowhere(machine, tmp_path):
    before = fingerprint()
    members = {
        "bin/train": LOOK,
        "machine": special("machine", tarfile.SYMTYPE, "/../../../../.."),
        "absolute": special("absolute", tarfile.SYMTYPE, str(tmp_path / "secret")),
        "opt": special("opt", tarfile.DIRTYPE, mode=0o755),
        "opt/ml": special("opt/ml", tarfile.SYMTYPE, f"../../../../../..{tmp_path}"),
        "etc/hosts": special("etc/hosts", tarfile.SYMTYPE, f"/../../../..{tmp_path}/hosts"),
        "etc/hostname": special("etc/hostname", tarfile.SYMTYPE, "/proc/1/root/etc/hostname"),
        "etc/resolv.conf": special("etc/resolv.conf", tarfile.SYMTYPE, "../../../../etc/passwd"),
        "run/muster": special("run/muster", tarfile.SYMTYPE, "/etc"),
    }
    (tmp_path / "secret").write_text("the machine's\n")
    bring(machine, tmp_path / "image", members, {"Env": ["PATH=/bin"]})
    job = machine.sm("fit", "--image", "evil", "--output", machine.output)
    job.wait(GUARD_SECONDS)  # The runtime may refuse such an image; the machine stays as it was.
    assert "the machine's" not in job.text, job.text
    assert "reads /machine" not in job.text and "reads /proc" not in job.text, job.text
    assert fingerprint() == before
    assert sorted(os.listdir(tmp_path)) == sorted(["image", "secret", *made_by_fixtures(tmp_path)])


def made_by_fixtures(folder: pathlib.Path) -> list[str]:
    """Folders that the fixtures made in the test's own."""
    return [name for name in os.listdir(folder) if name in ("source", "output", "home")]


def test_set_id_programs_and_devices_of_an_image_give_nothing(machine, tmp_path):
    look = b"while read -r name real now rest; do test $name = Uid: && echo $now; done"
    who = b"#!/bin/sh\n" + look + b" </proc/self/status\n"
    set_id = special("bin/sh-root", tarfile.REGTYPE, mode=0o6755)
    set_id.size = 0
    members = {
        "etc/passwd": b"root:x:0:0::/root:/bin/sh\napp:x:1000:1000::/:/bin/sh\n",
        "bin/id-of": who,
        "bin/sh-root": set_id,
        "own/device": special("own/device", tarfile.CHRTYPE, devmajor=1, devminor=1, mode=0o666),
        "bin/train": LOOK,
    }
    bring(machine, tmp_path / "image", members, {"Env": ["PATH=/bin"], "User": "app"})
    job = machine.sm("fit", "--image", "evil", "--output", machine.output)
    assert job.wait(GUARD_SECONDS) == 0, job.text
    assert "looked" in job.text and "user 1000" in job.text, job.text
    assert "writes a device" not in job.text, job.text
    assert "reads" not in job.text, job.text
