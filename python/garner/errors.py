"""What Garner raises: one class a kind, each also of the class that Python has for it; the message is the library's: one line that says
what, the values, where, and what to try."""


class Error(RuntimeError):
    """Of every kind but Interrupted."""


class UsageError(Error, ValueError):
    """The call contradicts itself, or asks for what does not exist."""


class InputError(Error, ValueError):
    """The data are bad: a file that lies, a vertex or a row that does not exist."""


class FileError(Error, OSError):
    """The system refused: no such file, disk full, permission."""


class OutOfMemory(Error, MemoryError):
    """A budget or an allocation refused."""


class DeviceError(Error):
    """No GPU, no GPU support in this build, or the GPU reported a fault."""


class InternalError(Error):
    """A defect of Garner."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped the work. Not an Error, so that `except Exception` does not swallow it."""


__all__ = ["Error", "UsageError", "InputError", "FileError", "OutOfMemory", "DeviceError", "InternalError", "Interrupted"]
for _name in __all__:
    globals()[_name].__module__ = "garner"  # as tracebacks say it
