"""The scalars in TensorBoard's event files (`events.out.tfevents.*`), read without TensorFlow.

A file is a series of records: length of the data (8 bytes), checksum (4), data, checksum (4). The data are an
`Event` in the encoding of protocol buffers, of which only the step and the scalar values of a summary are read:
https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder

_NAME = "tfevents"
_HEAD, _FOOT = struct.Struct("<QI"), 4
_MOST_FILES, _MOST_RECORD = 1_000, 1 << 26
# Wire types, and the data types of a tensor that are numbers, with how each is packed.
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_TENSORS = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}
# Numbers of the fields.
_STEP, _SUMMARY, _VALUE, _TAG, _SIMPLE, _TENSOR = 2, 5, 1, 1, 2, 8
_TYPE, _CONTENT, _FLOATS, _DOUBLES = 1, 4, 5, 6


def event_points(folder: Path) -> Iterator[tuple[str, int, float]]:
    """Tag, step and value of every scalar below a folder, file by file. Where files lie in several folders, these stand
    before the tags: `train/loss`. What is damaged, or still being written, ends its file."""
    places = sorted(
        (Path(top) / name for top, _, names in os.walk(folder) for name in names if _NAME in name),
        key=lambda path: path.name,
    )[:_MOST_FILES]
    several = len({path.parent for path in places}) > 1
    for path in places:
        above = path.parent.relative_to(folder).as_posix()
        prefix = f"{above}/" if several and above != "." else ""
        try:
            with Folder(folder).open(path) as file:
                for tag, step, value in _points_in(file):
                    yield prefix + tag, step, value
        except (StoreError, OSError, ValueError, IndexError, struct.error):
            continue


def _points_in(file: BinaryIO) -> Iterator[tuple[str, int, float]]:
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        size, _ = _HEAD.unpack(head)
        data = file.read(size) if size <= _MOST_RECORD else b""
        if len(data) < size or len(file.read(_FOOT)) < _FOOT:
            return
        step, summary = 0, b""
        for number, found in _fields(data):
            if number == _STEP and isinstance(found, int):
                # A negative step is written as the number beyond 64 bits.
                step = found - (1 << 64) if found >> 63 else found
            elif number == _SUMMARY and isinstance(found, bytes):
                summary = found
        for number, found in _fields(summary):
            if number == _VALUE and isinstance(found, bytes) and (scalar := _scalar(found)) is not None:
                yield scalar[0], step, scalar[1]


def _scalar(data: bytes) -> tuple[str, float] | None:
    """The tag and the number of one value of a summary; None for one that is no number: a picture, a text."""
    tag, number = "", None
    for field, found in _fields(data):
        if field == _TAG and isinstance(found, bytes):
            tag = found.decode("utf-8", "replace")
        elif field == _SIMPLE and isinstance(found, bytes):
            [number] = struct.unpack("<f", found)
        elif field == _TENSOR and isinstance(found, bytes):
            number = _number(found)
    return (tag, float(number)) if tag and number is not None else None


def _number(tensor: bytes) -> float | None:
    """The number of a tensor that holds one."""
    fields = dict(_fields(tensor))
    form = _TENSORS.get(int(fields.get(_TYPE) or 0))
    content = next((fields[place] for place in (_CONTENT, _FLOATS, _DOUBLES) if place in fields), None)
    if form is None or not isinstance(content, bytes) or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: a whole number, or bytes as they stand."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size = 8 if kind == _EIGHT else 4 if kind == _FOUR else None
        if kind == _BYTES:
            size, at = _varint(data, at)
        if size is None or at + size > len(data):
            raise ValueError(kind)
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError(shift)
