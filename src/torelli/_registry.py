"""The registry of kernels.

It knows the names of the kernels, and which are defaults, before their classes are imported. Importing them
takes scikit-learn, which takes longer than the help of a command should.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from torelli._errors import look_up

if TYPE_CHECKING:
    from torelli.kernels import GraphKernel


class KernelClass(NamedTuple):
    """Where the class of a kernel is, and whether its entry says that it is a default.

    Attributes
    ----------
    name
        Name of the class.
    default
        As in the `KernelEntry` of the class.
    module
        Module of the class.
    """

    name: str
    default: bool = False
    module: str = "torelli.kernels"

    def load(self) -> type[GraphKernel]:
        """Return the class."""
        kernel: type[GraphKernel] = getattr(import_module(self.module), self.name)
        return kernel


class KernelRegistry(MutableMapping[str, "type[GraphKernel]"]):
    """The classes of kernels by name; those of the package are imported when they are looked up.

    ``KERNELS["name"] = NewKernel`` adds one.
    """

    def __init__(self, kernels: dict[str, KernelClass]) -> None:
        self._kernels: dict[str, KernelClass | type[GraphKernel]] = {**kernels}

    def __getitem__(self, name: str) -> type[GraphKernel]:
        kernel = self._kernels[name]
        return kernel.load() if isinstance(kernel, KernelClass) else kernel

    def __setitem__(self, name: str, kernel: type[GraphKernel]) -> None:
        self._kernels[name] = kernel

    def __delitem__(self, name: str) -> None:
        del self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __repr__(self) -> str:
        return f"<kernels {', '.join(self)}>"

    def defaults(self) -> list[str]:
        """Return the names of the kernels that commands use by default."""
        return [
            name
            for name, kernel in self._kernels.items()
            if (kernel.default if isinstance(kernel, KernelClass) else kernel.entry.default)
        ]


KERNELS = KernelRegistry(
    {
        "ttm": KernelClass("TTMKernel", default=True),
        "ttw": KernelClass("TTWKernel", default=True),
        "tte": KernelClass("TTEKernel", default=True),
        "tts": KernelClass("TTSKernel", default=True),
    }
)
"""The kernels by name; the first is the one to start with (docs/which_kernel.md has the evidence)."""
default_kernels = KERNELS.defaults


def get_kernel(name: str) -> type[GraphKernel]:
    """Return the class of a kernel by its name.

    Raises
    ------
    InvalidOptionError
        If there is no kernel of that name.
    """
    return look_up("kernel", name, KERNELS)
