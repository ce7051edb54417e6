"""Faster compilation of functions that are only called by other compiled functions.

Numba generates machine code for every function, with wrappers to call it from Python, and optimises it. It
optimises the same code again in each direct or indirect caller, because a callee's code is linked into its
caller. Here a function that compiled code calls is only translated to LLVM's intermediate code. The code is
optimised once, in the function that is called from Python.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from torelli._numerics.waiting import waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numba.core.compiler import StateDict


class _Flags(Flags):
    """Flags whose copy is cheap to look up: numba compares all options one by one, a million times."""

    def copy(self) -> _ComparedFlags:
        """Return the copy that numba looks implementations up with."""
        return _ComparedFlags(self)


class _ComparedFlags(Flags):
    """Flags that do not change, compared by one text."""

    def __init__(self, copy_from: Flags) -> None:
        super().__init__(copy_from)  # type: ignore[no-untyped-call]
        self.text = self.summary()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ComparedFlags) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class _LinkedLibrary(JITCodeLibrary):
    """Code that is only linked into other code: it is neither optimised nor made executable."""

    def _optimize_final_module(self) -> None:
        """Leave it to the library that links this one."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Lowering without wrappers and without machine code."""

    _name = "linked_lowering"

    def run_pass(self, state: StateDict) -> bool:
        """Lower a function to code that can be linked."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        super().run_pass(state)  # type: ignore[no-untyped-call]
        # callers find the code by the function object that Python would call; any unique object will do
        name = object()
        state.targetctx.insert_user_function(name, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=name)
        return True


class _Compiler(CompilerBase):
    """Numba's compiler, with `_Flags`."""

    def _compile_core(self) -> Any:  # noqa: ANN401  (numba makes its fields at run time)
        self.state.flags = _Flags(self.state.flags)  # type: ignore[no-untyped-call]
        return super()._compile_core()  # type: ignore[no-untyped-call]

    def define_pipelines(self) -> list[PassManager]:
        """Return numba's passes."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


class _EntryCompiler(_Compiler):
    """The compiler of functions that Python calls."""

    def _compile_core(self) -> Any:  # noqa: ANN401  (as above)
        with waiting.compiling():
            return super()._compile_core()


class _LinkedCompiler(_Compiler):
    """The compiler with `_LinkedLowering`."""

    def define_pipelines(self) -> list[PassManager]:
        """Return numba's passes, with one replaced."""
        pipeline = PassManager("linked")
        for one, about in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            pipeline.add_pass(_LinkedLowering if one is NativeLowering else one, about)
        pipeline.finalize()
        return [pipeline]


class _Linked(CPUDispatcher):
    """A function that is called by compiled code only."""

    def add_overload(self, result: Any) -> None:  # noqa: ANN401  (numba makes its fields at run time)
        """Keep the code for a signature; Python cannot call it."""
        self.overloads[tuple(result.signature.args)] = result


class Entry(CPUDispatcher):
    """A function that Python calls; compiled code that calls it links a copy of it."""

    made: ClassVar[list[Entry]] = []
    """All entries, in the order in which their modules were imported."""

    def __init__(
        self, function: Callable[..., Any], types_of: dict[str, Any], options: dict[str, Any]
    ) -> None:
        super().__init__(function, types_of, options, _EntryCompiler)
        self.made.append(self)

    @cached_property
    def _linked(self) -> _Linked:
        return _Linked(self.py_func, {}, self.targetoptions, _LinkedCompiler)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """The type that compiled code sees."""
        return types.Dispatcher(self._linked)  # type: ignore[arg-type]
