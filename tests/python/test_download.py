"""What a job left as its model is unpacked into a folder and nowhere else, by old Pythons too."""

import io
import sys
import tarfile

import pytest

from ours import SOURCE

sys.path.insert(0, str(SOURCE))

from muster import training  # noqa: E402

HOSTILE = {
    "an absolute path": ("/tmp/muster-escaped", tarfile.REGTYPE, ""),
    "a path that climbs": ("a/../../escaped", tarfile.REGTYPE, ""),
    "a link": ("link", tarfile.SYMTYPE, "/etc"),
    "a hard link": ("link", tarfile.LNKTYPE, "../../etc/passwd"),
    "a device": ("device", tarfile.CHRTYPE, ""),
    "a pipe": ("pipe", tarfile.FIFOTYPE, ""),
}


class Bucket:
    """A boto3 session whose one bucket holds one archive."""

    def __init__(self, archive: bytes):
        self.archive = archive

    def client(self, _service):
        return self

    def describe_training_job(self, **_names):
        return {"ModelArtifacts": {"S3ModelArtifacts": "s3://b/k"}}

    def download_fileobj(self, _bucket, _key, file):
        file.write(self.archive)


def archive_of(*members) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, kind, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode, member.uid = kind, target, 0o6777, 12345
            tar.addfile(member)
    return data.getvalue()


def download(archive: bytes, folder):
    return training.Job("job", Bucket(archive)).download(str(folder))


@pytest.fixture(params=["this Python", "one without filters"])
def python(request, monkeypatch):
    if request.param != "this Python":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_leaves_its_folder_by_no_way(python, tmp_path, name):
    folder = tmp_path / "deep" / "model"
    try:
        download(archive_of(HOSTILE[name]), folder)
    except (ValueError, tarfile.TarError):
        pass
    else:
        assert name == "an absolute path", "filters make it a relative one"
    outside = [path for path in tmp_path.rglob("*") if path not in (folder, folder.parent)
               and folder not in path.parents]
    assert outside == []
    assert not [path for path in folder.rglob("*") if path.is_symlink() or not (
        path.is_file() or path.is_dir())]


def test_a_model_is_unpacked_without_other_peoples_rights(python, tmp_path):
    members = ("deep", tarfile.DIRTYPE, ""), ("deep/weights", tarfile.REGTYPE, "")
    download(archive_of(*members), tmp_path / "model")
    mode = (tmp_path / "model/deep/weights").stat().st_mode
    assert mode & 0o7022 == 0, oct(mode)
