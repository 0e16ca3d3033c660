# The meaning of CSV: Python's csv module, strict. Reads cases from stdin, writes what it makes of each to stdout.
# A case: separator (1 byte), quote (1 byte, 0: none), length (u32), text. The answer: "R", fields (u32) and each with its
# length (u32) for a row; "B" and a number of lines (u32) where it raises; "E" at the end.
import csv
import io
import struct
import sys

csv.field_size_limit(1 << 30)


def answer(separator, quote, text, out):
    if text.startswith("\u00ef\u00bb\u00bf"):
        text = text[3:]
    options = {"quoting": csv.QUOTE_NONE, "quotechar": None} if quote == "\0" else {"quotechar": quote}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, **options)
    while True:
        before = reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error:
            out.append(b"B" + struct.pack("<I", reader.line_num - before))
            continue
        out.append(b"R" + struct.pack("<I", len(row)))
        for field in row:
            data = field.encode("latin-1")
            out.append(struct.pack("<I", len(data)) + data)
    out.append(b"E")


source = sys.stdin.buffer
while True:
    head = source.read(6)
    if not head:
        break
    size = struct.unpack("<I", head[2:])[0]
    parts = []
    answer(chr(head[0]), chr(head[1]), source.read(size).decode("latin-1"), parts)
    sys.stdout.buffer.write(b"".join(parts))
