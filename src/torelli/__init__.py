"""Compare metric graphs through the tropical Torelli map."""

from torelli._version import __version__ as __version__

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself takes longer to import than this
if TYPE_CHECKING:
    from torelli._public import *  # noqa: F403
    from torelli._public import __all__ as __all__
else:
    # the imports take seconds: they come with the first use of a name, so that the command line can
    # answer Ctrl-C before they begin
    def __getattr__(name: str) -> object:
        if name == "__all__" or not name.startswith("_"):
            from torelli import _public

            if hasattr(_public, "__all__"):  # else its imports are under way, and ask for a module of ours
                globals().update({one: getattr(_public, one) for one in ("__all__", *_public.__all__)})
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
