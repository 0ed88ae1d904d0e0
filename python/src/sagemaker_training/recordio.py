"""RecordIO with SageMaker's Record messages, written without the protobuf package.

Source: the schema aialgs.data.Record (docs: "Common data formats for built-in training"); protocol
buffers' wire format; MXNet's RecordIO framing.
"""

import struct

_kmagic = 0xCED7230A

padding = {count: bytes(count) for count in range(4)}

# Record: map<string, Value> features = 1, label = 2. Value: one of the tensors, by field number.
_FEATURES, _LABEL = 1, 2
_TENSOR_FIELDS = {"Float32": 2, "Float64": 3, "Int32": 7}
# A tensor: repeated values = 1, uint64 keys = 2, uint64 shape = 3, all packed.
_VALUES, _KEYS, _SHAPE = 1, 2, 3
_LENGTH_DELIMITED = 2


def _varint(number):
    number &= (1 << 64) - 1  # A negative int32 is written as its 64-bit two's complement.
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number, data):
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(data)) + data if data else b""


def _integers(values):
    return b"".join(_varint(int(value)) for value in values)


def _packed(kind, values):
    if kind == "Int32":
        if any(not -(2**31) <= value < 2**31 for value in values):
            raise ValueError("the array contains an integer that does not fit into 32 bits")
        return _integers(values)
    values = [float(value) for value in values]
    return struct.pack("<%d%s" % (len(values), "f" if kind == "Float32" else "d"), *values)


def _entry(field, kind, values, keys=(), shape=()):
    """One member of the map `field`: "values" -> a tensor."""
    tensor = (
        _field(_VALUES, _packed(kind, values))
        + _field(_KEYS, _integers(keys))
        + _field(_SHAPE, _integers(shape))
    )
    number = _varint(_TENSOR_FIELDS[kind] << 3 | _LENGTH_DELIMITED)
    value = number + _varint(len(tensor)) + tensor  # A oneof is written even if it is empty.
    return _field(field, _field(1, b"values") + _field(2, value))


def _resolve_type(dtype):
    """Returns the kind of tensor for a numpy type. Raises ValueError if it is unsupported."""
    kinds = {"int64": "Int32", "float64": "Float64", "float32": "Float32"}
    if str(dtype) not in kinds:
        raise ValueError("Unsupported dtype {} on array".format(dtype))
    return kinds[str(dtype)]


def write_matrix(file, matrix, labels=None):
    """Writes a record for each row of a NumPy matrix or a sparse SciPy matrix."""
    if len(matrix.shape) != 2:
        raise ValueError("Array must be a Matrix")
    label_kind = None
    if labels is not None:
        if len(labels.shape) != 1:
            raise ValueError("Labels must be a Vector")
        if labels.shape[0] not in matrix.shape:
            raise ValueError(
                "Label shape {} not compatible with array shape {}".format(
                    labels.shape, matrix.shape
                )
            )
        label_kind = _resolve_type(labels.dtype)
    kind = _resolve_type(matrix.dtype)
    sparse = hasattr(matrix, "tocsr")
    rows = matrix.tocsr() if sparse else matrix
    for index in range(matrix.shape[0]):
        if sparse:
            row = rows[index : index + 1]
            record = _entry(_FEATURES, kind, row.data, row.indices, [matrix.shape[1]])
        else:
            record = _entry(_FEATURES, kind, rows[index])
        if labels is not None:
            record += _entry(_LABEL, label_kind, [labels[index]])
        _write_recordio(file, record)


def _write_recordio(f, data):
    """One record: magic number, length, data, zeros up to a multiple of four."""
    f.write(struct.pack("<II", _kmagic, len(data)) + data + padding[-len(data) % 4])


def _read_recordio(f):
    """Yields the data of each record of a file."""
    while True:
        head = f.read(8)
        if len(head) < 8:
            return
        magic, length = struct.unpack("<II", head)
        assert magic == _kmagic
        yield f.read(length)
        f.read(-length % 4)
