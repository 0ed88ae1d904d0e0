"""Converts arrays to bytes and back, by content type. Imports numpy when it is first needed."""

import csv
import io
import json

from sagemaker_training import content_types, errors, recordio


def _numpy():
    import numpy

    return numpy


def array_to_npy(array_like):
    """Encodes an array in numpy's format."""
    file = io.BytesIO()
    _numpy().save(file, array_like)
    return file.getvalue()


def npy_to_numpy(npy_array):
    """Decodes an array in numpy's format. The data can run code, so it must be trusted."""
    return _numpy().load(io.BytesIO(npy_array), allow_pickle=True)


def array_to_json(array_like):
    """Encodes an array as JSON lists."""

    def default(value):
        if hasattr(value, "tolist"):
            return value.tolist()
        return json.JSONEncoder().default(value)

    return json.dumps(array_like, default=default)


def json_to_numpy(string_like, dtype=None):
    """Decodes an array from JSON lists."""
    return _numpy().array(json.loads(string_like), dtype=dtype)


def csv_to_numpy(string_like, dtype=None):
    """Decodes an array from CSV. Raises ClientError for invalid CSV or values of another type."""
    try:
        rows = list(csv.reader(io.StringIO(string_like), strict=True))
        return _numpy().array(rows).squeeze().astype(dtype)
    except ValueError as e:
        raise errors.ClientError("CSV: not an array of %s: %s" % (dtype or "one type", e)) from e
    except csv.Error as e:
        raise errors.ClientError("CSV: %s" % e) from e


def array_to_csv(array_like):
    """Encodes an array as CSV, one row per line, or one value per line if it has one dimension."""
    array = _numpy().array(array_like)
    if len(array.shape) == 1:
        array = array.reshape(-1, 1)
    text = io.StringIO()
    try:
        csv.writer(text, lineterminator="\n", strict=True).writerows(array)
    except csv.Error as e:
        raise errors.ClientError("CSV: %s" % e) from e
    return text.getvalue()


def array_to_recordio_protobuf(array_like, labels=None):
    """Encodes a dense matrix, or a sparse SciPy matrix, as RecordIO, one record per row."""
    if len(array_like.shape) == 1:
        array_like = array_like.reshape(1, array_like.shape[0])
    assert len(array_like.shape) == 2, "Expecting a 1 or 2 dimensional array"
    file = io.BytesIO()
    recordio.write_matrix(file, array_like, labels)
    return file.getvalue()


encoders_map = {
    content_types.NPY: array_to_npy,
    content_types.CSV: array_to_csv,
    content_types.JSON: array_to_json,
}
_decoders_map = {
    content_types.NPY: npy_to_numpy,
    content_types.CSV: csv_to_numpy,
    content_types.JSON: json_to_numpy,
}


def decode(obj, content_type):
    """Decodes data of this content type. Raises UnsupportedFormatError if it is unsupported."""
    if content_type not in _decoders_map:
        raise errors.UnsupportedFormatError(content_type)
    return _decoders_map[content_type](obj)


def encode(array_like, content_type):
    """Encodes an array in this content type. Raises UnsupportedFormatError if unsupported."""
    if content_type not in encoders_map:
        raise errors.UnsupportedFormatError(content_type)
    return encoders_map[content_type](array_like)
