"""Compare metric graphs through the tropical Torelli map."""

from torelli._lazy import names_of_stub
from torelli._version import __version__ as __version__

__getattr__, __dir__ = names_of_stub(__name__)
del names_of_stub
