"""What Garner raises: one class per kind, each also of the class that Python has for it; the message is the library's: one line that says
what, the values, where, and what to try."""

import re as _re


class Error(RuntimeError):
    """The base class of all kinds but Interrupted."""


class UsageError(Error, ValueError):
    """The call contradicts itself, or names what does not exist."""


class KindError(UsageError, TypeError):
    """An argument is of a type that is not taken."""


class InputError(Error, ValueError):
    """The data are bad: a file that lies, a node or a row that does not exist."""


class IdError(InputError, IndexError):
    """A node or a row that does not exist."""


class FileError(Error, OSError):
    """The system refused: no such file, disk full, permission."""


class OutOfMemory(Error, MemoryError):
    """A budget or an allocation refused."""


class DeviceError(Error):
    """No GPU, no GPU support in this build, or the GPU reported a fault."""


class RankError(Error, ConnectionError):
    """A rank of a group of torch.distributed is dead, timed out, or differs from the others; the message names it."""


class InternalError(Error):
    """A defect of Garner."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped the work. Not an Error, so that `except Exception` does not swallow it."""


__all__ = ["Error", "UsageError", "KindError", "InputError", "IdError", "FileError", "OutOfMemory", "DeviceError", "RankError", "InternalError", "Interrupted"]
for _name in __all__:
    globals()[_name].__module__ = "garner"  # as tracebacks say it

# What the library says to the users of the program and of C++, and what that is here. The first that fits; the rest of a message stays.
_here = [(_re.compile(there), here) for there, here in [
    (r"; --columns picks them", r"; a file with more is converted first, by the program's `convert`"),
    (r"; --columns 1,2 reads columns in quotes", r"; such a file is converted first, by the program's `convert`"),
    (r"--columns is for text in columns", r"columns are of text"),
    (r", or use --allow-empty for a graph of nothing", r""),
    (r"make the graph by `garner generate --(?:random-)?weights 1:255`", r"generate it with random_weights=(1, 255)"),
    (r"make it so with --undirected, or write an \.mtx", r"build it with undirected=True, or write an .mtx"),
    (r"convert without --keep-loops, or write an \.mtx", r"build it without keep_loops, or write an .mtx"),
    (r"use --compact if", r"use numbering='compact' if"),
    (r"name another folder with --scratch", r"write to another folder"),
    (r"name a folder of yours with --scratch", r"write to a folder of yours"),
    (r", or leave out --in-(?:lists|edges)", r", or build it without in_edges"),
    (r"(has no out-edges, .*); write both with `garner convert --in-edges`", r"\1; garner.convert(..., 'NEW.gnr', in_edges=True) makes a file with both"),
    (r"add them with `garner convert --in-(?:lists|edges)`", r"build or read it with in_edges=True"),
    (r"open it with its in-edges", r"open, read or build it with in_edges=True"),
    (r"use never_positive = false", r"leave never_positive= out"),
    (r", or use weighted = false", r", or leave weighted= out"),
    (r"convert the graph again from a weighted file, or draw them with `garner convert --(?:random-)?weights 1:255`",
     r"build it with weights, or make some: random_weights=(1, 255) where it is built, read or generated"),
    (r"draw them with garner convert .* NEW\.gnr --(?:random-)?weights 1:255", r"make some: random_weights=(1, 255) where it is built, read or generated"),
    (r"(write one|convert it) with garner convert", r"\1 with the program's `convert`"),
    (r"make one with `garner convert (.*) OUT\.gnr`", r"make one: garner.read('\1').save('OUT.gnr')"),
    (r", or make it again with `garner convert .*`", r", or make it again with the program's `convert`"),
    (r"; name which one with --split", r"; name which one to the program's `convert`"),
    (r"open_graph opens it", r"garner.open opens it"),
    (r"open the graph for that device, or to_device\(\) it there", r"open it with that device=, or bring it there with its to()"),
    (r"open the graph with edges in tier host", r"open the graph with edges='host', or bring it there with its to()"),
    (r"to_device\(\) the graph to (that tier|\S+)", r"bring it to \1 with its to()"),
    (r"bring the graph to cpu first", r"call its to('cpu') first"),
    (r"leave `edges` unset", r"leave edges= out"),
    (r"draw others with garner convert --(?:random-)?weights 1:255", r"make others: random_weights=(1, 255) where it is built, read or generated"),
    (r"draw some with --(?:random-)?weights", r"make some: random_weights=(1, 255) where it is built, read or generated"),
    (r" \(name one with --to\)", r" by the ending of the name"),
    (r"; lower --skip-lines", r""),
    (r"\(unified_tensor\)", r"(garner.unified)"),
    (r"\(garner info lists", r"(garner.info() lists"),
    (r"\(--no-check\)", r"(check=False)"),
    (r"load it checked, or use garner stats .* --check", r"open it with check=True"),
    (r"build with CUDA=1, or use device cpu or simulated", r"install the wheel for GPUs or build it with CUDA=1, or use device='cpu' or 'simulated'"),
    (r"(is this|is it) another format\? Then use --from", r"\1 another format? Then name the file as that format's are"),
    (r", or use --from FORMAT or --to FORMAT", r""),
    (r"--from FORMAT or --to FORMAT", r"name it so"),
    (r"is it a \.wel\? Then use --from wel", r"is it a .wel? Then name it so"),
    (r"is it an \.el\? Then use --from el", r"is it an .el? Then name it so"),
    (r"\(a list of edges alone: use --from\)", r"(name a list of edges alone as its format's are)"),
    (r", --skip-lines N passes over N lines", r""),
    (r"; if it counts vertices and edges, read again with --skip-lines \S+", r"; if it counts vertices and edges, remove it"),
    (r" \(--ignore-weights reads the edges alone\)", r""),
    (r"unless --undirected is set", r"unless undirected=True is set"),
    (r"--undirected mirrors", r"undirected=True mirrors"),
    (r"raise the host budget", r"raise the host budget (garner.limit_host_memory)"),
    (r"raise its budget", r"raise its budget (garner.limit_device_memory)"),
]]


def in_python(message: str) -> str:
    """A message of the library's in the words of this package."""
    for there, here in _here:
        message = there.sub(here, message)
    return message
